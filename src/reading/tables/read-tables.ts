import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import { distinctNames, literal, quote } from '../../domain/identifier.ts'
import type { ReadTable, SourceFile } from '../../domain/ports/reading-ports.ts'
import type { FileFormat } from '../../domain/uploaded-file.ts'
import { AppError } from '../../errors.ts'
import type { ReadingNotes } from '../document-format.ts'
import { checkCsvColumns, checkJsonDepth, FILE_COLUMNS_MAX, tooManyColumns } from './table-shape.ts'

/** A file of rows, of a format that is known. */
export interface TableFile extends SourceFile {
  readonly format: FileFormat
}

/** Of DuckDB in a reader process, whose own limit is larger. */
const MEMORY_LIMIT = '512MiB'
const SPILL_MAX = '8GiB'
const THREADS = '2'

/**
 * The tables of a file, each as a Parquet file in the folder. It runs in a reader process, in an instance of DuckDB that
 * sees the file and the folder and nothing else.
 * @throws AppError `file_unreadable`
 */
export async function readTables(
  file: TableFile,
  folder: string,
  _notes: ReadingNotes,
): Promise<readonly ReadTable[]> {
  await checkShape(file)
  const { size } = await stat(file.path)
  const connection = await isolatedConnection(file.path, folder)
  try {
    const source = rowsSql(file.format, file.path, size)
    return [await writtenTable(connection, source, join(folder, 'table-0.parquet'))]
  } catch (error) {
    throw unreadable(error, [file.path, folder])
  } finally {
    connection.closeSync()
  }
}

async function checkShape({ format, path }: TableFile): Promise<void> {
  if (format === 'json' || format === 'jsonl') await checkJsonDepth(path)
  if (format === 'csv') await checkCsvColumns(path)
}

/** An instance that may read one file and write into one folder. */
async function isolatedConnection(path: string, folder: string): Promise<DuckDBConnection> {
  const instance = await DuckDBInstance.create(':memory:', {
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    memory_limit: MEMORY_LIMIT,
    threads: THREADS,
    temp_directory: join(folder, 'spill'),
    max_temp_directory_size: SPILL_MAX,
  })
  const connection = await instance.connect()
  await connection.run(`SET allowed_directories = [${literal(`${folder}/`)}]`)
  await connection.run(`SET allowed_paths = [${literal(path)}]`)
  await connection.run('SET enable_external_access = false')
  await connection.run('SET lock_configuration = true')
  // The instance lives as long as its connection.
  instance.closeSync()
  return connection
}

function rowsSql(format: FileFormat, path: string, sizeBytes: number): string {
  const file = literal(path)
  // A single object may be as large as the file. Whole-file samples: no surprise in a late row.
  const json = `maximum_object_size = ${Math.max(sizeBytes, 1024) + 1024}, sample_size = -1`
  switch (format) {
    case 'csv':
      return `read_csv(${file}, sample_size = -1)`
    case 'json':
      return `read_json(${file}, format = 'auto', ${json})`
    case 'jsonl':
      return `read_json(${file}, format = 'newline_delimited', ${json})`
    case 'parquet':
      return `read_parquet(${file})`
    default:
      throw new AppError('file_unreadable', `A file of the format ${format} is not a table`)
  }
}

/**
 * Writes rows into a Parquet file that our server reads. What Parquet cannot hold exactly stands there as text, and the
 * column says what it is.
 * @param source what a FROM takes
 * @param path of a file `table-<number>.parquet` in the folder of the job
 */
export async function writtenTable(
  connection: DuckDBConnection,
  source: string,
  path: string,
): Promise<ReadTable> {
  const columns = await columnsOf(connection, source)
  const aliases = columns.map((_, index) => `c${index}`)
  const selected = columns.map(({ name, stored }, index) => {
    const value = stored === 'text' ? `CAST(c${index} AS VARCHAR)` : `c${index}`
    return `${value} AS ${quote(name)}`
  })
  const rows = `SELECT ${selected.join(', ')} FROM ${source} AS source(${aliases.join(', ')})`
  const written = await connection.runAndReadAll(
    `COPY (${rows}) TO ${literal(path)} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 30720)`,
  )
  const rowCount = Number(written.getRows()[0]?.[0] ?? 0)
  return { name: null, path, columns: columns.map(({ name, type }) => ({ name, type })), rowCount }
}

interface WrittenColumn {
  readonly name: string
  /** Of the column that is made of it, as DuckDB writes it in DDL. */
  readonly type: string
  readonly stored: 'as it is' | 'text'
}

/** No table of a store can have a column of these: it becomes text. */
const NOT_PORTABLE = /^"?(NULL|INVALID|ANY|STRING_LITERAL|INTEGER_LITERAL|GEOMETRY|VARIANT)\b/

/** DuckDB 1.5.5 writes these to Parquet as numbers of another kind, without their zone or fraction, or not at all. */
const NOT_IN_PARQUET = /HUGEINT|BIGNUM|INTERVAL|TIME WITH TIME ZONE|\bBIT\b|UNION\(|ENUM\(/

async function columnsOf(
  connection: DuckDBConnection,
  source: string,
): Promise<readonly WrittenColumn[]> {
  const described = await connection.prepare(`SELECT * FROM ${source}`)
  const { columnCount } = described
  if (columnCount > FILE_COLUMNS_MAX) throw new Error(tooManyColumns())
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

/** DuckDB's message without the places where the bytes lay, which say nothing to the caller. */
function unreadable(error: unknown, paths: readonly string[]): unknown {
  if (error instanceof AppError || !(error instanceof Error)) return error
  const [detail = ''] = error.message.split(/\n(?:\n|LINE )/)
  let message = detail
  for (const path of paths) {
    message = message.replaceAll(`"${path}"`, 'the file').replaceAll(path, 'the file')
  }
  return new AppError('file_unreadable', `The file could not be read: ${message}`, { cause: error })
}
