import { isUtf8 } from 'node:buffer'
import { closeSync, openSync, readSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import { literal } from '../../core/domain/names.ts'
import type {
  ReadingOptions,
  ReadTable,
  SourceFile,
} from '../../core/domain/ports/reading-ports.ts'
import type { FileFormat } from '../../core/domain/uploaded-file.ts'
import { AppError } from '../../core/errors.ts'
import { allRows } from '../../core/runtime/all-rows.ts'
import { couldNotRead, type ReadingNotes, unreadable } from '../document-format.ts'
import { shown } from '../tables/column-types.ts'
import { readCsv } from '../tables/csv-table.ts'
import { readJson } from '../tables/json-table.ts'
import { writeAll } from '../tables/plain-csv.ts'
import { odsSheets } from '../tables/workbooks/ods.ts'
import { SheetTable } from '../tables/workbooks/sheet-table.ts'
import { type SheetPart, xlsxSheets } from '../tables/workbooks/xlsx.ts'
import { ZipParts } from '../tables/workbooks/zip-parts.ts'
import { writtenTable } from '../tables/written-table.ts'
import {
  declaredEncoding,
  detectedEncoding,
  guessedEncoding,
  markedEncoding,
  wholeUtf8,
} from '../text-encoding.ts'

const NOTE_KEY = 'eider'
/** Row group size for rows with vectors. */
const WIDE_GROUP_ROWS = 8192
const NOTE_BYTES_MAX = 1_000_000

/** DuckDB's limit in a reader process, below that of the process itself. */
const MEMORY_LIMIT = '512 MiB'
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
    await refuseLongDecimals(connection, path)
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

/** DuckDB 1.5.5 reads decimals of other lengths as wrong numbers. @throws AppError */
async function refuseLongDecimals(connection: DuckDBConnection, path: string): Promise<void> {
  const sql = `SELECT max(precision) FROM parquet_schema(${literal(path)}) WHERE precision > 38 AND type_length::BIGINT % 8 <> 0`
  const digits = (await allRows(connection, sql))[0]?.[0] ?? null
  if (digits !== null) throw couldNotRead(`its decimals have up to ${digits} digits, more than 38`)
}

/** Returns the value of Eider's key in the file; null if it is not text. */
async function noteOf(connection: DuckDBConnection, path: string): Promise<string | null> {
  const sql = `SELECT decode(value) FROM parquet_kv_metadata(${literal(path)})
    WHERE key = encode(${literal(NOTE_KEY)}) AND octet_length(value) <= ${NOTE_BYTES_MAX}`
  const found = await allRows(connection, sql).catch(() => null)
  const value = found?.[0]?.[0] ?? null
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
  if (NOT_PARQUET.test(message)) message = 'it is not a Parquet file'
  if (message.startsWith('Out of Memory')) {
    message = `it takes more than ${MEMORY_LIMIT} of memory; split it into files with fewer rows or columns`
  }
  return couldNotRead(message, error)
}

/** DuckDB's messages for a file that is another format, or is cut off. */
const NOT_PARQUET = /No magic bytes|too small to be a Parquet file|Footer length error/

const BLOCK_BYTES = 4 * 1024 * 1024
const SAMPLE_BYTES = 1024 * 1024

/**
 * Returns the path of the same text in UTF-8 without a byte order mark, which may be the file itself.
 * @param encoding as stated by the client; undefined to detect it
 * @throws AppError `file_unreadable` for an unknown encoding
 */
async function utf8File(
  path: string,
  encoding: string | undefined,
  folder: string,
  notes: ReadingNotes,
): Promise<string> {
  const file = openSync(path, 'r')
  try {
    const found = encoding === undefined ? encodingOf(file) : namedEncoding(encoding)
    notes.recognize({ encoding: found })
    if (found === 'utf-8' && !isMarked(file) && firstOddBlock(file) === null) return path
    const decodedPath = join(folder, 'utf8')
    const replacedCount = transcode(file, decodedPath, found)
    if (replacedCount > 0) {
      notes.warn(
        `${replacedCount} place${replacedCount === 1 ? ' is' : 's are'} not valid ${found}: each became the sign U+FFFD`,
      )
    }
    return decodedPath
  } finally {
    closeSync(file)
  }
}

function namedEncoding(name: string): Bun.Encoding {
  const encoding = declaredEncoding(name)
  if (encoding !== null) return encoding
  if (/^utf-?8$/i.test(name.trim())) return 'utf-8'
  throw unreadable(
    `There is no encoding called ${JSON.stringify(name.slice(0, 40))}; known are those of the WHATWG Encoding Standard, such as utf-8, windows-1252, shift_jis and gb18030`,
  )
}

function encodingOf(file: number): Bun.Encoding {
  const begin = new Uint8Array(SAMPLE_BYTES)
  const sample = begin.subarray(0, readSync(file, begin, 0, begin.length, 0))
  const marked = markedEncoding(sample)
  if (marked !== null) return marked
  const detected = detectedEncoding(sample, sample.length === begin.length)
  if (detected !== 'utf-8') return mostlyUtf8(sample) ? 'utf-8' : detected
  const odd = firstOddBlock(file)
  return odd === null || mostlyUtf8(odd) ? 'utf-8' : guessedEncoding(odd)
}

/** UTF-8 with a few damaged characters still counts as UTF-8. */
function mostlyUtf8(bytes: Uint8Array): boolean {
  const text = new TextDecoder('utf-8').decode(bytes)
  const beyond = text.match(/[^\0-\x7f]/g)?.length ?? 0
  const damaged = text.match(/\ufffd/g)?.length ?? 0
  return beyond >= 20 && damaged <= beyond / 20
}

/** Yields blocks that each start at a complete UTF-8 character. */
function* blocksOf(file: number): Generator<Uint8Array, void> {
  const buffer = new Uint8Array(BLOCK_BYTES)
  let at = 0
  for (;;) {
    const size = readSync(file, buffer, 0, buffer.length, at)
    if (size === 0) return
    // A character cut off at the end becomes part of the next block.
    const block = buffer.subarray(0, size)
    const end = size === buffer.length ? wholeUtf8(block).length : size
    yield buffer.subarray(0, end)
    at += end
  }
}

function isMarked(file: number): boolean {
  const begin = new Uint8Array(3)
  return readSync(file, begin, 0, 3, 0) === 3 && markedEncoding(begin) !== null
}

function firstOddBlock(file: number): Uint8Array | null {
  return blocksOf(file).find((block) => !isUtf8(block)) ?? null
}

/** @returns the number of invalid positions */
function transcode(file: number, path: string, encoding: Bun.Encoding): number {
  const decoder = new TextDecoder(encoding)
  const encoder = new TextEncoder()
  const target = openSync(path, 'wx', 0o600)
  let replacedCount = 0
  const write = (text: string): void => {
    for (let at = text.indexOf('\ufffd'); at >= 0; at = text.indexOf('\ufffd', at + 1))
      replacedCount += 1
    writeAll(target, encoder.encode(text))
  }
  try {
    for (const block of blocksOf(file)) write(decoder.decode(block, { stream: true }))
    write(decoder.decode())
  } finally {
    closeSync(target)
  }
  return replacedCount
}

const SHEETS_MAX = 255
const SHEET_NAME_CHARS_MAX = 255

/** Turns each non-empty sheet of a workbook into a table. @throws AppError `file_unreadable` */
async function readWorkbook(
  connection: DuckDBConnection,
  given: {
    readonly path: string
    readonly format: 'xlsx' | 'ods'
    readonly options: ReadingOptions
  },
  folder: string,
  notes: ReadingNotes,
): Promise<readonly ReadTable[]> {
  const { path, format, options } = given
  const parts = await ZipParts.open(path)
  const sheets = await (format === 'xlsx' ? xlsxSheets(parts) : odsSheets(parts))
  const wanted = wantedSheets(sheets, options.sheet)
  const long = sheets.find(({ name }) => name.length > SHEET_NAME_CHARS_MAX)
  if (long !== undefined) {
    const limit = `more than ${SHEET_NAME_CHARS_MAX} characters; give it a shorter one`
    throw unreadable(`The name of the sheet ${shown(long.name)} has ${limit}`)
  }
  const tables: ReadTable[] = []
  const emptyNames: string[] = []
  for (const sheet of wanted) {
    const rows = join(folder, 'rows.csv')
    const target = join(folder, `table-${tables.length}.parquet`)
    const table = new SheetTable(sheet.name, rows)
    await sheet.read(table)
    const header = { header: options.header, allText: options.allText === true }
    const read = await table.table(connection, target, header, notes.warn)
    await rm(rows, { force: true })
    if (read === null) emptyNames.push(sheet.name)
    else tables.push(read)
    if (sheet.isHidden && read !== null)
      notes.warn(`Sheet ${shown(sheet.name)} is hidden in the workbook`)
  }
  notes.recognize({ sheets: sheets.slice(0, SHEETS_MAX).map(({ name }) => name) })
  if (tables.length === 0) throw unreadable('The workbook has no sheet with something in it')
  if (emptyNames.length > 0)
    notes.warn(`Empty: ${emptyNames.map((name) => `sheet ${shown(name)}`).join(', ')}`)
  return tables
}

/** By name, or by number counted from 1. */
function wantedSheets(
  sheets: readonly SheetPart[],
  wanted: string | undefined,
): readonly SheetPart[] {
  if (wanted === undefined) {
    if (sheets.length <= SHEETS_MAX) return sheets
    throw unreadable(
      `The workbook has ${sheets.length} sheets; at most ${SHEETS_MAX} are read at once`,
    )
  }
  const key = wanted.toLowerCase()
  const named = sheets.find(({ name }) => name.toLowerCase() === key)
  const found = named ?? (/^\d{1,4}$/.test(wanted) ? sheets[Number(wanted) - 1] : undefined)
  if (found !== undefined) return [found]
  const names = sheets.map(({ name }) => shown(name)).join(', ')
  throw unreadable(`The workbook has no sheet ${shown(wanted)}; it has ${names}`)
}
