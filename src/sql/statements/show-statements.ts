import type { StatementReader } from './statement-reader.ts'

export type ShowStatement =
  | {
      readonly kind: 'show_knowledge_bases'
      readonly project: string | null
      readonly like: string | null
      readonly name: string | null
    }
  | {
      readonly kind: 'show_tables'
      readonly from: string | null
      readonly like: string | null
      readonly isFull: boolean
    }
  | { readonly kind: 'show_databases'; readonly isFull: boolean }

export function showStatement(read: StatementReader): ShowStatement | undefined {
  if (read.takeWords('show', 'knowledge_bases')) return showKnowledgeBases(read)
  if (read.takeWords('show', 'full', 'tables')) return showTables(read, true)
  if (read.takeWords('show', 'tables')) return showTables(read, false)
  if (read.takeWords('show', 'full', 'databases')) return { kind: 'show_databases', isFull: true }
  if (read.takeWords('show', 'databases') || read.takeWords('show', 'projects')) {
    return { kind: 'show_databases', isFull: false }
  }
  return undefined
}

function showKnowledgeBases(read: StatementReader): ShowStatement {
  const isFrom = read.takeWords('from') || read.takeWords('in')
  const project = isFrom ? read.name('a project') : null
  const like = read.takeWords('like') ? read.string() : null
  let name: string | null = null
  if (read.takeWords('where')) {
    read.expectWord('name')
    read.expectSymbol('=')
    name = read.string()
  }
  return { kind: 'show_knowledge_bases', project, like, name }
}

function showTables(read: StatementReader, isFull: boolean): ShowStatement {
  const isFrom = read.takeWords('from') || read.takeWords('in')
  const from = isFrom ? read.name('a project') : null
  return { kind: 'show_tables', from, like: read.takeWords('like') ? read.string() : null, isFull }
}
