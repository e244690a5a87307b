/**
 * Lets short statements share connections that have an open READ ONLY transaction and prepared
 * plans.
 */
import type { DuckDBConnection, DuckDBPreparedStatement } from '@duckdb/node-api'
import { LruMap } from '../../core/runtime/lru-map.ts'
import type { Database } from './database.ts'

const COMMIT = 'COMMIT'

/** Record tables, written independently of clients' writes: agent traces and conversations. */
const RECORDS = /\beider\.(?:trace|conversation|audit)/

/** Prepared each time, so that writing records does not invalidate other plans. */
function readsRecords(sql: string): boolean {
  return RECORDS.test(sql)
}

/** How long to reuse a transaction. `now()` in SQL gives its start time. */
const REUSE_MS = 20

interface OpenTransaction {
  readonly connection: DuckDBConnection
  /** The database's write count when the transaction began. */
  readonly writeCount: number
  readonly beganMs: number
}

interface ReadConnection {
  readonly connection: DuckDBConnection
  /** Whether its READ ONLY transaction is already open. It sees every committed write. */
  readonly isBegun: boolean
  /** Returns the connection to the pool with its transaction still open. */
  readonly giveBack: () => void
}

/** Keeps a transaction open for a moment: BEGIN and COMMIT cost as much as a short statement. */
export class ReadConnections {
  readonly #database: Database
  readonly #statements: PreparedStatements
  readonly #idle: OpenTransaction[] = []
  #timer: ReturnType<typeof setTimeout> | null = null
  #isClosed = false

  constructor(database: Database, statements: PreparedStatements) {
    this.#database = database
    this.#statements = statements
  }

  /** @param sql the statement to run */
  async take(sql: string): Promise<ReadConnection> {
    const open = readsRecords(sql) ? undefined : this.#idle.pop()
    const { writeCount } = this.#database
    if (open !== undefined && open.writeCount === writeCount && ageMs(open) < REUSE_MS) {
      return this.#lend(open, true)
    }
    if (open !== undefined) this.#end(open)
    const connection = await this.#database.take()
    return this.#lend({ connection, writeCount, beganMs: performance.now() }, false)
  }

  /** Ends the open transactions so that the database can close. */
  close(): void {
    this.#isClosed = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    for (const { connection } of this.#idle.splice(0)) this.#database.discard(connection)
  }

  #lend(transaction: OpenTransaction, isBegun: boolean): ReadConnection {
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

  /** An open transaction keeps old row versions alive, so an idle server has none. */
  #sweep(): void {
    this.#timer = null
    const expired = this.#idle.filter((transaction) => ageMs(transaction) >= REUSE_MS)
    const recent = this.#idle.filter((transaction) => ageMs(transaction) < REUSE_MS)
    this.#idle.splice(0, this.#idle.length, ...recent)
    for (const transaction of expired) this.#end(transaction)
    if (recent.length > 0) this.#timer = setTimeout(() => this.#sweep(), REUSE_MS)
  }

  #end({ connection }: OpenTransaction): void {
    this.#statements.runControl(connection, COMMIT).then(
      () => this.#database.giveBack(connection),
      () => this.#database.discard(connection),
    )
  }
}

function ageMs({ beganMs }: OpenTransaction): number {
  return performance.now() - beganMs
}

/** The most plans per connection. Each takes some ten kilobytes. */
const STATEMENTS_MAX = 12
const SQL_CHARS_MAX = 4_000

/** Remember this many recent statements of all connections. */
const SEEN_MAX = 500

interface PreparedPlan {
  readonly prepared: DuckDBPreparedStatement
  /** The data version for which the plan was made. */
  readonly dataVersion: number | null
}

/**
 * Prepares each statement once per connection, which doubles the rate of short statements. DuckDB
 * 1.5.5 replans a statement when a table or a parameter type has changed, but not when the data
 * has. Such a plan can give wrong results: it drops conditions that no stored value could meet, and
 * packs values into the width of the largest one. So a plan is used only until the next write.
 */
export class PreparedStatements {
  readonly #plans = new WeakMap<DuckDBConnection, Map<string, PreparedPlan>>()
  readonly #dataVersion: () => number | null
  readonly #seen = new LruMap<string, true>({ sizeMax: SEEN_MAX })

  /** @param dataVersion changes with every write; null during a commit */
  constructor(dataVersion: () => number | null) {
    this.#dataVersion = dataVersion
  }

  /** Without bound values. Run once at a time on this connection, in a transaction. */
  async prepare(connection: DuckDBConnection, sql: string): Promise<DuckDBPreparedStatement> {
    const dataVersion = readsRecords(sql) ? null : this.#dataVersion()
    return this.#prepare(connection, sql, dataVersion, (plan) => {
      return dataVersion !== null && plan.dataVersion === dataVersion
    })
  }

  /** Not seen lately: it may never come again, so preparing it would not pay. */
  isFirst(sql: string): boolean {
    const isFirst = this.#seen.get(sql) === undefined
    if (isFirst && sql.length <= SQL_CHARS_MAX) this.#seen.set(sql, true)
    return isFirst
  }

  /** Returns the prepared statement if there is one. */
  known(connection: DuckDBConnection, sql: string): DuckDBPreparedStatement | undefined {
    const plans = this.#plans.get(connection)
    const known = plans?.get(sql)
    const dataVersion = this.#dataVersion()
    if (known === undefined || dataVersion === null || known.dataVersion !== dataVersion) {
      return undefined
    }
    // Delete and set again to make it the most recently used.
    plans?.delete(sql)
    plans?.set(sql, known)
    if (known.prepared.parameterCount > 0) known.prepared.clearBindings()
    return known.prepared
  }

  /** Runs BEGIN or COMMIT. They read no data, so the plan never becomes outdated. */
  async runControl(connection: DuckDBConnection, sql: string): Promise<void> {
    await (await this.#prepare(connection, sql, null, () => true)).run()
  }

  async #prepare(
    connection: DuckDBConnection,
    sql: string,
    dataVersion: number | null,
    isCurrent: (plan: PreparedPlan) => boolean,
  ): Promise<DuckDBPreparedStatement> {
    const plans = this.#plansOf(connection)
    const known = plans.get(sql)
    // Delete and set again to make it the most recently used.
    plans.delete(sql)
    if (known !== undefined && isCurrent(known)) {
      plans.set(sql, known)
      if (known.prepared.parameterCount > 0) known.prepared.clearBindings()
      return known.prepared
    }
    known?.prepared.destroySync()
    const prepared = await connection.prepare(sql)
    if (sql.length <= SQL_CHARS_MAX) remember(plans, sql, { prepared, dataVersion })
    return prepared
  }

  #plansOf(connection: DuckDBConnection): Map<string, PreparedPlan> {
    const known = this.#plans.get(connection)
    if (known !== undefined) return known
    const plans = new Map<string, PreparedPlan>()
    this.#plans.set(connection, plans)
    return plans
  }
}

function remember(plans: Map<string, PreparedPlan>, sql: string, plan: PreparedPlan): void {
  plans.set(sql, plan)
  if (plans.size <= STATEMENTS_MAX) return
  const [oldest] = plans
  if (oldest === undefined) return
  plans.delete(oldest[0])
  oldest[1].prepared.destroySync()
}
