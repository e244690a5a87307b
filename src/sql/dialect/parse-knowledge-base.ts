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
  /** What it is kept in step with. */
  | {
      readonly kind: 'sources'
      readonly change: 'add' | 'alter'
      readonly name: QualifiedName
      readonly source: string
      /** Of `add`: one of that name stays as it is. */
      readonly ifNotExists: boolean
      readonly options: Options
    }
  | {
      readonly kind: 'sources'
      readonly change: 'drop'
      readonly name: QualifiedName
      readonly source: string
      readonly ifExists: boolean
    }
  /** @param source null: all of them */
  | {
      readonly kind: 'sources'
      readonly change: 'refresh'
      readonly name: QualifiedName
      readonly source: string | null
    }

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
    const ofSource = sourceStatement(name, read)
    if (ofSource !== undefined) return ofSource
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
  if (read.takeWords('refresh', 'knowledge_base')) {
    const name = read.qualifiedName(WHAT)
    const source = read.takeWords('source') ? read.name(SOURCE) : null
    return { kind: 'sources', change: 'refresh', name, source }
  }
  return undefined
}

const SOURCE = 'the name of a source'

/** `ADD SOURCE name USING …`, `ALTER SOURCE name USING …`, `DROP SOURCE name`. */
function sourceStatement(
  name: QualifiedName,
  read: StatementReader,
): KnowledgeBaseStatement | undefined {
  const isNew = read.takeWords('add', 'source')
  if (isNew || read.takeWords('alter', 'source')) {
    const ifNotExists = isNew && read.takeWords('if', 'not', 'exists')
    const source = read.name(SOURCE)
    read.expectWord('using')
    const change = isNew ? 'add' : 'alter'
    return { kind: 'sources', change, name, source, ifNotExists, options: read.options() }
  }
  if (!read.takeWords('drop', 'source')) return undefined
  const ifExists = read.takeWords('if', 'exists')
  return { kind: 'sources', change: 'drop', name, source: read.name(SOURCE), ifExists }
}
