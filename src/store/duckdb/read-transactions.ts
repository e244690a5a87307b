import type { DuckDBConnection } from '@duckdb/node-api'
import type { Database } from './database.ts'

/** How long a transaction serves one statement after the other. `now()` says when it began. */
const REUSE_MS = 20

/** A connection with a READ ONLY transaction that nobody uses at the moment. */
interface OpenTransaction {
  readonly connection: DuckDBConnection
  /** As many writes had been committed when it began. */
  readonly writeCount: number
  readonly beganMs: number
}

export interface ReadConnection {
  readonly connection: DuckDBConnection
  /** True when its READ ONLY transaction is open already and sees every committed write. */
  readonly isBegun: boolean
  /** Takes the connection back, its transaction still open. */
  readonly giveBack: () => void
}

/**
 * Connections for statements that read. BEGIN and COMMIT cost as much as a short statement itself, so that its transaction
 * is left open for the next one, for a moment and until something is written.
 */
export class ReadTransactions {
  readonly #database: Database
  readonly #idle: OpenTransaction[] = []
  #timer: ReturnType<typeof setTimeout> | null = null
  #isClosed = false

  constructor(database: Database) {
    this.#database = database
  }

  async take(): Promise<ReadConnection> {
    const open = this.#idle.pop()
    const { writeCount } = this.#database
    if (open !== undefined && open.writeCount === writeCount && ageMs(open) < REUSE_MS) {
      return this.#lent(open, true)
    }
    if (open !== undefined) this.#end(open)
    const connection = await this.#database.take()
    return this.#lent({ connection, writeCount, beganMs: performance.now() }, false)
  }

  /** Ends what is open: whatever waits for the database to be still. */
  close(): void {
    this.#isClosed = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    for (const { connection } of this.#idle.splice(0)) this.#database.discard(connection)
  }

  #lent(transaction: OpenTransaction, isBegun: boolean): ReadConnection {
    const giveBack = () => {
      if (this.#isClosed) this.#database.discard(transaction.connection)
      else this.#keep(transaction)
    }
    return { connection: transaction.connection, isBegun, giveBack }
  }

  #keep(transaction: OpenTransaction): void {
    this.#idle.push(transaction)
    this.#timer ??= setTimeout(() => this.#sweep(), REUSE_MS)
  }

  /** An open transaction keeps old versions of rows alive: at rest there is none. */
  #sweep(): void {
    this.#timer = null
    const old = this.#idle.filter((one) => ageMs(one) >= REUSE_MS)
    const others = this.#idle.filter((one) => ageMs(one) < REUSE_MS)
    this.#idle.splice(0, this.#idle.length, ...others)
    for (const one of old) this.#end(one)
    if (others.length > 0) this.#timer = setTimeout(() => this.#sweep(), REUSE_MS)
  }

  #end({ connection }: OpenTransaction): void {
    connection.run('COMMIT').then(
      () => this.#database.giveBack(connection),
      () => this.#database.discard(connection),
    )
  }
}

function ageMs({ beganMs }: OpenTransaction): number {
  return performance.now() - beganMs
}
