import { join } from 'node:path'
import { httpMeasure } from '../http-load.ts'
import { type Measure, type Scenario, withServer } from '../scenario.ts'

/** More than can be sent in this time. */
const DISTINCT = 100_000

const BARE = join(import.meta.dir, '..', 'peers', 'bare-server.ts')

interface Target {
  readonly name: string
  readonly baseUrl: string
  readonly pid: number
}

export const selectOne: Scenario = {
  name: 'select-one',
  title: 'Small SQL statements with 16 clients, and a bare server of Bun and DuckDB beside it',
  run: (size) =>
    withServer({}, async ({ server: { baseUrl, pid } }) => {
      const bare = await startBare()
      try {
        const seconds = size === 'quick' ? 1 : 5
        const measures: Measure[] = []
        for (const target of [{ name: 'Eider', baseUrl, pid }, bare]) {
          measures.push(...(await measured(target, seconds)))
        }
        return measures
      } finally {
        bare.stop()
      }
    }),
}

async function measured({ name, baseUrl, pid }: Target, seconds: number) {
  const load = {
    baseUrl,
    pid,
    method: 'POST',
    path: '/sql/query',
    clients: 16,
    seconds,
    check: async (body: string) => {
      const headers = { 'content-type': 'application/json' }
      const url = `${baseUrl}/api/sql/query`
      const response = await fetch(url, { method: 'POST', headers, body })
      const { data } = (await response.json()) as { readonly data?: readonly unknown[] }
      if (data?.length !== 1) throw new Error(`${name} does not answer ${body} with one row`)
    },
  } as const
  const same = [JSON.stringify({ query: 'SELECT 1' })]
  const distinct = Array.from({ length: DISTINCT }, (_, index) => {
    return JSON.stringify({ query: `SELECT ${index} AS value` })
  })
  // Warm up first, because Bun compiles code that runs often.
  for (const bodies of [same, distinct]) {
    await httpMeasure('warm-up', { ...load, bodies, seconds: Math.min(seconds, 3) })
  }
  return [
    await httpMeasure(`${name}: SELECT 1, the same text`, { ...load, bodies: same }),
    await httpMeasure(`${name}: SELECT 1, each text new`, { ...load, bodies: distinct }),
  ]
}

async function startBare(): Promise<Target & { stop(): void }> {
  const env = { ...process.env, UV_THREADPOOL_SIZE: '16' }
  const child = Bun.spawn([process.execPath, BARE], { env, stdout: 'pipe', stderr: 'inherit' })
  const { value } = await child.stdout.getReader().read()
  const baseUrl = new TextDecoder().decode(value).trim()
  return { name: 'bare', baseUrl, pid: child.pid, stop: () => child.kill() }
}
