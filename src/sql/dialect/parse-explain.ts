import type { StatementReader } from './statement-reader.ts'

export interface ExplainStatement {
  readonly kind: 'explain'
  /** True for EXPLAIN ANALYZE, which runs the SELECT and says where its time went. */
  readonly isAnalyzed: boolean
  /** The SELECT as it was written. */
  readonly select: string
}

export function explainStatement(read: StatementReader): ExplainStatement | undefined {
  if (!read.takeWords('explain')) return undefined
  const isAnalyzed = read.takeWords('analyze')
  return { kind: 'explain', isAnalyzed, select: read.restAsSelect() }
}
