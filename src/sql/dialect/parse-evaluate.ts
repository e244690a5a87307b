import type { Options } from './options.ts'
import { type QualifiedName, qualifiedName } from './qualified-name.ts'
import type { StatementReader } from './statement-reader.ts'

export interface EvaluateStatement {
  readonly kind: 'evaluate_knowledge_base'
  readonly name: QualifiedName
  readonly options: Options
}

export function evaluateStatement(read: StatementReader): EvaluateStatement | undefined {
  if (!read.takeWords('evaluate', 'knowledge_base')) return undefined
  const name = qualifiedName(read, 'a knowledge base')
  const options = read.takeWords('using') ? read.options() : {}
  return { kind: 'evaluate_knowledge_base', name, options }
}
