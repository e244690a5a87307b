import type { DuckDBConnection } from '@duckdb/node-api'
import type {
  BoundSql,
  ExportedRows,
  RunLimits,
  SqlEngine,
} from '../../core/domain/ports/engine-ports.ts'
import type { ColumnBatch, ColumnReader } from '../../core/domain/ports/retrieval-ports.ts'
import type { RowStream } from '../../core/domain/query-result.ts'
import type { MemoryState, StatementCounts } from '../../core/domain/server-state.ts'
import { AppError, hasCode, shuttingDown } from '../../core/errors.ts'
import { callerOf, type Deadline } from '../../core/runtime/cancellation.ts'
import { columnBatchOf, countOf } from './columns.ts'
import type { Database } from './database.ts'
import { type MemoryLimits, MemoryWatchdog, type WatchedMemory } from './memory-watchdog.ts'
import { type OpenStatement, OpenStatements, type StuckStatement } from './open-statements.ts'
import { type Caller, type NewStatement, type Place, Places } from './places.ts'
import { PreparedStatements, ReadConnections } from './read-connections.ts'
import {
  type BegunResult,
  ReadSession,
  type SessionSql,
  statementDeadline,
  TOO_LONG,
} from './read-session.ts'
import { encodedValues, readyRows, resultStream } from './result-rows.ts'
import { SqlParser } from './sql-parser.ts'
import {
  type FileNote,
  newExportFile,
  type StagedSelect,
  stagedSelect,
  stagingOf,
} from './staged-select.ts'

const CLOSE_GRACE_MS = 2_000

/** Each can take some megabytes; one client may have half of them. */
const PARKED_MAX = 128
/** A result can be ended to make room if its reader took no rows for this long. */
const READER_MS = 2_000

/** The shorter limit when memory is low. Readers over a network take rows more often than this. */
const UNREAD_MS = 250

/** How long to wait for the memory of ended statements to be freed. */
const ROOM_MS = 1_000
const ROOM_WAIT_MS = 100
const ROOM_TRIES_MAX = 3
const COLLECT_MS = 200

/** Parses SQL and runs checked SELECTs in DuckDB. */
export class StoredEngine implements SqlEngine, ColumnReader {
  readonly #database: Database
  readonly #parser: SqlParser
  readonly #places: Places
  readonly #open: OpenStatements
  readonly #statements: PreparedStatements
  readonly #connections: ReadConnections
  readonly #watchdog: MemoryWatchdog
  /** Deadlines of all statements, including those waiting for a slot. */
  readonly #deadlines = new Set<Deadline>()
  #isClosing = false

  constructor(
    database: Database,
    options: {
      readonly statementsMax: number
      /** How many more statements may wait for a slot. */
      readonly waitingMax: number
      /** After its client's answer. */
      readonly stuckMs: number
      readonly onStuck: (stuck: StuckStatement) => void
      readonly memoryLimits: MemoryLimits
      readonly memory: Pick<WatchedMemory, 'rss' | 'ceiling' | 'onFull'>
    },
  ) {
    const { statementsMax, waitingMax, stuckMs, onStuck } = options
    this.#database = database
    this.#parser = new SqlParser(database)
    this.#statements = new PreparedStatements(() => database.dataVersion)
    this.#connections = new ReadConnections(database, this.#statements)
    this.#places = new Places({ ...placesOf(statementsMax), waitingMax })
    this.#open = new OpenStatements({ places: this.#places, stuckMs, onStuck })
    const memory: WatchedMemory = {
      ...options.memory,
      collectSoon: () => Bun.gc(false),
      trim: () => database.trimCache(),
      makeRoom: () => this.#makeRoom(),
    }
    this.#watchdog = new MemoryWatchdog(this.#open, memory, options.memoryLimits)
  }

  parse(sql: string): Promise<string> {
    return this.#parser.parse(sql)
  }

  print(tree: string): Promise<string> {
    return this.#parser.print(tree)
  }

  async run(statement: BoundSql, limits: RunLimits, signal: AbortSignal): Promise<RowStream> {
    const deadline = statementDeadline(limits, signal)
    // Read the first rows before the response starts, so that a failing statement gets an error
    // status.
    const { session, result, first } = await this.#begin(statement, deadline)
    if (first !== null) {
      if (limits.readingMs !== undefined) deadline.restart(limits.readingMs)
      await this.#limitParked(session, callerOf(signal))
    }
    const ready = session.isOver ? readyRows(result.columnTypes(), first) : null
    const rows = resultStream(result, { source: session, first })
    return ready === null ? rows : { ...rows, ready }
  }

  withEncoding(rows: RowStream): RowStream {
    return { ...rows, encoded: (encoding, names) => encodedValues({ encoding, names }, rows) }
  }

  async *columns(
    select: BoundSql,
    limits: RunLimits,
    signal: AbortSignal,
  ): AsyncGenerator<ColumnBatch, void, void> {
    const { session, first } = await this.#begin(select, statementDeadline(limits, signal))
    try {
      for (let chunk = first; chunk; chunk = await session.next()) yield columnBatchOf(chunk)
    } finally {
      await session.stop()
    }
  }

  /** Like `run`, into a temporary table. @param shape see `stagingOf` */
  async stage(
    select: BoundSql,
    limits: RunLimits,
    signal: AbortSignal,
    shape?: string,
  ): Promise<StagedSelect> {
    const staged = Promise.withResolvers<DuckDBConnection>()
    // If the statement fails first, this promise is never awaited: avoid an unhandled rejection.
    staged.promise.catch(() => {})
    const staging = stagingOf(select, shape)
    const session = await this.#admit(statementDeadline(limits, signal), {
      sql: staging.sql,
      turn: 'long',
      giveBack: staged.resolve,
      onDiscard: () =>
        staged.reject(new AppError('internal', 'The rows of the statement are gone')),
    })
    await runToEnd(session, staging)
    return stagedSelect(await staged.promise, this.#database)
  }

  async exportParquet(
    select: BoundSql,
    limits: RunLimits,
    signal: AbortSignal,
    note?: FileNote,
  ): Promise<ExportedRows> {
    const file = newExportFile(this.#database.exportsDirectory)
    try {
      const deadline = statementDeadline(limits, signal)
      // An aborted caller gets an error at once, but DuckDB may still create the file after that.
      const copying = file.statementOf(select, note)
      const session = await this.#admit(deadline, {
        sql: select.sql,
        turn: 'long',
        onDiscard: file.remove,
      })
      await runToEnd(session, copying)
      return await file.read(note?.sealed)
    } catch (error) {
      file.remove()
      throw error
    }
  }

  statementCounts(): StatementCounts {
    return this.#open.counts()
  }

  memoryState(): MemoryState {
    return this.#watchdog.state()
  }

  /** The bytes of memory that DuckDB uses. Does not need a slot. */
  memoryUsed(): Promise<number> {
    const sql = 'SELECT sum(memory_usage_bytes)::DOUBLE FROM duckdb_memory()'
    return this.#database.lease((connection) => countOf(connection, sql))
  }

  /** Ends running statements with `shutting_down`, and waits briefly for DuckDB to release them. */
  async close(): Promise<void> {
    this.#isClosing = true
    for (const deadline of this.#deadlines) deadline.abort(shuttingDown())
    await this.#open.end([...this.#open], { error: shuttingDown(), graceMs: CLOSE_GRACE_MS })
    this.#watchdog.close()
    this.#connections.close()
    this.#parser.close()
  }

  /** May start in a short slot, to be restarted in a long one, or after running out of memory. */
  async #begin(statement: BoundSql, deadline: Deadline): Promise<Begun> {
    let turn: WantedSession['turn'] = 'new'
    let hasCollected = false
    for (let roomTries = 0; ; ) {
      const session = await this.#admit(deadline, { sql: statement.sql, turn })
      try {
        return { session, ...(await session.begin(statement)) }
      } catch (error) {
        if (error === TOO_LONG) {
          turn = 'long'
          continue
        }
        roomTries += 1
        const isFull = hasCode(error, 'out_of_memory')
        if (!isFull || roomTries > ROOM_TRIES_MAX || deadline.signal.aborted) throw error
        if (await this.#makeRoom()) continue
        if (hasCollected) throw error
        hasCollected = true
        await this.#collect()
      }
    }
  }

  /** Results that were not garbage-collected yet, and free pages. */
  async #collect(): Promise<void> {
    Bun.gc(true)
    await Bun.sleep(COLLECT_MS)
  }

  /** Ends unread results, or waits briefly for running ones. False if there are neither. */
  async #makeRoom(): Promise<boolean> {
    const unread = [...this.#open].filter((open) => isUnread(open, UNREAD_MS))
    const isShared = [...this.#open].some(({ place }) => !place.isParked)
    if (unread.length === 0) {
      if (isShared) await Bun.sleep(ROOM_WAIT_MS)
      return isShared
    }
    const error = new AppError(
      'out_of_memory',
      'The rows were not read, and other statements needed their memory; run the statement again and read them at once',
    )
    await this.#open.end(unread, { error, graceMs: ROOM_MS })
    // DuckDB frees a result's memory when its JavaScript object is collected.
    Bun.gc(true)
    await Bun.sleep(0)
    return true
  }

  /** @throws AppError `too_busy` if this has more rows and too many others wait */
  async #limitParked(session: ReadSession, caller: Caller): Promise<void> {
    if (this.#open.size <= PARKED_MAX / 2) return
    const parked = [...this.#open].filter(({ place }) => place.isParked)
    const own = parked.filter(({ place }) => place.caller === caller)
    const isFull = parked.length > PARKED_MAX || own.length > PARKED_MAX / 2
    if (!isFull || !(await session.lookAhead())) return
    const unread = own.find((open) => isUnread(open, READER_MS))
    if (unread === undefined) {
      await session.stop()
      throw new AppError(
        'too_busy',
        'Too many results wait for their readers; try again when some are read',
      )
    }
    const message =
      'The rows were not read, and others wait; run the statement again and read them at once'
    unread.deadline.abort(new AppError('too_busy', message))
  }

  /** Waits for a slot, then for a connection. */
  async #admit(deadline: Deadline, wanted: WantedSession): Promise<ReadSession> {
    try {
      if (this.#isClosing) throw shuttingDown()
      this.#watchdog.start()
    } catch (error) {
      this.#end(deadline)
      throw error
    }
    this.#deadlines.add(deadline)
    let session: ReadSession | undefined
    const place = await this.#enter(deadline, wanted, () => session?.giveUp())
    const open: OpenStatement = { sql: wanted.sql, place, deadline }
    this.#open.add(open)
    const ended = this.#database.workers.begin({ isComputing: () => !place.isParked })
    const leave = () => {
      ended()
      this.#open.delete(open)
      if (session?.isGivenUp !== true) this.#end(deadline)
    }
    try {
      const read = await this.#connections.take(wanted.sql)
      session = new ReadSession({
        connection: read.connection,
        giveBack: wanted.giveBack ?? read.giveBack,
        discard: (used) => {
          this.#database.discard(used)
          wanted.onDiscard?.()
        },
        transaction: { isBegun: read.isBegun, isKept: wanted.giveBack === undefined },
        statements: this.#statements,
        deadline,
        place,
        onAbandoned: () => this.#open.abandon(open),
        onOutOfMemory: () => this.#watchdog.noteFailure(),
        onEnd: leave,
      })
      return session
    } catch (error) {
      leave()
      throw error
    }
  }

  async #enter(deadline: Deadline, { turn }: WantedSession, onTooLong: () => void): Promise<Place> {
    try {
      const caller = callerOf(deadline.signal)
      return await this.#places.enter({ caller, turn, onTooLong }, deadline.signal)
    } catch (error) {
      this.#end(deadline)
      throw error
    }
  }

  #end(deadline: Deadline): void {
    deadline.end()
    this.#deadlines.delete(deadline)
  }
}

interface Begun extends BegunResult {
  readonly session: ReadSession
}

interface WantedSession {
  /** Text of the statement to show to operators. */
  readonly sql: string
  readonly turn: NewStatement['turn']
  /** Called instead of returning the connection to the pool, when the transaction has ended. */
  readonly giveBack?: (connection: DuckDBConnection) => void
  /** Called when DuckDB has released a statement that did not finish. */
  readonly onDiscard?: () => void
}

/** Reserves two slots for short statements, and two that the busiest client cannot take. */
function placesOf(statementsMax: number) {
  const shortMax = Math.min(2, Math.floor(statementsMax / 2))
  const longMax = statementsMax - shortMax
  return { longMax, shortMax, othersMin: Math.min(2, Math.floor(longMax / 3)) }
}

function isUnread({ place: { parkedMs } }: OpenStatement, ms: number): boolean {
  return parkedMs !== null && performance.now() - parkedMs >= ms
}

/** Runs a statement that returns one row: the number of rows it wrote. */
async function runToEnd(session: ReadSession, statement: SessionSql): Promise<void> {
  await session.start(statement)
  while ((await session.next()) !== null);
}
