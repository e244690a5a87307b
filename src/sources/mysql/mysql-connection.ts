/** One connection to a MySQL or MariaDB. Rows come as the server's own texts. */
import mysql from 'mysql2'
import type { Guard } from '../../network/pinned-fetch.ts'
import { abortable } from '../../runtime/cancellation.ts'
import { addressOf, type Endpoint, pinnedSocket } from '../server-endpoint.ts'

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

/** The bytes of each value, which are gone when the next row comes. */
export type RawRow = readonly (Uint8Array | null)[]

export interface RowReader {
  fields(fields: readonly MysqlField[]): void
  /** False: no more until `resume`. */
  row(row: RawRow): boolean
}

const CANCEL_MS = 1000

/** Names in backticks, backslashes in texts, whatever the server's own settings are. */
const SESSION_SQL = "SET SESSION sql_mode = 'NO_ENGINE_SUBSTITUTION', time_zone = '+00:00'"

export class MysqlConnection {
  readonly #connection: mysql.Connection
  readonly #open: () => Promise<MysqlConnection>
  readonly isMariadb: boolean
  /** The statement that runs; the library says nothing to it when its connection is destroyed. */
  #fail: (error: Error) => void = () => {}
  #hasEnded = false

  private constructor(
    connection: mysql.Connection,
    isMariadb: boolean,
    open: () => Promise<MysqlConnection>,
  ) {
    this.#connection = connection
    this.#open = open
    this.isMariadb = isMariadb
    const lost = () => {
      this.#hasEnded = true
      this.#fail(new Error('Connection terminated'))
    }
    connection.on('error', lost)
    connection.on('end', lost)
  }

  /** @throws AppError `address_refused`; whatever the library fails with */
  static async open(
    endpoint: Endpoint,
    guard: Guard,
    signal: AbortSignal,
  ): Promise<MysqlConnection> {
    const address = await addressOf(endpoint, guard, signal)
    const { host, port, user, password, database, encryption } = endpoint
    const { mode, check, authorities, certificate, key } = encryption
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
      ...(mode === 'off'
        ? {}
        : {
            ssl: {
              rejectUnauthorized: check !== 'nothing',
              verifyIdentity: check === 'name',
              ...(authorities === undefined ? {} : { ca: authorities }),
              ...(certificate === undefined ? {} : { cert: certificate }),
              ...(key === undefined ? {} : { key }),
            },
          }),
    })
    connection.on('error', () => {})
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    connection.connect((error) => (error === null ? resolve() : reject(error)))
    try {
      await abortable(promise, signal)
      const never = new AbortController().signal
      const again = () => MysqlConnection.open(endpoint, guard, never)
      const first = new MysqlConnection(connection, false, again)
      await abortable(first.run(SESSION_SQL), signal)
      await abortable(first.run('SET SESSION TRANSACTION READ ONLY'), signal)
      const [[version] = []] = await abortable(first.texts('SELECT VERSION()'), signal)
      return new MysqlConnection(connection, /mariadb/i.test(version ?? ''), again)
    } catch (error) {
      connection.destroy()
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
    await this.stream(sql, { fields: () => {}, row: () => true })
  }

  async texts(sql: string): Promise<readonly (readonly (string | null)[])[]> {
    const rows: (string | null)[][] = []
    await this.stream(sql, {
      fields: () => {},
      row: (row) => {
        rows.push(row.map((bytes) => (bytes === null ? null : Buffer.from(bytes).toString())))
        return true
      },
    })
    return rows
  }

  /** Ends with the last row. */
  stream(sql: string, reader: RowReader): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#fail = reject
    const query = this.#connection.query({ sql, rowsAsArray: true, typeCast: false })
    query.on('error', reject)
    // The declarations know neither what describes a column, nor rows of bytes.
    query.on('fields', (fields) =>
      reader.fields((fields ?? []) as unknown as readonly MysqlField[]),
    )
    query.on('result', (row) => {
      if (!Array.isArray(row)) return
      // As above.
      if (!reader.row(row as unknown as RawRow)) this.#connection.pause()
    })
    query.on('end', () => resolve())
    return promise
  }

  resume(): void {
    this.#connection.resume()
  }

  /** The columns of one statement, which is prepared and not run. */
  describe(sql: string): Promise<readonly MysqlField[]> {
    const { promise, resolve, reject } = Promise.withResolvers<readonly MysqlField[]>()
    this.#connection.prepare(sql, (error, statement) => {
      if (error !== null) return reject(error)
      const columns: unknown = Reflect.get(statement, 'columns')
      statement.close()
      // As above.
      resolve((Array.isArray(columns) ? columns : []) as readonly MysqlField[])
    })
    return promise
  }

  /** Ends what the server does for it, and the connection. */
  async cancel(): Promise<void> {
    this.#hasEnded = true
    const { threadId } = this.#connection
    await Promise.race([this.#kill(threadId), Bun.sleep(CANCEL_MS)]).catch(() => {})
    this.#destroy()
  }

  async #kill(threadId: number): Promise<void> {
    const other = await this.#open()
    try {
      await other.run(`KILL QUERY ${threadId}`)
    } finally {
      await other.close()
    }
  }

  async close(): Promise<void> {
    this.#hasEnded = true
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#connection.end(() => resolve())
    await Promise.race([promise, Bun.sleep(CANCEL_MS)])
    this.#destroy()
  }

  #destroy(): void {
    this.#connection.destroy()
    this.#fail(new Error('Connection terminated'))
  }
}
