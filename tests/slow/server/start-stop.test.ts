import { describe, expect, test } from 'bun:test'
import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import packageJson from '../../../package.json' with { type: 'json' }
import { SETTINGS } from '../../../src/wiring/settings/settings.ts'
import { failingStart, startServer, untilRunning, withFolder } from './server-process.ts'

const KBS = '/api/projects/mindsdb/knowledge_bases'
const SLOW_SQL = 'SELECT sum(a.range * b.range) FROM range(300000) a, range(300000) b'

describe('start', () => {
  test('an unknown setting, a bad value and half a login stop it with a message', async () => {
    const cases: readonly (readonly [Record<string, string>, string])[] = [
      [{ EIDER_PROT: '1' }, 'EIDER_PROT'],
      [{ EIDER_PORT: 'http' }, 'EIDER_PORT'],
      [{ EIDER_USERNAME: 'u' }, 'EIDER_PASSWORD'],
      [{ EIDER_HOST: '0.0.0.0' }, 'EIDER_ALLOW_OPEN'],
    ]
    for (const [environment, named] of cases) {
      const { exitCode, stderr } = await failingStart(environment)
      expect(exitCode).toBe(1)
      expect(stderr).toContain(named)
      expect(stderr).not.toContain('    at ')
    }
  })

  test('a taken folder, a taken port and a folder that is a file are said, and nothing hangs', async () => {
    await withFolder(async (folder) => {
      const own = join(folder, 'a')
      const first = await startServer({ EIDER_DATA_DIR: own })
      const second = await failingStart({ EIDER_DATA_DIR: own })
      expect([second.exitCode, second.stderr]).toEqual([
        1,
        expect.stringContaining(String(first.pid)),
      ])
      const port = new URL(first.url).port
      const taken = await failingStart({ EIDER_DATA_DIR: join(folder, 'b'), EIDER_PORT: port })
      expect([taken.exitCode, taken.stderr]).toEqual([1, expect.stringContaining(port)])
      await writeFile(join(folder, 'file'), 'x')
      const file = await failingStart({ EIDER_DATA_DIR: join(folder, 'file') })
      expect([file.exitCode, file.stderr]).toEqual([1, expect.stringContaining('file')])
      expect((await first.send('GET', '/api/status')).status).toBe(200)
      first.kill('SIGKILL')
      await first.exited
      const next = await startServer({ EIDER_DATA_DIR: own })
      next.kill('SIGTERM')
      expect(await next.exited).toBe(0)
    })
  })

  // The superuser may write anywhere, so this cannot be tested as root.
  test.skipIf(process.getuid?.() === 0)('a read-only folder is said', async () => {
    await withFolder(async (folder) => {
      await chmod(folder, 0o500)
      const { exitCode, stderr } = await failingStart({ EIDER_DATA_DIR: join(folder, 'data') })
      await chmod(folder, 0o700)
      expect([exitCode, stderr]).toEqual([1, expect.stringContaining('data')])
    })
  })

  test('--help lists the settings, --version the version, other options are refused', async () => {
    const run = (option: string) => {
      return Bun.spawnSync([
        process.execPath,
        join(import.meta.dir, '../../../src/main.ts'),
        option,
      ])
    }
    const help = run('--help').stdout.toString()
    expect(run('-h').stdout.toString()).toBe(help)
    const listed = [...help.matchAll(/^ {2}([A-Z]\w+) /gm)].map(([, name]) => name)
    const names = Object.values(SETTINGS).map(({ name }) => name)
    expect(listed.toSorted()).toEqual(names.toSorted())
    // The settings that most people need come first, the others in groups.
    expect(help).toMatch(/\nFirst:\n {2}EIDER_PORT .*\n {2}EIDER_HOST (.*\n){9}\nNetwork:\n/)
    expect(run('--version').stdout.toString().trim()).toBe(packageJson.version)
    expect(run('--nope').exitCode).toBe(2)
  })

  const script = Bun.which('script')
  const onTerminal = script === null || process.platform !== 'linux' ? test.skip : test
  onTerminal('npm start on a terminal writes a log for people', async () => {
    await withFolder(async (folder) => {
      const child = Bun.spawn([script ?? '', '-qefc', 'npm start', '/dev/null'], {
        cwd: join(import.meta.dir, '../../..'),
        env: { ...process.env, EIDER_PORT: '0', EIDER_DATA_DIR: folder },
        stdin: 'ignore',
        stdout: 'pipe',
      })
      let output = ''
      for await (const piece of child.stdout.pipeThrough(new TextDecoderStream())) {
        output += piece
        const [, address] = /is ready at (http:\S+?),/.exec(output) ?? []
        if (address !== undefined && !output.includes('GET')) await fetch(`${address}/healthz`)
        if (/GET \/healthz/.test(output)) break
      }
      child.kill()
      await child.exited
      expect(output).toMatch(/\d\d:\d\d:\d\d\S* GET \/healthz \S*200/)
      expect(output).not.toContain('{"level"')
    })
  })

  test('without a thread pool in the environment it runs itself again with one', async () => {
    await withFolder(async (folder) => {
      const server = await startServer({ EIDER_DATA_DIR: folder, UV_THREADPOOL_SIZE: '' })
      expect((await server.send('GET', '/healthz')).status).toBe(200)
      server.kill('SIGTERM')
      expect(await server.exited).toBe(0)
    })
  })
})

describe('stop', () => {
  test('SIGTERM lets a running request finish, then the data is there', async () => {
    await withFolder(async (folder) => {
      const server = await startServer({ EIDER_DATA_DIR: folder, EIDER_SHUTDOWN_MS: '50000' })
      await server.send('POST', KBS, { knowledge_base: { name: 'kept' } })
      const query = 'SELECT count(*) FROM range(200000000) t(i) WHERE i % 7 = 3'
      const running = server.send('POST', '/api/sql/query', { query })
      await untilRunning(server, running)
      server.kill('SIGTERM')
      expect(await (await running).json()).toMatchObject({ type: 'table' })
      expect(await server.exited).toBe(0)
      const again = await startServer({ EIDER_DATA_DIR: folder })
      expect((await again.send('GET', `${KBS}/kept`)).status).toBe(200)
      again.kill('SIGINT')
      expect(await again.exited).toBe(0)
    })
  })

  test('a job that waits does not delay the end, and goes on afterwards', async () => {
    const silent = Bun.serve({ port: 0, fetch: () => new Promise<Response>(() => {}) })
    await withFolder(async (folder) => {
      const environment = { EIDER_DATA_DIR: folder, EIDER_SHUTDOWN_MS: '100000' }
      const server = await startServer(environment)
      const embedding_model = {
        ...{ provider: 'openai', model_name: 'none', api_key: 'none' },
        ...{ base_url: `http://127.0.0.1:${silent.port}/v1`, dimensions: 3 },
      }
      await server.send('POST', KBS, { knowledge_base: { name: 'kb', embedding_model } })
      const rows = [{ id: '1', content: 'tea' }]
      const sent = await server.send('PUT', `${KBS}/kb`, {
        knowledge_base: { rows, background: true },
      })
      const { id } = (await sent.json()) as { readonly id: number }
      while (silent.pendingRequests === 0) await Bun.sleep(20)
      server.kill('SIGTERM')
      expect(await Promise.race([server.exited, Bun.sleep(60_000)])).toBe(0)
      const next = await startServer(environment)
      const job = await (await next.send('GET', `/api/jobs/${id}`)).json()
      expect(job).toMatchObject({ error: null, finished_at: null })
      next.kill('SIGKILL')
      await next.exited
    })
    await silent.stop(true)
  })

  test('what does not finish in time is ended, and the exit code is 0', async () => {
    await withFolder(async (folder) => {
      const server = await startServer({ EIDER_DATA_DIR: folder, EIDER_SHUTDOWN_MS: '300' })
      const running = server.send('POST', '/api/sql/query', { query: SLOW_SQL }).then(
        (response) => response.text(),
        () => 'closed',
      )
      await untilRunning(server, running)
      server.kill('SIGTERM')
      expect(await server.exited).toBe(0)
      expect(await running).not.toContain('"data"')
    })
  })
})

test('a full disk is answered with 507 and loses nothing', async () => {
  await withFolder(async (folder) => {
    const small = await startServer({ EIDER_DATA_DIR: folder, SMALL_DISK: '1' })
    await small.send('POST', KBS, { knowledge_base: { name: 'k' } })
    let stored = 0
    let failure: { status: number; body: unknown } | undefined
    for (let index = 0; failure === undefined && index < 40; index += 1) {
      const content = `${index} `.repeat(600_000)
      const form = new FormData()
      form.set('file', new File([JSON.stringify({ id: index, filler: content })], 'f.json'))
      const answer = await fetch(`${small.url}/api/files/f${index}`, { method: 'PUT', body: form })
      if (answer.status === 200) stored += 1
      else failure = { status: answer.status, body: await answer.json() }
    }
    expect(failure).toMatchObject({ status: 507, body: { code: 'storage_full' } })
    // DuckDB may continue reading. If it has stopped itself, the program has ended and said why.
    small.kill('SIGTERM')
    const exitCode = await small.exited
    if (exitCode !== 0) expect(await small.stderr).toContain('the disk is full')
    expect([0, 1]).toContain(exitCode)
    const large = await startServer({ EIDER_DATA_DIR: folder })
    const files = (await (await large.send('GET', '/api/files')).json()) as unknown[]
    expect(files.length).toBe(stored)
    expect((await large.send('GET', `${KBS}/k`)).status).toBe(200)
    large.kill('SIGTERM')
    expect(await large.exited).toBe(0)
  })
})

test('a login survives a restart, a logout as well', async () => {
  await withFolder(async (folder) => {
    const environment = { EIDER_DATA_DIR: folder, EIDER_USERNAME: 'u', EIDER_PASSWORD: 'p' }
    const first = await startServer(environment)
    const login = async () => {
      const answer = await first.send('POST', '/api/login', { username: 'u', password: 'p' })
      return ((await answer.json()) as { token: string }).token
    }
    const [kept, revoked] = [await login(), await login()]
    const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
    await first.send('POST', '/api/logout', {}, bearer(revoked))
    first.kill('SIGTERM')
    await first.exited
    const second = await startServer(environment)
    expect((await second.send('GET', '/api/projects', undefined, bearer(kept))).status).toBe(200)
    expect((await second.send('GET', '/api/projects', undefined, bearer(revoked))).status).toBe(401)
    expect((await second.send('GET', '/api/projects')).status).toBe(401)
    second.kill('SIGTERM')
    await second.exited
  })
})

for (const how of ['is full', 'is never read'] as const) {
  test(`a log that ${how} stops neither requests nor the end`, async () => {
    await withFolder(async (folder) => {
      const other = Bun.serve({ port: 0, fetch: () => new Response() })
      const { port } = other
      await other.stop(true)
      const log = how === 'is full' ? '/dev/full' : join(folder, 'log')
      if (how === 'is never read') await Bun.spawn(['mkfifo', log]).exited
      const main = join(import.meta.dir, '../../../src/main.ts')
      const program = [process.execPath, main, '--no-supervisor']
      const child = Bun.spawn(['sh', '-c', 'exec "$@" 1<>"$0"', log, ...program], {
        env: { ...process.env, EIDER_DATA_DIR: join(folder, 'data'), EIDER_PORT: String(port) },
        stdio: ['ignore', 'ignore', 'pipe'],
      })
      const ping = () => fetch(`http://127.0.0.1:${port}/api/util/ping`).catch(() => null)
      while ((await ping()) === null) await Bun.sleep(50)
      for (let count = 0; count < 500; count += 1) expect((await ping())?.status).toBe(200)
      child.kill('SIGTERM')
      expect(await child.exited).toBe(0)
      expect(await new Response(child.stderr).text()).toBe('')
    })
  }, 30_000)
}
