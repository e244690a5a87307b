import type { DuckDBConnection, DuckDBResult } from '@duckdb/node-api'
import type {
  BoundSql,
  ExportedRows,
  RunLimits,
  SqlEngine,
} from '../../domain/ports/engine-ports.ts'
import type { ColumnBatch, ColumnReader } from '../../domain/ports/retrieval-ports.ts'
import type { RowStream } from '../../domain/query-result.ts'
import type { StatementCounts } from '../../domain/server-state.ts'
import { AppError } from '../../errors.ts'
import type { Deadline } from '../../runtime/cancellation.ts'
import { type Release, Semaphore } from '../../runtime/semaphore.ts'
import { columnBatchOf } from './columns.ts'
import type { Database } from './database.ts'
import { newExportFile } from './parquet-export.ts'
import { PreparedStatements, ReadConnections } from './read-connections.ts'
import { ReadSession, statementDeadline } from './read-session.ts'
import { rowBatches, typeName } from './result-rows.ts'
import { SqlParser } from './sql-parser.ts'
import { type StagedSelect, stagedSelect, stagingOf } from './staged-select.ts'

const CLOSE_GRACE_MS = 2_000

/** DuckDB as a reader of SQL and a runner of guarded SELECTs. */
export class StoredEngine implements SqlEngine, ColumnReader {
  readonly #database: Database
  readonly #parser: SqlParser
  readonly #admission: Semaphore
  readonly #statements: PreparedStatements
  readonly #connections: ReadConnections
  readonly #open = new Set<Deadline>()
  #isClosing = false
  #onIdle: (() => void) | null = null

  /** @param limits how many statements may run at once, and how many more may wait for a place */
  constructor(
    database: Database,
    { statementsMax, waitingMax }: { readonly statementsMax: number; readonly waitingMax: number },
  ) {
    this.#database = database
    this.#parser = new SqlParser(database)
    this.#statements = new PreparedStatements(() => database.dataVersion)
    this.#connections = new ReadConnections(database)
    this.#admission = new Semaphore({
      placesMax: statementsMax,
      waitingMax,
      tooBusyMessage: `Too many SQL statements at once: ${statementsMax} run and ${waitingMax} wait`,
    })
  }

  parse(sql: string): Promise<string> {
    return this.#parser.parse(sql)
  }

  print(tree: string): Promise<string> {
    return this.#parser.print(tree)
  }

  async run(statement: BoundSql, limits: RunLimits, signal: AbortSignal): Promise<RowStream> {
    const deadline = statementDeadline(limits, signal)
    const session = await this.#admit(deadline)
    const result = await session.start(statement)
    // The first rows are read here, so that a statement that fails does so before the answer begins.
    const first = await session.next()
    if (limits.readingMs !== undefined && first !== null) deadline.restart(limits.readingMs)
    return {
      columns: columnsOf(result),
      batches: rowBatches(result, session, first),
    }
  }

  async *columns(
    select: BoundSql,
    limits: RunLimits,
    signal: AbortSignal,
  ): AsyncGenerator<ColumnBatch, void, void> {
    const session = await this.#admit(statementDeadline(limits, signal))
    await session.start(select)
    try {
      for (let chunk = await session.next(); chunk; chunk = await session.next()) {
        yield columnBatchOf(chunk)
      }
    } finally {
      await session.stop()
    }
  }

  /** Runs a SELECT like `run`, into a temporary table. @throws AppError as `run` does */
  async stage(select: BoundSql, limits: RunLimits, signal: AbortSignal): Promise<StagedSelect> {
    const staged = Promise.withResolvers<DuckDBConnection>()
    // Nobody waits for it yet when the statement fails.
    staged.promise.catch(() => {})
    const session = await this.#admit(statementDeadline(limits, signal), {
      giveBack: staged.resolve,
      onDiscard: () =>
        staged.reject(new AppError('internal', 'The rows of the statement are gone')),
    })
    await runToEnd(session, stagingOf(select))
    return stagedSelect(await staged.promise, this.#database)
  }

  async exportParquet(
    select: BoundSql,
    limits: RunLimits,
    signal: AbortSignal,
  ): Promise<ExportedRows> {
    const file = newExportFile(this.#database.exportsDirectory)
    try {
      const deadline = statementDeadline(limits, signal)
      // An abort is answered at once, and DuckDB may make the file after that.
      const session = await this.#admit(deadline, { onDiscard: file.remove })
      await runToEnd(session, file.statementOf(select))
      return await file.read()
    } catch (error) {
      file.remove()
      throw error
    }
  }

  statementCounts(): StatementCounts {
    return { running: this.#admission.taken, waiting: this.#admission.waiting }
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
    this.#connections.close()
    this.#parser.close()
  }

  /** Waits for a place among the running statements, then for a connection. */
  async #admit(deadline: Deadline, ends: SessionEnds = {}): Promise<ReadSession> {
    if (this.#isClosing) {
      deadline.end()
      throw shuttingDown()
    }
    this.#open.add(deadline)
    let release: Release = () => {}
    const leave = () => {
      release()
      deadline.end()
      this.#open.delete(deadline)
      if (this.#open.size === 0) this.#onIdle?.()
    }
    try {
      release = await this.#admission.enter(deadline.signal)
      const read = await this.#connections.take()
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

/** Runs a statement whose result is the one row that says how many rows it wrote. */
async function runToEnd(session: ReadSession, statement: BoundSql): Promise<void> {
  await session.start(statement)
  while ((await session.next()) !== null);
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
