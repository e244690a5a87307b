import { isQuery } from '../../core/domain/server-state.ts'
import { AppError } from '../../core/errors.ts'
import { settlesWithin } from '../../core/runtime/cancellation.ts'
import { failureResponseAt } from './request/error-response.ts'

/** How long a request waits for the next process. */
const HOLD_MS = 5_000
const HELD_MAX = 1_000
const BODY_BYTES_MAX = 1024 ** 2

/**
 * Answers requests while another process takes the place of this one: those that only read wait for it and are passed on,
 * others are told to come again.
 */
export class Handover {
  readonly #successor = Promise.withResolvers<URL | null>()
  #heldCount = 0

  async answer(request: Request): Promise<Response> {
    const answer = await this.#answer(request)
    // This process ends soon.
    answer.headers.set('connection', 'close')
    return answer
  }

  async #answer(request: Request): Promise<Response> {
    const path = new URL(request.url).pathname
    const held = this.#heldCount < HELD_MAX ? await readingRequest(request, path) : null
    const url = held === null ? null : await this.#next()
    const failure = new AppError('shutting_down', 'The server is being replaced; try again')
    if (held === null || url === null) return failureResponseAt(path, failure, Date.now())
    const target = new URL(request.url.slice(new URL(request.url).origin.length), url)
    const { method, headers } = request
    const sent = { method, headers, redirect: 'manual', decompress: false } as const
    try {
      return await fetch(target, { ...sent, ...(held.body === null ? {} : { body: held.body }) })
    } catch {
      return failureResponseAt(path, failure, Date.now())
    }
  }

  /** @param url where the next process answers; null: it does not */
  end(url: URL | null): void {
    this.#successor.resolve(url)
  }

  async #next(): Promise<URL | null> {
    const { promise } = this.#successor
    this.#heldCount += 1
    const isThere = await settlesWithin(promise, HOLD_MS)
    this.#heldCount -= 1
    return isThere ? promise : null
  }
}

interface HeldRequest {
  readonly body: ArrayBuffer | null
}

/** null: it may change something, or is too large to be kept. */
async function readingRequest(request: Request, path: string): Promise<HeldRequest | null> {
  if (request.method === 'GET' || request.method === 'HEAD') return { body: null }
  const isSearch = /^\/api\/projects\/[^/]+\/knowledge_bases\/[^/]+\/search$/.test(path)
  const length = Number(request.headers.get('content-length') ?? Number.POSITIVE_INFINITY)
  if (request.method !== 'POST' || length > BODY_BYTES_MAX) return null
  if (!isSearch && path !== '/api/sql/query') return null
  const body = await request.arrayBuffer()
  return isSearch || holdsQuery(body) ? { body } : null
}

function holdsQuery(body: ArrayBuffer): boolean {
  try {
    const sent: unknown = JSON.parse(new TextDecoder().decode(body))
    const isObject = typeof sent === 'object' && sent !== null && 'query' in sent
    return isObject && typeof sent.query === 'string' && isQuery(sent.query)
  } catch {
    return false
  }
}
