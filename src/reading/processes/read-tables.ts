import { join } from 'node:path'
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import { literal } from '../../core/domain/names.ts'
import type { ReadTable, SourceFile } from '../../core/domain/ports/reading-ports.ts'
import type { FileFormat } from '../../core/domain/uploaded-file.ts'
import { AppError } from '../../core/errors.ts'
import { couldNotRead, type ReadingNotes, unreadable } from '../document-format.ts'
import { readCsv } from '../tables/csv-table.ts'
import { readJson } from '../tables/json-table.ts'
import { utf8File } from '../tables/utf8-file.ts'
import { readWorkbook } from '../tables/workbooks/workbook.ts'
import { writtenTable } from '../tables/written-table.ts'

const NOTE_KEY = 'eider'
/** Row group size for rows with vectors. */
const WIDE_GROUP_ROWS = 8192
const NOTE_BYTES_MAX = 1_000_000

/** DuckDB's limit in a reader process, below that of the process itself. */
const MEMORY_LIMIT = '512MiB'
const SPILL_MAX = '8GiB'
const THREADS = '2'

/** In a DuckDB that can access only the file and folder. @throws AppError `file_unreadable` */
export async function readTables(
  file: SourceFile & { readonly format: FileFormat },
  folder: string,
  notes: ReadingNotes,
): Promise<readonly ReadTable[]> {
  const { format, name, options } = file
  const isText = format === 'csv' || format === 'json' || format === 'jsonl'
  const path = isText ? await utf8File(file.path, options.encoding, folder, notes) : file.path
  const connection = await isolatedConnection(path, folder)
  try {
    if (format === 'csv') return [await readCsv(connection, { path, name, options }, folder, notes)]
    if (format === 'xlsx' || format === 'ods') {
      return await readWorkbook(connection, { path, format, options }, folder, notes)
    }
    if (format === 'json' || format === 'jsonl') {
      return [await readJson(connection, { path, format }, folder, notes)]
    }
    if (format !== 'parquet') {
      throw unreadable(`A file of the format ${format} is not a table`)
    }
    const target = join(folder, 'table-0.parquet')
    const note = await noteOf(connection, path)
    const rows = `read_parquet(${literal(path)})`
    if (note === null) return [await writtenTable(connection, rows, target)]
    return [{ ...(await writtenTable(connection, rows, target, WIDE_GROUP_ROWS)), note }]
  } catch (error) {
    throw withoutPaths(error, [path, folder])
  } finally {
    connection.closeSync()
  }
}

/** Returns the value of Eider's key in the file; null if it is not text. */
async function noteOf(connection: DuckDBConnection, path: string): Promise<string | null> {
  const sql = `SELECT decode(value) FROM parquet_kv_metadata(${literal(path)})
    WHERE key = encode(${literal(NOTE_KEY)}) AND octet_length(value) <= ${NOTE_BYTES_MAX}`
  const found = await connection.runAndReadAll(sql).catch(() => null)
  const value = found?.getRows()[0]?.[0] ?? null
  return typeof value === 'string' ? value : null
}

async function isolatedConnection(path: string, folder: string): Promise<DuckDBConnection> {
  const instance = await DuckDBInstance.create(':memory:', {
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    memory_limit: MEMORY_LIMIT,
    // This optimizer turns each IN, of which a column has several, into a join, which is slow and
    // needs more memory than there is.
    disabled_optimizers: 'in_clause',
    threads: THREADS,
    temp_directory: join(folder, 'spill'),
    max_temp_directory_size: SPILL_MAX,
  })
  const connection = await instance.connect()
  await connection.run(`SET allowed_directories = [${literal(`${folder}/`)}]`)
  await connection.run(`SET allowed_paths = [${literal(path)}]`)
  await connection.run('SET enable_external_file_cache = false')
  await connection.run('SET enable_external_access = false')
  await connection.run('SET lock_configuration = true')
  // The instance lives as long as its connection.
  instance.closeSync()
  return connection
}

/** Removes file paths, byte positions and advice for DuckDB's own users from its message. */
function withoutPaths(error: unknown, paths: readonly string[]): unknown {
  if (error instanceof AppError || !(error instanceof Error)) return error
  const [detail = ''] = error.message.split(/\n(?:\n|LINE |Try )/)
  let message = detail
  for (const path of paths) {
    for (const named of [`file "${path}"`, `file '${path}'`, `"${path}"`, path]) {
      message = message.replaceAll(named, 'the file')
    }
  }
  return couldNotRead(NOT_PARQUET.test(message) ? 'it is not a Parquet file' : message, error)
}

/** DuckDB's messages for a file that is another format, or is cut off. */
const NOT_PARQUET = /No magic bytes|too small to be a Parquet file|Footer length error/
