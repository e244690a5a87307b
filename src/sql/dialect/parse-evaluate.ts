import type { Options, QualifiedName, StatementReader } from './statement-reader.ts'

export interface EvaluateStatement {
  readonly kind: 'evaluate_knowledge_base'
  readonly name: QualifiedName
  readonly options: Options
}

export function evaluateStatement(read: StatementReader): EvaluateStatement | undefined {
  if (!read.takeWords('evaluate', 'knowledge_base')) return undefined
  const name = read.qualifiedName('a knowledge base')
  const options = read.takeWords('using') ? read.options() : {}
  return { kind: 'evaluate_knowledge_base', name, options }
}
