import { loadMeasure, runLoad } from '../load.ts'
import { type Bench, type Measure, type Scenario, withServer } from '../scenario.ts'

const LONG_STATEMENTS = 4
/** It runs far longer than the measurement, until its deadline or until the client disconnects. */
const LONG =
  'SELECT count(*) FROM range(400000) AS a(x), range(400000) AS b(y) WHERE (x * y) % 7 = 3'
const SHORT = 'SELECT count(*) AS n, sum(x) AS s FROM range(1000) AS t(x)'

/** Measures admission control: small requests must not wait for large ones. */
export const besideLong: Scenario = {
  name: 'beside-long',
  title: `A short statement while ${LONG_STATEMENTS} long ones run`,
  run: (size) =>
    withServer({}, async (bench) => {
      const durationMs = size === 'quick' ? 2000 : 20_000
      const alone = await shorts(bench, 'alone', 2000)
      const stop = new AbortController()
      const longs = Array.from({ length: LONG_STATEMENTS }, () => long(bench, stop.signal))
      await Bun.sleep(500)
      try {
        return [alone, await shorts(bench, 'beside', durationMs)]
      } finally {
        stop.abort()
        await Promise.allSettled(longs)
      }
    }),
}

async function shorts(
  { client, server }: Bench,
  what: string,
  durationMs: number,
): Promise<Measure> {
  const load = { clients: 1, requestsMax: 100_000, durationMs, pid: server.pid }
  return loadMeasure(what, await runLoad(load, () => client.sql(SHORT)))
}

async function long({ server }: Bench, signal: AbortSignal): Promise<void> {
  const answer = await fetch(`${server.baseUrl}/api/sql/query`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query: LONG }),
    signal,
  })
  await answer.text()
}
