import { expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sampleOf } from '../../support/sample.ts'
import { type ServerProcess, startServer, withFolder } from '../server/server-process.ts'
import { HOSTILE_CORPUS } from './hostile-corpus.ts'

const AT_ONCE = 10
/** To check only some files: `HOSTILE=gigabyte bun test …`. */
const CHOSEN = new RegExp(process.env.HOSTILE ?? '')

interface Answered {
  readonly name: string
  readonly status: number
  readonly ms: number
  readonly said: string
}

async function sent(server: ServerProcess, name: string): Promise<Answered> {
  const bytes = HOSTILE_CORPUS[name]?.() ?? ''
  const path = `/api/files/${encodeURIComponent(name)}`
  const startedAt = performance.now()
  const answer = await fetch(`${server.url}${path}`, { method: 'PUT', body: bytes as BodyInit })
  const said = (await answer.text()).slice(0, 300)
  const ms = performance.now() - startedAt
  if (answer.status === 200) await fetch(`${server.url}${path}`, { method: 'DELETE' })
  return { name, status: answer.status, ms, said }
}

/** Returns the resident memory of a process, or null on systems that do not report it. */
function residentBytes(pid: number): number | null {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) * 4096
  } catch {
    return null
  }
}

function childrenOf(pid: number): readonly number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
      .split(' ')
      .filter((id) => id !== '')
      .map(Number)
  } catch {
    return []
  }
}

async function pings(server: ServerProcess, until: AbortSignal): Promise<readonly number[]> {
  const found: number[] = []
  while (!until.aborted) {
    const startedAt = performance.now()
    await (await fetch(`${server.url}/api/util/ping`)).text()
    found.push(performance.now() - startedAt)
    await Bun.sleep(10)
  }
  return found.toSorted((first, second) => first - second)
}

test('nothing that is sent ends, holds up or swells the server', async () => {
  await withFolder(async (folder) => {
    const server = await startServer({
      EIDER_DATA_DIR: folder,
      EIDER_LOG_LEVEL: 'silent',
      EIDER_BODY_BYTES_MAX: String(256 * 1024 * 1024),
    })
    // Loads what every server has in memory once it has read a file.
    await fetch(`${server.url}/api/files/first.csv`, { method: 'PUT', body: 'a,b\n1,2\n' })
    const before = residentBytes(server.pid)
    const over = new AbortController()
    const pinged = pings(server, over.signal)
    const chosen = Object.keys(HOSTILE_CORPUS).filter((name) => CHOSEN.test(name))
    const names = process.env.HOSTILE === undefined ? sampleOf(chosen, 3) : chosen
    const remaining = names.values()
    const answers: Answered[] = []
    const lane = async () => {
      for (const name of remaining) answers.push(await sent(server, name))
    }
    await Promise.all(Array.from({ length: AT_ONCE }, lane))
    over.abort()
    const times = await pinged
    const after = residentBytes(server.pid)

    const slowest = answers.toSorted((first, second) => second.ms - first.ms)
    const counts = Object.groupBy(answers, ({ status }) => String(status))
    process.stderr.write(
      `${answers.length} files: ${Object.entries(counts).map(([status, of]) => `${of?.length} × ${status}`)}; ` +
        `slowest ${slowest.slice(0, 5).map(({ name, ms }) => `${name} ${Math.round(ms)} ms`)}; ` +
        `pings p50 ${times[times.length >> 1]?.toFixed(1)} p99 ${times[Math.floor(times.length * 0.99)]?.toFixed(1)} worst ${times.at(-1)?.toFixed(1)} ms; ` +
        `memory ${Math.round((before ?? 0) / 1e6)} → ${Math.round((after ?? 0) / 1e6)} MB\n`,
    )
    if (process.env.HOSTILE !== undefined) {
      for (const { name, status, ms, said } of answers) {
        process.stderr.write(`${name} ${status} ${Math.round(ms)} ms ${said}\n`)
      }
    }
    const strange = answers.filter(({ status }) => ![200, 400, 413].includes(status))
    expect(strange).toEqual([])
    for (const { status, said } of answers) {
      if (status !== 200)
        expect(said).not.toMatch(/node_modules|\.ts:|\/tmp|uploads|Internal error/)
    }
    expect(readdirSync(join(folder, 'uploads'))).toEqual([])
    // The server is still the same process.
    expect((await fetch(`${server.url}/api/util/ping`)).status).toBe(200)
    const readers = childrenOf(server.pid)
    server.kill('SIGKILL')
    await server.exited
    while (readers.some(isAlive)) await Bun.sleep(5)
  })
}, 600_000)

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
