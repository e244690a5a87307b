import type { ResultValue } from '../../domain/query-result.ts'
import { failureOf } from '../server-sessions.ts'
import type { SourceRows } from '../source-engine.ts'
import type { Described } from './postgres-catalog.ts'
import type { PostgresCursor } from './postgres-connection.ts'
import type { Session } from './postgres-session.ts'
import { valueConverter } from './postgres-types.ts'

/** Rows of a cursor, converted as they come. */
export class PostgresRows implements SourceRows {
  readonly columns: SourceRows['columns']
  readonly #cursor: PostgresCursor
  readonly #session: Session
  readonly #signal: AbortSignal
  readonly #converters: readonly ((text: string) => ResultValue)[]
  readonly #fetch = new FetchSize()
  #isDone = false

  constructor({
    fields,
    types,
    cursor,
    session,
    signal,
  }: Described & {
    readonly cursor: PostgresCursor
    readonly session: Session
    readonly signal: AbortSignal
  }) {
    this.columns = fields.map(({ name }, index) => ({
      name,
      type: types[index]?.duckdb ?? 'VARCHAR',
    }))
    this.#converters = fields.map((field, index) => {
      const type = types[index]
      return type === undefined ? String : valueConverter(type, field)
    })
    this.#cursor = cursor
    this.#session = session
    this.#signal = signal
  }

  async next() {
    if (this.#isDone) return null
    try {
      const asked = this.#fetch.rows
      const rows = await this.#cursor.read(asked)
      this.#fetch.note(rows.length, this.#session.connection.bytesRead)
      if (rows.length < asked) this.#isDone = true
      if (rows.length === 0) return null
      return rows.map((row) => {
        return row.map((text, index) =>
          text === null ? null : (this.#converters[index]?.(text) ?? null),
        )
      })
    } catch (error) {
      this.#isDone = true
      throw failureOf(error, this.#session.endpoint, this.#signal)
    }
  }

  async close(): Promise<void> {
    if (!this.#isDone && !this.#signal.aborted) await this.#cursor.close().catch(() => {})
    this.#isDone = true
    await this.#session.end()
  }
}

/** What one batch holds at most, roughly: more would wait in memory for its reader. */
const BATCH_BYTES = 512 * 1024
const ROWS_FIRST = 100
const ROWS_MAX = 1000

/** How many rows to ask a cursor for: few at first, for those who read no more, then by their size. */
class FetchSize {
  #rows = ROWS_FIRST
  #bytesBefore = 0

  get rows(): number {
    return this.#rows
  }

  /** @param bytesRead of the connection, in all */
  note(rowCount: number, bytesRead: number): void {
    const bytes = bytesRead - this.#bytesBefore
    this.#bytesBefore = bytesRead
    if (rowCount === 0) return
    const fitting = Math.floor(BATCH_BYTES / Math.max(1, bytes / rowCount))
    this.#rows = Math.max(1, Math.min(ROWS_MAX, fitting, this.#rows * 4))
  }
}
