import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { ANYONE, type Principal } from '../../domain/access/principal.ts'
import { AppError } from '../../errors.ts'
import type { SessionName } from '../../query/sessions.ts'
import { KeyAccess, type KeyAccessDeps, keyTextOf } from './key-access.ts'
import { LoginThrottle, type LoginThrottleDeps } from './login-throttle.ts'

const COOKIE = 'session'
const SESSION_HEADER = 'x-session'
const SESSION_NAME = /^[\w.:-]{1,128}$/

export interface Credentials {
  readonly username: string
  readonly password: string
}

export interface LoginSettings {
  /** The login is on when both are set. */
  readonly username?: string | undefined
  readonly password?: string | undefined
  readonly tokenTtlSeconds: number
}

export interface AuthenticationDeps extends LoginThrottleDeps, KeyAccessDeps {
  readonly settings: LoginSettings & KeyAccessDeps['settings']
  /** Tokens that were logged out before they expired. They outlive the process. */
  readonly revokedTokens: {
    /** @param expiresMs when the token expires by itself; after that it need not be remembered */
    revoke(tokenId: string, expiresMs: number): Promise<void>
    isRevoked(tokenId: string): boolean
  }
  /** At least 32 random bytes that outlive the process: the key that signs tokens is derived from them. */
  readonly signingKey: Uint8Array
  /** A new UUID. */
  readonly newId: () => string
}

export interface Identity {
  readonly principal: Principal
  /** undefined: it belongs to none. */
  readonly login: string | undefined
}

interface Session {
  readonly tokenId: string
  readonly expiresMs: number
}

/** Its beginning is what existing clients know. */
const AUTHORIZATION_REQUIRED =
  'Authorization is required to complete the request: send a token of POST /api/login, or a key of POST /api/keys, as "Authorization: Bearer …"'

/** Logins and their tokens, and keys. Without a username and password in the settings, everyone may come in. */
export class Authentication {
  readonly isOn: boolean
  readonly #deps: AuthenticationDeps
  readonly #expected: Credentials
  readonly #tokens: TokenSigner
  readonly #throttle: LoginThrottle
  readonly #keys: KeyAccess
  /** The token's id of each request that came with a good one. */
  readonly #logins = new WeakMap<Request, string>()

  constructor(deps: AuthenticationDeps) {
    const { username, password } = deps.settings
    this.isOn = username !== undefined && password !== undefined
    this.#deps = deps
    this.#expected = { username: username ?? '', password: password ?? '' }
    this.#tokens = tokenSigner(signingKeyOf(deps.signingKey, this.#expected))
    this.#throttle = new LoginThrottle(deps)
    this.#keys = new KeyAccess(deps)
  }

  /**
   * A token for the right credentials; wrong ones wait. With the login off, any credentials get a token, so that a client
   * which always logs in works.
   * @param address the client's network address
   * @throws AppError `wrong_credentials`, `too_many_logins`
   */
  async login(sent: Credentials, address: string, signal: AbortSignal): Promise<string> {
    const attempt = { address, username: sent.username }
    const isRight = () => areEqual(sent, this.#expected)
    if (this.isOn && !(await this.#throttle.attempt(attempt, isRight, signal))) {
      throw new AppError('wrong_credentials', 'Invalid username or password')
    }
    const issued = Math.floor(this.#deps.now() / 1000)
    const expires = issued + this.#deps.settings.tokenTtlSeconds
    return this.#tokens.sign({ jti: this.#deps.newId(), iat: issued, exp: expires })
  }

  /** Revokes every token that the request carries. */
  async logout(request: Request): Promise<void> {
    for (const token of tokensOf(request)) {
      const session = await this.#sessionOf(token)
      if (session === undefined) continue
      await this.#deps.revokedTokens.revoke(session.tokenId, session.expiresMs)
    }
  }

  async isConfirmed(request: Request): Promise<boolean> {
    const text = keyTextOf(request)
    if (text !== undefined) return this.#keys.loginOf(text) !== undefined
    if (!this.isOn || this.#logins.has(request)) return true
    for (const token of tokensOf(request)) {
      const session = await this.#sessionOf(token)
      if (session === undefined) continue
      this.#logins.set(request, session.tokenId)
      return true
    }
    return false
  }

  /**
   * The session that the request belongs to: that of its login or, within it, the one that `X-Session` names. With the login
   * off, whatever `X-Session`, the bearer token or the cookie says names one. null: it names none.
   * @throws AppError `invalid_request` for an `X-Session` that cannot be a name
   */
  async sessionOf(request: Request): Promise<SessionName | null> {
    const named = request.headers.get(SESSION_HEADER)
    if (named !== null && !SESSION_NAME.test(named)) {
      const expected = 'expected 1 to 128 letters, digits, ".", "_", ":" or "-"'
      throw new AppError('invalid_request', `The header X-Session is not a name: ${expected}`)
    }
    const text = keyTextOf(request)
    const ofKey = text === undefined ? undefined : this.#keys.loginOf(text)
    if (ofKey !== undefined) return { login: ofKey, name: named ?? '' }
    if (this.isOn) {
      const login = (await this.isConfirmed(request)) ? this.#logins.get(request) : undefined
      return login === undefined ? null : { login, name: named ?? '' }
    }
    const [token] = tokensOf(request)
    if (named !== null) return { login: `named ${named}`, name: '' }
    return token === undefined ? null : { login: digestOf(token).toString('base64'), name: '' }
  }

  /**
   * Who makes the request, and the id of the login that it belongs to.
   * @throws AppError `unauthorized`, `rate_limited`
   */
  async identify(request: Request): Promise<Identity> {
    const text = keyTextOf(request)
    if (text !== undefined) return this.identifyByKey(text)
    if (!this.isOn) return { principal: ANYONE, login: undefined }
    if (!(await this.isConfirmed(request))) {
      throw new AppError('unauthorized', AUTHORIZATION_REQUIRED)
    }
    const name = this.#expected.username
    const principal: Principal = { ...ANYONE, kind: 'user', id: name, name }
    return { principal, login: this.#logins.get(request) }
  }

  /**
   * The same for the text of a key, wherever it stood. It counts as one request.
   * @throws AppError `unauthorized`, `rate_limited`
   */
  identifyByKey(text: string): Identity {
    return this.#keys.identify(text)
  }

  /**
   * The token as a cookie. Its value is a JWT, which holds no `=`: existing clients split there.
   */
  cookie(token: string): string {
    const maxAge = this.#deps.settings.tokenTtlSeconds
    return `${COOKIE}=${token}; Max-Age=${maxAge}; Path=/; HttpOnly; SameSite=Lax`
  }

  clearedCookie(): string {
    return `${COOKIE}=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax`
  }

  async #sessionOf(token: string): Promise<Session | undefined> {
    const session = await this.#tokens.verify(token, this.#deps.now())
    if (session === undefined) return undefined
    return this.#deps.revokedTokens.isRevoked(session.tokenId) ? undefined : session
  }
}

interface TokenSigner {
  /** @param claims times in seconds since 1970 */
  sign(claims: {
    readonly jti: string
    readonly iat: number
    readonly exp: number
  }): Promise<string>
  verify(token: string, nowMs: number): Promise<Session | undefined>
}

/** JSON Web Tokens (RFC 7519) signed by HMAC with SHA-256. */
function tokenSigner(key: Uint8Array): TokenSigner {
  // Loaded with the first token: many servers have no login.
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
    // The plugin stamps its own `iat` unless told not to; the clock is ours.
    async sign({ jti, iat, exp }) {
      return (await tokens()).sign({ jti, exp, issued: iat, iat: false })
    },
    async verify(token, nowMs) {
      const options = { algorithms: ['HS256'], currentDate: new Date(nowMs) }
      const claims = await (await tokens()).verify(token, options)
      if (claims === false || claims.jti === undefined || claims.exp === undefined) return undefined
      return { tokenId: claims.jti, expiresMs: claims.exp * 1000 }
    },
  }
}

/** Depends on the credentials, so that a changed password ends every session. */
function signingKeyOf(secret: Uint8Array, { username, password }: Credentials): Uint8Array {
  return createHmac('sha256', secret)
    .update(JSON.stringify([username, password]))
    .digest()
}

/** Takes the same time whatever differs, and always compares both. */
function areEqual(sent: Credentials, expected: Credentials): boolean {
  const isUser = timingSafeEqual(digestOf(sent.username), digestOf(expected.username))
  const isPassword = timingSafeEqual(digestOf(sent.password), digestOf(expected.password))
  return isUser && isPassword
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

/** The bearer token and the cookie's, those that are there. */
function tokensOf(request: Request): readonly string[] {
  const bearer = /^bearer +(\S+)$/i.exec(request.headers.get('authorization')?.trim() ?? '')?.[1]
  const cookies = (request.headers.get('cookie') ?? '').split(';')
  const prefix = `${COOKIE}=`
  const cookie = cookies.map((part) => part.trim()).find((part) => part.startsWith(prefix))
  const tokens = [bearer ?? '', cookie?.slice(prefix.length) ?? '']
  return tokens.filter((token) => token !== '')
}

const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i
const LOOPBACK_HOST = /^(([\w-]+\.)*localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i

/**
 * Refuses a change that a page of another site asks for. Browsers send `Origin` with every such request; other clients
 * send none.
 * @param isOwnMachine the server listens on this machine only and asks for no login: a page whose own name resolves to it must
 * not get in. With a login such a page has no cookie, and a proxy may give the server any name
 * @throws AppError `forbidden_origin`
 */
export function refuseCrossSite(request: Request, isOwnMachine: boolean): void {
  if (!SAFE_METHODS.has(request.method)) refuseForeignOrigin(request, isOwnMachine)
}

/** The same for every method: a page of another site may not even read. @throws AppError `forbidden_origin` */
export function refuseForeignOrigin(request: Request, isOwnMachine: boolean): void {
  const origin = request.headers.get('origin')
  if (origin === null) return
  const host = URL.canParse(origin) ? new URL(origin).host : ''
  const target = (request.headers.get('host') ?? new URL(request.url).host).toLowerCase()
  const isSame = host !== '' && withPort(host, origin) === withPort(target, origin)
  if (isSame && (!isOwnMachine || LOOPBACK.test(host))) return
  throw new AppError('forbidden_origin', 'Requests from pages of another origin are refused')
}

/** `URL.host` leaves out the scheme's default port; a `Host` header may have it. */
function withPort(host: string, origin: string): string {
  if (/:\d+$/.test(host)) return host
  return `${host}:${origin.startsWith('https:') ? 443 : 80}`
}

/**
 * Refuses a request whose `Host` does not name this machine. A page can make its own name resolve to 127.0.0.1 (DNS
 * rebinding): its requests are then same-origin, and it could read everything. No browser leaves `Host` out.
 * @throws AppError `forbidden_origin`
 */
export function refuseForeignHost(request: Request): void {
  const host = request.headers.get('host')
  if (host === null || LOOPBACK_HOST.test(host)) return
  const found = `The Host ${JSON.stringify(host.slice(0, 100))} does not name this machine`
  const how = 'open Eider by its loopback address (localhost or 127.0.0.1), or turn the login on'
  throw new AppError('forbidden_origin', `${found}; ${how}`)
}
