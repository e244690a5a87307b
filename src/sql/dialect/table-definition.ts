/**
 * Parses the columns and constraints of `CREATE TABLE name (…)`, and changes to them in `ALTER
 * TABLE`.
 */
import { AppError } from '../../core/errors.ts'
import type { QualifiedName, StatementReader } from './statement-reader.ts'

export interface ColumnDefinition {
  readonly name: string
  /** As written. */
  readonly type: string
  /** The SQL of the default value. */
  readonly default: string | null
  readonly isNotNull: boolean
  readonly key: 'PRIMARY KEY' | 'UNIQUE' | null
}

export interface TableDefinition {
  readonly columns: readonly ColumnDefinition[]
  readonly keys: readonly {
    readonly kind: 'PRIMARY KEY' | 'UNIQUE'
    readonly columns: readonly string[]
  }[]
  /** The SQL of conditions that each row must meet. */
  readonly checks: readonly string[]
}

export type TableChange =
  | { readonly kind: 'add'; readonly column: ColumnDefinition; readonly ifNotExists: boolean }
  | { readonly kind: 'drop'; readonly column: string; readonly ifExists: boolean }
  | { readonly kind: 'rename_column'; readonly column: string; readonly to: string }
  | { readonly kind: 'rename'; readonly to: string }

export interface AlterTable {
  readonly kind: 'alter_table'
  readonly name: QualifiedName
  readonly ifExists: boolean
  readonly change: TableChange
}

/** What can follow the expression of a DEFAULT. */
const AFTER_DEFAULT = [
  ',',
  ...'not null default primary unique check constraint references collate generated'.split(' '),
]

const COLUMN = 'the name of a column'

/** Parses `(a INTEGER PRIMARY KEY, b VARCHAR DEFAULT 'x', UNIQUE (b), …)`. */
export function tableDefinition(read: StatementReader): TableDefinition {
  const columns: ColumnDefinition[] = []
  const keys: { kind: 'PRIMARY KEY' | 'UNIQUE'; columns: readonly string[] }[] = []
  const checks: string[] = []
  read.expectSymbol('(')
  do {
    takeConstraintName(read)
    const isOfTable = isTableConstraint(read)
    const kind = isOfTable ? takeKey(read) : null
    if (kind !== null) keys.push({ kind, columns: read.nameList(COLUMN) })
    else if (isOfTable && read.takeWords('check')) checks.push(read.enclosedText())
    else columns.push(columnDefinition(read, checks))
  } while (read.takeSymbol(','))
  read.expectSymbol(')')
  return { columns, keys, checks }
}

/** `UNIQUE (`, `CHECK (` or `PRIMARY KEY`. After a column of that name comes a type. */
function isTableConstraint(read: StatementReader): boolean {
  const word = read.peekWord() ?? ''
  if (/^(primary|foreign)$/.test(word)) return read.peekWord(1) === 'key'
  return /^(unique|check)$/.test(word) && read.isAt('(', 1)
}

function takeConstraintName(read: StatementReader): void {
  if (read.takeWords('constraint')) read.name('the name of a constraint')
}

function takeKey(read: StatementReader): 'PRIMARY KEY' | 'UNIQUE' | null {
  if (read.takeWords('primary', 'key')) return 'PRIMARY KEY'
  return read.takeWords('unique') ? 'UNIQUE' : null
}

/** @param checks receives conditions written with the column */
function columnDefinition(read: StatementReader, checks: string[]): ColumnDefinition {
  refuseForeign(read)
  const name = read.name(COLUMN)
  const type = columnType(read)
  let value: string | null = null
  let isNotNull = false
  let key: ColumnDefinition['key'] = null
  while (!read.isAtEnd() && !read.isAt(',') && !read.isAt(')')) {
    takeConstraintName(read)
    const taken = takeKey(read)
    if (taken !== null) key = key === 'PRIMARY KEY' ? key : taken
    else if (read.takeWords('not', 'null')) isNotNull = true
    else if (read.takeWords('default'))
      value = read.takeWords('null') ? 'NULL' : read.textUntil(...AFTER_DEFAULT)
    else if (read.takeWords('check')) checks.push(read.enclosedText())
    else if (!read.takeWords('null')) {
      refuseForeign(read)
      throw read.expected('NOT NULL, DEFAULT, PRIMARY KEY, UNIQUE, CHECK, "," or ")"')
    }
  }
  return { name, type, key, isNotNull, default: value }
}

/** @throws AppError `sql_not_supported` */
function refuseForeign(read: StatementReader): void {
  const word = read.peekWord() ?? ''
  const isForeign = word === 'references' || (word === 'foreign' && read.peekWord(1) === 'key')
  const isGenerated = word === 'generated' || word === 'as'
  const isCollation = word === 'collate'
  if (!isForeign && !isGenerated && !isCollation) return
  const what = isForeign ? 'FOREIGN KEY' : word.toUpperCase()
  const has = 'NOT NULL, DEFAULT, PRIMARY KEY, UNIQUE and CHECK'
  throw new AppError('sql_not_supported', `${what} is not supported: columns have ${has}`)
}

/** Parses types such as `DECIMAL(10, 2)`, `INT ARRAY` and `STRUCT(a INTEGER)[]`. */
function columnType(read: StatementReader): string {
  const parts = [read.name('the type of the column')]
  const isQuoted = !/^\w+$/.test(parts[0] ?? '')
  if (isQuoted) throw read.expected('a type')
  if (read.takeWords('precision')) parts.push('PRECISION')
  else if (read.takeWords('varying')) parts.push('VARYING')
  if (read.isAt('(')) parts.push(`(${read.enclosedText()})`)
  for (const zone of ['with', 'without']) {
    if (read.takeWords(zone, 'time', 'zone')) parts.push(`${zone.toUpperCase()} TIME ZONE`)
  }
  if (read.takeWords('array')) parts.push('[]')
  while (read.takeSymbol('[')) {
    parts.push(`[${read.takeNumber() ?? ''}]`)
    read.expectSymbol(']')
  }
  return parts.join(' ')
}

export function alterTable(read: StatementReader): AlterTable {
  const ifExists = read.takeWords('if', 'exists')
  const name = read.qualifiedName('a table')
  return { kind: 'alter_table', name, ifExists, change: tableChange(read) }
}

function tableChange(read: StatementReader): TableChange {
  if (read.takeWords('add')) {
    read.takeWords('column')
    const ifNotExists = read.takeWords('if', 'not', 'exists')
    const checks: string[] = []
    const column = columnDefinition(read, checks)
    if (checks.length === 0 && column.key === null && !column.isNotNull) {
      return { kind: 'add', column, ifNotExists }
    }
    const how = 'make a new table with them, and INSERT the rows into it'
    throw new AppError('sql_not_supported', `A column that is added has no constraints: ${how}`)
  }
  if (read.takeWords('drop')) {
    read.takeWords('column')
    const ifExists = read.takeWords('if', 'exists')
    return { kind: 'drop', column: read.name(COLUMN), ifExists }
  }
  if (!read.takeWords('rename')) throw read.expected('ADD, DROP or RENAME')
  if (read.takeWords('to')) return { kind: 'rename', to: read.name('a name') }
  read.takeWords('column')
  const column = read.name(COLUMN)
  read.expectWord('to')
  return { kind: 'rename_column', column, to: read.name(COLUMN) }
}
