import type { Options, QualifiedName, StatementReader } from './statement-reader.ts'

/** A column and the SQL of its new value. */
export interface Assignment {
  /** `price`, or the parts of `metadata.key` or `alias.price`. */
  readonly column: readonly string[]
  readonly value: string
}

/** Statements over the rows of a knowledge base. */
export type RowStatement =
  | {
      readonly kind: 'insert'
      readonly table: QualifiedName
      /** null: the names of the source's columns. */
      readonly columns: readonly string[] | null
      /** `VALUES …` or a SELECT, as it was written. */
      readonly source: string
      readonly options: Options
    }
  | {
      readonly kind: 'update'
      readonly table: QualifiedName
      readonly alias: string | null
      readonly assignments: readonly Assignment[]
      /** The SQL of its condition. */
      readonly where: string | null
    }
  | {
      readonly kind: 'delete'
      readonly table: QualifiedName
      readonly alias: string | null
      readonly where: string | null
    }

const WHAT = 'a knowledge base'

export function rowStatement(read: StatementReader): RowStatement | undefined {
  if (read.takeWords('insert', 'into')) return insertStatement(read)
  if (read.takeWords('delete', 'from')) {
    const table = read.qualifiedName(WHAT)
    const alias = aliasOf(read, ['where', 'using', 'returning'])
    return { kind: 'delete', table, alias, where: whereOf(read) }
  }
  if (read.takeWords('update')) return updateStatement(read)
  return undefined
}

function insertStatement(read: StatementReader): RowStatement {
  const table = read.qualifiedName(WHAT)
  const columns = read.isList() ? read.nameList('the name of a column') : null
  const { query, options } = read.queryAndOptions()
  return { kind: 'insert', table, columns, source: query, options: options ?? {} }
}

function updateStatement(read: StatementReader): RowStatement {
  const table = read.qualifiedName(WHAT)
  if (read.takeWords('on')) throw read.expected('SET: UPDATE … ON … FROM is not supported', '"ON"')
  const alias = aliasOf(read, ['set'])
  read.expectWord('set')
  const assignments: Assignment[] = []
  do {
    const column = [read.name('the name of a column')]
    while (read.takeSymbol('.')) column.push(read.name('a name'))
    read.expectSymbol('=')
    assignments.push({ column, value: read.textUntil(',', 'where') })
  } while (read.takeSymbol(','))
  return { kind: 'update', table, alias, assignments, where: whereOf(read) }
}

function whereOf(read: StatementReader): string | null {
  return read.takeWords('where') ? read.textUntil() : null
}

function aliasOf(read: StatementReader, following: readonly string[]): string | null {
  if (read.takeWords('as')) return read.name('an alias')
  const next = read.peekWord()
  return next === undefined || following.includes(next) ? null : read.name('an alias')
}
