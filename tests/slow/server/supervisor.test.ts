import { describe, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stopSignals } from '../../../src/ops/supervisor/supervise.ts'
import {
  failingStart,
  type ServerProcess,
  startServer,
  startSupervised,
  untilRunning,
  withFolder,
} from './server-process.ts'

const KBS = '/api/projects/mindsdb/knowledge_bases'
const READY_MS_MAX = 30_000
const POLL_MS = 20
/** Runs far longer than any of these tests. */
const ENDLESS_SQL = 'SELECT sum(a.range * b.range) FROM range(3000000) a, range(3000000) b'

/** Returns the ID of the process that serves. */
async function serverPid(folder: string): Promise<number> {
  const note = JSON.parse(await readFile(join(folder, 'eider.lock'), 'utf8'))
  return (note as { processId: number }).processId
}

/** Waits until a server with a process ID other than `earlier` responds. */
async function untilRestarted(server: ServerProcess, folder: string, earlier: number) {
  const deadline = Date.now() + READY_MS_MAX
  while (Date.now() < deadline) {
    const pid = await serverPid(folder).catch(() => earlier)
    const answer =
      pid === earlier ? undefined : await server.send('GET', '/healthz').catch(() => undefined)
    if (answer?.status === 200) return pid
    await Bun.sleep(POLL_MS)
  }
  throw new Error(`the server did not come back, process ${await serverPid(folder)} has the folder`)
}

async function untilGone(pid: number): Promise<void> {
  const deadline = Date.now() + READY_MS_MAX
  while (isAlive(pid)) {
    if (Date.now() > deadline) throw new Error(`process ${pid} is still there`)
    await Bun.sleep(POLL_MS)
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** Runs the program with a supervisor in a temporary folder, and stops it in the end. */
function supervised(
  work: (server: ServerProcess, folder: string) => Promise<void>,
  environment: Readonly<Record<string, string>> = {},
): Promise<void> {
  return withFolder(async (folder) => {
    const server = await startSupervised({ EIDER_DATA_DIR: folder, ...environment })
    try {
      await work(server, folder)
    } finally {
      server.kill('SIGTERM')
      await server.exited
    }
  })
}

describe('a server that crashes', () => {
  test('by any signal, again and again, is there again, at the same address, with what it acknowledged', async () => {
    await supervised(async (server, folder) => {
      expect((await server.send('POST', KBS, { knowledge_base: { name: 'kept' } })).status).toBe(
        201,
      )
      let pid = await serverPid(folder)
      expect(pid).not.toBe(server.pid)
      for (const signal of ['SIGSEGV', 'SIGABRT', 'SIGKILL'] as const) {
        process.kill(pid, signal)
        pid = await untilRestarted(server, folder, pid)
        expect((await server.send('GET', `${KBS}/kept`)).status).toBe(200)
      }
      server.kill('SIGTERM')
      expect(await server.exited).toBe(0)
    })
  }, 180_000)

  test('while it writes has written all or nothing', async () => {
    await supervised(async (server, folder) => {
      await server.send('POST', KBS, { knowledge_base: { name: 'k' } })
      const rows = Array.from({ length: 200 }, (_, id) => ({ id, content: `tea number ${id}` }))
      const written = server
        .send('PUT', `${KBS}/k`, { knowledge_base: { rows } })
        .then((answer) => answer.status)
        .catch(() => 'torn')
      const pid = await serverPid(folder)
      process.kill(pid, 'SIGSEGV')
      await untilRestarted(server, folder, pid)
      const query = 'SELECT count(*) AS n FROM k'
      const answer = await server.send('POST', '/api/sql/query', { query })
      const { data } = (await answer.json()) as { data: readonly (readonly number[])[] }
      expect((await written) === 200 ? [200] : [0, 200]).toContain(data[0]?.[0] ?? -1)
    })
  })
})

interface Status {
  readonly statements: { readonly running: number }
  readonly restarts: {
    readonly count: number
    readonly last: unknown
  }
}

async function status(server: ServerProcess): Promise<Status> {
  return (await (await server.send('GET', '/api/status')).json()) as Status
}

async function sql(server: ServerProcess, query: string): Promise<unknown> {
  return (await server.send('POST', '/api/sql/query', { query })).json()
}

/** Resolves when the server is running the statement. */
async function startEndless(server: ServerProcess): Promise<void> {
  sql(server, ENDLESS_SQL).catch(() => {})
  while ((await status(server)).statements.running === 0) await Bun.sleep(POLL_MS)
}

const ENDLESS_RUNS = {
  since: expect.stringMatching(/^\d{4}-/),
  request: 'POST /api/sql/query',
  statement: ENDLESS_SQL.replaceAll('3000000', '?'),
}
const REFUSED = { type: 'error', error_code: 4009 }

describe('after a crash', () => {
  test('log and status tell what ran, and its text is refused', async () => {
    await supervised(async (server, folder) => {
      await startEndless(server)
      const pid = await serverPid(folder)
      process.kill(pid, 'SIGSEGV')
      await untilRestarted(server, folder, pid)
      expect((await status(server)).restarts).toEqual({
        count: 1,
        last: {
          at: expect.stringMatching(/^\d{4}-/),
          reason: 'SIGSEGV',
          running: [ENDLESS_RUNS],
        },
      })
      const line = server
        .output()
        .split('\n')
        .find((one) => one.includes('the server crashed'))
      expect(JSON.parse(line ?? '{}')).toMatchObject({
        level: 60,
        reason: 'SIGSEGV',
        running: [ENDLESS_RUNS],
      })
      expect(await sql(server, ` ${ENDLESS_SQL}`)).toMatchObject(REFUSED)
      expect(await sql(server, 'SELECT 1 AS n')).toMatchObject({ data: [[1]] })
    })
  })

  test('of everything at once the next start tells the same', async () => {
    await withFolder(async (folder) => {
      const first = await startSupervised({ EIDER_DATA_DIR: folder })
      await startEndless(first)
      const pid = await serverPid(folder)
      first.kill('SIGKILL')
      await first.exited
      await untilGone(pid)
      const next = await startSupervised({ EIDER_DATA_DIR: folder })
      expect(await status(next)).toMatchObject({
        restarts: { count: 0, last: { running: [ENDLESS_RUNS] } },
      })
      expect(await sql(next, ENDLESS_SQL)).toMatchObject(REFUSED)
      next.kill('SIGTERM')
      expect(await next.exited).toBe(0)
    })
  })

  test('only the logged in see what ran', async () => {
    const environment = { EIDER_USERNAME: 'u', EIDER_PASSWORD: 'p' }
    await supervised(async (server, folder) => {
      const pid = await serverPid(folder)
      process.kill(pid, 'SIGKILL')
      await untilRestarted(server, folder, pid)
      expect(await status(server)).not.toHaveProperty('restarts')
    }, environment)
  })
})

describe('stopping the program', () => {
  test('with SIGTERM during the wait before a restart ends it', async () => {
    await withFolder(async (folder) => {
      const server = await startSupervised({ EIDER_DATA_DIR: folder })
      const first = await serverPid(folder)
      process.kill(first, 'SIGKILL')
      const second = await untilRestarted(server, folder, first)
      process.kill(second, 'SIGKILL')
      await untilGone(second)
      server.kill('SIGTERM')
      expect(await server.exited).toBe(0)
      expect(await serverPid(folder)).toBe(second)
    })
  })

  test('with one Ctrl-C, which the whole group gets, lets running requests finish', async () => {
    await withFolder(async (folder) => {
      const server = await startSupervised({ EIDER_DATA_DIR: folder, EIDER_SHUTDOWN_MS: '50000' })
      const query = 'SELECT count(*) FROM range(200000000) t(i) WHERE i % 7 = 3'
      const running = server.send('POST', '/api/sql/query', { query })
      await untilRunning(server, running)
      process.kill(await serverPid(folder), 'SIGINT')
      server.kill('SIGINT')
      expect(await (await running).json()).toMatchObject({ type: 'table' })
      expect(await server.exited).toBe(0)
    })
  })

  test('by its process in the lock note ends the supervisor too', async () => {
    await withFolder(async (folder) => {
      const server = await startSupervised({ EIDER_DATA_DIR: folder })
      process.kill(await serverPid(folder), 'SIGTERM')
      expect(await server.exited).toBe(0)
      expect(existsSync(join(folder, 'eider.lock'))).toBe(false)
    })
  })

  // Under nohup, this signal is not delivered.
  const hasHangup = stopSignals().includes('SIGHUP')
  test.skipIf(!hasHangup)('with SIGHUP closes the folder first', async () => {
    await withFolder(async (folder) => {
      const server = await startSupervised({ EIDER_DATA_DIR: folder })
      server.kill('SIGHUP')
      expect(await server.exited).toBe(0)
      expect(existsSync(join(folder, 'eider.lock'))).toBe(false)
    })
  })

  test('by closing the terminal does not stop what was started with nohup', async () => {
    await withFolder(async (folder) => {
      const server = await startSupervised({ EIDER_DATA_DIR: folder, NOHUP: '1' })
      process.kill(await serverPid(folder), 'SIGHUP')
      server.kill('SIGHUP')
      expect((await server.send('GET', '/healthz')).status).toBe(200)
      server.kill('SIGTERM')
      expect(await server.exited).toBe(0)
      expect(server.output()).toContain('"signal":"SIGTERM"')
    })
  })

  test('with kill -9 leaves no server behind, not even one at work', async () => {
    await withFolder(async (folder) => {
      const server = await startSupervised({ EIDER_DATA_DIR: folder })
      const pid = await serverPid(folder)
      server.send('POST', '/api/sql/query', { query: ENDLESS_SQL }).catch(() => {})
      server.kill('SIGKILL')
      await server.exited
      await untilGone(pid)
      const next = await startServer({ EIDER_DATA_DIR: folder })
      next.kill('SIGTERM')
      expect(await next.exited).toBe(0)
    })
  })
})

describe('a start that fails', () => {
  test('because the folder or the port is taken says so once, and ends', async () => {
    await supervised(async (server, folder) => {
      const second = await failingStart({ EIDER_DATA_DIR: folder })
      expect([second.exitCode, second.stderr.split('in use by another').length]).toEqual([1, 2])
      expect(second.stderr).toContain(String(await serverPid(folder)))
      const environment = {
        EIDER_DATA_DIR: join(folder, 'other'),
        EIDER_PORT: new URL(server.url).port,
      }
      const taken = await failingStart(environment)
      expect([taken.exitCode, taken.stderr.split('is in use').length]).toEqual([1, 2])
      const postgres = await failingStart({
        ...environment,
        EIDER_PORT: '0',
        EIDER_PG_PORT: environment.EIDER_PORT,
      })
      expect(postgres.stderr.split('Cannot listen')).toEqual([
        'eider: ',
        expect.stringContaining('is in use, perhaps by another Eider. Set EIDER_PG_PORT'),
      ])
    })
  })

  test('in a setting is reported by the supervisor only', async () => {
    const { exitCode, stderr } = await failingStart({ EIDER_PROT: '1' })
    expect([exitCode, stderr.split('EIDER_PROT').length]).toEqual([1, 2])
  })
})

test('without a supervisor the end of the server is the end', async () => {
  await withFolder(async (folder) => {
    const server = await startServer({ EIDER_DATA_DIR: folder, UV_THREADPOOL_SIZE: '' })
    expect(await serverPid(folder)).toBe(server.pid)
    process.kill(server.pid, 'SIGKILL')
    expect(await server.exited).not.toBe(0)
  })
})
