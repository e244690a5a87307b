import { type QualifiedName, qualifiedName } from './qualified-name.ts'
import type { StatementReader } from './statement-reader.ts'

/** Tables of a project, and `files.<name>`. */
export type TableStatement =
  | {
      readonly kind: 'create_table'
      readonly name: QualifiedName
      readonly ifNotExists: boolean
      readonly orReplace: boolean
      /** The SELECT as it was written, without parentheses around it. */
      readonly select: string
    }
  | { readonly kind: 'drop_table'; readonly name: QualifiedName; readonly ifExists: boolean }

const WHAT = 'a table'

export function tableStatement(read: StatementReader): TableStatement | undefined {
  const orReplace = read.takeWords('create', 'or', 'replace', 'table')
  if (orReplace || read.takeWords('create', 'table')) {
    const ifNotExists = read.takeWords('if', 'not', 'exists')
    const name = qualifiedName(read, WHAT)
    // An existing client writes `CREATE TABLE t (SELECT …)`, without AS.
    if (!read.takeWords('as') && !read.isAt('(')) throw read.expected('AS and a SELECT')
    return { kind: 'create_table', name, ifNotExists, orReplace, select: read.restAsSelect() }
  }
  if (read.takeWords('drop', 'table')) {
    const ifExists = read.takeWords('if', 'exists')
    return { kind: 'drop_table', name: qualifiedName(read, WHAT), ifExists }
  }
  return undefined
}
