import type { Principal } from '../../../core/domain/access/principal.ts'
import {
  type AccessKeys,
  KEY_PREFIX,
  type KnownKey,
} from '../../../core/domain/ports/access-ports.ts'
import { AppError } from '../../../core/errors.ts'
import { TokenBucket } from '../../../core/runtime/token-bucket.ts'

export interface KeyAccessDeps {
  readonly keys: AccessKeys
  readonly settings: {
    /** For keys without their own limit; 0: unlimited. */
    readonly keyRequestsPerMinute: number
  }
  /** Milliseconds since 1970. */
  readonly now: () => number
}

/** One message for every fault, so that guessing reveals nothing. */
const KEY_REFUSED =
  'This key opens nothing: it is not whole, was revoked or has expired. Ask an admin of this server for a new one (POST /api/keys)'

/** Access by key, and its rate limit. */
export class KeyAccess {
  readonly #deps: KeyAccessDeps
  /** One bucket per key, which holds a minute's requests, fills evenly, and is dropped with its key. */
  readonly #buckets = new WeakMap<KnownKey, TokenBucket>()

  constructor(deps: KeyAccessDeps) {
    this.#deps = deps
  }

  /** Whose request it is; it counts as one of the key's. @throws AppError `unauthorized`, `rate_limited` */
  identify(text: string): { readonly principal: Principal; readonly login: string } {
    const key = this.#known(text)
    if (key === undefined) throw new AppError('unauthorized', KEY_REFUSED)
    this.#count(key)
    this.#deps.keys.noteUse(key.id)
    return { principal: key.principal, login: loginOf(key) }
  }

  /** Whose requests share places and variables; undefined: the key is invalid. */
  loginOf(text: string): string | undefined {
    const key = this.#known(text)
    return key === undefined ? undefined : loginOf(key)
  }

  #known(text: string): KnownKey | undefined {
    const key = this.#deps.keys.find(text)
    return key !== undefined && key.expiresMs > this.#deps.now() ? key : undefined
  }

  #count(key: KnownKey): void {
    const { settings, now } = this.#deps
    const perMinute = key.requestsPerMinute ?? settings.keyRequestsPerMinute
    if (perMinute === 0) return
    const nowMs = now()
    const rate = { size: perMinute, perSecond: perMinute / 60 }
    const bucket = this.#buckets.get(key) ?? new TokenBucket(rate, nowMs)
    this.#buckets.set(key, bucket)
    const waitMs = bucket.take(nowMs, 0)
    if (waitMs === 0) return
    const retryAfterSeconds = Math.max(1, Math.ceil(waitMs / 1000))
    const limit = `The key ${key.principal.name} may make ${perMinute} requests a minute`
    throw new AppError('rate_limited', `${limit}; try again in ${retryAfterSeconds} s`, {
      retryAfterSeconds,
    })
  }
}

function loginOf({ id }: KnownKey): string {
  return `key ${id}`
}

/**
 * Recognizes anything that looks like an Eider key, complete or not: a client that sends one expects its limits to apply,
 * even on a server without a login. Other tokens are not keys. MindsDB's Python client sends its `api_key` as `X-Api-Key`.
 */
export function keyTextOf({ headers }: Pick<Request, 'headers'>): string | undefined {
  return keyTextIn(headers.get('authorization')) ?? keyTextIn(headers.get('x-api-key'))
}

function keyTextIn(sent: string | null): string | undefined {
  if (sent === null) return undefined
  const start = sent.toLowerCase().indexOf(KEY_PREFIX)
  // It is the whole of the value, or what follows the scheme.
  const isToken = start === 0 || (start > 0 && /^[\w-]+\s+$/.test(sent.slice(0, start)))
  return isToken ? sent.slice(start).trimEnd() : undefined
}
