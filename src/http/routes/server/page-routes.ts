/** The web page: one HTML file for all its addresses, and what that loads. It loads nothing from other sites. */
import { createHash } from 'node:crypto'
import { AppError } from '../../../errors.ts'
import icon from '../../../ui/icon.svg' with { type: 'text' }
import { route } from '../../openapi/openapi.ts'
import { type PageFile, pageFiles } from '../../page/page-files.ts'
import type { AddRoutes } from '../../route-context.ts'

const COMMON_HEADERS = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
}

/** Nothing of another host, and nothing inline: a text that looks like a script stays a text. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "worker-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** The addresses of the page beside `/`; `src/ui/page.tsx` says what each of them shows. */
const ADDRESSES = [
  '/create/*',
  '/projects/*',
  '/sql',
  '/compare',
  '/traces/*',
  '/operations',
  '/operations/*',
]

/** What a name with a hash of its content holds never changes. */
const FOR_EVER = 'public, max-age=31536000, immutable'

export const addPageRoutes: AddRoutes = (app) => {
  const files = pageFiles()
  const page = async (request: Request) => {
    const { html } = await files()
    const etag = `"${createHash('sha256').update(html.bytes).digest('base64url').slice(0, 22)}"`
    const headers = { 'content-security-policy': POLICY, 'cache-control': 'no-cache', etag }
    if (request.headers.get('if-none-match') === etag) {
      return new Response(null, { status: 304, headers: { ...COMMON_HEADERS, ...headers } })
    }
    return answered(request, html, headers)
  }
  const about = { needs: 'nothing', tag: 'Server', produces: 'text/html; charset=utf-8' } as const
  app.get(
    '/',
    ({ request }) => page(request),
    route({ ...about, id: 'getPage', summary: 'The web page', answers: { 200: 'The file' } }),
  )
  const hidden = route({
    ...about,
    summary: 'The web page, or a file that it needs',
    answers: { 200: 'The file' },
    isHidden: true,
  })
  for (const address of ADDRESSES) app.get(address, ({ request }) => page(request), hidden)
  app.get(
    '/assets/:file',
    async ({ request, params: { file } }) => {
      const asset = (await files()).assets.get(file)
      if (asset === undefined) {
        throw new AppError('not_found', 'There is no such file. Load the page again')
      }
      return answered(request, asset, { 'cache-control': FOR_EVER })
    },
    hidden,
  )
  const iconHeaders = { ...COMMON_HEADERS, 'cache-control': 'no-cache' }
  app.get(
    '/favicon.ico',
    () => new Response(icon, { headers: { ...iconHeaders, 'content-type': 'image/svg+xml' } }),
    hidden,
  )
}

function answered(
  request: Request,
  { bytes, gzipped, contentType }: PageFile,
  more: Readonly<Record<string, string>>,
): Response {
  const headers = {
    ...COMMON_HEADERS,
    ...more,
    'content-type': contentType,
    vary: 'accept-encoding',
  }
  if (!/\bgzip\b/.test(request.headers.get('accept-encoding') ?? '')) {
    return new Response(bytes, { headers })
  }
  return new Response(gzipped, { headers: { ...headers, 'content-encoding': 'gzip' } })
}
