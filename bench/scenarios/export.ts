import { join } from 'node:path'
import { percentile } from '../load.ts'
import { type Bench, type Measure, residentMb, type Scenario, withServer } from '../scenario.ts'

const TICKER = join(import.meta.dir, '../ping-ticker.ts')
const SAMPLE_MS = 50

/** Measures a large result: how fast it arrives, its memory, and how long others wait. */
export const exportRows: Scenario = {
  name: 'export',
  title: 'One large result as JSON and as Parquet',
  run: (size) =>
    withServer({}, async (bench) => {
      const rows = size === 'quick' ? 100_000 : 1_000_000
      const measures: Measure[] = []
      for (const [what, accept] of FORMATS) {
        measures.push(...(await exported(bench, { what, accept, rows })))
      }
      return measures
    }),
}

const FORMATS = [
  ['JSON', 'application/json'],
  ['Parquet', 'application/vnd.apache.parquet'],
] as const

interface Export {
  readonly what: string
  readonly accept: string
  readonly rows: number
}

async function exported(
  { server }: Bench,
  { what, accept, rows }: Export,
): Promise<readonly Measure[]> {
  const idleMb = residentMb(server.pid)
  let peakMb = idleMb
  const sampler = setInterval(() => {
    peakMb = Math.max(peakMb, residentMb(server.pid))
  }, SAMPLE_MS)
  const ticker = Bun.spawn([process.execPath, TICKER, `${server.baseUrl}/api/util/ping`], {
    stdin: 'pipe',
    stdout: 'pipe',
  })
  const startedAt = performance.now()
  const bytes = await bytesOf(server.baseUrl, accept, rows)
  const seconds = (performance.now() - startedAt) / 1000
  clearInterval(sampler)
  await ticker.stdin.end()
  const pings: readonly number[] = JSON.parse(await new Response(ticker.stdout).text())
  return [
    { what: `${what}: rows`, value: rows / seconds, unit: 'per second' },
    { what: `${what}: answer`, value: bytes / 1e6, unit: 'MB' },
    { what: `${what}: memory above idle, peak`, value: peakMb - idleMb, unit: 'MB' },
    { what: `${what}: a ping meanwhile, p99`, value: percentile(pings, 0.99), unit: 'ms' },
    { what: `${what}: a ping meanwhile, longest`, value: pings.at(-1) ?? Number.NaN, unit: 'ms' },
  ]
}

/** Reads the answer as it arrives and keeps none of it. */
async function bytesOf(baseUrl: string, accept: string, rows: number): Promise<number> {
  const query = `SELECT x AS id, 'row ' || x AS name, x / 7 AS share, x % 2 = 0 AS even FROM range(${rows}) AS t(x)`
  const answer = await fetch(`${baseUrl}/api/sql/query`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept },
    body: JSON.stringify({ query }),
  })
  let bytes = 0
  let end = ''
  for await (const part of answer.body ?? []) {
    bytes += part.length
    end = new TextDecoder().decode(part.slice(-200))
  }
  if (end.includes('"type":"error"')) throw new Error(end)
  return bytes
}
