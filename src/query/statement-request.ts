import type { KnowledgeBase } from '../domain/knowledge-base.ts'
import type { QueryResult } from '../domain/query-result.ts'
import type { Statement } from '../sql/dialect/parse-statement.ts'
import type { Parameters } from './select/run-select.ts'

/** A statement of the dialect and what it came with. */
export interface StatementRequest<S extends Statement = Statement> {
  readonly statement: S
  /** The project of names without a qualifier, or `files`. */
  readonly db: string
  readonly params: Parameters
}

/** A statement about a knowledge base that was found. */
export interface KnowledgeBaseRequest<S extends Statement = Statement> extends StatementRequest<S> {
  readonly kb: KnowledgeBase
}

/** The answer of a statement that has no rows. */
export function done(db: string, affectedRows: number | null = null): QueryResult {
  return { kind: 'ok', affectedRows, context: { db } }
}
