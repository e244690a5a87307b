/** A connection to MySQL or MariaDB. Values arrive as the server's own texts. */
import mysql from 'mysql2'
import type { Guard } from '../../core/runtime/address-policy.ts'
import { abortable } from '../../core/runtime/cancellation.ts'
import { addressOf, type Endpoint, pinnedSocket, tlsOptions } from '../server-endpoint.ts'
import {
  broken,
  checkedColumnCount,
  checkedFields,
  checkedSize,
  type WireFormat,
  WireMessages,
  type WireStream,
} from '../wire-messages.ts'

export interface MysqlField {
  readonly name: string
  readonly columnType: number
  readonly columnLength: number
  readonly characterSet: number
  readonly flags: number
  readonly decimals: number
  /** For example `json` in MariaDB. */
  readonly extendedFormat?: string
  /** For example `uuid` or `inet6` in MariaDB. */
  readonly extendedTypeName?: string
}

/** Takes the rows of one statement. A value's bytes are only valid until the next row arrives. */
interface MysqlReader {
  fields(fields: readonly MysqlField[]): void
  /** Returns false to get no more rows until `resume`. */
  row(values: readonly (Uint8Array | null)[]): boolean
}

const NO_READER: MysqlReader = { fields: () => {}, row: () => true }

const CANCEL_MS = 1000

/** The library caches a parser for each shape of rows, which a server could make huge. */
mysql.setMaxParserCache(200)

/**
 * With this, backticks for names and backslashes in texts work under all settings of the server.
 */
const SESSION_SQL = "SET SESSION sql_mode = 'NO_ENGINE_SUBSTITUTION', time_zone = '+00:00'"

export class MysqlConnection {
  readonly #connection: mysql.Connection
  readonly #wire: Wire
  readonly #open: (signal: AbortSignal) => Promise<MysqlConnection>
  readonly isMariadb: boolean
  /** Fails the running statement, because the library does not when its connection is destroyed. */
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
      // Otherwise a server could request files from this machine.
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

  /** Resolves with the last row. */
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
      // The library's type declarations omit the column descriptions and rows of bytes.
      const described = checkedFields((fields ?? []) as unknown as readonly MysqlField[])
      format.expectRows(described.length)
      reader.fields(described)
    })
    query.on('result', (row) => {
      if (!Array.isArray(row)) return
      // The declarations omit this, too.
      if (!reader.row(row as unknown as readonly (Uint8Array | null)[])) messages.hold()
    })
    query.on('end', () => resolve())
    return promise
  }

  /** Fails the running statement when the connection ends, which the library does not report. */
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

  /** Prepares a statement without running it, and returns its columns. */
  describe(sql: string): Promise<readonly MysqlField[]> {
    const { promise, resolve, reject } = this.#begun<readonly MysqlField[]>()
    this.#connection.prepare(sql, (error, statement) => {
      if (error !== null) return reject(error)
      const columns: unknown = Reflect.get(statement, 'columns')
      statement.close()
      // The declarations omit this, too.
      resolve(checkedFields((Array.isArray(columns) ? columns : []) as readonly MysqlField[]))
    })
    return promise
  }

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

  /** The library would only stop sending, and keep reading from a server that never stops. */
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

/** Checks packets before the library parses them, also within TLS. */
function wireOf(connection: mysql.Connection): Wire {
  // Every version of the library has these, but its declarations omit them.
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
  // Without this, the library would log a line for each.
  connection.on('warn', () => broken('packets that are not in their order'))
  return { messages, format }
}

/** Splits MySQL's byte stream into packets and decides which of them reach the client library. */

const HEADER_BYTES = 4
/** A packet of this size is continued by another one. */
const CONTINUED = 0xffffff
const ERROR_BYTES_MAX = 64 * 1024
const ERROR = 0xff
const EOF = 0xfe
/** A longer packet that starts like an end marker is not one. */
const EOF_PACKET_BYTES_MAX = 12
const NULL = 0xfb
/** How many bytes follow each prefix to give the size. */
const SIZE_BYTES: Readonly<Record<number, number>> = { 252: 2, 253: 3 }

class MysqlPackets implements WireFormat {
  readonly headerBytes = HEADER_BYTES
  /** The number of columns in the incoming rows, or null outside of a result. */
  #columnCount: number | null = null
  /** For incoming rows, true once their description has ended. */
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

/** The number in a result header, which contains nothing else, or 0 for any other packet. */
function announcedColumns(packet: Buffer): number {
  const sizeBytes = SIZE_BYTES[packet[HEADER_BYTES] ?? 0]
  if (sizeBytes === undefined || packet.length !== HEADER_BYTES + 1 + sizeBytes) return 0
  return packet.readUIntLE(HEADER_BYTES + 1, sizeBytes)
}

/** Checks the sizes, because a wrong one would make the library read past the packet's end. */
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
