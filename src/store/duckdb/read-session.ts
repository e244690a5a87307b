import {
  type DuckDBConnection,
  type DuckDBDataChunk,
  DuckDBMaterializedResult,
  type DuckDBPreparedStatement,
  type DuckDBResult,
} from '@duckdb/node-api'
import type { BoundSql, RunLimits } from '../../core/domain/ports/engine-ports.ts'
import { AppError, hasCode } from '../../core/errors.ts'
import { type Deadline, onAbort, startDeadline } from '../../core/runtime/cancellation.ts'
import { PROBE } from './columns.ts'
import { checkCharacters, statementError } from './database-error.ts'
import { startInterrupting } from './interruptible.ts'
import type { Place } from './places.ts'
import type { PreparedStatements } from './read-connections.ts'
import { typedValueOf, withListedKeys } from './typed-values.ts'

const BEGIN = 'BEGIN TRANSACTION READ ONLY'
const COMMIT = 'COMMIT'

interface SessionParts {
  /** Returns the connection to the pool after success. */
  readonly giveBack: (connection: DuckDBConnection) => void
  /** Whether the READ ONLY transaction is already open, and whether to keep it open afterwards. */
  readonly transaction: { readonly isBegun: boolean; readonly isKept: boolean }
  /** Disposes of the connection if it cannot be reused. */
  readonly discard: (connection: DuckDBConnection) => void
  readonly connection: DuckDBConnection
  readonly statements: PreparedStatements
  readonly deadline: Deadline
  readonly place: Place
  /** Called if DuckDB is still running the statement after its client got an answer. */
  readonly onAbandoned: () => void
  readonly onOutOfMemory: () => void
  /** Called when DuckDB has released the statement. */
  readonly onEnd: () => void
}

/** A statement, and Eider's own statements to run before it in the same transaction. */
export interface SessionSql extends BoundSql {
  readonly before?: string
}

export interface BegunResult {
  readonly result: DuckDBResult
  /** The first rows, or null if there are none. */
  readonly first: DuckDBDataChunk | null
}

/** Thrown when a statement is stopped to be restarted in another slot. */
export const TOO_LONG = new Error('too long for a place among the short ones')

/**
 * One statement in a READ ONLY transaction on its own connection. When the deadline aborts, the
 * client gets an error at once, but the connection stays taken, and the statement counts as
 * running, until DuckDB has released it. After the first rows, a slot is needed only while DuckDB
 * computes the next ones.
 */
export class ReadSession {
  readonly #parts: SessionParts
  #running: Promise<unknown> | null = null
  #rejectStep: ((reason: unknown) => void) | null = null
  #isOver = false
  #result: DuckDBResult | null = null
  #prepared: DuckDBPreparedStatement | null = null
  #chunksRead = 0
  #ahead: DuckDBDataChunk | null = null
  /** Why the client stopped waiting. */
  #abandonedFor: unknown = null
  readonly #stopListening: () => void

  constructor(parts: SessionParts) {
    this.#parts = parts
    this.#stopListening = onAbort(parts.deadline.signal, () => {
      this.#abandon(parts.deadline.signal.reason)
    })
  }

  /** In a short slot reads ahead while it can be restarted. @throws like `start`, or `TOO_LONG` */
  async begin(statement: BoundSql): Promise<BegunResult> {
    const result = await this.start(statement)
    if (result instanceof DuckDBMaterializedResult) return { result, first: this.#nextMade(result) }
    return this.#guarded(async () => {
      const { place } = this.#parts
      const first = await this.#fetch(result)
      if (first !== null && place.kind === 'short') this.#ahead = await this.#fetch(result)
      if (!this.#isOver) place.park()
      return { result, first }
    })
  }

  /** @throws AppError `sql_…`, `timeout` or `out_of_memory`; the caller's reason on abort */
  async start(statement: SessionSql): Promise<DuckDBResult> {
    const { connection, statements } = this.#parts
    const { before } = statement
    return this.#guarded(async () => {
      checkCharacters(statement.sql)
      if (!this.#parts.transaction.isBegun) await this.#step(() => this.#run(BEGIN))
      if (before !== undefined) await this.#step(() => connection.run(before))
      const { sql, values } = withListedKeys(statement)
      const known = statements.known(connection, sql)
      const isBare = statement.isShort === true && Object.keys(values).length === 0
      if (known === undefined && isBare && statements.isFirst(sql)) {
        this.#result = await this.#step(() => connection.run(sql))
        return this.#result
      }
      const prepared = known ?? (await this.#step(() => statements.prepare(connection, sql)))
      for (const [name, value] of Object.entries(values)) {
        const typed = typedValueOf(value)
        prepared.bindValue(prepared.parameterIndex(name), typed.value, typed.type)
      }
      this.#prepared = prepared
      const run = () => (statement.isShort === true ? prepared.run() : prepared.stream())
      const result = await this.#step(run)
      this.#result = result
      return result
    })
  }

  /** Returns the next rows, or null if there are none and the session has ended. */
  async next(): Promise<DuckDBDataChunk | null> {
    this.#parts.deadline.signal.throwIfAborted()
    const result = this.#result
    const ahead = this.#ahead
    this.#ahead = null
    if (ahead !== null || this.#isOver || result === null) return ahead
    if (result instanceof DuckDBMaterializedResult) return this.#nextMade(result)
    return this.#guarded(async () => {
      const { place, deadline } = this.#parts
      const turn = place.resume(deadline.signal)
      if (turn !== undefined) await turn
      const data = await this.#fetch(result)
      if (data !== null) place.park()
      return data
    })
  }

  async #fetch(result: DuckDBResult): Promise<DuckDBDataChunk | null> {
    const data = await this.#step(() => result.fetchChunk())
    if (data !== null && data.rowCount > 0) return data
    await this.#checkEnd()
    this.#end()
    return null
  }

  /** A failed stream looks complete (see `PROBE`): runs again for the error. @throws it */
  async #checkEnd(): Promise<void> {
    const isWhole = await this.#step(() => this.#run(PROBE)).then(
      () => true,
      (error: unknown) => {
        if (this.#parts.deadline.signal.aborted || this.#abandonedFor !== null) throw error
        return false
      },
    )
    if (isWhole) return
    const { connection } = this.#parts
    await this.#step(() => connection.run('ROLLBACK'))
    await this.#step(() => this.#run(BEGIN))
    const prepared = this.#prepared
    if (prepared !== null) await this.#step(() => prepared.run())
    throw new AppError('sql_failed', 'The statement failed after its first rows; run it again')
  }

  /** Reads the next rows in advance. Returns false if there are none and the session has ended. */
  async lookAhead(): Promise<boolean> {
    this.#ahead = await this.next()
    return this.#ahead !== null
  }

  /** Whether all rows were read, or the reader wants no more. */
  get isOver(): boolean {
    return this.#isOver
  }

  get isGivenUp(): boolean {
    return this.#abandonedFor === TOO_LONG
  }

  /** Stops a statement that has no rows yet, so it can be restarted. Its deadline continues. */
  giveUp(): void {
    this.#abandon(TOO_LONG)
  }

  /** A materialized result needs its connection only until its last rows are read. */
  #nextMade(result: DuckDBMaterializedResult): DuckDBDataChunk | null {
    const { chunkCount } = result
    const data = this.#chunksRead < chunkCount ? result.getChunk(this.#chunksRead) : null
    this.#chunksRead += 1
    if (this.#chunksRead >= chunkCount) this.#end()
    else this.#parts.place.park()
    return data
  }

  /** The COMMIT is not awaited: a read transaction has nothing to lose. */
  #end(): void {
    this.#isOver = true
    const leave = () => this.#leave('give back')
    if (this.#parts.transaction.isKept) leave()
    else this.#run(COMMIT).then(leave, () => this.#rollBack())
  }

  /** Ends the session early. */
  async stop(): Promise<void> {
    if (this.#isOver) return
    this.#isOver = true
    await this.#rollBack()
  }

  async #run(sql: string): Promise<void> {
    const { connection, statements } = this.#parts
    await statements.runControl(connection, sql)
  }

  async #guarded<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      const { signal } = this.#parts.deadline
      if (signal.aborted) throw signal.reason
      if (error === TOO_LONG) throw error
      await this.stop()
      const failure = statementError(error)
      if (hasCode(failure, 'out_of_memory')) {
        this.#parts.onOutOfMemory()
      }
      throw failure
    }
  }

  #step<T>(start: () => Promise<T>): Promise<T> {
    const { signal } = this.#parts.deadline
    signal.throwIfAborted()
    if (this.#abandonedFor !== null) throw this.#abandonedFor
    const running = start()
    this.#running = running
    return new Promise<T>((resolve, reject) => {
      this.#rejectStep = reject
      const settled = () => {
        this.#running = null
      }
      running.then(
        (value) => {
          settled()
          resolve(value)
        },
        (error: unknown) => {
          settled()
          reject(error)
        },
      )
    })
  }

  /** Call when the client is gone. Returns at once and waits for DuckDB in the background. */
  #abandon(reason: unknown): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#abandonedFor = reason
    const { connection, onAbandoned } = this.#parts
    const running = this.#running
    this.#rejectStep?.(reason)
    if (running === null) {
      void this.#rollBack()
      return
    }
    onAbandoned()
    const stopInterrupting = startInterrupting(connection)
    const finish = () => {
      stopInterrupting()
      return this.#rollBack()
    }
    void running.then(finish, finish)
  }

  /** Rolls back off the main thread. Closing the connection instead would block the main thread. */
  async #rollBack(): Promise<void> {
    // ROLLBACK fails if no transaction is open. Ignore that, because the connection is discarded.
    await this.#parts.connection.run('ROLLBACK').catch(() => {})
    this.#leave('discard')
  }

  #leave(how: 'give back' | 'discard'): void {
    const { giveBack, discard, connection, onEnd } = this.#parts
    this.#isOver = true
    this.#result = null
    this.#stopListening()
    if (how === 'give back') giveBack(connection)
    else discard(connection)
    onEnd()
  }
}

/** `stop` frees the connection, as does `next` after the last chunk. */
export type ChunkSource = Pick<ReadSession, 'next' | 'stop'>

/** The time limit of one statement, covering waiting, running and reading its rows. */
export function statementDeadline(
  { timeoutMs, spentMs = 0, setting }: RunLimits,
  signal: AbortSignal,
): Deadline {
  const timeoutError = () => {
    const name = setting === undefined ? '' : ` (${setting})`
    return new AppError(
      'timeout',
      `The statement took longer than its limit of ${timeoutMs} ms${name}`,
    )
  }
  return startDeadline({
    timeoutMs: Math.max(1, timeoutMs - spentMs),
    signals: [signal],
    timeoutError,
  })
}
