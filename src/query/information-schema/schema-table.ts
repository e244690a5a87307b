/** A table of information_schema: its columns, and its rows as they follow from the catalog. */
import type { CatalogSnapshot } from '../../core/domain/access/catalog-snapshot.ts'
import { literal } from '../../core/domain/names.ts'
import definitions from './tables.sql' with { type: 'text' }

export interface SchemaTable {
  readonly name: string
  readonly columns: readonly SchemaColumn[]
  /** The column that names a row's project: such a table is one of each project as well. */
  readonly projectColumn: string | null
  /** A SELECT of the table's rows. */
  readonly sql: (source: SchemaSource) => string
}

export interface SchemaColumn {
  readonly name: string
  readonly type: ColumnType
}

const COLUMN_TYPES = ['VARCHAR', 'BIGINT', 'DOUBLE', 'TIMESTAMP'] as const

type ColumnType = (typeof COLUMN_TYPES)[number]

/** The inputs of the rows. */
export interface SchemaSource {
  readonly snapshot: CatalogSnapshot
  /** All tables of information_schema. */
  readonly tables: readonly SchemaTable[]
}

export type Cell = string | number | null

/** By column name; a missing one is null. */
export type SchemaRow = Readonly<Record<string, Cell>>

/** `NAME TABLE_ROWS:BIGINT`: column names, with a type unless VARCHAR. */
export function schemaColumns(text: string): readonly SchemaColumn[] {
  return text
    .trim()
    .split(/\s+/)
    .map((column) => {
      const [name = '', type] = column.split(':')
      return { name, type: COLUMN_TYPES.find((known) => known === type) ?? 'VARCHAR' }
    })
}

/** The rows of a table, fetched whenever a statement reads it. */
export interface LiveRows {
  readonly rows: readonly SchemaRow[]
  /** Missing rows, and why. */
  readonly warnings?: readonly string[]
}

export interface LiveTables {
  /** @param table in lower case; @param snapshot the part of the catalog that the reader may see */
  rows(table: string, snapshot: CatalogSnapshot, signal: AbortSignal): Promise<LiveRows>
}

/** The bound JSON of a table's rows. */
const LIVE = 'eider_live_'

/** The table whose rows this parameter holds. */
export function liveTableOf(parameter: string): string | undefined {
  return parameter.startsWith(LIVE) ? parameter.slice(LIVE.length) : undefined
}

const DEFINITION = /CREATE TABLE (\w+) \(([^)]*)\)(?: AS\s([\s\S]*))?$/

/** A table as `tables.sql` defines it. */
export interface Definition {
  readonly columns: readonly SchemaColumn[]
  /** The SELECT of its rows, if only the parts in braces change. */
  readonly select: string | undefined
}

export const DEFINITIONS: ReadonlyMap<string, Definition> = new Map(
  definitions.split(/;\n/).flatMap((statement) => {
    const [, name, list = '', select] = DEFINITION.exec(statement.trim()) ?? []
    const columns = list
      .trim()
      .replaceAll(/ (?=[A-Z]+(?:,|$))/g, ':')
      .replaceAll(',', ' ')
    return name === undefined ? [] : [[name, { columns: schemaColumns(columns), select }] as const]
  }),
)

/** The columns of a table of `tables.sql`. */
export function columnsOfTable(name: string): readonly SchemaColumn[] {
  return DEFINITIONS.get(name)?.columns ?? []
}

/** For a table with stored rows: its statement waits for `LiveTables`, which write pending rows and return none. */
export function settledCondition(table: string): string {
  return `$${LIVE}${table.toLowerCase()}::VARCHAR IS NOT NULL`
}

/** Limits rows with a column `asked_by` to those the caller may see; `LiveTables` knows the caller. */
export function askedCondition(table: string): string {
  const asker = (field: string) => {
    return `json_extract_string($${LIVE}${table.toLowerCase()}::VARCHAR, '$[0].${field}')`
  }
  return `(${asker('SEEN')} = 'all' OR asked_by IS NOT DISTINCT FROM ${asker('ASKED_BY')})`
}

export function liveRowsSql(columns: readonly SchemaColumn[], table: string): string {
  return unnestSql(columns, `$${LIVE}${table.toLowerCase()}::VARCHAR`)
}

/** All rows in one literal: DuckDB reads it many times faster than as many constants. */
export function rowsSql(columns: readonly SchemaColumn[], rows: readonly SchemaRow[]): string {
  return unnestSql(columns, literal(rowsJson(rows)))
}

function unnestSql(columns: readonly SchemaColumn[], json: string): string {
  const types = Object.fromEntries(columns.map(({ name, type }) => [name, type]))
  const structure = literal(JSON.stringify([types]))
  return `SELECT unnest(from_json(${json}, ${structure}), recursive := true)`
}

/** DuckDB does not read half a surrogate pair in JSON. */
export function rowsJson(rows: readonly SchemaRow[]): string {
  return JSON.stringify(rows, (_name, value: unknown) => {
    if (value === null) return undefined
    return typeof value === 'string' ? value.toWellFormed() : value
  })
}

export const ENGINE = 'DuckDB'

export const CHARACTER_SET = 'utf8mb4'

/** Texts are compared by their code points. */
export const COLLATION = 'utf8mb4_bin'
