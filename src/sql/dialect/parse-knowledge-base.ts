import type { Options, QualifiedName, StatementReader } from './statement-reader.ts'

export type KnowledgeBaseStatement =
  | {
      readonly kind: 'create_knowledge_base'
      readonly name: QualifiedName
      readonly ifNotExists: boolean
      readonly options: Options
    }
  | {
      readonly kind: 'alter_knowledge_base'
      readonly name: QualifiedName
      readonly options: Options
    }
  | {
      readonly kind: 'drop_knowledge_base'
      readonly name: QualifiedName
      readonly ifExists: boolean
    }
  | { readonly kind: 'describe_knowledge_base'; readonly name: QualifiedName }

const WHAT = 'a knowledge base'

export function knowledgeBaseStatement(read: StatementReader): KnowledgeBaseStatement | undefined {
  if (read.takeWords('create', 'knowledge_base')) {
    const ifNotExists = read.takeWords('if', 'not', 'exists')
    const name = read.qualifiedName(WHAT)
    const options = read.takeWords('using') ? read.options() : {}
    return { kind: 'create_knowledge_base', name, ifNotExists, options }
  }
  if (read.takeWords('alter', 'knowledge_base')) {
    const name = read.qualifiedName(WHAT)
    read.expectWord('using')
    return { kind: 'alter_knowledge_base', name, options: read.options() }
  }
  if (read.takeWords('drop', 'knowledge_base')) {
    const ifExists = read.takeWords('if', 'exists')
    return { kind: 'drop_knowledge_base', name: read.qualifiedName(WHAT), ifExists }
  }
  if (read.takeWords('describe', 'knowledge_base')) {
    return { kind: 'describe_knowledge_base', name: read.qualifiedName(WHAT) }
  }
  return undefined
}
