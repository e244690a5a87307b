import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { createKnowledgeBase, fill } from '../filling.ts'
import { percentile } from '../load.ts'
import { sampleTexts } from '../sample-texts.ts'
import { type Bench, type Measure, PROJECT, type Scenario, withServer } from '../scenario.ts'

const PROGRAM = join(import.meta.dir, '..', 'connection-flood.ts')
const SILENT_CONNECTIONS = 64
const KB = { knowledgeBase: 'kb', documents: 200, wordsPerDocument: 100 }

interface Flood {
  readonly what: string
  readonly path: string
  readonly method?: string
  readonly body?: string
}

function statement(what: string, query: string): Flood {
  return { what, method: 'POST', path: '/api/sql/query', body: JSON.stringify({ query }) }
}

/** Requests that are public or refused, so that anyone can send them. */
const FLOODS: readonly Flood[] = [
  { what: 'the OpenAPI document', path: '/openapi.json' },
  { what: 'the documentation', path: '/docs' },
  { what: 'the page', path: '/' },
  { what: 'health checks', path: '/healthz' },
  { what: 'the status', path: '/api/status' },
  { what: 'pings', path: '/api/util/ping' },
  { what: 'addresses of nothing', path: '/api/nothing' },
  { what: 'a wrong method', method: 'DELETE', path: '/api/status' },
  {
    what: 'wrong logins',
    method: 'POST',
    path: '/api/login',
    body: '{"username":"a","password":"b"}',
  },
  {
    what: '100 KB that is not JSON',
    method: 'POST',
    path: '/api/sql/query',
    body: `"${'x'.repeat(1e5)}`,
  },
  statement('118 KB of 1+', `SELECT ${'1+'.repeat(59_000)}1`),
  statement(
    'a definition with 9,000 parameters',
    `CREATE KNOWLEDGE_BASE x USING ${Array.from({ length: 9000 }, (_, index) => `a${index} = 1`).join(', ')}`,
  ),
  {
    what: 'questions to no model',
    method: 'POST',
    path: '/v1/chat/completions',
    body: JSON.stringify({ model: 'x', messages: [{ role: 'user', content: 'x'.repeat(1e5) }] }),
  },
  {
    what: 'MCP calls of nothing',
    method: 'POST',
    path: '/mcp',
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'x', params: { text: 'x'.repeat(1e5) } }),
  },
]

/** Clients open a connection per request. Measures how long others with open connections wait. */
export const flood: Scenario = {
  name: 'flood',
  title: 'Statements and searches that are all new, while others open a connection per request',
  run: async (size) => {
    const texts = await sampleTexts()
    return withServer({}, async (bench) => {
      await createKnowledgeBase(bench, KB)
      await fill(bench, KB, texts)
      const durationMs = size === 'quick' ? 500 : 3000
      const measures = [...(await asked(bench, 'alone', durationMs))]
      for (const one of FLOODS) {
        for (const clients of [8, 20]) {
          measures.push(...(await besideFlood(bench, one, clients, durationMs)))
        }
      }
      return [...measures, ...(await besideSilence(bench, durationMs))]
    })
  },
}

async function besideFlood(
  bench: Bench,
  { what, ...request }: Flood,
  clients: number,
  durationMs: number,
): Promise<readonly Measure[]> {
  const { port } = new URL(bench.server.baseUrl)
  const sent = [port, JSON.stringify(request), String(clients), String(Number.MAX_SAFE_INTEGER)]
  const child = Bun.spawn([process.execPath, PROGRAM, ...sent], { stderr: 'inherit' })
  // A server that the flood blocks answers when it is over.
  const timer = setTimeout(() => child.kill(), 2 * durationMs)
  try {
    await Bun.sleep(300)
    return await asked(bench, `${clients} × ${what}`, durationMs)
  } finally {
    clearTimeout(timer)
    child.kill()
    await child.exited
  }
}

async function besideSilence(bench: Bench, durationMs: number): Promise<readonly Measure[]> {
  const { port } = new URL(bench.server.baseUrl)
  const sockets = Array.from({ length: SILENT_CONNECTIONS }, (_, index): Socket => {
    const socket = connect(Number(port), '127.0.0.1', () => {
      if (index % 2 === 0) socket.write('GET /api/util/pi')
    })
    return socket.on('error', () => {})
  })
  try {
    return await asked(bench, `${SILENT_CONNECTIONS} silent connections`, durationMs)
  } finally {
    for (const socket of sockets) socket.destroy()
  }
}

let lastNumber = 0

async function asked(
  { client }: Bench,
  what: string,
  durationMs: number,
): Promise<readonly Measure[]> {
  const number = () => {
    lastNumber += 1
    return lastNumber
  }
  const [statements, searches] = await Promise.all([
    latenciesOf(durationMs, () => client.sql(`SELECT ${number()} AS n`)),
    latenciesOf(durationMs, () => {
      const query = `green river ${number()}`
      return client.request('POST', `${PROJECT}/knowledge_bases/kb/search`, { query })
    }),
  ])
  return [...figures(`${what}: SELECT`, statements), ...figures(`${what}: search`, searches)]
}

/** Returns at least one, in ascending order, however long that takes. */
async function latenciesOf(
  durationMs: number,
  request: () => Promise<unknown>,
): Promise<readonly number[]> {
  const latenciesMs: number[] = []
  const endsAt = performance.now() + durationMs
  do {
    const sentAt = performance.now()
    await request()
    latenciesMs.push(performance.now() - sentAt)
  } while (performance.now() < endsAt)
  return latenciesMs.sort((a, b) => a - b)
}

function figures(what: string, latenciesMs: readonly number[]): readonly Measure[] {
  return [
    { what: `${what}, p50`, value: percentile(latenciesMs, 0.5), unit: 'ms' },
    { what: `${what}, p99`, value: percentile(latenciesMs, 0.99), unit: 'ms' },
  ]
}
