import { type Narrowing, narrowing } from './parse-show.ts'
import type { Options, QualifiedName, StatementReader } from './statement-reader.ts'

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
  | {
      readonly kind: 'show_indexes'
      /** null: of all knowledge bases. */
      readonly knowledgeBase: QualifiedName | null
      readonly narrowing: Narrowing
    }

const WHAT = 'a knowledge base'

export function indexStatement(read: StatementReader): IndexStatement | undefined {
  if (read.takeWords('create', 'index')) {
    expectKnowledgeBase(read)
    const knowledgeBase = read.qualifiedName(WHAT)
    const hasOptions = read.takeWords('with') || read.takeWords('using')
    const options = hasOptions ? read.enclosedOptions() : {}
    return { kind: 'create_index', knowledgeBase, options }
  }
  if (read.takeWords('drop', 'index')) {
    const ifExists = read.takeWords('if', 'exists')
    expectKnowledgeBase(read)
    return { kind: 'drop_index', knowledgeBase: read.qualifiedName(WHAT), ifExists }
  }
  return showIndexes(read)
}

/** An index has no name: a knowledge base has one at most. */
function expectKnowledgeBase(read: StatementReader): void {
  if (!read.takeWords('on')) throw read.expected('ON KNOWLEDGE_BASE')
  read.expectWord('knowledge_base')
}

/** `SHOW INDEXES FROM t` is about a table's columns and another statement. */
function showIndexes(read: StatementReader): IndexStatement | undefined {
  const isOfTable = read.peekWord(2) === 'from' || read.peekWord(2) === 'in'
  if (isOfTable) return undefined
  if (!read.takeWords('show', 'indexes') && !read.takeWords('show', 'index')) return undefined
  if (!read.takeWords('on')) {
    return { kind: 'show_indexes', knowledgeBase: null, narrowing: narrowing(read) }
  }
  read.takeWords('knowledge_base')
  const knowledgeBase = read.qualifiedName(WHAT)
  return { kind: 'show_indexes', knowledgeBase, narrowing: narrowing(read) }
}
