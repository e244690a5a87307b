/** The messages between the main thread and the planning thread. */
import type { CatalogSnapshot } from '../../core/domain/access/catalog-snapshot.ts'
import type { AllowedData } from '../../core/domain/agents/agent.ts'
import type { SqlEngine } from '../../core/domain/ports/engine-ports.ts'
import { AppError, type ErrorCode } from '../../core/errors.ts'
import type { GivenSearch, NameScope } from '../../sql/search/plan-inputs.ts'
import { INFORMATION_SCHEMA } from '../information-schema/information-schema.ts'
import { nameScope } from './name-scope.ts'
import type { SelectPlan } from './plan-cache.ts'
import { type DescribedTables, UndescribedTable, type WantedTable } from './plan-cache.ts'
import { planSelect } from './plan-select.ts'

/** A statement, and what its plan depends on besides the catalog. */
export interface PlannedRequest {
  readonly sql: string
  /** The project of unqualified names. */
  readonly database: string
  /** A search of the knowledge base in FROM; unset if the WHERE contains any search. */
  readonly search?: GivenSearch | null | undefined
  /** Set if the caller may read only this data. */
  readonly allowed?: AllowedData | undefined
  /** Set for Eider's own SELECTs that name chunk keys. */
  readonly readsChunkKeys?: boolean | undefined
  /** Set if the caller parses the text of the planned statement. */
  readonly isPrinted?: boolean | undefined
  readonly given?: GivenRows | undefined
}

export interface PlanRequest extends PlannedRequest {
  readonly tables: DescribedTables
}

/** For Eider's own SELECTs: SQL for rows of information_schema tables, by lower-case name. */
export type GivenRows = Readonly<Record<string, string>>

export function requestScope(
  { database, allowed, readsChunkKeys = false, isPrinted = false, tables, given = {} }: PlanRequest,
  snapshot: CatalogSnapshot,
): NameScope {
  const names = nameScope(snapshot, database, allowed, tables)
  return {
    ...names,
    readsChunkKeys,
    isPrinted,
    resolve(parts) {
      const [schema = '', name = ''] = parts
      const sql = schema === INFORMATION_SCHEMA ? given[name] : undefined
      return sql === undefined ? names.resolve(parts) : { kind: 'query', sql }
    },
  }
}

export type ToPlanningThread =
  | {
      readonly kind: 'plan'
      readonly request: PlanRequest
      /** Null if it is the same as in the previous message. */
      readonly snapshot: CatalogSnapshot | null
    }
  /** The result of DuckDB's parser or printer. */
  | { readonly kind: 'text'; readonly call: number; readonly text: string }
  | { readonly kind: 'refused'; readonly call: number; readonly failure: PlanFailure }

export type FromPlanningThread =
  | {
      readonly kind: 'parse' | 'print'
      readonly call: number
      readonly text: string
    }
  | { readonly kind: 'planned'; readonly plan: SelectPlan }
  | { readonly kind: 'failed'; readonly failure: PlanFailure }

/** An error in a form that can be passed between threads. */
interface PlanFailure {
  /** Null if the error is a bug. */
  readonly code: ErrorCode | null
  readonly message: string
  readonly title?: string
  readonly excerpt?: string | undefined
  /** Set if planning needs the description of this table first. */
  readonly undescribed?: WantedTable
  /** For the log. */
  readonly stack: string
}

export function planFailure(error: unknown): PlanFailure {
  const stack = error instanceof Error ? (error.stack ?? '') : ''
  if (error instanceof UndescribedTable) {
    return { code: null, message: error.message, undescribed: error.table, stack }
  }
  if (!(error instanceof AppError)) return { code: null, message: String(error), stack }
  const { code, message, title, excerpt } = error
  return { code, message, title, excerpt, stack }
}

export function errorOf({ code, message, title, excerpt, stack, undescribed }: PlanFailure): Error {
  if (undescribed !== undefined) return new UndescribedTable(undescribed)
  if (code === null) return new Error(message, { cause: stack })
  return new AppError(code, message, {
    cause: stack,
    ...(title === undefined ? {} : { title }),
    ...(excerpt === undefined ? {} : { excerpt }),
  })
}

/** One statement at a time; the main thread parses and prints SQL for it. */
export class PlanningThread {
  readonly #post: (message: FromPlanningThread) => void
  readonly #calls = new Map<number, PromiseWithResolvers<string>>()
  #snapshot: CatalogSnapshot | null = null
  #lastCall = 0

  constructor(post: (message: FromPlanningThread) => void) {
    this.#post = post
  }

  async receive(message: ToPlanningThread): Promise<void> {
    if (message.kind === 'plan') {
      this.#snapshot = message.snapshot ?? this.#snapshot
      await this.#plan(message.request)
      return
    }
    const call = this.#calls.get(message.call)
    this.#calls.delete(message.call)
    if (message.kind === 'text') call?.resolve(message.text)
    else call?.reject(errorOf(message.failure))
  }

  async #plan(request: PlanRequest): Promise<void> {
    try {
      if (this.#snapshot === null) throw new Error('a plan is made of a catalog')
      const { sql, search = null } = request
      const names = requestScope(request, this.#snapshot)
      const engine: Pick<SqlEngine, 'parse' | 'print'> = {
        parse: (text) => this.#call('parse', text),
        print: (text) => this.#call('print', text),
      }
      this.#post({ kind: 'planned', plan: await planSelect(sql, names, engine, search) })
    } catch (error) {
      this.#post({ kind: 'failed', failure: planFailure(error) })
    }
  }

  #call(kind: 'parse' | 'print', text: string): Promise<string> {
    this.#lastCall += 1
    const answer = Promise.withResolvers<string>()
    this.#calls.set(this.#lastCall, answer)
    this.#post({ kind, call: this.#lastCall, text })
    return answer.promise
  }
}
