/** Remote databases simulated by DuckDB in memory. They run pushed-down statements unchanged. */
import { type DuckDBConnection, DuckDBInstance, type DuckDBResultReader } from '@duckdb/node-api'
import type { DataSource, SourceColumn } from '../../src/core/domain/flow/source-parameters.ts'
import { literal, quote } from '../../src/core/domain/names.ts'
import type { DataSources, SourceSelect } from '../../src/core/domain/ports/engine-ports.ts'
import { typeName } from '../../src/core/domain/shown-values.ts'
import { AppError, notFound } from '../../src/core/errors.ts'

export interface DuckDBSources extends DataSources {
  /** The statements that asked for rows, and the number of rows that each returned. */
  readonly sent: { readonly sql: string; readonly rowsMax: number | null; readonly rows: number }[]
  /** The rows that are staged now. */
  readonly held: Set<object>
  run(source: string, sql: string): Promise<void>
}

/** Returns one database for each name of a data source. */
export function duckdbSources(...names: readonly string[]): Promise<DuckDBSources> {
  return openSources(names, false)
}

/** Like the real ones, it caches a table's columns until it is asked to forget them. */
export function knowingSources(...names: readonly string[]): Promise<DuckDBSources> {
  return openSources(names, true)
}

async function openSources(
  names: readonly string[],
  keepsColumns: boolean,
): Promise<DuckDBSources> {
  const knownColumns = new Map<string, readonly SourceColumn[]>()
  const instance = await DuckDBInstance.create(':memory:')
  const connections = new Map<string, DuckDBConnection>()
  for (const name of names) {
    const connection = await instance.connect()
    await connection.run(`ATTACH ':memory:' AS ${quote(name)}; USE ${quote(name)}`)
    connections.set(name, connection)
  }
  const connectionOf = ({ name }: Pick<DataSource, 'name'>) => {
    const connection = connections.get(name)
    if (connection === undefined) throw notFound('database', name)
    return connection
  }
  const sent: DuckDBSources['sent'] = []
  const held = new Set<object>()
  const sources: DuckDBSources = {
    sent,
    held,
    run: async (name, sql) => void (await connectionOf({ name }).run(sql)),
    check: async () => {},
    async tables(source) {
      const sql = `SELECT table_schema, table_name FROM information_schema.tables
        WHERE table_catalog = ${literal(source.name)} ORDER BY ALL`
      const reader = await connectionOf(source).runAndReadAll(sql)
      return reader.getRows().map(([schema, name]) => {
        return { schema: String(schema), name: String(name), kind: 'table' as const }
      })
    },
    async describeTables(source, signal) {
      const tables = await sources.tables(source, signal)
      return Promise.all(
        tables.map(async (table) => {
          return { ...table, columns: await sources.columns(source, table, signal) }
        }),
      )
    },
    async columns(source, { schema, name }) {
      const known = knownColumns.get(`${source.name}.${schema}.${name}`)
      if (known !== undefined) return known
      const sql = `SELECT column_name, data_type, is_nullable FROM duckdb_columns()
        WHERE database_name = ${literal(source.name)} AND table_name = ${literal(name)}
          AND schema_name = ${literal(schema ?? 'main')} ORDER BY column_index`
      const reader = await connectionOf(source).runAndReadAll(sql)
      if (reader.currentRowCount === 0) throw notFound('table', name)
      const columns = reader.getRows().map(([column, type, isNullable]) => ({
        name: String(column),
        type: String(type),
        nativeType: String(type).toLowerCase(),
        isNullable: isNullable === true,
      }))
      if (keepsColumns) knownColumns.set(`${source.name}.${schema}.${name}`, columns)
      return columns
    },
    async describe(source, sql) {
      return columnsOf(await connectionOf(source).runAndReadUntil(sql, 1))
    },
    async stage(source, select) {
      const connection = connectionOf(source)
      const reader = await connection
        .runAndReadAll(select.sql, valuesOf(select))
        .catch((cause) => Promise.reject(new AppError('source_failed', String(cause), { cause })))
      const { sql, rowsMax = null } = select
      sent.push({ sql, rowsMax, rows: reader.currentRowCount })
      const columns = columnsOf(reader)
      const staged = {
        select: await literalRows(connection, select, columns),
        columns,
        sizeBytes: 0,
        release: async () => void held.delete(staged),
      }
      held.add(staged)
      return staged
    },
    forgetTables: () => knownColumns.clear(),
    forget: async () => knownColumns.clear(),
    close: async () => {
      for (const connection of connections.values()) connection.closeSync()
      instance.closeSync()
    },
  }
  return sources
}

function valuesOf({ values }: SourceSelect): string[] {
  return values.map(String)
}

function columnsOf(reader: DuckDBResultReader): readonly SourceColumn[] {
  return reader.columnNames().map((name, index) => {
    const type = typeName(reader.columnType(index))
    return { name, type, nativeType: type.toLowerCase(), isNullable: true }
  })
}

/** Returns the rows as constants of their types. */
async function literalRows(
  connection: DuckDBConnection,
  select: SourceSelect,
  columns: readonly SourceColumn[],
): Promise<string> {
  const names = columns.map((_, index) => `c${index}`)
  const texts = names.map((name) => `CAST(${name} AS VARCHAR)`).join(', ')
  const sql = `SELECT ${texts} FROM (${select.sql}) AS rows(${names.join(', ')})`
  const reader = await connection.runAndReadAll(sql, valuesOf(select))
  const shown = names.map((name, index) => {
    const { type = 'VARCHAR', name: called = '' } = columns[index] ?? {}
    return `CAST(${name} AS ${type}) AS ${quote(called)}`
  })
  const rows = reader.getRows().map((row) => {
    return `(${row.map((value) => (value === null ? 'NULL' : literal(String(value)))).join(', ')})`
  })
  const values =
    rows.length === 0
      ? `SELECT ${names.map((name) => `NULL AS ${name}`).join(', ')} WHERE false`
      : `VALUES ${rows.join(', ')}`
  return `SELECT ${shown.join(', ')} FROM (${values}) AS rows(${names.join(', ')})`
}
