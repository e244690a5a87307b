import {
  type DuckDBConnection,
  type DuckDBDataChunk,
  DuckDBMaterializedResult,
  type DuckDBPreparedStatement,
  type DuckDBResult,
} from '@duckdb/node-api'
import type { BoundSql, RunLimits } from '../../core/domain/ports/engine-ports.ts'
import { AppError } from '../../core/errors.ts'
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
  /** Takes the connection back after success. */
  readonly giveBack: (connection: DuckDBConnection) => void
  /** Whether the READ ONLY transaction is open already, and whether it stays open afterwards. */
  readonly transaction: { readonly isBegun: boolean; readonly isKept: boolean }
  /** Takes the connection back in any other case. */
  readonly discard: (connection: DuckDBConnection) => void
  readonly connection: DuckDBConnection
  readonly statements: PreparedStatements
  readonly deadline: Deadline
  readonly place: Place
  /** Called when DuckDB is still running the statement after its caller got an answer. */
  readonly onAbandoned: () => void
  readonly onOutOfMemory: () => void
  /** Called when DuckDB has released the statement. */
  readonly onEnd: () => void
}

/** A statement, and Eider's statements that run before it in its transaction. */
export interface SessionSql extends BoundSql {
  readonly before?: string
}

export interface BegunResult {
  readonly result: DuckDBResult
  /** null: no rows. */
  readonly first: DuckDBDataChunk | null
}

/** A statement was stopped to be restarted in another slot. */
export const TOO_LONG = new Error('too long for a place among the short ones')

/**
 * One statement in one READ ONLY transaction on a connection of its own. When the deadline aborts, the caller hears it at
 * once; the connection stays taken, and the statement counts as running, until DuckDB has released it. From its first
 * rows on it has its place only while DuckDB makes the next ones.
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
  /** Why its caller no longer waits. */
  #abandonedFor: unknown = null
  readonly #stopListening: () => void

  constructor(parts: SessionParts) {
    this.#parts = parts
    this.#stopListening = onAbort(parts.deadline.signal, () => {
      this.#abandon(parts.deadline.signal.reason)
    })
  }

  /**
   * Starts a statement and returns its first rows. In a slot for short ones it reads ahead at once, while it can still be
   * restarted.
   * @throws as `start` does; `TOO_LONG`
   */
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

  /**
   * @throws AppError of the `sql_…` group, `timeout`, `out_of_memory`; the caller's reason on abort
   */
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

  /** The next rows; null: there are none left, and the session is over. */
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

  /**
   * A failure after the first rows ends a stream like its last row (`PROBE`): the statement runs again to get the error.
   * @throws DuckDB's error
   */
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

  /** Fetches the next rows before they are requested. False: there are none, and the session is over. */
  async lookAhead(): Promise<boolean> {
    this.#ahead = await this.next()
    return this.#ahead !== null
  }

  /** All rows were read from DuckDB, or are no longer wanted. */
  get isOver(): boolean {
    return this.#isOver
  }

  get isGivenUp(): boolean {
    return this.#abandonedFor === TOO_LONG
  }

  /** Stops a statement without rows so far, so that it can be restarted: its deadline continues. */
  giveUp(): void {
    this.#abandon(TOO_LONG)
  }

  /** A materialized result needs its connection no longer than until its last rows are read. */
  #nextMade(result: DuckDBMaterializedResult): DuckDBDataChunk | null {
    const { chunkCount } = result
    const data = this.#chunksRead < chunkCount ? result.getChunk(this.#chunksRead) : null
    this.#chunksRead += 1
    if (this.#chunksRead >= chunkCount) this.#end()
    else this.#parts.place.park()
    return data
  }

  /** All rows are read. The COMMIT is not awaited: a transaction that only read has nothing to lose. */
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
      if (failure instanceof AppError && failure.code === 'out_of_memory') {
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

  /**
   * The statement's client is gone: answers right away, then waits in the background for DuckDB to stop.
   */
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

  /**
   * Ends the transaction off the main thread, where closing the connection would wait for it on the
   * main thread.
   */
  async #rollBack(): Promise<void> {
    // It fails without an open transaction; the connection is dropped in any case.
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

/** `stop` frees the connection; `next` does so after the last chunk. */
export type ChunkSource = Pick<ReadSession, 'next' | 'stop'>

/** One statement's time: for waiting, running and reading its rows. */
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
