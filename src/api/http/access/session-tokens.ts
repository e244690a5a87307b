import { createHmac } from 'node:crypto'
import { isObject, parsedJson } from '../../../core/json.ts'
import { LruMap } from '../../../core/runtime/lru-map.ts'

export interface TokenSession {
  readonly tokenId: string
  readonly expiresMs: number
  /** undefined for the user from the settings. */
  readonly user: TokenUser | undefined
}

interface TokenUser {
  readonly id: number
  /** A fingerprint of the password that was valid when the token was issued. */
  readonly mark: string
}

/** Verifying is the largest cost of an authenticated request. */
const CHECKED_MAX = 10_000

/**
 * The settings' user has a key from its credentials: changing them ends only that user's sessions.
 */
export class SessionTokens {
  readonly #first: TokenSigner
  readonly #users: TokenSigner
  /** Verified once. Expiry is checked every time; the caller checks revocation and the user. */
  readonly #checked = new LruMap<string, TokenSession>({ sizeMax: CHECKED_MAX })

  /** @param secret must survive a restart */
  constructor(
    secret: Uint8Array,
    { username, password }: { readonly username: string; readonly password: string },
  ) {
    const keyOf = (text: string) => createHmac('sha256', secret).update(text).digest()
    this.#first = tokenSigner(keyOf(JSON.stringify([username, password])))
    this.#users = tokenSigner(keyOf('users'))
  }

  sign(given: {
    readonly tokenId: string
    /** Seconds since 1970. */
    readonly issued: number
    readonly expires: number
    readonly user?: TokenUser
  }): Promise<string> {
    const { tokenId, issued, expires, user } = given
    const claims = { jti: tokenId, iat: issued, exp: expires }
    if (user === undefined) return this.#first.sign(claims)
    return this.#users.sign({ ...claims, sub: `${user.id}.${user.mark}` })
  }

  /** Returns undefined for a token that has expired or is not from this server. */
  async verify(token: string, nowMs: number): Promise<TokenSession | undefined> {
    const known = this.#checked.get(token)
    if (known !== undefined) return known.expiresMs > nowMs ? known : undefined
    const session = await this.#verifyAnew(token, nowMs)
    if (session !== undefined) this.#checked.set(token, session)
    return session
  }

  async #verifyAnew(token: string, nowMs: number): Promise<TokenSession | undefined> {
    // The unverified content only selects the key to try.
    const isOfUser = hasSubject(token)
    const claims = await (isOfUser ? this.#users : this.#first).verify(token, nowMs)
    if (claims?.jti === undefined || claims.exp === undefined) return undefined
    const session = { tokenId: claims.jti, expiresMs: claims.exp * 1000 }
    if (!isOfUser) return { ...session, user: undefined }
    const [id = '', mark = ''] = (claims.sub ?? '').split('.')
    return { ...session, user: { id: Number(id), mark } }
  }
}

function hasSubject(token: string): boolean {
  const claims = parsedJson(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
  return isObject(claims) && 'sub' in claims
}

type TokenSigner = ReturnType<typeof tokenSigner>

/** Signs and verifies JSON Web Tokens (RFC 7519) with HMAC-SHA-256. */
function tokenSigner(key: Uint8Array) {
  // Loaded with the first token, because many servers have no login.
  const load = async () => {
    const { jwt } = await import('@elysiajs/jwt')
    return jwt({ name: 'tokens', alg: 'HS256', secret: key }).decorator.tokens
  }
  let loaded: ReturnType<typeof load> | undefined
  const tokens = () => {
    loaded ??= load()
    return loaded
  }
  return {
    // Otherwise the plugin would set `iat` from its own clock.
    async sign({ iat, ...claims }: { jti: string; iat: number; exp: number; sub?: string }) {
      return (await tokens()).sign({ ...claims, issued: iat, iat: false })
    },
    async verify(token: string, nowMs: number) {
      const options = { algorithms: ['HS256'], currentDate: new Date(nowMs) }
      const claims = await (await tokens()).verify(token, options)
      return claims === false ? undefined : claims
    },
  }
}
