import { AppError } from '../../errors.ts'
import { type SourceSelect, takeSourceSelect } from './source-select.ts'
import type { QualifiedName, StatementReader } from './statement-reader.ts'

/** Tables of a project, and `files.<name>`. */
export type TableStatement =
  | {
      readonly kind: 'create_table'
      readonly name: QualifiedName
      readonly ifNotExists: boolean
      readonly orReplace: boolean
      readonly source: SourceSelect
    }
  | { readonly kind: 'drop_table'; readonly name: QualifiedName; readonly ifExists: boolean }
  /** Of a table, a file or a knowledge base; null: of everything. */
  | { readonly kind: 'vacuum'; readonly name: QualifiedName | null }

/** How a query begins. */
const QUERY = /^(\(|(select|with|from|values|table|pivot|unpivot|describe|show|summarize)\b)/i

const WHAT = 'a table'

export function tableStatement(read: StatementReader): TableStatement | undefined {
  const orReplace = read.takeWords('create', 'or', 'replace', 'table')
  if (orReplace || read.takeWords('create', 'table')) {
    const ifNotExists = read.takeWords('if', 'not', 'exists')
    const name = read.qualifiedName(WHAT)
    // An existing client writes `CREATE TABLE t (SELECT …)` and `CREATE TABLE t SELECT …`, without AS.
    const isQuery = read.takeWords('as') || read.isAt('(') || read.peekWord() === 'select'
    if (!isQuery) throw read.expected('AS and a SELECT')
    const source = takeSourceSelect(read)
    if (!QUERY.test(source.select)) {
      const message = 'A table is made of a SELECT: CREATE TABLE name AS SELECT …'
      throw new AppError('sql_not_supported', message)
    }
    return { kind: 'create_table', name, ifNotExists, orReplace, source }
  }
  if (read.takeWords('drop', 'table')) {
    const ifExists = read.takeWords('if', 'exists')
    return { kind: 'drop_table', name: read.qualifiedName(WHAT), ifExists }
  }
  if (read.takeWords('vacuum')) {
    return { kind: 'vacuum', name: read.isAtEnd() ? null : read.qualifiedName(WHAT) }
  }
  return undefined
}
