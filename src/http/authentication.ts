import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { jwt } from '@elysiajs/jwt'
import { AppError } from '../errors.ts'
import { LoginThrottle } from './login-throttle.ts'
import type { ServerDeps } from './server-deps.ts'

const COOKIE = 'session'

export interface Credentials {
  readonly username: string
  readonly password: string
}

interface Session {
  readonly tokenId: string
  readonly expiresMs: number
}

/** Who may come in. Without a username and password in the settings, everyone. */
export class Authentication {
  readonly isOn: boolean
  readonly #deps: ServerDeps
  readonly #expected: Credentials
  readonly #tokens: TokenSigner
  readonly #throttle: LoginThrottle

  constructor(deps: ServerDeps) {
    const { username, password } = deps.settings
    this.isOn = username !== undefined && password !== undefined
    this.#deps = deps
    this.#expected = { username: username ?? '', password: password ?? '' }
    this.#tokens = tokenSigner(signingKeyOf(deps.signingKey, this.#expected))
    this.#throttle = new LoginThrottle(deps)
  }

  /**
   * A token for the right credentials; wrong ones wait. With the login off, any get a token, so
   * that a client which always logs in works.
   * @throws AppError `wrong_credentials`, `too_busy`
   */
  async login(sent: Credentials, signal: AbortSignal): Promise<string> {
    const isRight = () => !this.isOn || areEqual(sent, this.#expected)
    if (!(await this.#throttle.attempt(isRight, signal))) {
      throw new AppError('wrong_credentials', 'Invalid username or password')
    }
    const issued = Math.floor(this.#deps.now() / 1000)
    const expires = issued + this.#deps.settings.tokenTtlSeconds
    return this.#tokens.sign({ jti: this.#deps.newId(), iat: issued, exp: expires })
  }

  /** Ends the session of every token that the request carries. */
  async logout(request: Request): Promise<void> {
    for (const token of tokensOf(request)) {
      const session = await this.#sessionOf(token)
      if (session === undefined) continue
      await this.#deps.revokedTokens.revoke(session.tokenId, session.expiresMs)
    }
  }

  async isConfirmed(request: Request): Promise<boolean> {
    if (!this.isOn) return true
    for (const token of tokensOf(request)) {
      if ((await this.#sessionOf(token)) !== undefined) return true
    }
    return false
  }

  /** @throws AppError `unauthorized` */
  async require(request: Request): Promise<void> {
    if (await this.isConfirmed(request)) return
    throw new AppError('unauthorized', 'Authorization is required to complete the request')
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

interface TokenClaims {
  readonly jti: string
  /** Seconds since 1970. */
  readonly iat: number
  readonly exp: number
}

interface TokenSigner {
  sign(claims: TokenClaims): Promise<string>
  verify(token: string, nowMs: number): Promise<Session | undefined>
}

/** JSON Web Tokens (RFC 7519) signed by HMAC with SHA-256. */
function tokenSigner(key: Uint8Array): TokenSigner {
  const tokens = jwt({ name: 'tokens', alg: 'HS256', secret: key }).decorator.tokens
  return {
    // The plugin stamps its own `iat` unless told not to; the clock is ours.
    sign: ({ jti, iat, exp }) => tokens.sign({ jti, exp, issued: iat, iat: false }),
    async verify(token, nowMs) {
      const options = { algorithms: ['HS256'], currentDate: new Date(nowMs) }
      const claims = await tokens.verify(token, options)
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

/** The bearer token and the cookie's, as far as they are there. */
function tokensOf(request: Request): readonly string[] {
  const bearer = /^bearer +(\S+)$/i.exec(request.headers.get('authorization')?.trim() ?? '')?.[1]
  const cookies = (request.headers.get('cookie') ?? '').split(';')
  const prefix = `${COOKIE}=`
  const cookie = cookies.map((one) => one.trim()).find((one) => one.startsWith(prefix))
  const tokens = [bearer ?? '', cookie?.slice(prefix.length) ?? '']
  return tokens.filter((token) => token !== '')
}
