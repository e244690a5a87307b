import type { DuckDBConnection, DuckDBResult } from '@duckdb/node-api'
import type { BoundSql, ExportedRows, RunLimits, SqlEngine } from '../domain/ports.ts'
import type { RowStream } from '../domain/query-result.ts'
import { AppError } from '../errors.ts'
import { AdmissionQueue } from './admission-queue.ts'
import type { Database } from './database.ts'
import { type Deadline, deadlineOf } from './deadline.ts'
import { newExportFile } from './parquet-export.ts'
import { PreparedStatements } from './prepared-statements.ts'
import { ReadSession } from './read-session.ts'
import { ReadTransactions } from './read-transactions.ts'
import { rowBatches } from './row-batches.ts'
import { SqlReader } from './sql-reader.ts'
import { type StagedSelect, stagedSelect, stagingOf } from './staged-select.ts'
import { typeName } from './values.ts'

export interface EngineOptions {
  readonly statementsMax: number
  /** Statements that may wait for a place. */
  readonly waitingMax: number
}

const CLOSE_GRACE_MS = 2_000

/** DuckDB as a reader of SQL and a runner of guarded SELECTs. */
export class StoredEngine implements SqlEngine {
  readonly #database: Database
  readonly #reader: SqlReader
  readonly #admission: AdmissionQueue
  readonly #statements = new PreparedStatements()
  readonly #transactions: ReadTransactions
  readonly #open = new Set<Deadline>()
  #isClosing = false
  #onIdle: (() => void) | null = null

  constructor(database: Database, options: EngineOptions) {
    this.#database = database
    this.#reader = new SqlReader(database)
    this.#transactions = new ReadTransactions(database)
    this.#admission = new AdmissionQueue({
      placesMax: options.statementsMax,
      waitingMax: options.waitingMax,
    })
  }

  parse(sql: string): Promise<string> {
    return this.#reader.parse(sql)
  }

  print(tree: string): Promise<string> {
    return this.#reader.print(tree)
  }

  async run(statement: BoundSql, limits: RunLimits, signal: AbortSignal): Promise<RowStream> {
    if (this.#isClosing) throw shuttingDown()
    const deadline = deadlineOf(limits.timeoutMs, signal)
    const session = await this.#admit(deadline)
    const result = await session.start(statement)
    // The first rows are read here, so that a statement that fails does so before an answer has
    // begun.
    const first = await session.next()
    if (limits.readingMs !== undefined && first !== null) deadline.restart(limits.readingMs)
    return {
      columns: columnsOf(result),
      batches: rowBatches(result, session, first),
    }
  }

  /**
   * Runs a SELECT like `run`, into a temporary table. @throws AppError as `run` does
   */
  async stage(select: BoundSql, limits: RunLimits, signal: AbortSignal): Promise<StagedSelect> {
    if (this.#isClosing) throw shuttingDown()
    const deadline = deadlineOf(limits.timeoutMs, signal)
    const kept = Promise.withResolvers<DuckDBConnection>()
    const session = await this.#admit(deadline, kept.resolve)
    await session.start(stagingOf(select))
    // Bounded: the one row that says how many there were.
    while ((await session.next()) !== null);
    return stagedSelect(await kept.promise, this.#database)
  }

  async exportParquet(
    select: BoundSql,
    limits: RunLimits,
    signal: AbortSignal,
  ): Promise<ExportedRows> {
    if (this.#isClosing) throw shuttingDown()
    const session = await this.#admit(deadlineOf(limits.timeoutMs, signal))
    const file = newExportFile(this.#database.exportsDirectory)
    try {
      await session.start(file.statementOf(select))
      // Bounded: the one row that says how many there were.
      while ((await session.next()) !== null);
      return file.read()
    } catch (error) {
      file.remove()
      throw error
    }
  }

  /** Ends what runs, with `shutting_down`, and waits a little for DuckDB to let go of it. */
  async close(): Promise<void> {
    this.#isClosing = true
    for (const deadline of this.#open) deadline.abort(shuttingDown())
    if (this.#open.size > 0) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, CLOSE_GRACE_MS)
        this.#onIdle = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
    this.#transactions.close()
    this.#reader.close()
  }

  /** @param keep gets the connection when the statement is over, instead of the pool */
  async #admit(
    deadline: Deadline,
    keep?: (connection: DuckDBConnection) => void,
  ): Promise<ReadSession> {
    this.#open.add(deadline)
    const forget = () => {
      deadline.end()
      this.#open.delete(deadline)
      if (this.#open.size === 0) this.#onIdle?.()
    }
    try {
      const place = await this.#admission.enter(deadline.signal)
      const leave = () => {
        place()
        forget()
      }
      return await this.#sessionIn({ deadline, leave, keep })
    } catch (error) {
      forget()
      throw error
    }
  }

  async #sessionIn({ deadline, leave, keep }: Admitted): Promise<ReadSession> {
    try {
      const read = await this.#transactions.take()
      return new ReadSession({
        connection: read.connection,
        giveBack: keep ?? read.giveBack,
        discard: (used) => this.#database.discard(used),
        transaction: { isBegun: read.isBegun, isKept: keep === undefined },
        statements: this.#statements,
        deadline,
        leave,
      })
    } catch (error) {
      leave()
      throw error
    }
  }
}

interface Admitted {
  readonly deadline: Deadline
  readonly leave: () => void
  readonly keep: ((connection: DuckDBConnection) => void) | undefined
}

function shuttingDown(): AppError {
  return new AppError('shutting_down', 'The server is shutting down')
}

function columnsOf(result: DuckDBResult): RowStream['columns'] {
  const types = result.columnTypes()
  return result.columnNames().map((name, index) => {
    const type = types[index]
    return { name, type: type === undefined ? 'VARCHAR' : typeName(type) }
  })
}
