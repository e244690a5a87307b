/** Defines an information_schema table: its columns, and rows derived from the catalog. */
import type { CatalogSnapshot } from '../../core/domain/access/catalog-snapshot.ts'
import { literal } from '../../core/domain/names.ts'
import definitions from './tables.sql' with { type: 'text' }

export interface SchemaTable {
  readonly name: string
  readonly columns: readonly SchemaColumn[]
  /** The column with a row's project. Such a table also exists in each project. */
  readonly projectColumn: string | null
  readonly sql: (source: SchemaSource) => string
}

export interface SchemaColumn {
  readonly name: string
  readonly type: ColumnType
}

const COLUMN_TYPES = ['VARCHAR', 'BIGINT', 'DOUBLE', 'TIMESTAMP'] as const

type ColumnType = (typeof COLUMN_TYPES)[number]

export interface SchemaSource {
  readonly snapshot: CatalogSnapshot
  readonly tables: readonly SchemaTable[]
}

export type Cell = string | number | null

/** Values by column name. A missing value is null. */
export type SchemaRow = Readonly<Record<string, Cell>>

/** Parses column names such as `NAME TABLE_ROWS:BIGINT`. The type is VARCHAR unless given. */
export function schemaColumns(text: string): readonly SchemaColumn[] {
  return text
    .trim()
    .split(/\s+/)
    .map((column) => {
      const [name = '', type] = column.split(':')
      return { name, type: COLUMN_TYPES.find((known) => known === type) ?? 'VARCHAR' }
    })
}

/** Rows of a table that are fetched each time a statement reads it. */
export interface LiveRows {
  readonly rows: readonly SchemaRow[]
  /** Why rows may be missing. */
  readonly warnings?: readonly string[]
}

export interface LiveTables {
  /** @param table in lower case @param snapshot as the reader may see it */
  rows(table: string, snapshot: CatalogSnapshot, signal: AbortSignal): Promise<LiveRows>
}

/** The prefix of parameters that hold a table's rows as JSON. */
const LIVE = 'eider_live_'

export function liveTableOf(parameter: string): string | undefined {
  return parameter.startsWith(LIVE) ? parameter.slice(LIVE.length) : undefined
}

const DEFINITION = /CREATE TABLE (\w+) \(([^)]*)\)(?: AS\s([\s\S]*))?$/

export interface Definition {
  readonly columns: readonly SchemaColumn[]
  /** The SELECT of its rows, if `tables.sql` has one with placeholders in braces. */
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

/** Finds the SELECTs of a script by the name in the line before each. */
export function selectsOf(script: string): (name: string) => string {
  const found = script.matchAll(/^-- (\w+)\n(SELECT[\s\S]*?);$/gm)
  const selects = new Map(Array.from(found, ([, name = '', sql = '']) => [name, sql]))
  return (name) => {
    const sql = selects.get(name)
    if (sql === undefined) throw new Error(`There is no SELECT ${name}`)
    return sql
  }
}

export function columnsOfTable(name: string): readonly SchemaColumn[] {
  return DEFINITIONS.get(name)?.columns ?? []
}

/** Waits until `LiveTables` has written pending rows of this table. Adds no rows itself. */
export function settledCondition(table: string): string {
  return `$${LIVE}${table.toLowerCase()}::VARCHAR IS NOT NULL`
}

/**
 * A condition that keeps only rows whose `asked_by` the caller may see, which `LiveTables` decides.
 */
export function askedCondition(table: string): string {
  const asker = (field: string) => {
    return `json_extract_string($${LIVE}${table.toLowerCase()}::VARCHAR, '$[0].${field}')`
  }
  return `(${asker('SEEN')} = 'all' OR asked_by IS NOT DISTINCT FROM ${asker('ASKED_BY')})`
}

export function liveRowsSql(columns: readonly SchemaColumn[], table: string): string {
  return unnestSql(columns, `$${LIVE}${table.toLowerCase()}::VARCHAR`)
}

/** All rows in one JSON literal, which DuckDB reads many times faster than separate constants. */
export function rowsSql(columns: readonly SchemaColumn[], rows: readonly SchemaRow[]): string {
  return unnestSql(columns, literal(rowsJson(rows)))
}

/** @param json SQL of a text with the rows as objects */
export function unnestSql(
  columns: readonly { readonly name: string; readonly type: string }[],
  json: string,
): string {
  const types = Object.fromEntries(columns.map(({ name, type }) => [name, type]))
  const structure = literal(JSON.stringify([types]))
  return `SELECT unnest(from_json(${json}, ${structure}), recursive := true)`
}

/** Replaces lone surrogates, because DuckDB cannot read them in JSON. */
export function rowsJson(rows: readonly object[]): string {
  return JSON.stringify(rows, (_name, value: unknown) => {
    if (value === null) return undefined
    return typeof value === 'string' ? value.toWellFormed() : value
  })
}

export const ENGINE = 'DuckDB'

/** The name of the collation that compares texts by code point. */
export const COLLATION = 'utf8mb4_bin'
