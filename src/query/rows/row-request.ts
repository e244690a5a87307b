import type { KnowledgeBase } from '../../domain/knowledge-base.ts'
import type { RowStatement } from '../../sql/dialect/parse-rows.ts'
import type { StatementRequest } from '../statements/statement-request.ts'

/** A statement over rows, and the knowledge base it names. */
export interface RowRequest<S extends RowStatement = RowStatement> extends StatementRequest<S> {
  readonly kb: KnowledgeBase
}
