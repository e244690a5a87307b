/** A web of two hosts whose pages each test defines, crawled by the real fetcher. */

import { addressPolicy, internet } from '../../src/core/runtime/address-policy.ts'
import { insert } from '../../src/ingest/pipeline/insert.ts'
import { guardedFetch } from '../../src/ingest/sources/guarded-fetch.ts'
import type { CrawlRequest } from '../../src/ingest/sources/insert-request.ts'
import { knowledgeBase } from '../support/knowledge-base.ts'
import { fixture, never } from './insert-fixture.ts'

type Answer = Response | Promise<Response>
export type Pages = Readonly<Record<string, (url: URL) => Answer>>

const HOSTS = ['a.test', 'b.test', 'xn--mnchen-3ya.test']
let pages: Pages = {}
/** What the last crawl requested. */
export const seen = { asked: [] as string[], now: 0, most: 0 }

export const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  async fetch(request) {
    const url = new URL(request.url)
    const host = (request.headers.get('host') ?? '').replace(/:\d+$/, '')
    const own = host === 'a.test' ? url.pathname : `${host}${url.pathname}`
    seen.asked.push(`${own}${url.search}`)
    seen.now += 1
    seen.most = Math.max(seen.most, seen.now)
    try {
      return (await pages[own]?.(url)) ?? new Response('not here', { status: 404 })
    } finally {
      seen.now -= 1
    }
  },
})

// Several test files share it, and it ends with their process.
server.unref()

export const A = `http://a.test:${server.port}`
export const B = `http://b.test:${server.port}`

export async function crawled(
  site: Pages,
  crawl: Partial<CrawlRequest> = {},
  starts = [`${A}/`],
  pageMs = 5000,
) {
  pages = site
  Object.assign(seen, { asked: [], now: 0, most: 0 })
  const policy = addressPolicy({ setting: 'EIDER_CRAWL_ALLOW', entries: HOSTS })
  const network = {
    resolve: async (host: string) => (HOSTS.includes(host) ? ['127.0.0.1'] : ['10.0.0.1']),
    fetch: internet.fetch,
  }
  const web = guardedFetch({ policy, network, userAgent: 'Eider', pageMs })
  const { store, deps } = fixture({ pages: web })
  const request = { allowedDomains: [], patterns: [], ...crawl }
  await insert({ kb: knowledgeBase(), urls: starts, crawl: request }, deps, never)
  return { ids: Object.keys(store.contents).map((id) => id.replace(A, '')), store }
}

export function html(text: string, links: readonly string[] = [], head = '') {
  const anchors = links.map((link) => `<a href="${link}">${link}</a>`).join(' ')
  const body = `<html><head>${head}<title>t</title></head><body><p>${text}</p>${anchors}`
  return () => new Response(body, { headers: { 'content-type': 'text/html' } })
}

export const moved = (location: string, status = 302) => {
  return () => new Response(null, { status, headers: { location } })
}
