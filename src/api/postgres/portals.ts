/** Prepared statements with bound values. Rows are read only as far as the client requests them. */
import type { ResultValue, RowEncoding } from '../../core/domain/query-result.ts'
import { AppError } from '../../core/errors.ts'
import { type ParameterValue, withParameters } from '../../query/postgres/statement-text.ts'
import { type AnswerColumn, MissingName } from './answer-writer.ts'
import { type ColumnType, columnType } from './pg-types.ts'

export interface RunOptions {
  readonly sql: string
  readonly database: string
  /** The project for unqualified names. */
  readonly db: string
  readonly params: Readonly<Record<string, unknown>>
  readonly isReadOnly: boolean
}

export type CopyEncoding = Exclude<RowEncoding, 'arrow' | 'csv' | 'ndjson'>

/** The result of a statement: rows as they arrive, or the number of changed rows. */
export interface RunResult {
  readonly columns: readonly AnswerColumn[] | null
  readonly batches: AsyncIterable<readonly (readonly ResultValue[])[]>
  /** All rows in COPY format, in pieces of whole rows. Read it instead of `batches`, if set. */
  readonly copied?: (encoding: CopyEncoding) => AsyncIterable<Uint8Array>
  readonly affectedRows: number | null
  readonly warnings: readonly string[]
}

/** Rows are read as far as requested; the statement stays open until then. */
export interface RunningPortal {
  /** null if the statement returns no rows. */
  readonly columns: readonly AnswerColumn[] | null
  readonly types: readonly ColumnType[]
  next(): Promise<readonly ResultValue[] | undefined>
  /** Ends the statement. @throws AppError if it failed */
  end(): Promise<void>
  readonly affectedRows: number | null
}

/** @param run keeps it open until its argument has ended @throws AppError before any row */
function startPortal(
  run: (use: (result: RunResult) => Promise<void>) => Promise<void>,
): Promise<RunningPortal> {
  const started = Promise.withResolvers<RunningPortal>()
  const over = Promise.withResolvers<void>()
  const done = run(async (result) => {
    const batches = result.batches[Symbol.asyncIterator]()
    let batch: readonly (readonly ResultValue[])[] = []
    let at = 0
    started.resolve({
      types: (result.columns ?? []).map(({ type }) => columnType(type)),
      columns: result.columns,
      affectedRows: result.affectedRows,
      async next() {
        while (at >= batch.length) {
          const next = await batches.next()
          if (next.done === true) return undefined
          batch = next.value
          at = 0
        }
        at += 1
        return batch[at - 1]
      },
      async end() {
        over.resolve()
        await done
      },
    })
    try {
      await over.promise
    } finally {
      await batches.return?.()
    }
  })
  done.catch((error: unknown) => started.reject(error))
  return started.promise
}

export interface Prepared {
  readonly sql: string
  /** The PostgreSQL types of the parameters. */
  readonly oids: readonly number[]
  /** The types that the client specified; 0 if unspecified. */
  readonly given: readonly number[]
}

export interface Portal {
  readonly prepared: Prepared
  readonly values: readonly ParameterValue[]
  readonly formats: readonly number[]
  /** Whether it is a cursor WITH HOLD. */
  readonly isHeld?: boolean
  running: RunningPortal | null
}

const PORTALS_MAX = 1_000

type RunBound = (
  bound: { readonly sql: string; readonly params: Readonly<Record<string, unknown>> },
  use: (result: RunResult) => Promise<void>,
) => Promise<void>

/** The portals of one connection, by name. Cursors are portals too. */
export class Portals {
  readonly #run: RunBound
  readonly #portals = new Map<string, Portal>()

  constructor(run: RunBound) {
    this.#run = run
  }

  /** @throws AppError `sql_unknown_name` */
  get(name: string, kind: 'cursor' | 'portal'): Portal {
    const found = this.#portals.get(name)
    if (found === undefined) throw new MissingName(kind, name)
    return found
  }

  /** @throws AppError `too_busy` */
  set(name: string, portal: Portal): void {
    this.close(name)
    if (this.#portals.size >= PORTALS_MAX) {
      throw new AppError('too_busy', `A connection can have at most ${PORTALS_MAX} open portals`)
    }
    this.#portals.set(name, portal)
  }

  async started(portal: Portal): Promise<RunningPortal> {
    const bound = withParameters(portal.prepared.sql, portal.values)
    portal.running ??= await startPortal((use) => this.#run(bound, use))
    return portal.running
  }

  close(name: string): void {
    const running = this.#portals.get(name)?.running
    this.#portals.delete(name)
    // How an unfinished statement ends does not matter any more.
    running?.end().catch(() => {})
  }

  endTransaction(): void {
    for (const [name, { isHeld }] of [...this.#portals]) if (isHeld !== true) this.close(name)
  }

  closeAll(): void {
    for (const name of [...this.#portals.keys()]) this.close(name)
  }
}
