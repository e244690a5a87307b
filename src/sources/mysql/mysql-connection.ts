/** One connection to a MySQL or MariaDB. Rows come as the server's own texts. */
import mysql from 'mysql2'
import type { Guard } from '../../core/runtime/address-policy.ts'
import { abortable } from '../../core/runtime/cancellation.ts'
import { addressOf, type Endpoint, pinnedSocket, tlsOptions } from '../server-endpoint.ts'
import type { RowReader } from '../streamed-rows.ts'
import {
  broken,
  checkedColumnCount,
  checkedFields,
  checkedSize,
  type WireFormat,
  WireMessages,
  type WireStream,
} from '../wire-messages.ts'

/** A column of a result, as the server describes it. */
export interface MysqlField {
  readonly name: string
  readonly columnType: number
  readonly columnLength: number
  readonly characterSet: number
  readonly flags: number
  readonly decimals: number
  /** MariaDB: `json`. */
  readonly extendedFormat?: string
  /** MariaDB: `uuid`, `inet6`. */
  readonly extendedTypeName?: string
}

/** Takes the rows of one statement; the bytes of a value are gone when the next row comes. */
interface MysqlReader extends RowReader<Uint8Array> {
  fields(fields: readonly MysqlField[]): void
}

/** Takes nothing. */
const NO_READER: MysqlReader = { fields: () => {}, row: () => true }

const CANCEL_MS = 1000

/** The library keeps a parser for each kind of rows, which a server could make as large as it likes. */
mysql.setMaxParserCache(200)

/** Names in backticks, backslashes in texts, under all settings of the server. */
const SESSION_SQL = "SET SESSION sql_mode = 'NO_ENGINE_SUBSTITUTION', time_zone = '+00:00'"

export class MysqlConnection {
  readonly #connection: mysql.Connection
  readonly #wire: Wire
  readonly #open: (signal: AbortSignal) => Promise<MysqlConnection>
  readonly isMariadb: boolean
  /** The statement that runs; the library says nothing to it when its connection is destroyed. */
  #fail: (error: Error) => void = () => {}
  #hasEnded = false

  private constructor(
    connection: mysql.Connection,
    wire: Wire,
    isMariadb: boolean,
    open: (signal: AbortSignal) => Promise<MysqlConnection>,
  ) {
    this.#connection = connection
    this.#wire = wire
    this.#open = open
    this.isMariadb = isMariadb
    const lost = (error: Error) => {
      this.#hasEnded = true
      this.#fail(error)
    }
    connection.on('error', lost)
    connection.on('end', () => lost(new Error('Connection terminated')))
  }

  /** @throws AppError `address_refused`; every error of the library */
  static async open(
    endpoint: Endpoint,
    guard: Guard,
    signal: AbortSignal,
  ): Promise<MysqlConnection> {
    const address = await addressOf(endpoint, guard, signal)
    const { host, port, user, password, database, encryption } = endpoint
    const socket = pinnedSocket(address)
    const connection = mysql.createConnection({
      host: host.replace(/^\[(.*)\]$/, '$1'),
      port,
      user,
      password,
      ...(database === null ? {} : { database }),
      stream: () => socket.connect(port),
      charset: 'UTF8MB4_GENERAL_CI',
      multipleStatements: false,
      connectTimeout: 10_000,
      // No file of this machine is sent because a server asks for it.
      flags: ['-LOCAL_FILES'],
      ...(encryption.mode === 'off'
        ? {}
        : { ssl: { ...tlsOptions(encryption), verifyIdentity: encryption.check === 'name' } }),
    })
    connection.on('error', () => {})
    const wire = wireOf(connection)
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    connection.connect((error) => (error === null ? resolve() : reject(error)))
    try {
      await abortable(promise, signal)
      const again = (signal: AbortSignal) => MysqlConnection.open(endpoint, guard, signal)
      const first = new MysqlConnection(connection, wire, false, again)
      await abortable(first.run(SESSION_SQL), signal)
      await abortable(first.run('SET SESSION TRANSACTION READ ONLY'), signal)
      const [[version] = []] = await abortable(first.texts('SELECT VERSION()'), signal)
      return new MysqlConnection(connection, wire, /mariadb/i.test(version ?? ''), again)
    } catch (error) {
      wire.messages.end()
      socket.destroy()
      throw error
    }
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  setBusy(isBusy: boolean): void {
    const stream: unknown = Reflect.get(this.#connection, 'stream')
    if (typeof stream !== 'object' || stream === null) return
    const method: unknown = Reflect.get(stream, isBusy ? 'ref' : 'unref')
    if (typeof method === 'function') method.call(stream)
  }

  async run(sql: string): Promise<void> {
    await this.#query(sql, NO_READER)
  }

  async texts(sql: string): Promise<readonly (readonly (string | null)[])[]> {
    const rows: (string | null)[][] = []
    await this.#query(sql, {
      ...NO_READER,
      row: (row) => {
        rows.push(row.map((bytes) => (bytes === null ? null : Buffer.from(bytes).toString())))
        return true
      },
    })
    return rows
  }

  /** Ends with the last row. */
  stream(sql: string, reader: MysqlReader): Promise<void> {
    return this.#query(sql, {
      fields: (fields) => reader.fields(fields),
      row: (row) => {
        this.#wire.messages.noteTaken()
        return reader.row(row)
      },
    })
  }

  #query(sql: string, reader: MysqlReader): Promise<void> {
    const { promise, reject, resolve } = this.#begun<void>()
    const { messages, format } = this.#wire
    const query = this.#connection.query({ sql, rowsAsArray: true, typeCast: false })
    query.on('error', reject)
    query.on('fields', (fields) => {
      // The declarations know neither what describes a column, nor rows of bytes.
      const described = checkedFields((fields ?? []) as unknown as readonly MysqlField[])
      format.expectRows(described.length)
      reader.fields(described)
    })
    query.on('result', (row) => {
      if (!Array.isArray(row)) return
      // As above.
      if (!reader.row(row as unknown as readonly (Uint8Array | null)[])) messages.hold()
    })
    query.on('end', () => resolve())
    return promise
  }

  /** Ends the running statement when the connection ends, which the library does not report. */
  #begun<T>() {
    const running = Promise.withResolvers<T>()
    running.promise.catch(() => {})
    this.#fail = running.reject
    this.#wire.messages.noteTaken()
    return running
  }

  resume(): void {
    this.#wire.messages.release()
  }

  /** The columns of one statement, which is prepared and not run. */
  describe(sql: string): Promise<readonly MysqlField[]> {
    const { promise, resolve, reject } = this.#begun<readonly MysqlField[]>()
    this.#connection.prepare(sql, (error, statement) => {
      if (error !== null) return reject(error)
      const columns: unknown = Reflect.get(statement, 'columns')
      statement.close()
      // As above.
      resolve(checkedFields((Array.isArray(columns) ? columns : []) as readonly MysqlField[]))
    })
    return promise
  }

  /** The remaining rows are not needed: the server would send them all. */
  leave(): Promise<void> {
    return this.cancel()
  }

  /** Ends the connection, and what the server does for it. */
  async cancel(): Promise<void> {
    const { threadId } = this.#connection
    this.#destroy()
    await this.#kill(threadId).catch(() => {})
  }

  async #kill(threadId: number): Promise<void> {
    const signal = AbortSignal.timeout(CANCEL_MS)
    const other = await this.#open(signal)
    try {
      await abortable(other.run(`KILL QUERY ${threadId}`), signal)
    } finally {
      void other.close()
    }
  }

  async close(): Promise<void> {
    this.#hasEnded = true
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#connection.end(() => resolve())
    await Promise.race([promise, Bun.sleep(CANCEL_MS)])
    this.#destroy()
  }

  /** The library would only end what it sends, and go on reading what the server sends without an end. */
  #destroy(): void {
    this.#hasEnded = true
    this.#connection.destroy()
    this.#wire.messages.end()
    this.#fail(new Error('Connection terminated'))
  }
}

interface Wire {
  readonly messages: WireMessages
  readonly format: MysqlPackets
}

/** For everything the server sends, also within TLS: the library's parser gets complete, checked packets. */
function wireOf(connection: mysql.Connection): Wire {
  // The declarations leave out what every version of it has.
  const inner = connection as unknown as {
    stream: WireStream
    packetParser: { execute(bytes: Buffer): void }
  }
  const parser = inner.packetParser
  const format = new MysqlPackets()
  const messages = new WireMessages(
    format,
    () => inner.stream,
    (message) => parser.execute(message),
  )
  inner.packetParser = { execute: (bytes) => messages.take(bytes) }
  // It would write a line for each.
  connection.on('warn', () => broken('packets that are not in their order'))
  return { messages, format }
}

/** How MySQL parts its messages, and which of them its client library may be given. */

const HEADER_BYTES = 4
/** A packet of this size is followed by another one of the same message. */
const CONTINUED = 0xffffff
const ERROR_BYTES_MAX = 64 * 1024
const ERROR = 0xff
const EOF = 0xfe
/** For a packet that looks like an end, and is one. */
const EOF_PACKET_BYTES_MAX = 12
const NULL = 0xfb
/** Bytes of a size by the mark before it. */
const SIZE_BYTES: Readonly<Record<number, number>> = { 252: 2, 253: 3 }

class MysqlPackets implements WireFormat {
  readonly headerBytes = HEADER_BYTES
  /** For the incoming rows; null: none. */
  #columnCount: number | null = null
  /** For incoming rows: their description has not ended. */
  #isDescribed = false

  expectRows(columnCount: number): void {
    this.#columnCount = columnCount
    this.#isDescribed = false
  }

  sizeOf(bytes: Buffer, at: number): number {
    const size = bytes.readUIntLE(at, 3)
    return checkedSize(size === CONTINUED ? Infinity : size) + HEADER_BYTES
  }

  check(packet: Buffer): number {
    if (packet.length === HEADER_BYTES) broken('an empty packet')
    if (packet[HEADER_BYTES] === ERROR) {
      checkedSize(packet.length, ERROR_BYTES_MAX)
      this.#columnCount = null
      return 0
    }
    const isEnd = packet[HEADER_BYTES] === EOF && packet.length <= EOF_PACKET_BYTES_MAX
    if (this.#columnCount !== null && isEnd) {
      if (this.#isDescribed) this.#columnCount = null
      this.#isDescribed = true
      return 0
    }
    if (this.#columnCount === null || !this.#isDescribed) {
      checkedColumnCount(announcedColumns(packet))
      return 0
    }
    requireValues(packet, this.#columnCount)
    return this.#columnCount
  }
}

/** By the head of a result, which is a size alone; 0: another packet. */
function announcedColumns(packet: Buffer): number {
  const sizeBytes = SIZE_BYTES[packet[HEADER_BYTES] ?? 0]
  if (sizeBytes === undefined || packet.length !== HEADER_BYTES + 1 + sizeBytes) return 0
  return packet.readUIntLE(HEADER_BYTES + 1, sizeBytes)
}

/** The library reads beyond its packet if a size says so. */
function requireValues(packet: Buffer, count: number): void {
  let at = HEADER_BYTES
  for (let index = 0; index < count; index += 1) {
    const mark = packet[at]
    if (mark === undefined) broken('a row that ends in its values')
    at += 1
    if (mark === NULL) continue
    const sizeBytes = SIZE_BYTES[mark] ?? 0
    if (mark > NULL && sizeBytes === 0) broken('a value without a size')
    if (at + sizeBytes > packet.length) broken('a row that ends in its values')
    at += sizeBytes === 0 ? mark : sizeBytes + packet.readUIntLE(at, sizeBytes)
  }
  if (at !== packet.length) broken('a row whose values have another size')
}
