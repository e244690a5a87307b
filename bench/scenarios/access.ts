import { type Measure, type Scenario, withServer } from '../scenario.ts'
import { cpuMsOf } from '../server-cpu.ts'

const KEYS = 1_000
/** How many of them send requests, each over its own connection. */
const BUSY = 10
const LOGIN = { username: 'ada', password: 'secret' }
const ENVIRONMENT = { EIDER_USERNAME: LOGIN.username, EIDER_PASSWORD: LOGIN.password }
/** Loads alternate in slices, so that a slow moment affects all of them. */
const SLICES = 6

interface Callers {
  readonly what: string
  readonly baseUrl: string
  readonly pid: number
  /** What each of them sends as `Authorization`. */
  readonly authorizations: readonly (string | null)[]
}

export const access: Scenario = {
  name: 'access',
  title: 'What it costs to know who asks: 1 000 keys of which ten are busy, a login, and nobody',
  run: (size) =>
    withServer(ENVIRONMENT, ({ server: locked }) =>
      withServer({}, async ({ server: open }) => {
        const token = await tokenOf(locked.baseUrl)
        const keys = await keysOf(locked.baseUrl, token)
        const same = (authorization: string | null) => Array(BUSY).fill(authorization)
        const step = Math.floor(KEYS / BUSY)
        const busy = keys.filter((_, at) => at % step === 0).map((key) => `Bearer ${key}`)
        return measured(
          [
            { ...open, what: 'open', authorizations: same(null) },
            { ...locked, what: 'with the token of a login', authorizations: same(token) },
            { ...locked, what: 'with one of ten keys', authorizations: busy },
          ],
          size === 'quick' ? 100 : 1_000,
        )
      }),
    ),
}

/** @param count the number of requests of each caller in a slice */
async function measured(all: readonly Callers[], count: number): Promise<readonly Measure[]> {
  const cpuMs = all.map(() => 0)
  // Warm up first, because Bun compiles code that runs often.
  for (const callers of all) await sendAll(callers, count)
  for (let slice = 0; slice < SLICES; slice += 1) {
    for (const [at, callers] of all.entries()) {
      const before = cpuMsOf(callers.pid)
      await sendAll(callers, count)
      cpuMs[at] = (cpuMs[at] ?? 0) + cpuMsOf(callers.pid) - before
    }
  }
  const perRequest = cpuMs.map((ms) => (ms * 1_000) / (SLICES * BUSY * count))
  const [own = 0] = perRequest
  const figures = all.map(({ what }, at): Measure => {
    return { what: `CPU per request, ${what}`, value: perRequest[at] ?? 0, unit: 'µs' }
  })
  const more = all.slice(1).map(({ what }, at): Measure => {
    return { what: `more than open, ${what}`, value: (perRequest[at + 1] ?? 0) - own, unit: 'µs' }
  })
  return [...figures, ...more]
}

async function sendAll({ baseUrl, authorizations }: Callers, count: number): Promise<void> {
  await Promise.all(
    authorizations.map(async (authorization) => {
      const headers = authorization === null ? {} : { authorization }
      for (let sent = 0; sent < count; sent += 1) {
        const response = await fetch(`${baseUrl}/api/projects`, { headers })
        const body = await response.text()
        if (response.status !== 200) throw new Error(`answered ${response.status}: ${body}`)
      }
    }),
  )
}

async function tokenOf(baseUrl: string): Promise<string> {
  const { token } = (await answerOf(baseUrl, '/api/login', LOGIN, null)) as { token: string }
  return `Bearer ${token}`
}

async function keysOf(baseUrl: string, authorization: string): Promise<readonly string[]> {
  const keys: string[] = []
  for (let at = 0; at < KEYS; at += 1) {
    // A limit that is counted but never reached.
    const fields = { name: `key ${at}`, scopes: ['read'], requests_per_minute: 1_000_000 }
    const { key } = (await answerOf(baseUrl, '/api/keys', fields, authorization)) as { key: string }
    keys.push(key)
  }
  return keys
}

async function answerOf(
  baseUrl: string,
  path: string,
  body: object,
  authorization: string | null,
): Promise<unknown> {
  const headers = {
    'content-type': 'application/json',
    ...(authorization === null ? {} : { authorization }),
  }
  const sent = { method: 'POST', headers, body: JSON.stringify(body) }
  const response = await fetch(`${baseUrl}${path}`, sent)
  if (!response.ok) throw new Error(`${path} answered ${response.status}`)
  return response.json()
}
