import { randomUUID } from 'node:crypto'
import { chmod, mkdir, mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type DuckDBConnection,
  DuckDBInstance,
  type DuckDBType,
  DuckDBTypeId,
} from '@duckdb/node-api'
import { literal, quote } from '../../domain/identifier.ts'
import type { FileFormat } from '../../domain/uploaded-file.ts'
import { AppError } from '../../errors.ts'
import { resourceError } from '../duckdb/database-error.ts'
import { interruptible } from '../duckdb/interruptible.ts'
import { memoryLimitOf } from '../duckdb/memory-size.ts'
import { checkCsvColumns, checkJsonDepth, FILE_COLUMNS_MAX, tooManyColumns } from './file-shape.ts'

const READER_MEMORY = '25%'
const READER_SPILL = '10GiB'
const NAME_CHARS_MAX = 256
const UPLOADS_FOLDER = 'uploads'

export const STAGED_TABLE = 'staged'

export interface StagedColumn {
  readonly name: string
  /** As DuckDB writes it in DDL. */
  readonly type: string
}

/** A file's rows as the table `staged` of an in-memory instance of its own. */
export interface StagedFile {
  readonly connection: DuckDBConnection
  readonly columns: readonly StagedColumn[]
}

export interface FileSource {
  readonly format: FileFormat
  readonly bytes: Uint8Array
  /**
   * Where a private folder for the bytes can be made; null: in the operating system's temporary folder.
   */
  readonly directory: string | null
}

/**
 * Reads a CSV, JSON or Parquet file in a separate instance that sees one folder only, with one file in it, and gives its
 * rows to `use`. Instance and folder are gone afterwards.
 * @throws AppError `file_unreadable`, `out_of_memory`; the signal's reason
 */
export async function readFile<T>(
  source: FileSource,
  use: (staged: StagedFile) => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  signal.throwIfAborted()
  await checkShape(source, signal)
  const folder = await privateFolder(source.directory)
  try {
    const path = join(folder, 'file')
    await writePrivately(path, source.bytes)
    const connection = await isolatedConnection(folder)
    try {
      const columns = await interruptible(connection, signal, () => stage(connection, source, path))
      return await use({ connection, columns })
    } finally {
      connection.closeSync()
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function checkShape({ format, bytes }: FileSource, signal: AbortSignal): Promise<void> {
  if (format === 'json' || format === 'jsonl') await checkJsonDepth(bytes, signal)
  if (format === 'csv') await checkCsvColumns(bytes, signal)
}

/** Removes what a killed process was reading. Only once the data folder is known to be ours. */
export async function clearUploads(directory: string): Promise<void> {
  await rm(uploadsFolderOf(directory), { recursive: true, force: true })
}

export function uploadsFolderOf(directory: string): string {
  return join(directory, UPLOADS_FOLDER)
}

async function privateFolder(directory: string | null): Promise<string> {
  if (directory === null) return mkdtemp(join(tmpdir(), 'eider-upload-'))
  const folder = join(uploadsFolderOf(directory), randomUUID())
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await chmod(folder, 0o700)
  return folder
}

async function writePrivately(path: string, bytes: Uint8Array): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    await file.writeFile(bytes)
  } catch (error) {
    throw resourceError(error)
  } finally {
    await file.close()
  }
}

async function isolatedConnection(folder: string): Promise<DuckDBConnection> {
  const instance = await DuckDBInstance.create(':memory:', {
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    memory_limit: memoryLimitOf(READER_MEMORY),
    temp_directory: join(folder, 'spill'),
    max_temp_directory_size: READER_SPILL,
  })
  const connection = await instance.connect()
  await connection.run(`SET allowed_directories = [${literal(`${folder}/`)}]`)
  await connection.run('SET enable_external_access = false')
  await connection.run('SET lock_configuration = true')
  // The instance lives as long as its connection.
  instance.closeSync()
  return connection
}

/** Copies the file into the table `staged`, so that a mistake in it shows before anything is stored. */
async function stage(
  connection: DuckDBConnection,
  { format, bytes }: FileSource,
  path: string,
): Promise<readonly StagedColumn[]> {
  try {
    const rows = rowsSql(format, path, bytes.length)
    const described = await connection.prepare(`SELECT * FROM ${rows}`)
    if (described.columnCount > FILE_COLUMNS_MAX) throw new Error(tooManyColumns())
    const columns = Array.from({ length: described.columnCount }, (_, index) => ({
      name: described.columnName(index),
      type: described.columnType(index),
    }))
    described.destroySync()
    const names = distinctNames(columns.map((column) => column.name))
    const aliases = columns.map((_, index) => `c${index}`)
    const selected = columns.map(({ type }, index) => {
      const value = isPortable(type) ? `c${index}` : `CAST(c${index} AS VARCHAR)`
      return `${value} AS ${quote(names[index] ?? `column_${index + 1}`)}`
    })
    await connection.run(`CREATE TABLE ${STAGED_TABLE} AS
      SELECT ${selected.join(', ')} FROM ${rows} AS source(${aliases.join(', ')})`)
    return await stagedColumns(connection)
  } catch (error) {
    throw unreadable(error, path)
  }
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

async function stagedColumns(connection: DuckDBConnection): Promise<readonly StagedColumn[]> {
  const reader = await connection.runAndReadAll(
    `SELECT column_name, data_type FROM duckdb_columns()
      WHERE table_name = $1 ORDER BY column_index`,
    [STAGED_TABLE],
  )
  return reader.getRows().map(([name, type]) => ({ name: String(name), type: String(type) }))
}

const NOT_PORTABLE: readonly DuckDBTypeId[] = [
  DuckDBTypeId.INVALID,
  DuckDBTypeId.ANY,
  DuckDBTypeId.SQLNULL,
  DuckDBTypeId.STRING_LITERAL,
  DuckDBTypeId.INTEGER_LITERAL,
  DuckDBTypeId.GEOMETRY,
  DuckDBTypeId.VARIANT,
]

/** Whether a column of this type can be made in the store; others become text. */
function isPortable(type: DuckDBType): boolean {
  return !NOT_PORTABLE.includes(type.typeId)
}

/** Column names that differ also without case, none of them empty: `a`, `A` → `a`, `A_1`. */
export function distinctNames(names: readonly string[]): readonly string[] {
  const taken = new Set<string>()
  return names.map((raw, index) => {
    const name =
      raw.toWellFormed().replaceAll('\0', '').trim().slice(0, NAME_CHARS_MAX) ||
      `column_${index + 1}`
    let distinct = name
    for (let count = 1; taken.has(distinct.toLowerCase()); count += 1) distinct = `${name}_${count}`
    taken.add(distinct.toLowerCase())
    return distinct
  })
}

/** DuckDB's message without the place where the bytes lay, which says nothing to the caller. */
function unreadable(error: unknown, path: string): unknown {
  const resource = resourceError(error)
  if (resource instanceof AppError || !(resource instanceof Error)) return resource
  const [detail = ''] = resource.message.split(/\n(?:\n|LINE )/)
  const message = detail.replaceAll(`"${path}"`, 'the file').replaceAll(path, 'the file')
  return new AppError('file_unreadable', `The file could not be read: ${message}`, { cause: error })
}
