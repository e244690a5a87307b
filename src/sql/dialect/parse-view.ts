import { type SourceSelect, takeSourceSelect } from './source-select.ts'
import type { QualifiedName, StatementReader } from './statement-reader.ts'

export type ViewStatement =
  | {
      readonly kind: 'create_view'
      readonly name: QualifiedName
      readonly ifNotExists: boolean
      readonly orReplace: boolean
      readonly source: SourceSelect
    }
  | { readonly kind: 'alter_view'; readonly name: QualifiedName; readonly source: SourceSelect }
  | { readonly kind: 'drop_view'; readonly name: QualifiedName; readonly ifExists: boolean }

const WHAT = 'a view'

export function viewStatement(read: StatementReader): ViewStatement | undefined {
  const orReplace = read.takeWords('create', 'or', 'replace', 'view')
  if (orReplace || read.takeWords('create', 'view')) {
    const ifNotExists = read.takeWords('if', 'not', 'exists')
    const name = read.qualifiedName(WHAT)
    return { kind: 'create_view', name, ifNotExists, orReplace, source: sourceOf(read) }
  }
  if (read.takeWords('alter', 'view')) {
    const name = read.qualifiedName(WHAT)
    return { kind: 'alter_view', name, source: sourceOf(read) }
  }
  // An existing client drops its views as models.
  if (read.takeWords('drop', 'view') || read.takeWords('drop', 'model')) {
    const ifExists = read.takeWords('if', 'exists')
    return { kind: 'drop_view', name: read.qualifiedName(WHAT), ifExists }
  }
  return undefined
}

/** `AS SELECT …`, also `FROM project AS (SELECT …)`, as an existing client sends it. */
function sourceOf(read: StatementReader): SourceSelect {
  const database = read.takeWords('from') ? read.name('the name of a project') : null
  read.expectWord('as')
  const source = takeSourceSelect(read)
  return { select: source.select, database: source.database ?? database }
}
