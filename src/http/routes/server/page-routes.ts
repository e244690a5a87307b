/** The web pages: one file each, with style and script inline. They load nothing from other sites. */
import { createHash } from 'node:crypto'
import page from '../../../ui/index.html' with { type: 'text' }
import { type RouteNeed, route } from '../../openapi/openapi.ts'
import type { AddRoutes } from '../../route-context.ts'

const COMMON_HEADERS = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-cache',
}

const HTML = 'text/html; charset=utf-8'

/** An eider's head. */
const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">
<rect width="32" height="32" rx="7" fill="#0f5c6e"/>
<path d="M5 26c0-9 4-17 12-17 5 0 8 3 8 7 0 6-5 10-12 10z" fill="#fff"/>
<path d="M24 13l6 3-6 2z" fill="#f2b04c"/><circle cx="20" cy="14" r="1.5" fill="#0f5c6e"/></svg>`

interface Page {
  readonly id: string
  readonly summary: string
  readonly content: string
  readonly contentType: string
  readonly needs: RouteNeed
}

export const addPageRoutes: AddRoutes = (app) => {
  // Bun's types call every imported .html a bundle; imported as text it is a string.
  const pages: Readonly<Record<string, Page>> = {
    '/': {
      id: 'getPage',
      summary: 'The web page',
      content: String(page),
      contentType: HTML,
      needs: 'nothing',
    },
    '/favicon.ico': {
      id: 'getIcon',
      summary: 'The icon',
      content: ICON,
      contentType: 'image/svg+xml',
      needs: 'nothing',
    },
  }
  for (const [path, { content, contentType, ...about }] of Object.entries(pages)) {
    const headers = headersOf(content, contentType)
    const answers = { 200: 'The file' }
    const isHidden = path === '/favicon.ico'
    const options = route({ ...about, tag: 'Server', answers, produces: contentType, isHidden })
    app.get(path, () => new Response(content, { headers }), options)
  }
}

function headersOf(content: string, contentType: string): Readonly<Record<string, string>> {
  const headers = { ...COMMON_HEADERS, 'content-type': contentType }
  if (contentType !== HTML) return headers
  return { ...headers, 'content-security-policy': securityPolicy(content) }
}

/** Only the page's own scripts and styles count: the policy names them by their hashes. */
function securityPolicy(html: string): string {
  return [
    "default-src 'none'",
    `script-src ${hashesOf(html, 'script')}`,
    `style-src ${hashesOf(html, 'style')}`,
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

function hashesOf(html: string, element: string): string {
  const inline = html.matchAll(new RegExp(`<${element}>([\\s\\S]*?)</${element}>`, 'g'))
  const hashes = [...inline].map(([, text = '']) => {
    return `'sha256-${createHash('sha256').update(text).digest('base64')}'`
  })
  return hashes.length === 0 ? "'none'" : hashes.join(' ')
}
