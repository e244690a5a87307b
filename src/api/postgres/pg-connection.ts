/** One connection of a PostgreSQL client: encryption, login, then statements in order. */
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
  PROTOCOL_MINOR,
  ProtocolError,
  SSL_REQUEST,
} from './messages.ts'
import type { RunOptions, RunResult } from './portals.ts'
import { SCRAM_MECHANISM, ScramExchange } from './scram-exchange.ts'
import { REPORTED } from './session-statements.ts'

export interface Wire {
  readonly isEncrypted: boolean
  readonly isLoopback: boolean
  write(bytes: Uint8Array): void
  /** @throws if the client has disconnected */
  drained(): Promise<void>
  /** Tells the client whether encryption follows. @returns whether it does */
  encrypt(): boolean
  pause(): void
  resume(): void
  /** Closes the connection once all pending output is sent. */
  end(): void
}

export interface ConnectionDeps {
  readonly hasLogin: boolean
  /** Whether the server is full, so that this connection can only cancel statements. */
  readonly isFull: boolean
  /** @returns the token for the connection's statements @throws AppError for wrong credentials */
  readonly logIn: (user: string, password: string, signal: AbortSignal) => Promise<string>
  /** For a client that does not send its password, but proves to know it. */
  readonly logInByProof: (
    user: string,
    proves: (password: string) => Promise<boolean>,
    signal: AbortSignal,
  ) => Promise<string>
  readonly projectOf: (name: string) => string
  /** @param token null if no login is required @throws AppError for every failure */
  readonly run: <T>(
    options: RunOptions & { readonly token: string | null },
    signal: AbortSignal,
    use: (result: RunResult) => Promise<T>,
  ) => Promise<T>
  /** Cancels the running statement of the connection with this key. */
  readonly cancel: (processId: number, key: Buffer) => void
  readonly processId: number
  readonly secret: Buffer
}

/** The content of the startup packet. */
type StartParameters = Readonly<
  Partial<Record<'user' | 'database' | 'application_name' | 'replication', string>>
>

/** How many bytes are accepted while a statement runs; further bytes are not read until it ends. */
const AHEAD_BYTES_MAX = 1024 * 1024
/** The length of a cancel key before protocol 3.2. */
const OLD_KEY_BYTES = 4

export class PgConnection {
  readonly #wire: Wire
  readonly #deps: ConnectionDeps
  readonly #reader = new MessageReader()
  readonly #out = new AnswerWriter()
  readonly #gone = new AbortController()
  #parameters: StartParameters = {}
  #cancelKey: Buffer
  #exchange: ScramExchange | null = null
  /** null until the client has logged in. */
  #statements: ConnectionStatements | null = null
  #isBusy = false

  constructor(wire: Wire, deps: ConnectionDeps) {
    this.#wire = wire
    this.#deps = deps
    this.#cancelKey = deps.secret
  }

  /** The key that another connection must send to cancel this one's statement. */
  get cancelKey(): Buffer {
    return this.#cancelKey
  }

  get isBusy(): boolean {
    return this.#isBusy
  }

  get isKnown(): boolean {
    return this.#statements !== null
  }

  receive(bytes: Buffer): void {
    this.#reader.push(bytes)
    if (!this.#isBusy) void this.#answerAll()
    else if (this.#reader.pending > AHEAD_BYTES_MAX) this.#wire.pause()
  }

  closed(): void {
    this.#gone.abort(new AppError('cancelled', 'The client disconnected'))
    this.#statements?.close()
  }

  cancelStatement(): void {
    this.#statements?.cancel()
  }

  shutDown(): void {
    const error = new AppError('shutting_down', 'The server is shutting down')
    this.#refuse(error, { state: '57P01' })
  }

  async #answerAll(): Promise<void> {
    this.#isBusy = true
    try {
      for (let next = this.#reader.next(); next !== undefined; next = this.#reader.next()) {
        if (!(await this.#answer(next))) return
        if (this.#out.isFull) await this.#send()
      }
      this.#flush()
    } catch (error) {
      if (this.#gone.signal.aborted) return
      const message = error instanceof ProtocolError ? error.message : 'Internal error'
      this.#refuse(new AppError('invalid_request', message), { state: '08P01' })
    } finally {
      this.#isBusy = false
      this.#wire.resume()
    }
  }

  /** @returns false if the connection has ended or continues encrypted */
  async #answer({ kind, body }: Message): Promise<boolean> {
    const fields = new Fields(body)
    if (kind === '') return this.#start(fields)
    if (kind === 'X') {
      this.#wire.end()
      return false
    }
    if (this.#statements === null) return this.#authenticate(kind, fields)
    await this.#statements.answer(kind, fields)
    return true
  }

  #start(fields: Fields): boolean {
    const code = fields.int32()
    if (code === SSL_REQUEST) {
      // Bytes sent before encryption could be from an attacker.
      if (this.#reader.pending > 0) throw new ProtocolError('data before encryption')
      return !this.#wire.encrypt()
    }
    if (code === GSS_REQUEST) {
      this.#wire.write(Buffer.from('N'))
      return true
    }
    if (code === CANCEL_REQUEST) {
      this.#deps.cancel(fields.int32(), fields.rest())
      this.#wire.end()
      return false
    }
    if (code >> 16 !== PROTOCOL_3 >> 16) throw new ProtocolError('the server speaks protocol 3')
    if (this.#deps.isFull) {
      const message = 'The server has too many PostgreSQL connections; close one and try again'
      return this.#refuse(new AppError('too_busy', message), { state: '53300' })
    }
    const parameters = parametersOf(fields)
    if (isCopying(parameters)) {
      const message =
        'pg_dump and replication need PostgreSQL itself; back up this server with POST /api/backup'
      return this.#refuse(new AppError('sql_not_supported', message), { state: '0A000' })
    }
    this.#begin(code & 0xffff, parameters)
    if (!this.#deps.hasLogin) return this.#welcome(null)
    if (this.#isPrivate) this.#out.begin('R').int32(CLEAR_TEXT_PASSWORD).end()
    else this.#out.begin('R').int32(SASL).text(SCRAM_MECHANISM).byte(0).end()
    return true
  }

  /** Whether no other machine can read the traffic. */
  get #isPrivate(): boolean {
    return this.#wire.isEncrypted || this.#wire.isLoopback
  }

  /** @param minor the minor version of protocol 3 that the client requests */
  #begin(minor: number, parameters: Readonly<Record<string, string>>): void {
    this.#parameters = parameters
    this.#reader.hasStarted = true
    if (minor < PROTOCOL_MINOR) this.#cancelKey = this.#deps.secret.subarray(0, OLD_KEY_BYTES)
    const options = Object.keys(parameters).filter((name) => name.startsWith('_pq_.'))
    if (minor <= PROTOCOL_MINOR && options.length === 0) return
    this.#out.begin('v').int32(PROTOCOL_3 + Math.min(minor, PROTOCOL_MINOR))
    this.#out.int32(options.length)
    for (const option of options) this.#out.text(option)
    this.#out.end()
  }

  /** A plain password over TLS or loopback; otherwise SCRAM. */
  async #authenticate(kind: string, fields: Fields): Promise<boolean> {
    if (kind !== 'p') throw new ProtocolError('a password was expected')
    const { user = '' } = this.#parameters
    try {
      if (this.#isPrivate) {
        return this.#welcome(await this.#deps.logIn(user, fields.text(), this.#gone.signal))
      }
      if (this.#exchange === null) return this.#challenge(user, fields)
      return this.#welcome(await this.#proven(this.#exchange, user, fields.rest().toString()))
    } catch (error) {
      if (error instanceof ProtocolError) throw error
      const hint = this.#isPrivate ? {} : { hint: WITHOUT_TLS }
      return this.#refuse(toAppError(error), { state: '28P01', ...hint })
    }
  }

  #challenge(user: string, fields: Fields): true {
    if (fields.text() !== SCRAM_MECHANISM) {
      throw new ProtocolError(`the server speaks ${SCRAM_MECHANISM}`)
    }
    const first = fields.bytes(fields.int32())?.toString() ?? ''
    this.#exchange = new ScramExchange(first, user)
    this.#authentication(SASL_CONTINUE, this.#exchange.serverFirst)
    return true
  }

  async #proven(exchange: ScramExchange, user: string, clientFinal: string): Promise<string> {
    let answer: string | undefined
    const proves = async (password: string) => {
      answer = await exchange.prove(clientFinal, password)
      return answer !== undefined
    }
    const token = await this.#deps.logInByProof(user, proves, this.#gone.signal)
    this.#authentication(SASL_FINAL, answer ?? '')
    return token
  }

  #authentication(step: number, data: string): void {
    this.#out.begin('R').int32(step).raw(Buffer.from(data)).end()
  }

  #welcome(token: string | null): boolean {
    this.#reader.isKnown = true
    const { projectOf, run, processId } = this.#deps
    const { user = '', database = user, application_name = '' } = this.#parameters
    this.#statements = new ConnectionStatements(database, this.#out, {
      projectOf,
      run: (options, signal, use) => run({ ...options, token }, signal, use),
      send: () => this.#send(),
    })
    this.#out.begin('R').int32(0).end()
    const reported = {
      ...REPORTED,
      ...{ application_name, session_authorization: user, search_path: projectOf(database) },
    }
    for (const [name, value] of Object.entries(reported)) this.#out.setting(name, value)
    this.#out.begin('K').int32(processId).raw(this.#cancelKey).end()
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

  /** Sends the error and ends the connection. */
  #refuse(error: AppError, fields: { readonly state: string; readonly hint?: string }): false {
    this.#out.failure(error, { severity: 'FATAL', ...fields })
    this.#flush()
    this.#wire.end()
    return false
  }
}

const CLEAR_TEXT_PASSWORD = 3
const SASL = 10
const SASL_CONTINUE = 11
const SASL_FINAL = 12

const WITHOUT_TLS =
  'Without TLS, only the user in EIDER_USERNAME can log in; other users and keys must connect with sslmode=require'

/** Whether the client copies a server: it would read much that only PostgreSQL has. */
function isCopying({ application_name = '', replication = 'false' }: StartParameters): boolean {
  const isReplication = !/^(false|off|no|0)$/i.test(replication)
  return isReplication || /^pg_(basebackup|dump|dumpall|receivewal|restore)$/.test(application_name)
}

function parametersOf(fields: Fields): Readonly<Record<string, string>> {
  const parameters = new Map<string, string>()
  for (let name = fields.text(); name !== ''; name = fields.text()) {
    parameters.set(name, fields.text())
  }
  return Object.fromEntries(parameters)
}
