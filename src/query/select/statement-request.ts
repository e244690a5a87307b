import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import type { RowStream } from '../../core/domain/query-result.ts'
import type { Statement, StatementOf } from '../../sql/dialect/parse-statement.ts'
import type { QueryDeps } from './query-deps.ts'
import type { Parameters } from './run-select.ts'

/** A statement of Eider's dialect with its context. */
export interface StatementRequest<S extends Statement = Statement> {
  readonly statement: S
  /** The project of unqualified names, or `files`. */
  readonly db: string
  readonly params: Parameters
}

/** A statement about an existing knowledge base. */
export interface KnowledgeBaseRequest<S extends Statement = Statement> extends StatementRequest<S> {
  readonly kb: KnowledgeBase
}

/** What a statement gave: its rows, or what it changed. */
export interface Outcome {
  readonly rows?: RowStream
  readonly affectedRows?: number | null
  readonly skippedRows?: number
  readonly warnings?: readonly string[]
  /** The database of unqualified names from now on; unset: the same as before. */
  readonly db?: string
}

export type RunOf<S extends Statement> = (
  request: StatementRequest<S>,
  deps: QueryDeps,
  signal: AbortSignal,
) => Promise<Outcome>

/** How to run a statement, by its kind. */
export type Runs = {
  readonly [K in Statement['kind']]: RunOf<StatementOf<K>>
}

/** What a statement changes, for the audit log: its kind and the names in it, never its text. */
export interface StatementChange {
  /** For example `DROP KNOWLEDGE_BASE` or `INSERT`. */
  readonly action: string
  readonly targets: readonly string[]
}

const CHANGING =
  /^(?:create_|alter_|drop_|query_)|^(?:insert|update|delete|truncate|vacuum|sources)$/

/** Undefined if it changes nothing visible. */
export function changeOf(statement: Statement, db: string): StatementChange | undefined {
  if (!CHANGING.test(statement.kind)) return undefined
  const [verb = '', ...what] = statement.kind.toUpperCase().split('_')
  const names = ['name', 'knowledgeBase', 'table'].flatMap((field) => {
    return targetOf(Object.entries(statement).find(([key]) => key === field)?.[1], db)
  })
  return { action: [verb, what.join('_')].join(' ').trim(), targets: names }
}

function targetOf(named: unknown, db: string): readonly string[] {
  if (typeof named === 'string') return [named]
  if (typeof named !== 'object' || named === null || !('name' in named)) return []
  const project = 'project' in named && typeof named.project === 'string' ? named.project : db
  return [`${project}.${named.name}`]
}
