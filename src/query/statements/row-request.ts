import type { KnowledgeBase } from '../../domain/knowledge-base.ts'
import type { RowStatement } from '../../sql/statements/row-statements.ts'
import type { StatementRequest } from './statement-request.ts'

/** A statement over rows, and the knowledge base it names. */
export interface RowRequest<S extends RowStatement = RowStatement> extends StatementRequest<S> {
  readonly kb: KnowledgeBase
}
