/** The documentation: our own pages, and a reader for the OpenAPI document. The same for everyone, so open to everyone. */
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { AppError } from '../../../errors.ts'
import type { DocPages } from '../../docs/doc-pages.ts'
import { route } from '../../openapi/openapi.ts'
import type { AddRoutes } from '../../route-context.ts'

/** Files of the browser, by name: where they are, from this one; those of the reader are in its package. */
const ASSETS: Readonly<Record<string, () => URL>> = {
  'docs.css': () => new URL('../../../ui/docs/docs.css', import.meta.url),
  'docs-theme.js': () => new URL('../../../ui/docs/docs-theme.js', import.meta.url),
  'docs.js': () => new URL('../../../ui/docs/docs.js', import.meta.url),
  'api-reader.css': () => new URL('../../../ui/docs/api-reader.css', import.meta.url),
  'api-reader.js': () => new URL('../../../ui/docs/api-reader.js', import.meta.url),
  'swagger-ui.css': () => packaged('swagger-ui-dist/swagger-ui.css'),
  'swagger-ui-bundle.js': () => packaged('swagger-ui-dist/swagger-ui-bundle.js'),
}

const ASSET_TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
}

/** Nothing of another host, nothing inline but the icons of the reader's style sheet. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const HEADERS = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  // Asked for each time, and answered with 304 as long as it is the same: an update shows at once.
  'cache-control': 'no-cache',
  vary: 'accept-encoding',
}

interface Served {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly zipped: Uint8Array<ArrayBuffer>
  readonly contentType: string
  readonly etag: string
}

export const addDocsRoutes: AddRoutes = (app) => {
  const served = new Map<string, Promise<Served>>()
  const kept = (key: string, make: () => Promise<Served>) => {
    let one = served.get(key)
    if (one === undefined) {
      one = make()
      served.set(key, one)
      one.catch(() => served.delete(key))
    }
    return one
  }
  let opening: Promise<DocPages> | undefined
  const page = async (request: Request, slug: string) => {
    opening ??= import('../../docs/doc-pages.ts').then(({ DocPages }) => DocPages.open())
    const found = (await opening).find(slug)
    if (found === undefined) throw noSuchPage()
    return answered(
      request,
      await kept(slug, async () => {
        const { content, contentType } = await found
        return servedOf(new TextEncoder().encode(content), contentType)
      }),
    )
  }
  const about = { needs: 'nothing', tag: 'Server', produces: 'text/html; charset=utf-8' } as const
  const hidden = route({
    ...about,
    summary: 'A page of the documentation, or a file that it needs',
    answers: { 200: 'The page' },
    isHidden: true,
  })
  app.get(
    '/docs',
    ({ request }) => page(request, ''),
    route({
      ...about,
      id: 'getDocs',
      summary: 'The documentation and the error codes',
      answers: { 200: 'The page' },
    }),
  )
  app.get(
    '/docs/api',
    ({ request }) => page(request, 'api'),
    route({
      ...about,
      id: 'getApiReader',
      summary: 'A reader for this document',
      answers: { 200: 'The page' },
    }),
  )
  app.get('/docs/:page', ({ request, params }) => page(request, params.page), hidden)
  app.get(
    '/docs/:page/:part',
    ({ request, params }) => page(request, `${params.page}/${params.part}`),
    hidden,
  )
  app.get(
    '/docs/assets/:file',
    async ({ request, params: { file } }) => {
      const location = Object.hasOwn(ASSETS, file) ? ASSETS[file] : undefined
      if (location === undefined) throw noSuchPage()
      const contentType = ASSET_TYPES[file.slice(file.lastIndexOf('.') + 1)] ?? ''
      const asset = await kept(`assets/${file}`, async () => {
        return servedOf(await Bun.file(location()).bytes(), contentType)
      })
      return answered(request, asset)
    },
    hidden,
  )
}

function packaged(file: string): URL {
  return new URL(import.meta.resolve(file))
}

async function servedOf(bytes: Uint8Array<ArrayBuffer>, contentType: string): Promise<Served> {
  const zipped = new Uint8Array(await promisify(gzip)(bytes, { level: 9 }))
  const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`
  return { bytes, zipped, contentType, etag }
}

function answered(
  { headers: sent }: Request,
  { bytes, zipped, contentType, etag }: Served,
): Response {
  const headers = { ...HEADERS, 'content-type': contentType, etag }
  if (sent.get('if-none-match') === etag) return new Response(null, { status: 304, headers })
  if (!/\bgzip\b/.test(sent.get('accept-encoding') ?? '')) return new Response(bytes, { headers })
  return new Response(zipped, { headers: { ...headers, 'content-encoding': 'gzip' } })
}

function noSuchPage(): AppError {
  return new AppError('not_found', 'There is no such page. /docs lists those there are')
}
