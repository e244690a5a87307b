import { type StatementCounts, shownStatement } from '../../core/domain/server-state.ts'
import type { AppError } from '../../core/errors.ts'
import { type Deadline, statementOf } from '../../core/runtime/cancellation.ts'
import { timestampOfMillis } from '../../core/time.ts'
import type { Place, Places } from './places.ts'

/** Statements in the status and the log are truncated to this many characters. */
const SHOWN_CHARS = 80

/** Past its time limit; its client got an answer, and nothing can stop it. */
export interface StuckStatement {
  readonly statement: string
  /** The statement as the client sent it, if known. */
  readonly source: string
  /** Milliseconds since its client got an answer. */
  readonly ms: number
}

/** A client's statement, from getting a slot until DuckDB has released it. */
export interface OpenStatement {
  readonly sql: string
  readonly place: Place
  readonly deadline: Deadline
}

interface OpenStatementsOptions {
  readonly places: Places
  readonly stuckMs: number
  /** Once per statement that still runs this long after its client's answer. */
  readonly onStuck: (stuck: StuckStatement) => void
}

export class OpenStatements {
  readonly #options: OpenStatementsOptions
  readonly #open = new Set<OpenStatement>()
  /** Statements that `end` no longer waits for. */
  readonly #stuck = new WeakSet<OpenStatement>()
  readonly #abandoned = new Map<
    OpenStatement,
    {
      /** Milliseconds since 1970. */
      readonly since: number
      readonly timer: ReturnType<typeof setTimeout>
    }
  >()
  /** Called when DuckDB has released the statement. */
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

  /** Call when the client no longer waits, but DuckDB is still running the statement. */
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

  /** Ends these statements and waits until DuckDB has released them or the grace period is over. */
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
