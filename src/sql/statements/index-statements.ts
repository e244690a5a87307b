import type { Options } from './options.ts'
import { type QualifiedName, qualifiedName } from './qualified-name.ts'
import type { StatementReader } from './statement-reader.ts'

/** How the vectors of a knowledge base are to be searched. */
export type IndexStatement =
  | {
      readonly kind: 'create_index'
      readonly knowledgeBase: QualifiedName
      readonly options: Options
    }
  | {
      readonly kind: 'drop_index'
      readonly knowledgeBase: QualifiedName
      readonly ifExists: boolean
    }
  /** null: of all knowledge bases. */
  | { readonly kind: 'show_indexes'; readonly knowledgeBase: QualifiedName | null }

const WHAT = 'a knowledge base'

export function indexStatement(read: StatementReader): IndexStatement | undefined {
  if (read.takeWords('create', 'index', 'on', 'knowledge_base')) {
    const knowledgeBase = qualifiedName(read, WHAT)
    const hasOptions = read.takeWords('with') || read.takeWords('using')
    const options = hasOptions ? read.enclosedOptions() : {}
    return { kind: 'create_index', knowledgeBase, options }
  }
  if (read.takeWords('drop', 'index', 'if', 'exists', 'on', 'knowledge_base')) {
    return { kind: 'drop_index', knowledgeBase: qualifiedName(read, WHAT), ifExists: true }
  }
  if (read.takeWords('drop', 'index', 'on', 'knowledge_base')) {
    return { kind: 'drop_index', knowledgeBase: qualifiedName(read, WHAT), ifExists: false }
  }
  return showIndexes(read)
}

/** `SHOW INDEXES FROM t` is about a table's columns and another statement. */
function showIndexes(read: StatementReader): IndexStatement | undefined {
  if (read.takeWords('show', 'indexes', 'on', 'knowledge_base')) {
    return { kind: 'show_indexes', knowledgeBase: qualifiedName(read, WHAT) }
  }
  const isOfTable = read.peekWord(2) === 'from' || read.peekWord(2) === 'in'
  if (isOfTable || !read.takeWords('show', 'indexes')) return undefined
  return { kind: 'show_indexes', knowledgeBase: null }
}
