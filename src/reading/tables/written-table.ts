import type { DuckDBConnection } from '@duckdb/node-api'
import { distinctNames, literal, quote } from '../../core/domain/names.ts'
import type { ReadTable } from '../../core/domain/ports/reading-ports.ts'
import { allRows } from '../../core/runtime/all-rows.ts'
import { FILE_COLUMNS_MAX } from './table-shape.ts'

/**
 * Writes rows into a Parquet file for the server. Values that Parquet cannot hold exactly become
 * text, and the column keeps its type.
 * @param source SQL after FROM
 * @param path of a file `table-<number>.parquet` in the folder of the job
 * @param groupRows the most rows per group, all of which are held in memory
 */
export async function writtenTable(
  connection: DuckDBConnection,
  source: string,
  path: string,
  groupRows = GROUP_ROWS,
): Promise<ReadTable> {
  const columns = await columnsOf(connection, source)
  const aliases = columns.map((_, index) => `c${index}`)
  const selected = columns.map(({ name, stored }, index) => {
    const value = stored === 'text' ? `CAST(c${index} AS VARCHAR)` : `c${index}`
    return `${value} AS ${quote(name)}`
  })
  const rows = `SELECT ${selected.join(', ')} FROM ${source} AS source(${aliases.join(', ')})`
  const groupSize = Math.max(GROUP_ROWS_MIN, Math.floor(GROUP_CELLS / columns.length))
  const dictionaryBytes = Math.floor(DICTIONARIES_BYTES / columns.length)
  const sql = `COPY (${rows}) TO ${literal(path)} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE ${Math.min(groupRows, groupSize)}, STRING_DICTIONARY_PAGE_SIZE_LIMIT ${Math.min(1_048_576, dictionaryBytes)})`
  const written = await allRows(connection, sql)
  const rowCount = Number(written[0]?.[0] ?? 0)
  return { name: null, path, columns: columns.map(({ name, type }) => ({ name, type })), rowCount }
}

const GROUP_ROWS = 30_720
const GROUP_CELLS = 6_000_000
/** DuckDB's own step size. */
const GROUP_ROWS_MIN = 2048

/** Memory for the dictionaries of all columns, which DuckDB allocates whether it is used or not. */
const DICTIONARIES_BYTES = 64 * 1024 * 1024

/** Types that a stored column cannot have, so they become text. */
const NOT_PORTABLE = /^"?(NULL|INVALID|ANY|STRING_LITERAL|INTEGER_LITERAL|GEOMETRY|VARIANT)\b/

/** DuckDB 1.5.5 writes these without time zone or fraction, as other numbers, or not at all. */
const NOT_IN_PARQUET = /HUGEINT|BIGNUM|INTERVAL|TIME WITH TIME ZONE|\bBIT\b|UNION\(|ENUM\(/

async function columnsOf(
  connection: DuckDBConnection,
  source: string,
): Promise<
  readonly {
    readonly name: string
    /** The resulting column type, in DuckDB's DDL notation. */
    readonly type: string
    readonly stored: 'as it is' | 'text'
  }[]
> {
  const described = await connection.prepare(`SELECT * FROM ${source}`)
  const { columnCount } = described
  if (columnCount > FILE_COLUMNS_MAX) {
    throw new Error(`a file has at most ${FILE_COLUMNS_MAX} columns`)
  }
  const found = Array.from({ length: columnCount }, (_, index) => ({
    name: described.columnName(index),
    type: described.columnType(index).toString(),
  }))
  described.destroySync()
  const names = distinctNames(found.map((column) => column.name))
  return found.map(({ type }, index) => {
    const name = names[index] ?? `column_${index + 1}`
    if (NOT_PORTABLE.test(type)) return { name, type: 'VARCHAR', stored: 'text' }
    return { name, type, stored: NOT_IN_PARQUET.test(type) ? 'text' : 'as it is' }
  })
}
