import { afterAll, beforeAll, expect, test } from 'bun:test'
import { chmod, chown, mkdir, readdir, readFile, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { COMMANDS } from '../../../src/cli/commands/command-table.ts'
import { tinyPdf } from '../../reading/tiny-pdf.ts'
import { isEverything } from '../../support/sample.ts'
import { type BuiltFile, builtFile, runFile, serveFile } from './built-file.ts'

const onLinux = process.platform === 'linux' ? test : test.skip
const asRoot = process.platform === 'linux' && process.getuid?.() === 0 ? test : test.skip
/** For tests that take long: one embeds all of the demo's data. */
const onEveryCase = isEverything ? onLinux : test.skip
const NO_USER = 65_534
const KBS = '/api/projects/mindsdb/knowledge_bases'

let file: BuiltFile

beforeAll(async () => {
  file = await builtFile()
}, 240_000)

afterAll(() => file.remove())

async function cacheOf(folder: string): Promise<readonly string[]> {
  return (await readdir(join(folder, '.cache/eider'))).map((name) => {
    return join(folder, '.cache/eider', name)
  })
}

async function upload(
  url: string,
  name: string,
  bytes: Uint8Array<ArrayBuffer> | string,
): Promise<number> {
  const form = new FormData()
  form.set('file', new File([bytes], name))
  return (await fetch(`${url}/api/files/${name}`, { method: 'PUT', body: form })).status
}

function send(url: string, method: string, path: string, body: unknown): Promise<Response> {
  const headers = { 'content-type': 'application/json' }
  return fetch(`${url}${path}`, { method, headers, body: JSON.stringify(body) })
}

onLinux(
  'the file serves in an empty folder: files, search, agent, page, documentation',
  async () => {
    const folder = await file.folder()
    const server = await serveFile(file, { folder })
    const { url, sql } = server
    expect(await upload(url, 'cities', 'city,people\nKyoto,1463000\nUji,179000\n')).toBe(200)
    expect(await sql('SELECT city FROM files.cities WHERE people < 200000')).toEqual([['Uji']])
    expect(
      await upload(url, 'tea.pdf', new Uint8Array(tinyPdf(['Green tea comes from Uji']))),
    ).toBe(200)
    await send(url, 'POST', KBS, { knowledge_base: { name: 'docs' } })
    const put = await send(url, 'PUT', `${KBS}/docs`, { knowledge_base: { files: ['tea.pdf'] } })
    expect(put.status).toBe(200)
    const found = await sql(
      "SELECT chunk_content FROM docs WHERE content = 'where is tea from' LIMIT 1",
    )
    expect(JSON.stringify(found)).toContain('Green tea comes from Uji')
    const agent = { name: 'a', data: { knowledge_bases: ['docs'] } }
    expect((await send(url, 'POST', '/api/projects/mindsdb/agents', { agent })).status).toBe(201)
    const asked = { EIDER_URL: url }
    const answer = await runFile(
      file,
      { folder, environment: asked },
      'ask',
      'a',
      'Where is tea from?',
    )
    expect([answer.code, answer.output.includes('Uji')]).toEqual([0, true])
    for (const path of ['/', '/docs', '/docs/sql', '/docs/api', '/docs/decisions']) {
      const page = await fetch(`${url}${path}`)
      const linked = (await page.text()).matchAll(/(?:src|href)="(\/[^"#]+\.(?:js|css))"/g)
      const files = [...linked].map(([, file = '']) => file)
      expect([path, page.status, files.length > 0]).toEqual([path, 200, true])
      for (const file of files) {
        expect([file, (await fetch(`${url}${file}`)).status]).toEqual([file, 200])
      }
    }
    // The ID of the server, which runs under its supervisor.
    const { processId } = JSON.parse(await readFile(join(folder, 'data/eider.lock'), 'utf8'))
    process.kill(processId, 'SIGKILL')
    for (let tries = 0; tries < 200; tries += 1) {
      if ((await fetch(`${url}/healthz`).catch(() => null))?.ok) break
      await Bun.sleep(100)
    }
    expect(await sql('SELECT count(*) FROM docs')).toEqual([[1]])
    expect(await server.stop()).toBe(0)
  },
  120_000,
)

onLinux(
  'what a start has compiled is kept in the cache, and the next one uses it',
  async () => {
    const folder = await file.folder()
    expect(await (await serveFile(file, { folder })).stop()).toBe(0)
    const [cache = ''] = await cacheOf(folder)
    const compiled = await readdir(join(cache, 'compiled'), { recursive: true })
    expect(compiled.length).toBeGreaterThan(20)
    const again = await serveFile(file, { folder })
    expect(await again.sql('SELECT 1')).toEqual([[1]])
    expect(await again.stop()).toBe(0)
    for (const name of compiled.filter((path) => path.includes('/'))) {
      const bytes = await readFile(join(cache, 'compiled', name))
      bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1
      await writeFile(join(cache, 'compiled', name), bytes)
    }
    const damaged = await serveFile(file, { folder })
    expect(await damaged.sql('SELECT 2')).toEqual([[2]])
    expect(await damaged.stop()).toBe(0)
  },
  60_000,
)

onLinux(
  'the file is the command line, too',
  async () => {
    const folder = await file.folder()
    const { version } = JSON.parse(await readFile('package.json', 'utf8'))
    expect(await runFile(file, { folder }, '--version')).toMatchObject({ output: `${version}\n` })
    expect((await runFile(file, { folder }, '--help')).output).toContain('Usage: eider')
    expect((await runFile(file, { folder }, 'serve', '--help')).output).toContain('EIDER_PORT')
    expect((await runFile(file, { folder }, 'serch')).complaint).toContain('did you mean search?')
  },
  60_000,
)

/**
 * Each line: what the user types after `eider`, and what it prints. Backups and data folders come
 * after the server.
 */
const LINES: readonly (readonly [line: string, shown: string])[] = [
  ['status', 'Eider'],
  ['ingest docs tea.md --quiet', ''],
  ['sql --json "SELECT 40 + 2 AS n"', '[{"n":42}]'],
  ['search docs "where is tea from"', 'Uji'],
  [`sql "CREATE AGENT a USING data = {'knowledge_bases': ['mindsdb.docs']}"`, ''],
  ['ask a "Where is tea from?"', 'Uji'],
  ['jobs', ''],
  ['export docs -o docs.parquet', ''],
  ['import docs.parquet --as again', ''],
  ['sql "SELECT count(*) AS copied FROM again"', 'copied'],
  [`mcp < ping.json`, '"id":1'],
  ['backup', 'row'],
  ['backups', 'row'],
]

const LINES_WITHOUT_SERVER: readonly (readonly [line: string, shown: string])[] = [
  ['restore data/backups/* --data restored', 'Restored'],
  ['salvage restored --to saved', 'Saved'],
  ['accept-loss restored', 'restored'],
]

onLinux(
  'every command works in the file',
  async () => {
    const folder = await file.folder()
    await writeFile(join(folder, 'tea.md'), 'Green tea comes from Uji.\n')
    await writeFile(join(folder, 'ping.json'), '{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    const server = await serveFile(file, { folder })
    const environment = { EIDER_URL: server.url, EIDER_RELEASES_URL: 'http://127.0.0.1:9' }
    const run = async (line: string, shown: string) => {
      const within = ['sh', '-c', `"$0" ${line}`]
      const ended = await runFile(file, { folder, environment, within })
      expect([line, ended.complaint, ended.code]).toEqual([line, expect.anything(), 0])
      expect([line, ended.output]).toEqual([line, expect.stringContaining(shown)])
    }
    for (const [line, shown] of LINES) await run(line, shown)
    expect(await server.stop()).toBe(0)
    for (const [line, shown] of LINES_WITHOUT_SERVER) await run(line, shown)
    const offline = await runFile(file, { folder, environment }, 'upgrade', '--check')
    expect([offline.code, offline.complaint]).toEqual([1, expect.stringContaining('connection')])
    const tried = [...LINES, ...LINES_WITHOUT_SERVER].map(([line]) => line.split(' ')[0])
    const all = [...tried, 'upgrade', 'serve'].sort()
    expect([...new Set(all)]).toEqual(Object.keys(COMMANDS).sort())
  },
  120_000,
)

onEveryCase(
  'eider serve --demo makes its data and serves them',
  async () => {
    const server = await serveFile(file, { folder: await file.folder() }, 'serve', '--demo')
    expect(await server.sql('SELECT count(*) > 100 FROM readmes')).toEqual([[true]])
    expect(await server.stop()).toBe(0)
  },
  180_000,
)

onLinux(
  'what Bun would read of the current folder is not read',
  async () => {
    const folder = await file.folder()
    await writeFile(join(folder, 'bunfig.toml'), 'preload = ["./foreign.ts"]\n')
    await writeFile(join(folder, 'foreign.ts'), "console.log('foreign code ran')\n")
    await writeFile(join(folder, '.env'), 'EIDER_URL=http://127.0.0.1:9/foreign\n')
    const environment = { EIDER_PORT: '1' }
    const { output, complaint } = await runFile(file, { folder, environment }, 'status')
    expect([output, complaint]).toEqual(['', expect.stringContaining('http://127.0.0.1:1')])
  },
  60_000,
)

onLinux(
  'first starts at the same time leave one cache',
  async () => {
    const folder = await file.folder()
    const starts = [1, 2, 3].map(() => runFile(file, { folder }, '--version'))
    expect((await Promise.all(starts)).map(({ code }) => code)).toEqual([0, 0, 0])
    expect(await cacheOf(folder)).toHaveLength(1)
  },
  60_000,
)

onLinux(
  'a cache that is damaged is unpacked again',
  async () => {
    const folder = await file.folder()
    expect((await runFile(file, { folder }, '--version')).code).toBe(0)
    const [cache = ''] = await cacheOf(folder)
    const library = (await readdir(join(cache, 'node_modules/@duckdb'), { recursive: true })).find(
      (name) => name.endsWith('libduckdb.so'),
    )
    const path = join(cache, 'node_modules/@duckdb', library ?? '')
    const original = await readFile(path)
    const damaged = Buffer.from(original)
    damaged[5000] = (damaged[5000] ?? 0) ^ 1
    await writeFile(path, damaged)
    expect((await runFile(file, { folder }, '--version')).code).toBe(0)
    expect((await readFile(path)).equals(original)).toBe(true)
    await truncate(join(cache, 'src/eider.ts'), 10)
    expect((await runFile(file, { folder }, '--version')).code).toBe(0)
    await writeFile(join(cache, 'index.json'), '[')
    expect((await runFile(file, { folder }, '--version')).code).toBe(0)
    expect(await cacheOf(folder)).toEqual([cache])
  },
  60_000,
)

onLinux(
  'a cache that cannot be written is a sentence with the setting',
  async () => {
    const folder = await file.folder()
    const environment = { EIDER_CACHE_DIR: '/proc/eider' }
    const refused = await runFile(file, { folder, environment }, '--version')
    expect([refused.code, refused.complaint]).toEqual([
      1,
      expect.stringContaining('EIDER_CACHE_DIR'),
    ])
    // Files can have a few megabytes.
    const within = ['sh', '-c', 'ulimit -f 2000; trap "" XFSZ; exec "$@"', 'sh']
    const full = await runFile(file, { folder, within }, '--version')
    expect([full.code, full.complaint]).toEqual([
      1,
      expect.stringContaining('could not be unpacked'),
    ])
    expect(await cacheOf(folder)).toEqual([])
    const elsewhere = { EIDER_CACHE_DIR: join(folder, 'elsewhere') }
    expect((await runFile(file, { folder, environment: elsewhere }, '--version')).code).toBe(0)
  },
  60_000,
)

asRoot(
  'another user has their own cache, and runs no one else’s',
  async () => {
    const folder = await file.folder()
    await chmod(join(file.path, '..'), 0o755)
    await chown(folder, NO_USER, NO_USER)
    const ids = [`--reuid=${NO_USER}`, `--regid=${NO_USER}`, '--clear-groups']
    const within = ['setpriv', ...ids]
    const server = await serveFile(file, { folder, within })
    expect(await server.sql('SELECT 1')).toEqual([[1]])
    expect(await server.stop()).toBe(0)
    const shared = join(folder, 'shared')
    const environment = { EIDER_CACHE_DIR: shared }
    await mkdir(shared)
    expect((await runFile(file, { folder, environment }, '--version')).code).toBe(0)
    await chmod(shared, 0o755)
    const refused = await runFile(file, { folder, within, environment }, '--version')
    expect([refused.code, refused.complaint]).toEqual([1, expect.stringContaining('another user')])
  },
  60_000,
)

asRoot(
  'a cache on a read-only file system is used as it is',
  async () => {
    const folder = await file.folder()
    expect((await runFile(file, { folder }, '--version')).code).toBe(0)
    const script = 'mount --bind .cache .cache; mount -o remount,ro,bind .cache; exec "$@"'
    const within = ['unshare', '--mount', 'sh', '-c', script, 'sh']
    const { code, complaint } = await runFile(file, { folder, within }, '--version')
    expect([code, complaint]).toEqual([0, ''])
  },
  60_000,
)

asRoot(
  'nothing but the data and the cache is written',
  async () => {
    const folder = await file.folder()
    for (const name of ['data', 'cache']) await mkdir(join(folder, name))
    const mounts = ['data', 'cache'].map((name) => `mount --bind ${name} ${name}`)
    const script = [...mounts, 'mount -o remount,ro,bind / 2>/dev/null', 'exec "$@"'].join('; ')
    const within = ['unshare', '--mount', 'sh', '-c', script, 'sh']
    const environment = { EIDER_CACHE_DIR: join(folder, 'cache'), TMPDIR: join(folder, 'data') }
    const server = await serveFile(file, { folder, within, environment })
    expect(await upload(server.url, 'cities', 'city,people\nKyoto,1463000\n')).toBe(200)
    expect(await server.sql('SELECT count(*) FROM files.cities')).toEqual([[1]])
    expect(await server.stop()).toBe(0)
  },
  60_000,
)
