import { createHash, timingSafeEqual } from 'node:crypto'
import { ANYONE, type Principal } from '../../../core/domain/access/principal.ts'
import type { KnownUser, Users } from '../../../core/domain/ports/access-ports.ts'
import { AppError } from '../../../core/errors.ts'
import { clientBlock } from '../../../core/runtime/address-policy.ts'
import type { SessionName } from '../../../query/sessions.ts'
import { LoginThrottle, type LoginThrottleDeps } from './login-throttle.ts'
import { KeyAccess, type KeyAccessDeps, keyTextOf } from './rate-limits.ts'
import { SessionTokens, type TokenSession } from './session-tokens.ts'

const COOKIE = 'session'
const SESSION_HEADER = 'x-session'
const SESSION_NAME = /^[\w.:-]{1,128}$/

export interface Credentials {
  readonly username: string
  readonly password: string
}

export interface AuthenticationDeps extends LoginThrottleDeps, KeyAccessDeps {
  readonly settings: {
    /** Login is required if both username and password are set. */
    readonly username?: string | undefined
    readonly password?: string | undefined
    readonly tokenTtlSeconds: number
  } & KeyAccessDeps['settings']
  readonly users: Pick<Users, 'known' | 'named' | 'isPassword' | 'change'>
  /** Tokens that were revoked by signing out. They survive a restart. */
  readonly revokedTokens: {
    /** @param expiresMs when the token expires and can be forgotten */
    revoke(tokenId: string, expiresMs: number): Promise<void>
    isRevoked(tokenId: string): boolean
  }
  /** At least 32 random bytes that survive a restart. Tokens' key is derived from them. */
  readonly signingKey: Uint8Array
  readonly newId: () => string
}

export interface Identity {
  readonly principal: Principal
  /** The id of the login; undefined if there is none. */
  readonly login: string | undefined
}

/** Existing clients check this text. */
const AUTHORIZATION_REQUIRED = 'Authorization is required to complete the request'
const HOW_TO_AUTHORIZE =
  'send a token of POST /api/login, or a key of POST /api/keys, as "Authorization: Bearer …"'

/** Without a username and password in the settings, access is open. */
export class Authentication {
  readonly isOn: boolean
  readonly #deps: AuthenticationDeps
  readonly #expected: Credentials
  readonly #tokens: SessionTokens
  readonly #throttle: LoginThrottle
  readonly #keys: KeyAccess
  /** One entry for each request with a valid token. */
  readonly #logins = new WeakMap<Request, Identity & { readonly login: string }>()
  /** The user from the settings; without a login, ANYONE. */
  readonly #first: Principal

  constructor(deps: AuthenticationDeps) {
    const { username, password } = deps.settings
    this.isOn = username !== undefined && password !== undefined
    this.#deps = deps
    this.#expected = { username: username ?? '', password: password ?? '' }
    this.#tokens = new SessionTokens(deps.signingKey, this.#expected)
    const name = this.#expected.username
    this.#first = this.isOn ? { ...ANYONE, kind: 'user', id: FIRST_ID, name } : ANYONE
    this.#throttle = new LoginThrottle(deps)
    this.#keys = new KeyAccess(deps)
  }

  get firstAdmin(): string | undefined {
    return this.isOn ? this.#first.name : undefined
  }

  /** The stored name of a user, or undefined if no user has that name. */
  knownName(username: string): string | undefined {
    const { firstAdmin } = this
    return username === firstAdmin ? firstAdmin : this.#deps.users.named(username)?.principal.name
  }

  /**
   * Returns a token for correct credentials; wrong ones are delayed. With login off, any
   * credentials get a token, for clients that always log in.
   * @param address the client's network address
   * @throws AppError `wrong_credentials`, `too_many_logins`
   */
  async login(
    sent: Credentials,
    address: string,
    signal: AbortSignal,
  ): Promise<{ readonly token: string; readonly principal: Principal }> {
    const user = await this.#attempt(sent, address, signal)
    if (user === undefined) throw wrongCredentials()
    const principal = user === 'first' ? this.#first : user.principal
    return { token: await this.#tokenOf(user), principal }
  }

  /**
   * Returns a token to a client that proves it knows the password without sending it. Works only
   * for the user from the settings, because the stored form of other passwords does not allow such
   * a proof.
   * @param proves called for every name, so that timing does not reveal which names exist
   * @throws AppError `wrong_credentials`, `too_many_logins`
   */
  async loginByProof(
    username: string,
    proves: (password: string) => Promise<boolean>,
    address: string,
    signal: AbortSignal,
  ): Promise<string> {
    const { password } = this.#expected
    const check = async () => {
      const isProven = await proves(password)
      return areEqual({ username, password }, this.#expected) && isProven ? 'first' : undefined
    }
    const user = await this.#throttle.attempt({ address, username }, check, signal)
    if (user === undefined) throw wrongCredentials()
    return this.#tokenOf(user)
  }

  /** All tokens become invalid, a new one is returned. @throws AppError */
  async changeOwnPassword(
    principal: Principal,
    sent: { readonly current: string; readonly password: string },
    address: string,
    signal: AbortSignal,
  ): Promise<string> {
    if (principal.kind !== 'user') throw new AppError('forbidden', 'Only a user has a password')
    if (principal.id === FIRST_ID) {
      const how = 'change EIDER_PASSWORD and restart the server'
      const message = `${principal.name} is the user defined in the settings: ${how}`
      throw new AppError('user_of_settings', message)
    }
    const credentials = { username: principal.name, password: sent.current }
    const user = await this.#attempt(credentials, address, signal)
    if (user === undefined || user === 'first' || String(user.id) !== principal.id) {
      throw new AppError('wrong_credentials', 'The current password is wrong')
    }
    const { users } = this.#deps
    await users.change(user.id, { password: sent.password }, signal)
    return this.#tokenOf(users.known(user.id) ?? user)
  }

  /** Finds the user with these credentials. */
  #attempt(sent: Credentials, address: string, signal: AbortSignal) {
    if (!this.isOn) return Promise.resolve('first' as const)
    const { users } = this.#deps
    const check = async (): Promise<'first' | KnownUser | undefined> => {
      if (areEqual(sent, this.#expected)) return 'first'
      const user = users.named(sent.username)
      if (user === undefined) return undefined
      const client = `${clientBlock(address)} ${user.id}`
      return (await users.isPassword(user.id, sent.password, client, signal)) ? user : undefined
    }
    return this.#throttle.attempt({ address, username: sent.username }, check, signal)
  }

  #tokenOf(user: 'first' | KnownUser): Promise<string> {
    const issued = Math.floor(this.#deps.now() / 1000)
    const expires = issued + this.#deps.settings.tokenTtlSeconds
    const times = { tokenId: this.#deps.newId(), issued, expires }
    return this.#tokens.sign(user === 'first' ? times : { ...times, user })
  }

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
      const { principal } = session
      this.#logins.set(request, { principal, login: session.tokenId })
      return true
    }
    return false
  }

  /**
   * The SQL session of the request: the login's session, or the one named by `X-Session` within it.
   * With login off, `X-Session`, the bearer token or the cookie can name a session; null if none
   * does.
   * @throws AppError `invalid_request` for an `X-Session` that is not a valid name
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
      const found = (await this.isConfirmed(request)) ? this.#logins.get(request) : undefined
      return found === undefined ? null : { login: found.login, name: named ?? '' }
    }
    const [token] = tokensOf(request)
    if (named !== null) return { login: `named ${named}`, name: '' }
    return token === undefined ? null : { login: digestOf(token).toString('base64'), name: '' }
  }

  /** A promise only to verify a token: every request calls this, and promises take time. */
  identify(request: Request): Identity | Promise<Identity> {
    const text = keyTextOf(request)
    if (text !== undefined) return this.identifyByKey(text)
    return this.isOn ? this.#identifyByToken(request) : EVERYONE
  }

  async #identifyByToken(request: Request): Promise<Identity> {
    const found = (await this.isConfirmed(request)) ? this.#logins.get(request) : undefined
    if (found !== undefined) return found
    const isSent = tokensOf(request).length > 0
    const why = isSent ? 'the token or key that was sent is unknown or has expired; ' : ''
    throw new AppError('unauthorized', `${AUTHORIZATION_REQUIRED}: ${why}${HOW_TO_AUTHORIZE}`)
  }

  /** For a key not in a header. Counts as one request. @throws AppError */
  identifyByKey(text: string): Identity {
    return this.#keys.identify(text)
  }

  /** In the body and as a cookie. A JWT has no `=`, where some clients split the cookie. */
  tokenAnswer(token: string, request: Request): Response {
    const cookie = cookieOf(token, this.#deps.settings.tokenTtlSeconds, request)
    const headers = { 'set-cookie': cookie, 'cache-control': 'no-store' }
    return Response.json({ token }, { headers })
  }

  clearedCookie(request: Request): string {
    return cookieOf('', 0, request)
  }

  /** Returns the token's session with its user's current rights. */
  async #sessionOf(
    token: string,
  ): Promise<(TokenSession & { readonly principal: Principal }) | undefined> {
    const session = await this.#tokens.verify(token, this.#deps.now())
    if (session === undefined || this.#deps.revokedTokens.isRevoked(session.tokenId))
      return undefined
    if (session.user === undefined) return { ...session, principal: this.#first }
    const user = this.#deps.users.known(session.user.id)
    if (user === undefined || user.mark !== session.user.mark) return undefined
    return { ...session, principal: user.principal }
  }
}

function cookieOf(value: string, maxAgeSeconds: number, request: Request): string {
  const secure = cameByTls(request) ? '; Secure' : ''
  return `${COOKIE}=${value}; Max-Age=${maxAgeSeconds}; Path=/; HttpOnly; SameSite=Lax${secure}`
}

/** `Origin`, or else a proxy's header, which a client could only forge for its own cookie. */
function cameByTls({ headers }: Request): boolean {
  const origin = headers.get('origin')
  if (origin !== null) return origin.startsWith('https:')
  return /^\s*https\s*(,|$)/i.test(headers.get('x-forwarded-proto') ?? '')
}

const EVERYONE: Identity = { principal: ANYONE, login: undefined }

/** An id that no stored user has. */
const FIRST_ID = '0'

function wrongCredentials(): AppError {
  return new AppError('wrong_credentials', 'Invalid username or password')
}

/** Compares in constant time: both values are always compared completely. */
function areEqual(sent: Credentials, expected: Credentials): boolean {
  const isUser = timingSafeEqual(digestOf(sent.username), digestOf(expected.username))
  const isPassword = timingSafeEqual(digestOf(sent.password), digestOf(expected.password))
  return isUser && isPassword
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

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
 * Refuses changes requested by pages of other sites. Browsers send `Origin` with such requests;
 * other clients never do.
 * @param isOwnMachine whether the server listens on loopback without a login. Then a page whose
 * host name resolves to this machine must be refused too. With a login, such a page has no cookie,
 * and behind a proxy the server can have any name
 * @throws AppError `forbidden_origin`
 */
export function refuseCrossSite(request: Request, isOwnMachine: boolean): void {
  if (SAFE_METHODS.has(request.method)) return
  const origin = request.headers.get('origin')
  if (origin === null) return
  const host = URL.canParse(origin) ? new URL(origin).host : ''
  const target = (request.headers.get('host') ?? new URL(request.url).host).toLowerCase()
  const isSame = host !== '' && withPort(host, origin) === withPort(target, origin)
  if (isSame && (!isOwnMachine || LOOPBACK.test(host))) return
  throw new AppError('forbidden_origin', 'Requests from pages of another origin are refused')
}

/** Adds the scheme's default port, which `URL.host` omits but a `Host` header may include. */
function withPort(host: string, origin: string): string {
  if (/:\d+$/.test(host)) return host
  return `${host}:${origin.startsWith('https:') ? 443 : 80}`
}

/**
 * Refuses a request whose `Host` is not this machine. A page can make its own host name resolve to
 * 127.0.0.1 (DNS rebinding); its requests are then same-origin, and it could read everything.
 * Browsers always send `Host`.
 * @throws AppError `forbidden_origin`
 */
export function refuseForeignHost(request: Request): void {
  const host = request.headers.get('host')
  if (host === null || LOOPBACK_HOST.test(host)) return
  const found = `The Host ${JSON.stringify(host.slice(0, 100))} does not name this machine`
  const how = 'open Eider by its loopback address (localhost or 127.0.0.1), or turn the login on'
  throw new AppError('forbidden_origin', `${found}; ${how}`)
}
