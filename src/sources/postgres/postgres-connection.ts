/** A connection to a PostgreSQL server, with the features that its library lacks. */
import pg from 'pg'
import type { SourceValue } from '../../core/domain/ports/engine-ports.ts'
import type { Guard } from '../../core/runtime/address-policy.ts'
import { abortable, settlesWithin, silence } from '../../core/runtime/cancellation.ts'
import { addressOf, type Endpoint, pinnedSocket, tlsOptions } from '../server-endpoint.ts'
import { broken, checkedFields, WireMessages, type WireStream } from '../wire-messages.ts'
import { CANCEL_MS, type CopySink, PostgresMessages, sendCancel } from './postgres-messages.ts'

export interface PostgresField {
  readonly name: string
  readonly tableID: number
  readonly columnID: number
  readonly dataTypeID: number
  readonly dataTypeModifier: number
}

export type TextRow = readonly (string | null)[]

/** Asks what kind of server it is. After that, the session only reads. */
const FIRST_SQL = `SELECT pg_catalog.pg_is_in_recovery(), pg_catalog.current_setting('transaction_read_only');
  SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY`

export class PostgresConnection {
  readonly #client: pg.Client
  readonly #address: string
  readonly #port: number
  readonly #wire: Wire
  #hasEnded = false
  #fail: (error: unknown) => void = () => {}

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

  /** @throws AppError `address_refused`; every error of the library, and one for a server of another kind */
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
    const { host, port, user, password, database, encryption, wanted } = endpoint
    const socket = pinnedSocket(address)
    const client = new pg.Client({
      host: host.replace(/^\[(.*)\]$/, '$1'),
      port,
      user,
      // A function, because for an empty text the library would use the server's environment
      // variables.
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
      await abortable(client.connect(), AbortSignal.any([signal, silence(LOGIN_MS)]))
      const connection = new PostgresConnection(client, wire, address, port)
      const [[isStandby, isReadOnly] = []] = await abortable(connection.rows(FIRST_SQL), signal)
      const kind = `${isStandby === 't' ? 'standby' : 'primary'} ${isReadOnly === 'on' ? 'read-only' : 'read-write'}`
      if (`any ${kind}`.split(' ').includes(wanted)) return connection
      throw new Error(`it is ${kind}, and target_session_attrs asks for ${wanted}`)
    } catch (error) {
      socket.destroy()
      throw error
    }
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** An idle connection does not keep the process running. */
  setBusy(isBusy: boolean): void {
    const { stream } = connectionOf(this.#client)
    if (isBusy) stream.ref?.()
    else stream.unref?.()
  }

  /** Returns all rows of an internal statement, or of several statements without values. */
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

  /** Runs two statements in one transaction and one round trip. @returns `rows` of the second */
  rowsAfter(
    first: string,
    sql: string,
    values: readonly SourceValue[],
  ): { readonly begun: Promise<void>; readonly rows: Promise<readonly TextRow[]> } {
    const { promise: begun, resolve, reject } = Promise.withResolvers<void>()
    const rows: TextRow[] = []
    let isBegun = false
    const ended = this.#submit({
      submit(connection) {
        const { stream } = connection
        stream.cork?.()
        bind(connection, first, [])
        connection.execute({ portal: '', rows: 0 })
        // A live server answers this right away.
        connection.flush()
        bind(connection, sql, values)
        connection.execute({ portal: '', rows: 0 })
        connection.sync()
        stream.uncork?.()
      },
      handleDataRow: ({ fields }) => {
        if (isBegun) rows.push(fields)
      },
      handleCommandComplete() {
        isBegun = true
        resolve()
      },
    })
    ended.catch(reject)
    return { begun, rows: ended.then(() => rows) }
  }

  /** Returns the columns of a statement, which is not run. The list is empty if it has no rows. */
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

  /** Runs `COPY (…) TO STDOUT` and passes its rows to `sink`. @param full what to await before more */
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
    const unasked = () => broken('it sends rows that were not asked for')
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
    // The library declares only one method of this interface.
    this.#client.query(whole as unknown as pg.Submittable)
    return promise
  }

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
    await settlesWithin(this.#client.end(), CANCEL_MS)
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
  readonly stream: WireStream & { ref?(): void; unref?(): void; cork?(): void; uncork?(): void }
  /** Called once, as soon as the socket speaks the protocol. */
  attachListeners(stream: { on(event: string, listener: (bytes: Buffer) => void): unknown }): void
}

function bind(connection: WireConnection, sql: string, values: readonly SourceValue[]): void {
  connection.parse({ name: '', text: sql, types: [] })
  const texts = values.map((value) => (value === null ? null : String(value)))
  connection.bind({ portal: '', values: texts })
}

/** Every version of the library has these, but its declarations omit them. */
function connectionOf(client: pg.Client): WireConnection {
  return (client as unknown as { connection: WireConnection }).connection
}

interface Wire {
  readonly messages: WireMessages
  readonly format: PostgresMessages
}

/** Checks messages before the library parses them. */
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
  // The declarations omit this, too.
  return client as unknown as { processID: number | null; secretKey: number | null }
}

/** How long a server that accepts a connection may take to identify itself and to log in. */
const LOGIN_MS = 10_000
