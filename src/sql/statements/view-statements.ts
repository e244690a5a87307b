import { type QualifiedName, qualifiedName } from './qualified-name.ts'
import type { StatementReader } from './statement-reader.ts'

export type ViewStatement =
  | {
      readonly kind: 'create_view'
      readonly name: QualifiedName
      readonly ifNotExists: boolean
      readonly orReplace: boolean
      /** The SELECT as it was written, without parentheses around it. */
      readonly select: string
    }
  | { readonly kind: 'alter_view'; readonly name: QualifiedName; readonly select: string }
  | { readonly kind: 'drop_view'; readonly name: QualifiedName; readonly ifExists: boolean }

const WHAT = 'a view'

export function viewStatement(read: StatementReader): ViewStatement | undefined {
  const orReplace = read.takeWords('create', 'or', 'replace', 'view')
  if (orReplace || read.takeWords('create', 'view')) {
    const ifNotExists = read.takeWords('if', 'not', 'exists')
    const name = qualifiedName(read, WHAT)
    read.expectWord('as')
    return { kind: 'create_view', name, ifNotExists, orReplace, select: read.restAsSelect() }
  }
  if (read.takeWords('alter', 'view')) {
    const name = qualifiedName(read, WHAT)
    read.expectWord('as')
    return { kind: 'alter_view', name, select: read.restAsSelect() }
  }
  // An existing client drops its views as models.
  if (read.takeWords('drop', 'view') || read.takeWords('drop', 'model')) {
    const ifExists = read.takeWords('if', 'exists')
    return { kind: 'drop_view', name: qualifiedName(read, WHAT), ifExists }
  }
  return undefined
}
