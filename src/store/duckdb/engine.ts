import type { DuckDBConnection, DuckDBDataChunk, DuckDBResult } from '@duckdb/node-api'
import type { BoundSql, ExportedRows, RunLimits, SqlEngine } from '../../domain/ports.ts'
import type { RowStream } from '../../domain/query-result.ts'
import { AppError } from '../../errors.ts'
import type { Deadline } from '../../runtime/cancellation.ts'
import { Semaphore } from '../../runtime/semaphore.ts'
import type { Database } from './database.ts'
import { newExportFile } from './parquet-export.ts'
import { PreparedStatements } from './prepared-statements.ts'
import { ReadSession } from './read-session.ts'
import { ReadTransactions } from './read-transactions.ts'
import { typeName } from './result-values.ts'
import { rowBatches } from './row-batches.ts'
import { SqlParser } from './sql-parser.ts'
import { type StagedSelect, stagedSelect, stagingOf } from './staged-select.ts'
import { statementDeadline } from './statement-deadline.ts'

export interface EngineOptions {
  readonly statementsMax: number
  /** Statements that may wait for a place. */
  readonly waitingMax: number
}

const CLOSE_GRACE_MS = 2_000

/** DuckDB as a reader of SQL and a runner of guarded SELECTs. */
export class StoredEngine implements SqlEngine {
  readonly #database: Database
  readonly #reader: SqlParser
  readonly #admission: Semaphore
  readonly #statements: PreparedStatements
  readonly #transactions: ReadTransactions
  readonly #open = new Set<Deadline>()
  #isClosing = false
  #onIdle: (() => void) | null = null

  constructor(database: Database, options: EngineOptions) {
    this.#database = database
    this.#reader = new SqlParser(database)
    this.#statements = new PreparedStatements(() => database.dataVersion)
    this.#transactions = new ReadTransactions(database)
    this.#admission = new Semaphore({
      placesMax: options.statementsMax,
      waitingMax: options.waitingMax,
      tooBusyMessage: `Too many SQL statements at once: ${options.statementsMax} run and ${options.waitingMax} wait`,
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
    const deadline = statementDeadline(limits, signal)
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
   * Runs a SELECT of ours like `run` and gives its rows as DuckDB holds them: what is taken of a
   * chunk must be copied before the next one is asked for.
   */
  async *chunks(
    select: BoundSql,
    limits: RunLimits,
    signal: AbortSignal,
  ): AsyncGenerator<DuckDBDataChunk, void, void> {
    if (this.#isClosing) throw shuttingDown()
    const session = await this.#admit(statementDeadline(limits, signal))
    await session.start(select)
    try {
      for (let chunk = await session.next(); chunk; chunk = await session.next()) yield chunk
    } finally {
      await session.stop()
    }
  }

  /**
   * Runs a SELECT like `run`, into a temporary table. @throws AppError as `run` does
   */
  async stage(select: BoundSql, limits: RunLimits, signal: AbortSignal): Promise<StagedSelect> {
    if (this.#isClosing) throw shuttingDown()
    const deadline = statementDeadline(limits, signal)
    const kept = Promise.withResolvers<DuckDBConnection>()
    // Nobody waits for it yet when the statement fails.
    kept.promise.catch(() => {})
    const session = await this.#admit(deadline, {
      giveBack: kept.resolve,
      onDiscard: () => kept.reject(new AppError('internal', 'The rows of the statement are gone')),
    })
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
    const file = newExportFile(this.#database.exportsDirectory)
    try {
      const deadline = statementDeadline(limits, signal)
      // An abort is answered at once, and DuckDB may make the file after that.
      const session = await this.#admit(deadline, { onDiscard: file.remove })
      await session.start(file.statementOf(select))
      // Bounded: the one row that says how many there were.
      while ((await session.next()) !== null);
      return await file.read()
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

  async #admit(deadline: Deadline, ends: SessionEnds = {}): Promise<ReadSession> {
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
      return await this.#sessionIn({ deadline, leave, ends })
    } catch (error) {
      forget()
      throw error
    }
  }

  async #sessionIn({ deadline, leave, ends }: Admitted): Promise<ReadSession> {
    try {
      const read = await this.#transactions.take()
      return new ReadSession({
        connection: read.connection,
        giveBack: ends.giveBack ?? read.giveBack,
        discard: (used) => {
          this.#database.discard(used)
          ends.onDiscard?.()
        },
        transaction: { isBegun: read.isBegun, isKept: ends.giveBack === undefined },
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

interface SessionEnds {
  /** Gets the connection when the statement is over, its transaction ended, instead of the pool. */
  readonly giveBack?: (connection: DuckDBConnection) => void
  /** Called when DuckDB has let go of a statement that did not come to its end. */
  readonly onDiscard?: () => void
}

interface Admitted {
  readonly deadline: Deadline
  readonly leave: () => void
  readonly ends: SessionEnds
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
