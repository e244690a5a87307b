/** One connection to a PostgreSQL server, with the parts that its library lacks. */
import { connect } from 'node:net'
import pg from 'pg'
import type { SourceValue } from '../../core/domain/ports/engine-ports.ts'
import type { Guard } from '../../core/runtime/address-policy.ts'
import { abortable } from '../../core/runtime/cancellation.ts'
import { addressOf, type Endpoint, pinnedSocket, tlsOptions } from '../server-endpoint.ts'
import type { RowReader } from '../streamed-rows.ts'
import { broken, checkedFields, WireMessages, type WireStream } from '../wire-messages.ts'
import { type CopySink, PostgresMessages } from './postgres-messages.ts'

/** A column of a result, as the server describes it. */
export interface PostgresField {
  readonly name: string
  readonly tableID: number
  readonly columnID: number
  readonly dataTypeID: number
  readonly dataTypeModifier: number
}

export type TextRow = readonly (string | null)[]

const CANCEL_MS = 1000
/** Rows requested from a portal: few at first, for readers that stop early. */
const ROWS_FIRST = 100
const PORTAL_ROWS_MAX = 1000

export class PostgresConnection {
  readonly #client: pg.Client
  readonly #address: string
  readonly #port: number
  readonly #wire: Wire
  #hasEnded = false
  /** The statement that runs. */
  #running: Promise<void> = Promise.resolve()
  #fail: (error: unknown) => void = () => {}
  /** Asks the portal that runs for more rows; null: it has not sent those before. */
  #askForMore: (() => void) | null = null
  /** The reader waits, and no row has come since. */
  #isAwaited = false

  private constructor(client: pg.Client, wire: Wire, address: string, port: number) {
    this.#client = client
    this.#wire = wire
    this.#address = address
    this.#port = port
    client.on('error', () => {
      this.#hasEnded = true
    })
    client.on('end', () => {
      this.#hasEnded = true
    })
  }

  /** @throws AppError `address_refused`; every error of the library */
  static async open(
    endpoint: Endpoint,
    guard: Guard,
    signal: AbortSignal,
  ): Promise<PostgresConnection> {
    const address = await addressOf(endpoint, guard, signal)
    const { mode } = endpoint.encryption
    if (mode === 'off') return PostgresConnection.#connected(endpoint, address, false, signal)
    try {
      return await PostgresConnection.#connected(endpoint, address, true, signal)
    } catch (error) {
      const isPlain = error instanceof Error && /does not support SSL/.test(error.message)
      if (mode !== 'prefer' || !isPlain) throw error
      return PostgresConnection.#connected(endpoint, address, false, signal)
    }
  }

  static async #connected(
    endpoint: Endpoint,
    address: string,
    isEncrypted: boolean,
    signal: AbortSignal,
  ) {
    const { host, port, user, password, database, encryption } = endpoint
    const socket = pinnedSocket(address)
    const client = new pg.Client({
      host: host.replace(/^\[(.*)\]$/, '$1'),
      port,
      user,
      // As a function: an empty text would make the library read the server's environment.
      password: () => password,
      database: database ?? user,
      ssl: isEncrypted ? tlsOptions(encryption) : false,
      stream: () => socket,
      application_name: 'eider',
      keepAlive: true,
    })
    client.on('error', () => {})
    const mayAskForClearText =
      encryption.mode === 'off' || (isEncrypted && encryption.check !== 'nothing')
    const wire = wireOf(client, new PostgresMessages(mayAskForClearText))
    try {
      await abortable(client.connect(), AbortSignal.any([signal, silence()]))
      const connection = new PostgresConnection(client, wire, address, port)
      await abortable(
        connection.rows('SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY'),
        signal,
      )
      return connection
    } catch (error) {
      socket.destroy()
      throw error
    }
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** While it is idle it does not keep the process up. */
  setBusy(isBusy: boolean): void {
    const { stream } = connectionOf(this.#client)
    if (isBusy) stream.ref?.()
    else stream.unref?.()
  }

  /** All rows of an internal statement, or of several without values. */
  async rows(sql: string, values: readonly SourceValue[] = []): Promise<readonly TextRow[]> {
    const rows: TextRow[] = []
    await this.#submit({
      submit(connection) {
        if (values.length === 0) return connection.query(sql)
        bind(connection, sql, values)
        connection.execute({ portal: '', rows: 0 })
        connection.sync()
      },
      handleDataRow: ({ fields }) => rows.push(fields),
    })
    return rows
  }

  /** The columns of one statement, which is parsed and not run; empty: it has no rows. */
  async describe(sql: string): Promise<readonly PostgresField[]> {
    let fields: readonly PostgresField[] = []
    await this.#submit({
      submit(connection) {
        connection.parse({ name: '', text: sql, types: [] })
        connection.describe({ type: 'S', name: '' })
        connection.sync()
      },
      handleRowDescription(message) {
        fields = checkedFields(message.fields)
      },
    })
    return fields
  }

  /** Ends with the last row. */
  stream(sql: string, values: readonly SourceValue[], reader: RowReader<string>): Promise<void> {
    const connection = connectionOf(this.#client)
    let asked = ROWS_FIRST
    const execute = () => {
      connection.execute({ portal: '', rows: asked })
      connection.flush()
      asked = Math.min(PORTAL_ROWS_MAX, asked * 4)
    }
    this.#running = this.#submit({
      submit() {
        bind(connection, sql, values)
        execute()
      },
      handleDataRow: ({ fields }) => {
        this.#isAwaited = false
        this.#wire.messages.noteTaken()
        if (!reader.row(fields)) this.#wire.messages.hold()
      },
      handlePortalSuspended: () => {
        this.#askForMore = execute
        if (this.#isAwaited) this.resume()
      },
      handleCommandComplete: () => connection.sync(),
      handleError: () => connection.sync(),
    })
    return this.#running
  }

  resume(): void {
    const askForMore = this.#askForMore
    this.#askForMore = null
    this.#isAwaited = true
    askForMore?.()
    this.#wire.messages.release()
  }

  async leave(): Promise<void> {
    if (this.#askForMore === null) return this.cancel()
    this.#askForMore = null
    connectionOf(this.#client).sync()
    // It is incomplete, which is reported by another part.
    await this.#running.catch(() => {})
  }

  /** Runs `COPY (…) TO STDOUT` and gives its rows to `sink`. @param full what must be awaited before more */
  async copyOut(sql: string, sink: CopySink, full: () => Promise<void> | null): Promise<void> {
    const { messages, format } = this.#wire
    format.sink = {
      row: (sizeBytes) => sink.row(sizeBytes),
      take: (bytes) => {
        sink.take(bytes)
        const waiting = full()
        if (waiting === null) return
        messages.hold()
        waiting.then(
          () => messages.release(),
          (error) => {
            this.#fail(error)
            void this.cancel()
          },
        )
      },
    }
    try {
      await this.#submit({ submit: (connection) => connection.query(sql) })
    } finally {
      format.sink = null
    }
  }

  #submit(query: Partial<Submitted> & Pick<Submitted, 'submit'>): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    promise.catch(() => {})
    this.#fail = reject
    this.#wire.messages.noteTaken()
    const ignored = () => {}
    const unasked = () => broken('it sends what was not asked for')
    let isComplete = query.handleRowDescription !== undefined
    const whole: Submitted = {
      handleRowDescription: ignored,
      handleDataRow: unasked,
      handlePortalSuspended: unasked,
      handleEmptyQuery: ignored,
      handleCopyData: unasked,
      handleCopyInResponse: unasked,
      ...query,
      handleCommandComplete() {
        isComplete = true
        query.handleCommandComplete?.()
      },
      handleError(error) {
        query.handleError?.(error)
        reject(error)
      },
      handleReadyForQuery() {
        if (isComplete) resolve()
        else reject(new Error('the server ended the statement before its end'))
      },
    }
    // The library's own declaration of it has one method only.
    this.#client.query(whole as unknown as pg.Submittable)
    return promise
  }

  /** Ends what the server does for it, and the connection. */
  async cancel(): Promise<void> {
    const { processID, secretKey } = cancelKeyOf(this.#client)
    this.#hasEnded = true
    this.#fail(new Error('Connection terminated'))
    if (processID !== null && secretKey !== null) {
      await sendCancel({ host: this.#address, port: this.#port }, processID, secretKey)
    }
    connectionOf(this.#client).stream.destroy()
  }

  async close(): Promise<void> {
    this.#hasEnded = true
    const over = this.#client.end().catch(() => {})
    const waited = Promise.race([over, Bun.sleep(CANCEL_MS)])
    await waited
    connectionOf(this.#client).stream.destroy()
  }
}

/** An internal query in the library's queue. */
interface Submitted {
  submit(connection: WireConnection): void
  handleRowDescription(message: { readonly fields: readonly PostgresField[] }): void
  handleDataRow(message: { readonly fields: TextRow }): void
  handlePortalSuspended(): void
  handleEmptyQuery(): void
  handleCommandComplete(): void
  handleCopyData(): void
  handleCopyInResponse(): void
  handleError(error: unknown): void
  handleReadyForQuery(): void
}

interface WireConnection {
  parse(message: { name: string; text: string; types: readonly number[] }): void
  bind(message: { portal: string; values: readonly (string | null)[] }): void
  execute(message: { portal: string; rows: number }): void
  describe(message: { type: 'S'; name: string }): void
  query(sql: string): void
  flush(): void
  sync(): void
  readonly stream: WireStream & { ref?(): void; unref?(): void }
  /** Called once, when there is a socket that speaks the protocol. */
  attachListeners(stream: { on(event: string, listener: (bytes: Buffer) => void): unknown }): void
}

function bind(connection: WireConnection, sql: string, values: readonly SourceValue[]): void {
  connection.parse({ name: '', text: sql, types: [] })
  const texts = values.map((value) => (value === null ? null : String(value)))
  connection.bind({ portal: '', values: texts })
}

/** The library's declarations leave out what every version of it has. */
function connectionOf(client: pg.Client): WireConnection {
  return (client as unknown as { connection: WireConnection }).connection
}

interface Wire {
  readonly messages: WireMessages
  readonly format: PostgresMessages
}

/** For everything the server sends from now on: the library gets complete, checked messages. */
function wireOf(client: pg.Client, format: PostgresMessages): Wire {
  const connection = connectionOf(client)
  let pass: (bytes: Buffer) => void = () => {}
  const messages = new WireMessages(
    format,
    () => connection.stream,
    (message) => pass(message),
  )
  const attach = connection.attachListeners.bind(connection)
  connection.attachListeners = (stream) => {
    attach({
      on(event, listener) {
        if (event !== 'data') return stream.on(event, listener)
        pass = listener
        return stream.on(event, (bytes) => messages.take(bytes))
      },
    })
  }
  return { messages, format }
}

function cancelKeyOf(client: pg.Client) {
  // As above.
  return client as unknown as { processID: number | null; secretKey: number | null }
}

const CANCEL_REQUEST = 80_877_102

/** PostgreSQL takes it on a separate connection, before any login. */
async function sendCancel(
  { host, port }: { readonly host: string; readonly port: number },
  processID: number,
  secretKey: number,
): Promise<void> {
  const request = Buffer.alloc(16)
  request.writeInt32BE(16, 0)
  request.writeInt32BE(CANCEL_REQUEST, 4)
  request.writeInt32BE(processID, 8)
  request.writeInt32BE(secretKey, 12)
  const { promise, resolve } = Promise.withResolvers<void>()
  const socket = connect({ host, port }, () => socket.end(request))
  const timer = setTimeout(resolve, CANCEL_MS)
  // The server closes it when the signal has been sent.
  socket.on('close', () => resolve())
  socket.on('error', () => resolve())
  socket.resume()
  await promise
  clearTimeout(timer)
  socket.destroy()
}

/** For a server that accepts a connection: until it has identified itself and the login is done. */
const LOGIN_MS = 10_000

function silence(): AbortSignal {
  const controller = new AbortController()
  const error = Object.assign(new Error('no answer to the login'), { code: 'ETIMEDOUT' })
  setTimeout(() => controller.abort(error), LOGIN_MS).unref()
  return controller.signal
}
