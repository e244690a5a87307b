import { beforeAll, expect, test } from 'bun:test'
import { ERRORS } from '../../src/core/errors.ts'
import { send, testServer } from './server-fixture.ts'

const { deps } = testServer()
/** The server has a login, and no user is logged in. */
const { server } = testServer({
  settings: { ...deps.settings, username: 'ada', password: 'secret' },
})
const get = (path: string, headers: Record<string, string> = {}) => {
  return send(server, `GET ${path}`, { headers })
}

/** Every page that can be reached by links from the first one. */
const pages = new Map<string, string>()
beforeAll(async () => {
  const waiting = ['/docs']
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (pages.has(path)) continue
    const { status, text } = await get(path)
    expect([path, status]).toEqual([path, 200])
    pages.set(path, text)
    for (const [link = ''] of linksOf(text)) {
      if (/^\/docs(\/|$)/.test(link)) waiting.push(link)
    }
  }
})

/** Returns the path and fragment of each link to this server. */
function linksOf(html: string): readonly (readonly [string, string | undefined])[] {
  const links = html.matchAll(/(?:href|src)="([^"]*)"/g)
  return [...links].flatMap(([, target = '']) => {
    if (/^(https?|mailto):/.test(target)) return []
    const [path = '', fragment] = target.split('#')
    return [[path, fragment] as const]
  })
}

test('all pages are there without a login, and so is the document', async () => {
  for (const path of ['/docs/sql', '/docs/search', '/docs/agents/models', '/docs/readme']) {
    expect([...pages.keys()]).toContain(path)
  }
  expect(pages.size).toBeGreaterThan(60)
  expect((await get('/openapi.json')).status).toBe(200)
})

test('every link leads to a page and to a place on it', () => {
  const broken: string[] = []
  for (const [path, html] of pages) {
    if (path.startsWith('/docs/assets/')) continue
    for (const [target, fragment] of linksOf(html)) {
      const page = target === '' ? html : pages.get(target)
      const isOurs = target === '' || target.startsWith('/docs')
      const isThere = page !== undefined && (!fragment || page.includes(`id="${fragment}"`))
      if (isOurs && !isThere) broken.push(`${path}: ${target}#${fragment ?? ''}`)
    }
  }
  expect(broken).toEqual([])
})

test("a problem's type lands on the row of its code", async () => {
  const { text } = await get('/api/projects')
  const { type }: { readonly type: string } = JSON.parse(text)
  expect(type).toBe('/docs#unauthorized')
  const start = pages.get('/docs') ?? ''
  // The page links to the table with explanations.
  const errors = pages.get('/docs/errors') ?? ''
  for (const code of Object.keys(ERRORS)) {
    expect(start).toContain(`<tr id="${code}">`)
    expect(errors).toContain(`<tr id="${code}">`)
  }
})

test('nothing inline runs and nothing comes from elsewhere', async () => {
  for (const [path, html] of pages) {
    const { headers } = await get(path)
    if (!headers.get('content-type')?.startsWith('text/html')) continue
    const policy = headers.get('content-security-policy') ?? ''
    expect(policy).toStartWith("default-src 'none'; script-src 'self'; style-src 'self';")
    expect(html).not.toMatch(
      /<script>|<style|style="|\bon\w+="|(src|href)="https?:[^"]*\.(js|css)"/,
    )
  }
  expect(pages.get('/docs/api')).toContain('swagger-ui-bundle.js')
  expect(pages.get('/docs/api')).toContain('href="/docs/errors#rate_limited"')
})

test.each(['/docs', '/docs/assets/swagger-ui-bundle.js', '/openapi.json'])(
  '%s is packed, and not sent again while it is the same',
  async (path) => {
    const whole = await get(path)
    const packed = await get(path, { 'accept-encoding': 'gzip' })
    expect(packed.headers.get('content-encoding')).toBe('gzip')
    expect(packed.headers.get('vary')).toBe('accept-encoding')
    const etag = whole.headers.get('etag') ?? ''
    for (const held of [etag, `"other", ${etag}`]) {
      const again = await get(path, { 'if-none-match': held })
      expect([again.status, again.text]).toEqual([304, ''])
    }
  },
)

test.each([
  '/docs/nothing',
  '/docs/..%2f..%2fpackage.json',
  '/docs/assets/..%2fdocs.html',
  '/docs/assets/constructor',
  '/docs/decisions/none',
])('%s is no page', async (path) => {
  expect((await get(path)).status).toBe(404)
})

test('the search knows sections of all pages, and the error codes', async () => {
  const sections: readonly (readonly string[])[] = JSON.parse((await get('/docs/search.json')).text)
  const places = sections.map(([place]) => place)
  expect(places).toContain('/docs/sql#names')
  expect(places).toContain('/docs/errors#storage_full')
})
