import { type StatementCounts, shownStatement } from '../../core/domain/server-state.ts'
import type { AppError } from '../../core/errors.ts'
import { type Deadline, statementOf } from '../../core/runtime/cancellation.ts'
import { timestampOfMillis } from '../../core/time.ts'
import type { Place, Places } from './places.ts'

/** For a statement's text, in the status and the log. */
const SHOWN_CHARS = 80

/** A statement that DuckDB keeps running after its time: its client has an answer, and nothing more can be done. */
export interface StuckStatement {
  readonly statement: string
  /** As its caller sent it, if known. */
  readonly source: string
  /** Since its client was answered. */
  readonly ms: number
}

/** One statement of a caller, from its slot until DuckDB has released it. */
export interface OpenStatement {
  readonly sql: string
  readonly place: Place
  readonly deadline: Deadline
}

export interface OpenStatementsOptions {
  readonly places: Places
  readonly stuckMs: number
  /** Called once for each statement that DuckDB is still running this long after its client got an answer. */
  readonly onStuck: (stuck: StuckStatement) => void
}

/** Open statements, and those whose callers no longer wait. */
export class OpenStatements {
  readonly #options: OpenStatementsOptions
  readonly #open = new Set<OpenStatement>()
  /** `end` no longer waits for them. */
  readonly #stuck = new WeakSet<OpenStatement>()
  readonly #abandoned = new Map<
    OpenStatement,
    {
      /** Milliseconds since 1970. */
      readonly since: number
      readonly timer: ReturnType<typeof setTimeout>
    }
  >()
  /** Called when a statement is gone. */
  readonly #watchers = new Set<() => void>()

  constructor(options: OpenStatementsOptions) {
    this.#options = options
  }

  get size(): number {
    return this.#open.size
  }

  [Symbol.iterator](): IterableIterator<OpenStatement> {
    return this.#open.values()
  }

  add(statement: OpenStatement): void {
    this.#open.add(statement)
  }

  /** DuckDB has released it. */
  delete(statement: OpenStatement): void {
    this.#open.delete(statement)
    const abandoned = this.#abandoned.get(statement)
    if (abandoned !== undefined) {
      clearTimeout(abandoned.timer)
      this.#abandoned.delete(statement)
    }
    statement.place.release()
    for (const watch of this.#watchers) watch()
  }

  /** Its caller no longer waits, and DuckDB is still running it. */
  abandon(statement: OpenStatement): void {
    const { stuckMs, onStuck } = this.#options
    const timer = setTimeout(() => {
      this.#stuck.add(statement)
      const source = statementOf(statement.deadline.signal) ?? statement.sql
      onStuck({ statement: shownStatement(source, SHOWN_CHARS), source, ms: stuckMs })
    }, stuckMs)
    this.#abandoned.set(statement, { since: Date.now(), timer })
    statement.place.abandon()
  }

  /** Ends the given ones and waits until DuckDB has released them, or for the grace period. */
  async end(
    statements: readonly OpenStatement[],
    { error, graceMs }: { readonly error: AppError; readonly graceMs: number },
  ): Promise<void> {
    for (const { deadline } of statements) deadline.abort(error)
    const isOver = () => {
      return !statements.some((one) => this.#open.has(one) && !this.#stuck.has(one))
    }
    if (isOver()) return
    const over = Promise.withResolvers<void>()
    const timer = setTimeout(over.resolve, graceMs)
    const watch = () => {
      if (isOver()) over.resolve()
    }
    this.#watchers.add(watch)
    await over.promise
    this.#watchers.delete(watch)
    clearTimeout(timer)
  }

  counts(): StatementCounts {
    const { places } = this.#options
    let parked = 0
    for (const { place } of this.#open) if (place.isParked) parked += 1
    return {
      running: places.running,
      waiting: places.waiting,
      parked,
      abandoned: [...this.#abandoned].map(([{ sql }, { since }]) => {
        return { since: timestampOfMillis(since), statement: shownStatement(sql, SHOWN_CHARS) }
      }),
    }
  }
}
