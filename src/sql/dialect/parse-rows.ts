import type { Options, QualifiedName, StatementReader } from './statement-reader.ts'

/** A column and the SQL of its new value. */
export interface Assignment {
  /** `price`, or the parts of `metadata.key` or `alias.price`. */
  readonly column: readonly string[]
  readonly value: string
}

/** What `INSERT … ON CONFLICT` does with a row whose key already exists. */
export interface ConflictAction {
  /** The columns of the key; null: any key. */
  readonly columns: readonly string[] | null
  /** Null: DO NOTHING. */
  readonly update: {
    readonly assignments: readonly Assignment[]
    readonly where: string | null
  } | null
}

export type RowStatement =
  | {
      readonly kind: 'insert'
      readonly table: QualifiedName
      /** Null: the names of the source's columns. */
      readonly columns: readonly string[] | null
      /** `VALUES …`, a SELECT or `DEFAULT VALUES`, as written. */
      readonly source: string
      readonly options: Options
      /** Options that only tables support. */
      readonly ofTable?: TableInsert
    }
  | (ChangedRows & { readonly kind: 'update'; readonly assignments: readonly Assignment[] })
  | (ChangedRows & { readonly kind: 'delete' })
  | { readonly kind: 'truncate'; readonly table: QualifiedName }

interface ChangedRows {
  readonly table: QualifiedName
  readonly alias: string | null
  /** The condition as SQL. */
  readonly where: string | null
  /** `FROM` of an UPDATE, `USING` of a DELETE. Only tables support these. */
  readonly from: string | null
  readonly returning: string | null
}

interface TableInsert {
  readonly alias: string | null
  /** Set by `INSERT OR REPLACE` and `INSERT OR IGNORE`. */
  readonly instead: 'replace' | 'ignore' | null
  readonly conflict: ConflictAction | null
  readonly returning: string | null
}

const WHAT = 'a knowledge base or table'

export function rowStatement(read: StatementReader): RowStatement | undefined {
  for (const instead of ['replace', 'ignore'] as const) {
    if (read.takeWords('insert', 'or', instead, 'into')) return insertStatement(read, instead)
  }
  if (read.takeWords('insert', 'into')) return insertStatement(read, null)
  if (read.takeWords('delete', 'from')) return deleteStatement(read)
  if (read.takeWords('update')) return updateStatement(read)
  if (!read.takeWords('truncate')) return undefined
  read.takeWords('table')
  return { kind: 'truncate', table: read.qualifiedName('a table') }
}

/**
 * What can follow the rows of an INSERT. `JOIN t ON conflict = 1` is a condition, not one of these.
 */
const AFTER_SOURCE = ['on conflict do', 'on conflict (', 'returning'] as const

function insertStatement(read: StatementReader, instead: TableInsert['instead']): RowStatement {
  const table = read.qualifiedName(WHAT)
  const alias = read.takeWords('as') ? read.name('an alias') : null
  const columns = read.isList() ? read.nameList('the name of a column') : null
  if (!read.isAhead(...AFTER_SOURCE)) {
    const { query: source, options } = read.queryAndOptions()
    const insert = { kind: 'insert' as const, table, columns, source, options: options ?? {} }
    if (alias === null && instead === null) return insert
    return { ...insert, ofTable: { alias, instead, conflict: null, returning: null } }
  }
  const source = read.textUntil(...AFTER_SOURCE)
  const conflict = read.takeWords('on', 'conflict') ? conflictAction(read) : null
  const ofTable = { alias, instead, conflict, returning: returningOf(read) }
  return { kind: 'insert', table, columns, source, options: {}, ofTable }
}

function conflictAction(read: StatementReader): ConflictAction {
  const columns = read.isAt('(') ? read.nameList('the name of a column') : null
  read.expectWord('do')
  if (read.takeWords('nothing')) return { columns, update: null }
  if (!read.takeWords('update', 'set')) throw read.expected('NOTHING or UPDATE SET')
  const assignments = assignmentsOf(read, 'where', 'returning')
  return { columns, update: { assignments, where: whereOf(read) } }
}

function deleteStatement(read: StatementReader): RowStatement {
  const table = read.qualifiedName(WHAT)
  const alias = aliasOf(read, ['where', 'using', 'returning'])
  const from = read.takeWords('using') ? read.textUntil('where', 'returning') : null
  return {
    ...{ kind: 'delete', table, alias, from },
    ...{ where: whereOf(read), returning: returningOf(read) },
  }
}

function updateStatement(read: StatementReader): RowStatement {
  const table = read.qualifiedName(WHAT)
  if (read.takeWords('on')) throw read.expected('SET: UPDATE … ON … FROM is not supported', '"ON"')
  const alias = aliasOf(read, ['set'])
  read.expectWord('set')
  const assignments = assignmentsOf(read, 'from', 'where', 'returning')
  const from = read.takeWords('from') ? read.textUntil('where', 'returning') : null
  return {
    ...{ kind: 'update', table, alias, assignments, from },
    ...{ where: whereOf(read), returning: returningOf(read) },
  }
}

function assignmentsOf(
  read: StatementReader,
  ...following: readonly string[]
): readonly Assignment[] {
  const assignments: Assignment[] = []
  do {
    const column = [read.name('the name of a column')]
    while (read.takeSymbol('.')) column.push(read.name('a name'))
    read.expectSymbol('=')
    assignments.push({ column, value: read.textUntil(',', ...following) })
  } while (read.takeSymbol(','))
  return assignments
}

function whereOf(read: StatementReader): string | null {
  return read.takeWords('where') ? read.textUntil('returning') : null
}

function returningOf(read: StatementReader): string | null {
  return read.takeWords('returning') ? read.textUntil() : null
}

function aliasOf(read: StatementReader, following: readonly string[]): string | null {
  if (read.takeWords('as')) return read.name('an alias')
  const next = read.peekWord()
  return next === undefined || following.includes(next) ? null : read.name('an alias')
}
