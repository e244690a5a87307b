/** The documentation: our own pages, and a reader for the OpenAPI document. The same for everyone, so open to everyone. */
import { AppError } from '../../../core/errors.ts'
import { madeOnce, type StaticFile, staticAnswer, staticFile } from '../answers/static-file.ts'
import { resource } from '../openapi/operation.ts'

/** The browser's files, by name, with their paths from here; those of the reader are in its package. */
const ASSETS: Readonly<Record<string, () => URL>> = {
  ...Object.fromEntries(
    ['design-tokens.css', 'base.css', 'shell-layout.css', 'components.css'].map((name) => {
      return [name, () => new URL(`../../../ui/styles/${name}`, import.meta.url)] as const
    }),
  ),
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

const HEADERS = { 'content-security-policy': POLICY }

export const docsOperations = resource('Server', (api) => {
  const files = new Map<string, () => Promise<StaticFile>>()
  const kept = (key: string, make: () => Promise<StaticFile>) => {
    const file = files.get(key) ?? madeOnce(make)
    files.set(key, file)
    return file()
  }
  const opened = madeOnce(async () => {
    const { DocPages } = await import('../page/doc-pages.ts')
    return DocPages.open()
  })
  const page = async (request: Request, slug: string) => {
    const make = (await opened()).find(slug)
    if (make === undefined) throw noSuchPage()
    const file = await kept(slug, async () => {
      const { content, contentType } = await make()
      return staticFile(content, contentType)
    })
    return staticAnswer(request, file, HEADERS)
  }
  const about = { needs: 'nothing', produces: 'text/html; charset=utf-8' } as const
  const hidden = {
    ...about,
    summary: 'A page of the documentation or one of its files',
    isHidden: true,
  }
  const answers = { 200: 'The page', 304: 'Not modified' }
  api.get('/docs', {
    ...about,
    id: 'getDocs',
    summary: 'The documentation and the error codes',
    answers,
    run: ({ request }) => page(request, ''),
  })
  api.get('/docs/api', {
    ...about,
    id: 'getApiReader',
    summary: 'The API reader',
    answers,
    run: ({ request }) => page(request, 'api'),
  })
  api.get('/docs/:page', { ...hidden, run: ({ request, params }) => page(request, params.page) })
  api.get('/docs/:page/:part', {
    ...hidden,
    run: ({ request, params }) => page(request, `${params.page}/${params.part}`),
  })
  api.get('/docs/assets/:file', {
    ...hidden,
    async run({ request, params: { file } }) {
      const location = Object.hasOwn(ASSETS, file) ? ASSETS[file] : undefined
      if (location === undefined) throw noSuchPage()
      const contentType = ASSET_TYPES[file.slice(file.lastIndexOf('.') + 1)] ?? ''
      const asset = await kept(`assets/${file}`, async () => {
        return staticFile(await Bun.file(location()).bytes(), contentType)
      })
      return staticAnswer(request, asset, HEADERS)
    },
  })
})

function packaged(file: string): URL {
  return new URL(import.meta.resolve(file))
}

function noSuchPage(): AppError {
  return new AppError('not_found', 'There is no such page. /docs lists those there are')
}
