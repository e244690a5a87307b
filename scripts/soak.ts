/**
 * `npm run soak -- --minutes 15` runs a server under mixed load, over HTTP only. Each minute it
 * prints memory, the sizes of file and log, and the duration of pings. It exits with 1 if memory
 * does not level off (the last third of the time takes over 10 % more than the middle third), if
 * the file outgrows its limit, or if a request fails.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { percentile } from '../bench/load.ts'
import { eiderClient } from './eider-client.ts'
import { startServer } from './server-process.ts'

const DOCUMENTS = 400
const DOCUMENTS_PER_INSERT = 20
/** The file levels off at about 50 MB within ten minutes. The log is written into it at 16 MB. */
const FILE_BYTES_MAX = 80e6
const RSS_GROWTH_MAX = 0.1
const PING_EVERY_MS = 50
const SAMPLE_EVERY_MS = 5_000
const WORDS =
  'green black white tea cup pot leaf water steam morning garden market price river stone paper window'.split(
    ' ',
  )

const { values } = parseArgs({
  args: process.argv.slice(2),
  options: { minutes: { type: 'string', default: '15' } },
})
const durationMs = Number(values.minutes) * 60_000
if (!(durationMs > 0)) throw new Error('usage: soak.ts --minutes <number>')

const folder = mkdtempSync(join(tmpdir(), 'eider-soak-'))
const server = await startServer({ dataDirectory: folder })
const client = eiderClient(server.baseUrl)
const endMs = performance.now() + durationMs
const isOver = () => performance.now() >= endMs

const failures = new Map<string, number>()
const counts = new Map<string, number>()

function tally(map: Map<string, number>, name: string): void {
  map.set(name, (map.get(name) ?? 0) + 1)
}

/** Repeats the work and records failures. */
async function worker(name: string, pauseMs: number, work: (round: number) => Promise<unknown>) {
  for (let round = 0; !isOver(); round += 1) {
    try {
      await work(round)
      tally(counts, name)
    } catch (error) {
      tally(failures, `${name}: ${error instanceof Error ? error.message.slice(0, 200) : error}`)
    }
    await Bun.sleep(pauseMs)
  }
}

function text(seed: number): string {
  return Array.from(
    { length: 100 },
    (_, word) => WORDS[(seed * 7 + word * seed) % WORDS.length],
  ).join(' ')
}

const kb = '/projects/mindsdb/knowledge_bases/soaked'

async function replaceDocuments(round: number): Promise<void> {
  const rows = Array.from({ length: DOCUMENTS_PER_INSERT }, (_, index) => {
    const number = (round * DOCUMENTS_PER_INSERT + index) % DOCUMENTS
    return {
      id: `d${number}`,
      content: `${text(round + index)} ${round}`,
      price: number % 9,
      round,
    }
  })
  await client.request('PUT', kb, { knowledge_base: { rows } })
}

async function shortLived(round: number): Promise<void> {
  const name = `short_${round}`
  await client.sql(`CREATE KNOWLEDGE_BASE ${name}`)
  const rows = [1, 2, 3].map((id) => ({ id, content: text(id + round) }))
  await client.request('PUT', `/projects/mindsdb/knowledge_bases/${name}`, {
    knowledge_base: { rows },
  })
  await client.sql(`CREATE TABLE made_${round} AS SELECT * FROM range(20000)`)
  await client.sql(`DROP TABLE made_${round}`)
  await client.sql(`DROP KNOWLEDGE_BASE ${name}`)
}

async function file(round: number): Promise<void> {
  const form = new FormData()
  form.append('file', new File(['a,b\n', `${round},2\n`.repeat(5000)], 'soak.csv'))
  const url = `${server.baseUrl}/api/files/soak`
  const answer = await fetch(url, { method: 'PUT', body: form })
  if (!answer.ok) throw new Error(`upload ${answer.status}`)
  await client.sql('SELECT sum(b) FROM files.soak')
  await client.request('DELETE', '/files/soak')
}

async function ask(round: number): Promise<void> {
  const messages = [{ question: `What about ${WORDS[round % WORDS.length]}?`, answer: '' }]
  await client.request('POST', '/projects/mindsdb/agents/soaker/completions', { messages })
}

/** Reads the beginning of a large answer slowly, then disconnects. */
async function slowReader(): Promise<void> {
  const abort = new AbortController()
  const query = `SELECT range, repeat('x', 200) FROM range(2000000)`
  const answer = await fetch(`${server.baseUrl}/api/sql/query`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
    signal: abort.signal,
  })
  const reader = answer.body?.getReader()
  for (let parts = 0; parts < 20 && !isOver(); parts += 1) {
    await reader?.read()
    await Bun.sleep(200)
  }
  abort.abort()
}

/** Disconnects before the answer begins. */
async function impatient(): Promise<void> {
  const query =
    'SELECT count(*) FROM range(3000000) a JOIN range(3000) b ON a.range % 1000 = b.range % 1000'
  await fetch(`${server.baseUrl}/api/sql/query`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
    signal: AbortSignal.timeout(150),
  }).then(
    (answer) => answer.text(),
    () => '',
  )
}

const rssSamples: number[] = []
let pings: number[] = []
let largestFile = 0

async function pinging(): Promise<void> {
  while (!isOver()) {
    const sentAt = performance.now()
    const answer = await fetch(`${server.baseUrl}/api/util/ping`)
    await answer.arrayBuffer()
    pings.push(performance.now() - sentAt)
    await Bun.sleep(PING_EVERY_MS)
  }
}

async function sampling(): Promise<void> {
  const perMinute = 60_000 / SAMPLE_EVERY_MS
  for (let sample = 1; !isOver(); sample += 1) {
    await Bun.sleep(SAMPLE_EVERY_MS)
    rssSamples.push(rssBytes(server.pid))
    const data = sizeOf('eider-data.duckdb')
    const log = sizeOf('eider-data.duckdb.wal')
    largestFile = Math.max(largestFile, data + log)
    if (sample % perMinute !== 0) continue
    const ascending = pings.sort((a, b) => a - b)
    pings = []
    const shown = {
      minute: sample / perMinute,
      rss_mb: megabytes(rssSamples.at(-1) ?? 0),
      file_mb: megabytes(data),
      log_mb: megabytes(log),
      ping_p99_ms: Math.round(percentile(ascending, 0.99)),
      ...Object.fromEntries(counts),
    }
    process.stdout.write(`${JSON.stringify(shown)}\n`)
  }
}

function sizeOf(name: string): number {
  return statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0
}

function rssBytes(pid: number): number {
  const { stdout } = Bun.spawnSync(['ps', '-o', 'rss=', '-p', String(pid)])
  return Number(stdout.toString().trim()) * 1024
}

function megabytes(bytes: number): number {
  return Math.round(bytes / 1e5) / 10
}

function mean(samples: readonly number[]): number {
  return samples.reduce((sum, one) => sum + one, 0) / samples.length
}

function verdicts(): readonly string[] {
  const third = Math.floor(rssSamples.length / 3)
  const middle = mean(rssSamples.slice(third, 2 * third))
  const last = mean(rssSamples.slice(2 * third))
  const growth = last / middle - 1
  process.stdout.write(
    `memory: ${megabytes(middle)} MB in the middle third, ${megabytes(last)} MB in the last (${(growth * 100).toFixed(1)} %)\n`,
  )
  process.stdout.write(`file and log: at most ${megabytes(largestFile)} MB\n`)
  return [
    ...(growth > RSS_GROWTH_MAX
      ? [`memory does not level off: ${(growth * 100).toFixed(1)} %`]
      : []),
    ...(largestFile > FILE_BYTES_MAX ? [`file and log reached ${megabytes(largestFile)} MB`] : []),
    ...[...failures].map(([what, count]) => `${count} × ${what}`),
  ]
}

try {
  await client.sql('CREATE KNOWLEDGE_BASE soaked')
  await replaceDocuments(0)
  const agent = { name: 'soaker', data: { knowledge_bases: ['mindsdb.soaked'] } }
  await client.request('POST', '/projects/mindsdb/agents', { agent })
  await Promise.all([
    worker('inserts', 20, replaceDocuments),
    worker('searches', 20, (round) =>
      client.sql(
        `SELECT id, relevance FROM soaked WHERE content = '${text(round).slice(0, 60)}' LIMIT 5`,
      ),
    ),
    worker('sql', 30, (round) =>
      client.sql(
        `SELECT price, count(*), max(round) FROM soaked WHERE price <> ${round % 9} GROUP BY price`,
      ),
    ),
    worker('updates', 200, (round) =>
      client.sql(`UPDATE soaked SET price = ${round % 9} WHERE id = 'd${round % DOCUMENTS}'`),
    ),
    worker('deletes', 1000, (round) =>
      client.sql(`DELETE FROM soaked WHERE id = 'd${round % DOCUMENTS}'`),
    ),
    worker('short_lived', 500, shortLived),
    worker('files', 500, file),
    worker('questions', 300, ask),
    worker('slow_readers', 100, slowReader),
    worker('cancelled', 1000, impatient),
    pinging(),
    sampling(),
  ])
  const broken = verdicts()
  for (const one of broken) process.stdout.write(`FAILED ${one}\n`)
  process.exitCode = broken.length > 0 ? 1 : 0
} finally {
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
}
