import type { ResultColumn, ResultValue } from '../core/domain/query-result.ts'
import { failureOf, type ServerConnection, type ServerSession } from './server-sessions.ts'
import type { SourceRows } from './source-engine.ts'
import { broken } from './wire-messages.ts'

/** Takes the rows of one SELECT. */
export interface RowReader<Value> {
  /** False: no more until `resume`. */
  row(values: readonly (Value | null)[]): boolean
}

/** What runs the SELECT. */
interface StreamingConnection {
  /** Lets more rows come. */
  resume(): void
  /** The remaining rows are not needed. */
  leave(): Promise<void>
}

const BATCH_ROWS = 1000
const BATCH_BYTES = 512 * 1024

/** Rows as they come, converted; the server waits until more are requested. */
export class StreamedRows<Value extends string | Uint8Array>
  implements SourceRows, RowReader<Value>
{
  columns: readonly ResultColumn[] = []
  readonly #session: ServerSession<StreamingConnection & ServerConnection, unknown>
  readonly #signal: AbortSignal
  #converters: readonly ((value: Value) => ResultValue)[] = []
  #rows: (readonly ResultValue[])[] = []
  #bytes = 0
  #isOver = false
  #failure: unknown = null
  #changed = Promise.withResolvers<void>()

  constructor(
    session: ServerSession<StreamingConnection & ServerConnection, unknown>,
    signal: AbortSignal,
  ) {
    this.#session = session
    this.#signal = signal
  }

  describe(
    columns: readonly ResultColumn[],
    converters: readonly ((value: Value) => ResultValue)[],
  ): void {
    this.columns = columns
    this.#converters = converters
  }

  /** @param over settles when the SELECT is over */
  follow(over: Promise<void>): void {
    over.then(
      () => this.#end(null),
      (error) => this.#end(error),
    )
  }

  row(values: readonly (Value | null)[]): boolean {
    if (values.length !== this.#converters.length) broken('a row of other columns')
    this.#rows.push(
      values.map((value, index) => {
        if (value === null) return null
        this.#bytes += value.length
        return this.#converters[index]?.(value) ?? null
      }),
    )
    this.#changed.resolve()
    return this.#rows.length < BATCH_ROWS && this.#bytes < BATCH_BYTES
  }

  #end(failure: unknown): void {
    this.#isOver = true
    this.#failure = failure
    this.#changed.resolve()
  }

  async next() {
    if (this.#rows.length === 0 && !this.#isOver) {
      this.#changed = Promise.withResolvers()
      this.#session.connection.resume()
      await this.#changed.promise
    }
    if (this.#rows.length > 0) {
      const rows = this.#rows
      this.#rows = []
      this.#bytes = 0
      return rows
    }
    if (this.#failure === null) return null
    throw failureOf(this.#failure, this.#session.endpoint, this.#signal)
  }

  async close(): Promise<void> {
    if (!this.#isOver && !this.#signal.aborted) await this.#session.connection.leave()
    await this.#session.end()
  }
}
