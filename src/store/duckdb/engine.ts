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
import { AppError } from '../../core/errors.ts'
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

/** Results that wait for their readers; at most half of them of one caller. Each may use some megabytes. */
const PARKED_MAX = 128
/** A reader that takes nothing for this long may lose its result to others. */
const READER_MS = 2_000

/** The same where memory is short: readers over a network take rows more often. */
const UNREAD_MS = 250

/** How long it may take for the memory of ended statements to come back. */
const ROOM_MS = 1_000
const ROOM_WAIT_MS = 100
const ROOM_TRIES_MAX = 3
const COLLECT_MS = 200

/** Reads SQL and runs guarded SELECTs in DuckDB. */
export class StoredEngine implements SqlEngine, ColumnReader {
  readonly #database: Database
  readonly #parser: SqlParser
  readonly #places: Places
  readonly #open: OpenStatements
  readonly #statements: PreparedStatements
  readonly #connections: ReadConnections
  readonly #watchdog: MemoryWatchdog
  /** Includes statements that wait for a slot. */
  readonly #deadlines = new Set<Deadline>()
  #isClosing = false

  constructor(
    database: Database,
    options: {
      /** How many statements may run at once. */
      readonly statementsMax: number
      /** How many more may wait for a slot. */
      readonly waitingMax: number
      /** `onStuck` is called when DuckDB is still running a statement this long after its client got an answer. */
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
    // Reads the first rows here, so that a failing statement fails before the answer begins.
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

  /** Runs a SELECT like `run`, into a temporary table. @param shape as of `stagingOf` @throws AppError as `run` does */
  async stage(
    select: BoundSql,
    limits: RunLimits,
    signal: AbortSignal,
    shape?: string,
  ): Promise<StagedSelect> {
    const staged = Promise.withResolvers<DuckDBConnection>()
    // Not awaited yet when the statement fails.
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
      // An abort is answered right away, and DuckDB may create the file after that.
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

  /** DuckDB's memory in bytes. Needs no slot. */
  memoryUsed(): Promise<number> {
    const sql = 'SELECT sum(memory_usage_bytes)::DOUBLE FROM duckdb_memory()'
    return this.#database.lease((connection) => countOf(connection, sql))
  }

  /** Ends running statements with `shutting_down`, and waits a little for DuckDB to release them. */
  async close(): Promise<void> {
    this.#isClosing = true
    for (const deadline of this.#deadlines) deadline.abort(shuttingDown())
    await this.#open.end([...this.#open], { error: shuttingDown(), graceMs: CLOSE_GRACE_MS })
    this.#watchdog.close()
    this.#connections.close()
    this.#parser.close()
  }

  /**
   * Runs a statement up to its first rows: in a slot for short ones if no other is free, then in a long one if it takes too
   * long; and again if it lacks memory that others hold or have not given back yet.
   */
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
        const isFull = error instanceof AppError && error.code === 'out_of_memory'
        if (!isFull || roomTries > ROOM_TRIES_MAX || deadline.signal.aborted) throw error
        if (await this.#makeRoom()) continue
        if (hasCollected) throw error
        hasCollected = true
        await this.#collect()
      }
    }
  }

  /** Gives back what statements that are over left: their results until they are collected, and free pages for a second. */
  async #collect(): Promise<void> {
    Bun.gc(true)
    await Bun.sleep(COLLECT_MS)
  }

  /**
   * Ends unread results to free their memory, or waits a little for computing statements: one
   * of them filled it. False: there are none.
   */
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
    // DuckDB's results hold their memory until JavaScript's objects for them are collected.
    Bun.gc(true)
    await Bun.sleep(0)
    return true
  }

  /** @throws AppError `too_busy` if too many results wait for their readers, and this one has more rows */
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
    const leave = () => {
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
  /** Shown to operators. */
  readonly sql: string
  readonly turn: NewStatement['turn']
  /** Gets the connection, instead of the pool, when the statement and its transaction have ended. */
  readonly giveBack?: (connection: DuckDBConnection) => void
  /** Called when DuckDB has released an unfinished statement. */
  readonly onDiscard?: () => void
}

/** Two slots are for short statements, and two for callers other than the one that has all the rest. */
function placesOf(statementsMax: number) {
  const shortMax = Math.min(2, Math.floor(statementsMax / 2))
  const longMax = statementsMax - shortMax
  return { longMax, shortMax, othersMin: Math.min(2, Math.floor(longMax / 3)) }
}

function isUnread({ place: { parkedMs } }: OpenStatement, ms: number): boolean {
  return parkedMs !== null && performance.now() - parkedMs >= ms
}

/** Runs a statement whose only row says how many rows it wrote. */
async function runToEnd(session: ReadSession, statement: SessionSql): Promise<void> {
  await session.start(statement)
  while ((await session.next()) !== null);
}

function shuttingDown(): AppError {
  return new AppError('shutting_down', 'The server is shutting down')
}
