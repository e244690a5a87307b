import { percentile } from '../load.ts'
import { startPings } from '../pings.ts'
import { type Bench, type Measure, type Scenario, withServer } from '../scenario.ts'

const MEGABYTE = 1_000_000

interface Misbehaviour {
  readonly what: string
  readonly method?: string
  readonly path?: string
  /** Created once, before the pings begin. */
  body(bytes: number): string
}

function list(count: number, item: (index: number) => string, by = ','): string {
  return Array.from({ length: count }, (_, index) => item(index)).join(by)
}

function statement(what: string, sql: () => string, params = '{}'): Misbehaviour {
  return { what, body: () => `{"query":${JSON.stringify(sql())},"params":${params}}` }
}

const KB = '/api/projects/mindsdb/knowledge_bases/kb'

/** What one client sends repeatedly. Those that depend on a body's size have about 60 MB. */
const MISBEHAVIOURS: readonly Misbehaviour[] = [
  statement('1 MB of 1+', () => `SELECT ${'1+'.repeat(MEGABYTE / 2)}1`),
  statement('5 MB of 1+', () => `SELECT ${'1+'.repeat(2.5 * MEGABYTE)}1`),
  statement('5 000 columns', () => `SELECT ${list(5000, String)}`),
  statement('IN of 24 000 numbers', () => {
    return `SELECT id FROM kb WHERE price IN (${list(24_000, String)})`
  }),
  statement('IN of 20 000 texts', () => {
    return `SELECT id FROM kb WHERE content IN (${list(20_000, (index) => `'t${index}'`)})`
  }),
  statement('100 searches', () => {
    return list(100, (index) => `SELECT id FROM kb WHERE content = 't${index}'`, ' UNION ALL ')
  }),
  statement('2 000 CTEs', () => {
    return `WITH ${list(2000, (index) => `c${index} AS (SELECT ${index} a)`)} SELECT * FROM c1999`
  }),
  statement('10 000 joins', () => `SELECT 1 FROM ${list(10_000, (index) => `kb t${index}`)}`),
  statement('1 MB of parentheses', () => `SELECT ${'('.repeat(MEGABYTE)}`),
  statement('1 MB of quotes', () => `SELECT ${"'".repeat(MEGABYTE)}`),
  statement('1 MB of comments', () => `SELECT 1 ${'/**/'.repeat(MEGABYTE / 4)}`),
  statement('INSERT of 8 000 VALUES', () => {
    return `INSERT INTO kb (id, content) VALUES ${list(8000, (index) => `('${index}','')`)}`
  }),
  statement('20 000 values as params', () => 'SELECT len(:a)', `{"a":[${'1,'.repeat(19_998)}1]}`),
  { what: 'a literal', body: (bytes) => `{"query":"SELECT '${'x'.repeat(bytes)}'"}` },
  { what: 'escapes', body: (bytes) => `{"query":"${'\\"'.repeat(bytes / 2)}"}` },
  { what: 'small values', body: (bytes) => `{"params":{"a":[${'1,'.repeat(bytes / 2)}1]}}` },
  {
    what: 'numbers of 19 digits',
    body: (bytes) => `{"params":{"a":[${'1234567890123456789,'.repeat(bytes / 20)}1]}}`,
  },
  { what: 'open brackets', body: (bytes) => '['.repeat(bytes) },
  { what: 'keys', body: (bytes) => `{"params":{${list(bytes / 15, (n) => `"k${n}":1`)}}}` },
  {
    what: 'rows of one number',
    method: 'PUT',
    path: KB,
    body: (bytes) => `{"knowledge_base":{"rows":[${'{"id":1},'.repeat(bytes / 9)}{"id":1}]}}`,
  },
  {
    what: 'a text to search for',
    path: `${KB}/search`,
    body: (bytes) => `{"query":"${'word '.repeat(bytes / 5)}"}`,
  },
]

/** Measures how long others wait while one client misbehaves. */
export const misbehaviour: Scenario = {
  name: 'misbehaviour',
  title: 'GET /api/util/ping every 5 ms while one client sends one thing again and again',
  run: (size) => {
    return withServer({}, async (bench) => {
      await bench.client.request('POST', '/projects/mindsdb/knowledge_bases', {
        knowledge_base: { name: 'kb' },
      })
      const rows = [{ id: 'a', content: 'green tea', price: 1 }]
      await bench.client.request('PUT', '/projects/mindsdb/knowledge_bases/kb', {
        knowledge_base: { rows },
      })
      const measures: Measure[] = []
      for (const one of MISBEHAVIOURS) {
        measures.push(...(await measured(bench, one, size === 'quick')))
      }
      return measures
    })
  },
}

const LASTS_MS = 4000

async function measured(
  { server }: Bench,
  { what, method = 'POST', path = '/api/sql/query', body }: Misbehaviour,
  isQuick: boolean,
): Promise<readonly Measure[]> {
  const bytes = Buffer.from(body(isQuick ? 6 * MEGABYTE : 60 * MEGABYTE))
  const pings = await startPings(`${server.baseUrl}/api/util/ping`)
  try {
    const until = performance.now() + (isQuick ? 0 : LASTS_MS)
    do {
      const headers = { 'content-type': 'application/json' }
      const answer = await fetch(`${server.baseUrl}${path}`, { method, headers, body: bytes })
      await answer.arrayBuffer()
      if (answer.status >= 500) throw new Error(`${what}: answered with ${answer.status}`)
    } while (performance.now() < until)
    const latenciesMs = await pings.stop()
    return [
      { what: `${what}, p50`, value: percentile(latenciesMs, 0.5), unit: 'ms' },
      { what: `${what}, p99`, value: percentile(latenciesMs, 0.99), unit: 'ms' },
      { what: `${what}, longest`, value: latenciesMs.at(-1) ?? Number.NaN, unit: 'ms' },
    ]
  } finally {
    await pings.end()
  }
}
