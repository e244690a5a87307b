import type { Options, QualifiedName, StatementReader } from './statement-reader.ts'

export interface EvaluateStatement {
  readonly kind: 'evaluate_knowledge_base'
  readonly name: QualifiedName
  readonly options: Options
}

export interface EvaluateAgentStatement {
  readonly kind: 'evaluate_agent'
  readonly name: QualifiedName
  /** `questions` may be the text of a SELECT. */
  readonly options: Options
}

export function evaluateStatement(
  read: StatementReader,
): EvaluateStatement | EvaluateAgentStatement | undefined {
  if (read.takeWords('evaluate', 'agent')) {
    const name = read.qualifiedName('an agent')
    const options = read.takeWords('using') ? read.options(['questions']) : {}
    return { kind: 'evaluate_agent', name, options }
  }
  if (!read.takeWords('evaluate', 'knowledge_base')) return undefined
  const name = read.qualifiedName('a knowledge base')
  const options = read.takeWords('using') ? read.options() : {}
  return { kind: 'evaluate_knowledge_base', name, options }
}
