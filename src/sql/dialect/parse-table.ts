import { AppError } from '../../core/errors.ts'
import { type SourceSelect, takeSourceSelect } from './source-select.ts'
import type { QualifiedName, StatementReader } from './statement-reader.ts'
import {
  type AlterTable,
  alterTable,
  type TableDefinition,
  tableDefinition,
} from './table-definition.ts'

/** Tables of a project, and `files.<name>`. */
export type TableStatement =
  | {
      readonly kind: 'create_table'
      readonly name: QualifiedName
      readonly ifNotExists: boolean
      readonly orReplace: boolean
      readonly source: SourceSelect | TableDefinition
    }
  | AlterTable
  | { readonly kind: 'drop_table'; readonly name: QualifiedName; readonly ifExists: boolean }
  /** A table, a file or a knowledge base; null: everything. */
  | { readonly kind: 'vacuum'; readonly name: QualifiedName | null }

/** The start of a query. */
const QUERY = /^(\(|(select|with|from|values|table|pivot|unpivot|describe|show|summarize)\b)/i

const WHAT = 'a table'

export function tableStatement(read: StatementReader): TableStatement | undefined {
  const orReplace = read.takeWords('create', 'or', 'replace', 'table')
  if (orReplace || read.takeWords('create', 'table')) {
    const ifNotExists = read.takeWords('if', 'not', 'exists')
    const name = read.qualifiedName(WHAT)
    // An existing client writes `CREATE TABLE t (SELECT …)` and `CREATE TABLE t SELECT …`, without AS.
    const isQuery = read.takeWords('as') || isEnclosedQuery(read) || read.peekWord() === 'select'
    if (!isQuery && !read.isAt('(')) throw read.expected('AS and a SELECT, or "(" and the columns')
    const source = isQuery ? querySource(read) : tableDefinition(read)
    return { kind: 'create_table', name, ifNotExists, orReplace, source }
  }
  if (read.takeWords('alter', 'table')) return alterTable(read)
  if (read.takeWords('drop', 'table')) {
    const ifExists = read.takeWords('if', 'exists')
    return { kind: 'drop_table', name: read.qualifiedName(WHAT), ifExists }
  }
  if (read.takeWords('vacuum')) {
    return { kind: 'vacuum', name: read.isAtEnd() ? null : read.qualifiedName(WHAT) }
  }
  return undefined
}

function isEnclosedQuery(read: StatementReader): boolean {
  const isNested = read.isAt('(') && read.isAt('(', 1)
  return isNested || (read.isAt('(') && /^(select|with|from|values)$/.test(read.peekWord(1) ?? ''))
}

function querySource(read: StatementReader): SourceSelect {
  const source = takeSourceSelect(read)
  if (QUERY.test(source.select)) return source
  const message = 'A table is made of a SELECT: CREATE TABLE name AS SELECT …'
  throw new AppError('sql_not_supported', message)
}
