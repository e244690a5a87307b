/** One connection of a PostgreSQL client: encryption, login, then statements, one after the other. */
import { AppError, toAppError } from '../../core/errors.ts'
import { AnswerWriter } from './answer-writer.ts'
import { ConnectionStatements } from './connection-statements.ts'
import {
  CANCEL_REQUEST,
  Fields,
  GSS_REQUEST,
  type Message,
  MessageReader,
  PROTOCOL_3,
  ProtocolError,
  SSL_REQUEST,
} from './messages.ts'
import type { RunOptions, RunResult } from './portals.ts'
import { REPORTED } from './session-statements.ts'

/** Bytes on their way to the client. */
export interface Wire {
  readonly isEncrypted: boolean
  readonly isLoopback: boolean
  write(bytes: Uint8Array): void
  /** Resolves when the client has read enough for more to be sent. @throws when it is gone */
  drained(): Promise<void>
  /** Answers whether encryption comes next. @returns whether it does */
  encrypt(): boolean
  /** Closes the connection after what still waits is sent. */
  end(): void
}

export interface ConnectionDeps {
  /** Whether a password is needed. */
  readonly hasLogin: boolean
  /** @returns what the connection's statements are authenticated by @throws AppError for wrong credentials */
  readonly logIn: (user: string, password: string, signal: AbortSignal) => Promise<string>
  readonly projectOf: (name: string) => string
  /** @param token null: no login was required @throws AppError for every failure */
  readonly run: <T>(
    options: RunOptions & { readonly token: string | null },
    signal: AbortSignal,
    use: (result: RunResult) => Promise<T>,
  ) => Promise<T>
  /** Cancels what the connection with this key runs. */
  readonly cancel: (processId: number, secret: number) => void
  readonly processId: number
  readonly secret: number
}

/** What the start-up packet says. */
type StartParameters = Readonly<Partial<Record<'user' | 'database' | 'application_name', string>>>

const WRITE_BYTES = 64 * 1024

export class PgConnection {
  readonly #wire: Wire
  readonly #deps: ConnectionDeps
  readonly #reader = new MessageReader()
  readonly #out = new AnswerWriter()
  readonly #gone = new AbortController()
  #parameters: StartParameters = {}
  /** null: not logged in yet. */
  #statements: ConnectionStatements | null = null
  #isBusy = false

  constructor(wire: Wire, deps: ConnectionDeps) {
    this.#wire = wire
    this.#deps = deps
  }

  /** It answers a message. */
  get isBusy(): boolean {
    return this.#isBusy
  }

  get isKnown(): boolean {
    return this.#statements !== null
  }

  receive(bytes: Buffer): void {
    this.#reader.push(bytes)
    if (!this.#isBusy) void this.#answerAll()
  }

  /** The client is gone. */
  closed(): void {
    this.#gone.abort(new AppError('cancelled', 'The client disconnected'))
    this.#statements?.close()
  }

  cancelStatement(): void {
    this.#statements?.cancel()
  }

  /** The server stops. */
  shutDown(): void {
    this.#refuse(new AppError('shutting_down', 'The server is shutting down'), '57P01')
  }

  async #answerAll(): Promise<void> {
    this.#isBusy = true
    try {
      for (let next = this.#reader.next(); next !== undefined; next = this.#reader.next()) {
        if (!(await this.#answer(next))) return
        if (this.#out.size > WRITE_BYTES) await this.#send()
      }
      this.#flush()
    } catch (error) {
      if (this.#gone.signal.aborted) return
      const message = error instanceof ProtocolError ? error.message : 'Internal error'
      this.#refuse(new AppError('invalid_request', message), '08P01')
    } finally {
      this.#isBusy = false
    }
  }

  /** @returns false: the connection is over, or its bytes are encrypted from here on */
  async #answer({ kind, body }: Message): Promise<boolean> {
    const fields = new Fields(body)
    if (kind === '') return this.#start(fields)
    if (kind === 'X') {
      this.#wire.end()
      return false
    }
    if (this.#statements === null) return this.#password(kind, fields)
    await this.#statements.answer(kind, fields)
    return true
  }

  #start(fields: Fields): boolean {
    const code = fields.int32()
    if (code === SSL_REQUEST) {
      // Bytes that came before encryption began could be anybody's.
      if (this.#reader.pending > 0) throw new ProtocolError('data before encryption')
      return !this.#wire.encrypt()
    }
    if (code === GSS_REQUEST) {
      this.#wire.write(Buffer.from('N'))
      return true
    }
    if (code === CANCEL_REQUEST) {
      this.#deps.cancel(fields.int32(), fields.int32())
      this.#wire.end()
      return false
    }
    if (code >> 16 !== PROTOCOL_3 >> 16) throw new ProtocolError('the server speaks protocol 3')
    this.#parameters = parametersOf(fields)
    // Protocol 3.2 adds nothing that the server needs: it answers that it speaks 3.0.
    if ((code & 0xffff) > 0) this.#out.begin('v').int32(0).int32(0).end()
    this.#reader.hasStarted = true
    if (!this.#deps.hasLogin) return this.#welcome(null)
    if (this.#wire.isEncrypted || this.#wire.isLoopback) {
      this.#out.begin('R').int32(CLEAR_TEXT_PASSWORD).end()
      return true
    }
    const message = 'A password is taken over TLS only: connect with sslmode=require'
    return this.#refuse(new AppError('unauthorized', message))
  }

  async #password(kind: string, fields: Fields): Promise<boolean> {
    if (kind !== 'p') throw new ProtocolError('a password was expected')
    try {
      const { user = '' } = this.#parameters
      return this.#welcome(await this.#deps.logIn(user, fields.text(), this.#gone.signal))
    } catch (error) {
      return this.#refuse(toAppError(error), '28P01')
    }
  }

  #welcome(token: string | null): boolean {
    this.#reader.isKnown = true
    const { projectOf, run, processId, secret } = this.#deps
    const { user = '', database = user, application_name = '' } = this.#parameters
    this.#statements = new ConnectionStatements(database, this.#out, {
      projectOf,
      run: (options, signal, use) => run({ ...options, token }, signal, use),
      send: () => this.#send(),
    })
    this.#out.begin('R').int32(0).end()
    const reported = { ...REPORTED, application_name, session_authorization: user }
    for (const [name, value] of Object.entries(reported)) this.#out.setting(name, value)
    this.#out.begin('K').int32(processId).int32(secret).end()
    this.#statements.ready()
    return true
  }

  #flush(): void {
    if (this.#out.size > 0) this.#wire.write(this.#out.take())
  }

  async #send(): Promise<void> {
    this.#flush()
    await this.#wire.drained()
  }

  /** Ends the connection. */
  #refuse(error: AppError, state?: string): false {
    this.#out.failure(
      error,
      state === undefined ? { severity: 'FATAL' } : { severity: 'FATAL', state },
    )
    this.#flush()
    this.#wire.end()
    return false
  }
}

const CLEAR_TEXT_PASSWORD = 3

function parametersOf(fields: Fields): StartParameters {
  const parameters: Record<string, string> = {}
  for (let name = fields.text(); name !== ''; name = fields.text()) parameters[name] = fields.text()
  return parameters
}
