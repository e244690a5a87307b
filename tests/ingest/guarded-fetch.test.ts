import { afterAll, describe, expect, test } from 'bun:test'
import { AppError } from '../../src/core/errors.ts'
import {
  type AddressPolicy,
  addressPolicy,
  internet,
  type Network,
} from '../../src/core/runtime/address-policy.ts'
import { type FetchedPage, guardedFetch } from '../../src/ingest/sources/guarded-fetch.ts'
import { never } from './insert-fixture.ts'

function crawling(entries: readonly string[]): AddressPolicy {
  return addressPolicy({ setting: 'EIDER_CRAWL_ALLOW', entries })
}

const seen: { readonly path: string; readonly host: string; readonly agent: string }[] = []

const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  idleTimeout: 60,
  fetch(request) {
    const { pathname } = new URL(request.url)
    const header = (name: string) => request.headers.get(name) ?? ''
    seen.push({ path: pathname, host: header('host'), agent: header('user-agent') })
    return answers[pathname]?.() ?? new Response('not here', { status: 404 })
  },
})

function redirect(location: string): Response {
  return new Response(null, { status: 302, headers: { location } })
}

const answers: Readonly<Record<string, () => Response>> = {
  '/page': () => new Response('hello', { headers: { 'content-type': 'text/plain' } }),
  '/moved': () => redirect('/page'),
  '/loop': () => redirect('/loop'),
  '/inside': () => redirect('http://10.0.0.1/secret'),
  '/metadata': () => redirect('http://169.254.169.254/latest'),
  '/file': () => redirect('file:///etc/passwd'),
  '/bomb': () => {
    const packed = Bun.gzipSync(new Uint8Array(20_000_000))
    return new Response(packed, { headers: { 'content-encoding': 'gzip' } })
  },
  '/damaged': () => new Response('not packed', { headers: { 'content-encoding': 'gzip' } }),
  '/silent': () => new Response(new ReadableStream({ start() {} })),
  '/endless': () => {
    return new Response(
      new ReadableStream({
        pull: (stream) => stream.enqueue(new Uint8Array(65_536)),
      }),
    )
  },
}

afterAll(() => server.stop(true))

const base = `http://site.test:${server.port}`

/** A network in which the test defines how names resolve, while connections are real. */
function network(hosts: Readonly<Record<string, readonly string[]>>): Network {
  return {
    resolve: async (host) => hosts[host] ?? Promise.reject(new Error(`ENOTFOUND ${host}`)),
    fetch: internet.fetch,
  }
}

interface Given {
  readonly allow?: readonly string[]
  readonly hosts?: Readonly<Record<string, readonly string[]>>
  readonly pageMs?: number
  readonly signal?: AbortSignal
}

function get(url: string, given: Given = {}): Promise<FetchedPage> {
  const pages = guardedFetch({
    policy: crawling(given.allow ?? ['127.0.0.1']),
    userAgent: 'Eider/1.2.3 (+crawler)',
    network: network(given.hosts ?? { 'site.test': ['127.0.0.1'] }),
    pageMs: given.pageMs ?? 5000,
  })
  return pages.fetch(url, { signal: given.signal ?? never, bytesMax: 1_000_000 })
}

async function failure(work: Promise<unknown>): Promise<readonly [string, string]> {
  const error = await work.catch((cause: unknown) => cause)
  if (error instanceof AppError) return [error.code, error.message]
  throw new Error(`expected an AppError, found ${error}`)
}

describe('a page', () => {
  test('comes from the checked address, under its own name', async () => {
    const page = await get(`${base}/page`)
    expect(page).toMatchObject({ url: `${base}/page`, status: 200 })
    expect(page.contentType).toStartWith('text/plain')
    expect(new TextDecoder().decode(page.bytes)).toBe('hello')
    expect(seen.at(-1)).toEqual({
      path: '/page',
      host: `site.test:${server.port}`,
      agent: 'Eider/1.2.3 (+crawler)',
    })
  })

  test('that is not there keeps its status', async () => {
    expect((await get(`${base}/nope`)).status).toBe(404)
  })

  test('whose server is down says what to check', async () => {
    const [code, message] = await failure(get('http://127.0.0.1:9/page'))
    expect([code, message]).toEqual([
      'crawl_failed',
      'GET http://127.0.0.1:9/page failed: the connection is refused; check the port, and that the server is running',
    ])
  })

  test('that cannot be read says why, in words for users', async () => {
    expect(await failure(get(`${base}/damaged`))).toEqual([
      'crawl_failed',
      `GET ${base}/damaged failed: the response cannot be decompressed`,
    ])
  })

  test('that moved is followed, and a page that moves for ever is not', async () => {
    expect((await get(`${base}/moved`)).url).toBe(`${base}/page`)
    expect(await failure(get(`${base}/loop`))).toEqual([
      'crawl_failed',
      `GET ${base}/loop failed: more than 5 redirects`,
    ])
  })

  test('that grows beyond the limit is not read on, packed or endless', async () => {
    for (const path of ['/bomb', '/endless']) {
      expect(await failure(get(`${base}${path}`))).toEqual([
        'crawl_failed',
        `GET ${base}${path} failed: the answer has more than 1000000 bytes`,
      ])
    }
  })

  test('of a server that says nothing ends at the deadline', async () => {
    expect(await failure(get(`${base}/silent`, { pageMs: 100 }))).toEqual([
      'crawl_failed',
      `GET ${base}/silent took longer than 100 ms`,
    ])
  })

  test('of a name that does not resolve ends at the deadline too', async () => {
    const pages = guardedFetch({
      policy: crawling([]),
      userAgent: 'x',
      network: { resolve: () => new Promise(() => {}), fetch: internet.fetch },
      pageMs: 50,
    })
    const [code, message] = await failure(
      pages.fetch('http://slow.test/', { signal: never, bytesMax: 1 }),
    )
    expect([code, message]).toEqual([
      'crawl_failed',
      'GET http://slow.test/ took longer than 50 ms',
    ])
  })

  test('that is no longer wanted ends with the reason', async () => {
    const controller = new AbortController()
    const work = get(`${base}/silent`, { signal: controller.signal })
    controller.abort(new AppError('cancelled', 'The client went away'))
    expect(await failure(work)).toEqual(['cancelled', 'The client went away'])
  })

  test('ignores a proxy of the environment', async () => {
    const script = `
      import { guardedFetch } from '${import.meta.dir}/../../src/ingest/sources/guarded-fetch.ts'
      import { addressPolicy } from '${import.meta.dir}/../../src/core/runtime/address-policy.ts'
      import { internet } from '${import.meta.dir}/../../src/core/runtime/address-policy.ts'
      const policy = addressPolicy({ setting: 'X', entries: ['127.0.0.1'] })
      const pages = guardedFetch({ policy, userAgent: 'x', network: internet, pageMs: 5000 })
      const signal = new AbortController().signal
      const page = await pages.fetch('http://127.0.0.1:${server.port}/page', { signal, bytesMax: 99 })
      console.log(new TextDecoder().decode(page.bytes))`
    const env = {
      ...process.env,
      HTTP_PROXY: 'http://127.0.0.1:1',
      http_proxy: 'http://127.0.0.1:1',
    }
    const child = Bun.spawn([process.execPath, '-e', script], { env, stdout: 'pipe' })
    expect(await new Response(child.stdout).text()).toBe('hello\n')
  })
})

describe('non-public addresses are refused before anything connects', () => {
  const port = server.port
  for (const [url, hosts] of [
    [`http://127.0.0.1:${port}/page`, {}],
    [`http://0x7f.1:${port}/page`, {}],
    [`http://2130706433:${port}/page`, {}],
    [`http://[::1]:${port}/page`, {}],
    [`http://[::ffff:127.0.0.1]:${port}/page`, {}],
    [`http://localhost.:${port}/page`, { localhost: ['127.0.0.1'] }],
    [`http://rebind.test:${port}/page`, { 'rebind.test': ['93.184.216.34', '127.0.0.1'] }],
    [`http://ula.test:${port}/page`, { 'ula.test': ['fd00::1'] }],
    ['http://169.254.169.254/latest/meta-data', {}],
  ] as const) {
    test(url.replace(String(port), 'port'), async () => {
      const count = seen.length
      const [code, message] = await failure(get(url, { allow: [], hosts }))
      expect([code, seen.length]).toEqual(['address_refused', count])
      expect(message).toContain('EIDER_CRAWL_ALLOW')
    })
  }

  test('a host without a scheme', async () => {
    const [code, message] = await failure(get('www.example.com/page'))
    expect([code, message]).toEqual([
      'address_refused',
      '"www.example.com/page" is not an address: start it with https:// or http://',
    ])
  })

  for (const path of ['/inside', '/metadata', '/file']) {
    test(`a redirect: ${path}`, async () => {
      expect((await failure(get(`${base}${path}`)))[0]).toBe('address_refused')
    })
  }

  test('a name that changes its meaning after the check is not asked again', async () => {
    let asked = 0
    const pages = guardedFetch({
      policy: crawling(['127.0.0.1']),
      userAgent: 'x',
      network: {
        resolve: async () => {
          asked += 1
          return asked === 1 ? ['127.0.0.1'] : ['10.0.0.1']
        },
        fetch: internet.fetch,
      },
      pageMs: 5000,
    })
    const page = await pages.fetch(`${base}/page`, { signal: never, bytesMax: 100 })
    expect([page.status, asked]).toEqual([200, 1])
  })
})
