/** One connection to a PostgreSQL: what its library leaves out stands here, too. */
import { connect } from 'node:net'
import pg from 'pg'
import Cursor from 'pg-cursor'
import type { SourceValue } from '../../domain/ports/source-ports.ts'
import { AppError } from '../../errors.ts'
import type { Guard } from '../../network/pinned-fetch.ts'
import { abortable } from '../../runtime/cancellation.ts'
import { yieldToEventLoop } from '../../runtime/scheduling.ts'
import { addressOf, type Endpoint, pinnedSocket, tlsOptions } from '../server-endpoint.ts'
import { CopyFrames, type CopySink } from './copy-frames.ts'

/** A column of a result, as the server describes it. */
export interface PostgresField {
  readonly name: string
  readonly tableID: number
  readonly columnID: number
  readonly dataTypeID: number
  readonly dataTypeModifier: number
}

export type TextRow = readonly (string | null)[]

/** Values stay in the server's own text form. */
const AS_TEXT = { getTypeParser: () => (text: string) => text }

const CANCEL_MS = 1000
/** Of a COPY, in one turn of the event loop: a socket gives ten times as much where nobody says no. */
const BYTES_PER_TURN = 512 * 1024

export class PostgresConnection {
  readonly #client: pg.Client
  readonly #address: string
  readonly #port: number
  readonly #frames: CopyFrames
  #hasEnded = false

  private constructor(client: pg.Client, frames: CopyFrames, address: string, port: number) {
    this.#client = client
    this.#frames = frames
    this.#address = address
    this.#port = port
    client.on('error', () => {
      this.#hasEnded = true
    })
    client.on('end', () => {
      this.#hasEnded = true
    })
  }

  /** @throws AppError `address_refused`; whatever the library fails with */
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
      // As a function: an empty one would be looked for in the server's own environment.
      password: () => password,
      database: database ?? user,
      ssl: isEncrypted ? tlsOptions(encryption) : false,
      stream: () => socket,
      application_name: 'eider',
      keepAlive: true,
    })
    client.on('error', () => {})
    const frames = framesOf(client)
    try {
      await abortable(client.connect(), AbortSignal.any([signal, silence()]))
      const connection = new PostgresConnection(client, frames, address, port)
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

  /** Statements of ours, of which the last one's rows are given where there are values, else nothing is known of them. */
  async rows(sql: string, values: readonly unknown[] = []): Promise<readonly TextRow[]> {
    const query = { text: sql, values: [...values], rowMode: 'array', types: AS_TEXT }
    // The declarations know only one type of rows.
    const result = await this.#client.query(query as unknown as pg.QueryArrayConfig)
    return result.rows ?? []
  }

  /** The columns of one statement, which is parsed and not run; empty: it has no rows. */
  describe(sql: string): Promise<readonly PostgresField[]> {
    const { promise, resolve, reject } = Promise.withResolvers<readonly PostgresField[]>()
    let fields: readonly PostgresField[] = []
    this.#submit({
      submit(connection) {
        connection.parse({ name: '', text: sql, types: [] }, true)
        connection.describe({ type: 'S', name: '' }, true)
        connection.sync()
      },
      handleRowDescription(message) {
        fields = message.fields
      },
      handleError: (error) => reject(error),
      handleReadyForQuery: () => resolve(fields),
    })
    return promise
  }

  cursor(sql: string, values: readonly SourceValue[]): PostgresCursor {
    const config = { rowMode: 'array', types: AS_TEXT } as const
    return new PostgresCursor(this.#client.query(new Cursor(sql, [...values], config)))
  }

  /** How many bytes came, of all messages. */
  get bytesRead(): number {
    return connectionOf(this.#client).stream.bytesRead ?? 0
  }

  /** Runs `COPY (…) TO STDOUT` and gives its rows to `sink`. @param full what must be awaited before more */
  async copyOut(sql: string, sink: CopySink, full: () => Promise<void> | null): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const { stream } = connectionOf(this.#client)
    let bytesOfTurn = 0
    let isPaused = false
    const pause = (until: Promise<void>) => {
      isPaused = true
      stream.pause()
      until.then(
        () => {
          isPaused = false
          bytesOfTurn = 0
          stream.resume()
        },
        (error) => {
          reject(error)
          stream.destroy()
        },
      )
    }
    this.#frames.sink = {
      row: (sizeBytes) => sink.row(sizeBytes),
      take: (bytes) => {
        sink.take(bytes)
        bytesOfTurn += bytes.length
        if (isPaused) return
        const waiting = full()
        if (waiting !== null) pause(waiting)
        else if (bytesOfTurn >= BYTES_PER_TURN) pause(yieldToEventLoop())
      },
    }
    this.#submit({
      submit: (connection) => connection.query(sql),
      handleError: (error) => reject(error),
      handleReadyForQuery: () => resolve(),
    })
    try {
      await promise
    } finally {
      this.#frames.sink = null
    }
  }

  #submit(
    query: Partial<Submitted> & Pick<Submitted, 'submit' | 'handleError' | 'handleReadyForQuery'>,
  ): void {
    const ignored = () => {}
    const whole: Submitted = {
      handleRowDescription: ignored,
      handleDataRow: ignored,
      handlePortalSuspended: ignored,
      handleEmptyQuery: ignored,
      handleCommandComplete: ignored,
      handleCopyData: ignored,
      ...query,
    }
    // The library's own declaration of it has one method only.
    this.#client.query(whole as unknown as pg.Submittable)
  }

  /** Ends what the server does for it, and the connection. */
  async cancel(): Promise<void> {
    const { processID, secretKey } = cancelKeyOf(this.#client)
    this.#hasEnded = true
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

/** Rows of a portal. */
export class PostgresCursor {
  readonly #cursor: Cursor

  constructor(cursor: Cursor) {
    this.#cursor = cursor
  }

  async read(count: number): Promise<readonly TextRow[]> {
    return this.#cursor.read(count)
  }

  async close(): Promise<void> {
    await this.#cursor.close()
  }
}

/** A query of ours in the library's queue. */
interface Submitted {
  submit(connection: WireConnection): void
  handleRowDescription(message: { readonly fields: readonly PostgresField[] }): void
  handleDataRow(): void
  handlePortalSuspended(): void
  handleEmptyQuery(): void
  handleCommandComplete(): void
  handleCopyData(): void
  handleError(error: unknown): void
  handleReadyForQuery(): void
}

interface WireConnection {
  parse(message: { name: string; text: string; types: readonly number[] }, more: boolean): void
  describe(message: { type: 'S'; name: string }, more: boolean): void
  query(sql: string): void
  sync(): void
  readonly stream: WireStream
  /** Called once, when there is a socket that speaks the protocol. */
  attachListeners(stream: Listened): void
}

/** What the library's parser listens to. */
interface Listened {
  on(event: string, listener: (bytes: Buffer) => void): unknown
}

interface WireStream {
  readonly bytesRead?: number
  ref?(): void
  unref?(): void
  pause(): void
  resume(): void
  destroy(): void
}

/** The library's declarations leave out what every version of it has. */
function connectionOf(client: pg.Client): WireConnection {
  return (client as unknown as { connection: WireConnection }).connection
}

/** Of all that the server sends from now on: the library is given the rest. */
function framesOf(client: pg.Client): CopyFrames {
  const connection = connectionOf(client)
  let pass: (bytes: Buffer) => void = () => {}
  const frames = new CopyFrames((bytes) => pass(bytes))
  const attach = connection.attachListeners.bind(connection)
  connection.attachListeners = (stream) => {
    attach({
      on(event, listener) {
        if (event !== 'data') return stream.on(event, listener)
        pass = listener
        return stream.on(event, (bytes) => frames.take(bytes))
      },
    })
  }
  return frames
}

function cancelKeyOf(client: pg.Client) {
  // As above.
  return client as unknown as { processID: number | null; secretKey: number | null }
}

const CANCEL_REQUEST = 80_877_102

/** PostgreSQL takes it on a connection of its own, before any login. */
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

/** @throws AppError `sql_not_supported` */
export function requireRows(fields: readonly PostgresField[]): void {
  if (fields.length > 0) return
  throw new AppError('sql_not_supported', 'The native SQL gives no rows; it must be a SELECT')
}

/** Of a server that takes a connection: until it has said who it is and the login is done. */
const LOGIN_MS = 10_000

function silence(): AbortSignal {
  const controller = new AbortController()
  const error = Object.assign(new Error('no answer to the login'), { code: 'ETIMEDOUT' })
  setTimeout(() => controller.abort(error), LOGIN_MS).unref()
  return controller.signal
}
