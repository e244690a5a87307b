/** How the page reaches a browser: built once, compressed and cached, with a readable error if it cannot be built. */
import { expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bundled, type PageFiles, pageFiles } from '../../src/api/http/page/page-files.ts'
import { pageOperationsOver } from '../../src/api/http/routes/page-routes.ts'
import { testServer } from './server-fixture.ts'

const FIRST_LOAD_BYTES_MAX = 250_000

const server = over(pageFiles())

/** Serves only the page, from a server with fakes. */
function over(files: () => Promise<PageFiles>, logged: unknown[] = []) {
  const deps = { logError: ({ error }: { error: unknown }) => logged.push(error) }
  const { server } = testServer(deps, [pageOperationsOver(files)])
  return (path: string, headers: Record<string, string> = {}, method = 'GET') => {
    return server.handle(new Request(`http://localhost${path}`, { headers, method }))
  }
}

test('every address of the page answers with the same file', async () => {
  const home = await (await server('/')).text()
  const paths = [
    '/sql?q=%00',
    '/projects/%3Cscript%3E/knowledge_bases/..%2F..%2Fetc',
    '/traces/a',
    '/projects',
  ]
  for (const path of paths) expect(await (await server(path)).text()).toBe(home)
  expect(home).not.toContain('<script>')
})

test('the first load is small, and its names are kept for ever', async () => {
  const html = await (await server('/')).text()
  const names = [...html.matchAll(/"(\/assets\/[^"]+)"/g)].map(([, name = '']) => name)
  expect(names.length).toBeGreaterThan(1)
  let bytes = 0
  for (const name of names) {
    const answer = await server(name, { 'accept-encoding': 'gzip, deflate, br' })
    expect(answer.headers.get('cache-control')).toContain('immutable')
    expect(answer.headers.get('content-encoding')).toBe('gzip')
    bytes += (await answer.arrayBuffer()).byteLength
  }
  expect(bytes).toBeLessThan(FIRST_LOAD_BYTES_MAX)
})

test('only what takes gzip gets gzip', async () => {
  const encoding = async (accepted: string) => {
    const headers = (await server('/', { 'accept-encoding': accepted })).headers
    expect(headers.get('vary')).toBe('accept-encoding')
    return headers.get('content-encoding')
  }
  for (const taken of ['gzip', 'br, GZIP;q=0.5', '*']) expect(await encoding(taken)).toBe('gzip')
  for (const refused of ['', 'br', 'gzip;q=0', 'gzip; q=0.0, *', 'xgzip', '*;q=0']) {
    expect(await encoding(refused)).toBeNull()
  }
})

test('a browser that has the page gets it once', async () => {
  const etag = (await server('/')).headers.get('etag') ?? ''
  for (const held of [etag, etag.replace('W/', ''), `"other", ${etag}`]) {
    const answer = await server('/sql', { 'if-none-match': held })
    expect([answer.status, await answer.text()]).toEqual([304, ''])
    expect(answer.headers.get('content-security-policy')).toContain("script-src 'self'")
  }
  expect((await server('/', { 'if-none-match': '"other"' })).status).toBe(200)
})

test('it is bundled once for all who ask at the same time, and again after a failure', async () => {
  let bundles = 0
  const files = pageFiles(async () => {
    bundles += 1
    if (bundles === 1) throw new Error('no more processes')
    return bundled()
  })
  const logged: unknown[] = []
  const ask = over(files, logged)
  const failed = await ask('/', { accept: 'text/html' })
  expect(failed.status).toBe(500)
  expect(failed.headers.get('cache-control')).toBe('no-store')
  expect(await failed.text()).toContain('The API works')
  expect(String(logged)).toContain('no more processes')

  const answers = await Promise.all([ask('/'), ask('/sql'), ask('/assets/none.js')])
  expect(answers.map(({ status }) => status)).toEqual([200, 200, expect.any(Number)])
  expect(bundles).toBe(2)
})

test("if bundling fails, the page shows the bundler's error", async () => {
  const folder = await mkdtemp(join(tmpdir(), 'eider page ü #% '))
  try {
    const page = join(folder, 'index.html')
    await Bun.write(page, '<!doctype html><script type="module" src="./a.ts"></script>')
    await Bun.write(join(folder, 'a.ts'), 'document.title = "made"')
    const { assets } = await bundled(page)
    expect([...assets.keys()]).toEqual([expect.stringMatching(/^index-.*\.js$/)])
    await Bun.write(join(folder, 'a.ts'), 'import "./gone.ts"')
    await expect(bundled(page)).rejects.toThrow(/gone\.ts/)
  } finally {
    await rm(folder, { recursive: true })
  }
})
