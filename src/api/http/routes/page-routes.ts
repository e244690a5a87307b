/**
 * Serves the web page: one HTML file for all its addresses, and the files it loads. Nothing comes
 * from other sites.
 */
import { AppError } from '../../../core/errors.ts'
import icon from '../../../ui/icon.svg' with { type: 'text' }
import { madeOnce, type StaticFile, staticAnswer, staticFile } from '../answers/static-file.ts'
import { type PageFiles, pageFiles } from '../page/page-files.ts'
import { type Operations, resource } from './operation.ts'

const COMMON_HEADERS = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
}

const NO_FRAMES = ["base-uri 'none'", "frame-ancestors 'none'"]

/** Nothing from other hosts and nothing inline: text that looks like a script stays text. */
function policy(...others: readonly string[]): string {
  const own = ['script-src', 'style-src', 'connect-src'].map((kind) => `${kind} 'self'`)
  return ["default-src 'none'", ...own, ...others, "form-action 'none'", ...NO_FRAMES].join('; ')
}

const POLICY = policy("img-src 'self' data: blob:", "worker-src 'self'")

/** The page's addresses besides `/`; `src/ui/page.tsx` decides what each shows. */
const ADDRESSES = [
  '/create',
  '/create/*',
  '/projects',
  '/projects/*',
  '/sql',
  '/connections',
  '/traces',
  '/traces/*',
  '/operations',
  '/operations/*',
]

const HTML_HEADERS = { 'content-security-policy': POLICY }

/** The name contains a hash of the content, so such a file never changes. */
const FOR_EVER = 'public, max-age=31536000, immutable'

export const pageOperations = pageOperationsOver(pageFiles())

/** @param files builds the files or returns built ones */
export function pageOperationsOver(files: () => Promise<PageFiles>): Operations {
  return resource('Server', (api, { deps, scopeOf }) => {
    const page = async (request: Request) => {
      try {
        const { html } = await files()
        return staticAnswer(request, html, HTML_HEADERS)
      } catch (error) {
        if (request.headers.get('accept')?.includes('text/html') !== true) throw error
        const cause = error instanceof Error ? (error.cause ?? error) : error
        deps.logError({ requestId: scopeOf(request).id, error: cause })
        return unmade(error)
      }
    }
    const about = { needs: 'nothing', produces: 'text/html; charset=utf-8' } as const
    api.get('/', {
      ...about,
      id: 'getPage',
      summary: 'Get the web page',
      answers: { 200: 'The file', 304: 'Not modified' },
      run: ({ request }) => page(request),
    })
    const hidden = {
      ...about,
      summary: 'The web page or one of its files',
      isHidden: true,
    }
    for (const address of ADDRESSES) {
      api.get(address, { ...hidden, run: ({ request }) => page(request) })
    }
    api.get('/assets/:file', {
      ...hidden,
      async run({ request, params: { file } }) {
        const asset = (await files()).assets.get(file)
        if (asset === undefined) {
          throw new AppError('not_found', 'There is no such file. Load the page again')
        }
        return staticAnswer(request, asset, { 'cache-control': FOR_EVER })
      },
    })
    api.get('/favicon.ico', {
      ...hidden,
      run() {
        const headers = { ...COMMON_HEADERS, 'cache-control': 'no-cache' }
        return new Response(icon, { headers: { ...headers, 'content-type': 'image/svg+xml' } })
      },
    })
  })
}

/** The answer if the page could not be built. */
function unmade(error: unknown): Response {
  const words = error instanceof AppError ? error.message : 'The page could not be built'
  return new Response(`<!doctype html><title>Eider</title><p>${words}. <a href="/docs">Docs</a>`, {
    status: 500,
    headers: {
      ...COMMON_HEADERS,
      'content-security-policy': ["default-src 'none'", ...NO_FRAMES].join('; '),
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
    },
  })
}

/** Serves the documentation: Eider's pages, and a viewer for the OpenAPI document. Public. */

/** The files for the browser, by relative name. The viewer's files come from its package. */
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

/** The viewer's style sheet has icons. */
const DOCS_HEADERS = { 'content-security-policy': policy("img-src 'self' data:") }

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
    return staticAnswer(request, file, DOCS_HEADERS)
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
    summary: 'Get the documentation and the error codes',
    answers,
    run: ({ request }) => page(request, ''),
  })
  api.get('/docs/api', {
    ...about,
    id: 'getApiReader',
    summary: 'Get the API reference',
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
      return staticAnswer(request, asset, DOCS_HEADERS)
    },
  })
})

function packaged(file: string): URL {
  return new URL(import.meta.resolve(file))
}

function noSuchPage(): AppError {
  return new AppError('not_found', 'There is no such page. /docs lists them all')
}
