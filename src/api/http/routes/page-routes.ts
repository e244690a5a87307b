/** The web page: one HTML file for all its addresses, and the files it loads. It loads nothing from other sites. */
import { AppError } from '../../../core/errors.ts'
import icon from '../../../ui/icon.svg' with { type: 'text' }
import { staticAnswer } from '../answers/static-file.ts'
import { type Operations, resource } from '../openapi/operation.ts'
import { type PageFiles, pageFiles } from '../page/page-files.ts'

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

/** The addresses of the page besides `/`; `src/ui/page.tsx` says what each shows. */
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

/** A file with a hash of its content in its name never changes. */
const FOR_EVER = 'public, max-age=31536000, immutable'

export const pageOperations = pageOperationsOver(pageFiles())

/** @param files a function that builds or has them */
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
      summary: 'The web page',
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
  const words = error instanceof AppError ? error.message : 'The page could not be made'
  return new Response(`<!doctype html><title>Eider</title><p>${words}. <a href="/docs">Docs</a>`, {
    status: 500,
    headers: {
      ...COMMON_HEADERS,
      'content-security-policy': "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
    },
  })
}
