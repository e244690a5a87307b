import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DuckDBConnection } from '@duckdb/node-api'
import { chunkTables } from '../../core/domain/document.ts'
import {
  EXPORT_COLUMNS,
  EXPORT_METADATA_PREFIX,
  EXPORT_NOTE_KEY,
  type ExportedColumn,
  type KnowledgeBase,
  type MetadataColumn,
} from '../../core/domain/knowledge-base.ts'
import { literal, nameKey, quote } from '../../core/domain/names.ts'
import type {
  ChunkFile,
  ImportFiles,
  KnowledgeBaseFiles,
} from '../../core/domain/ports/document-ports.ts'
import type { ExportedRows } from '../../core/domain/ports/engine-ports.ts'
import { AppError } from '../../core/errors.ts'
import { allRows } from '../../core/runtime/all-rows.ts'
import { Analyzer } from '../../core/text/analyzer.ts'
import { HOUR_MS } from '../../core/time.ts'
import type { Incoming } from '../documents/chunk-rows.ts'
import { appendKeywords, type KeywordRow } from '../documents/keyword-index.ts'
import { SeenColumns } from '../documents/metadata-columns.ts'
import type { StoredChunks } from '../documents/stored-chunks.ts'
import { type OpenTables, removeChunkRows } from '../documents/write-chunk-rows.ts'
import { countOf } from '../duckdb/columns.ts'
import type { Database } from '../duckdb/database.ts'
import type { StoredEngine } from '../duckdb/engine.ts'
import { interruptible } from '../duckdb/interruptible.ts'
import { checkRows, checkSeal, chunksOfFile, sealedBytes } from './checked-rows.ts'
import { withinReach } from './parquet-import.ts'

interface Parts {
  readonly database: Database
  readonly engine: StoredEngine
  readonly chunks: StoredChunks
}

/** The time limit for an export. A million chunks take a minute or two. */
const EXPORT_MS = HOUR_MS

export class StoredKnowledgeBaseFiles implements KnowledgeBaseFiles {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  export(kb: KnowledgeBase, definition: string, signal: AbortSignal): Promise<ExportedRows> {
    const { database, engine } = this.#parts
    const limits = { timeoutMs: EXPORT_MS, setting: 'an export' }
    const note = { key: EXPORT_NOTE_KEY, text: definition, sealed: sealedBytes }
    return database.withoutCaching(async () => {
      const lastKey = await database.lease((connection) => {
        return countOf(connection, `SELECT max(chunk_key) FROM ${chunkTables(kb).chunks}`)
      })
      const select = { sql: exportSelect(kb, lastKey), values: {} }
      return engine.exportParquet(select, limits, signal, note)
    })
  }

  readonly checkSeal = checkSeal

  async import(kb: KnowledgeBase, { table, definition }: ChunkFile, signal: AbortSignal) {
    const { database } = this.#parts
    requireColumns(table, definition.columns)
    if (table.rowCount !== definition.chunkCount) {
      const counts = `${table.rowCount} rows, and its definition says ${definition.chunkCount}`
      throw new AppError('file_unreadable', `The file could not be imported: it has ${counts}`)
    }
    if (table.rowCount === 0) return { documents: 0, chunks: 0 }
    database.checkSpace(Bun.file(table.path).size)
    return withinReach([table], database.exportsDirectory, ([path = '']) => {
      const source = `read_parquet(${literal(path)}, file_row_number = true)`
      return database.withoutCaching(() =>
        this.#imported(kb, { table, definition }, source, signal),
      )
    })
  }

  async #imported(
    kb: KnowledgeBase,
    { table, definition }: ChunkFile,
    source: string,
    signal: AbortSignal,
  ) {
    const { database, chunks } = this.#parts
    const { dimensions, columns } = definition
    await database.lease((connection) =>
      interruptible(connection, signal, () => checkRows(connection, source, dimensions)),
    )
    signal.throwIfAborted()
    const incoming: Incoming = { metadata: SeenColumns.of(columns), dimensions }
    return chunks.copyChunks(kb, incoming, async (tables) => {
      const removedKeys = await this.#removeFormer(tables, source)
      const postingCount = await this.#indexRows(tables, source, signal)
      const documents = await interruptible(tables.connection, signal, () => {
        return copyRows(tables, { source, columns })
      })
      signal.throwIfAborted()
      return {
        result: { documents, chunks: table.rowCount },
        newRows: [],
        removedKeys,
        copied: { rowCount: table.rowCount, postingCount },
      }
    })
  }

  /** Removes stored chunks of the documents in the file. */
  async #removeFormer(tables: OpenTables, source: string): Promise<readonly bigint[]> {
    const { connection } = tables
    const sql = `SELECT chunk_key FROM ${chunkTables(tables).chunks}
      WHERE document_id IN (SELECT document_id FROM ${source})`
    const found = await allRows(connection, sql)
    const keys = found.map(([key]) => BigInt(String(key)))
    await removeChunkRows(connection, tables, keys)
    return keys
  }

  /** With this knowledge base's rules and language. @returns the number of postings */
  #indexRows(tables: OpenTables, source: string, signal: AbortSignal): Promise<number> {
    const analyzer = new Analyzer(tables.language)
    // Uses another connection, because a statement on this one would end the stream.
    return this.#parts.database.lease(async (reader) => {
      let postingCount = 0
      let rows: KeywordRow[] = []
      const append = async () => {
        await appendKeywords(tables.connection, tables, rows)
        rows = []
      }
      await reader.run('BEGIN TRANSACTION READ ONLY')
      for await (const { rowIndex, content, context } of chunksOfFile(reader, source, signal)) {
        const terms = analyzer.count([context, content])
        postingCount += terms.keys.length
        rows.push({ key: BigInt(tables.nextChunkKey + rowIndex), terms })
        if (rows.length === ROWS_PER_APPEND) await append()
      }
      await reader.run('COMMIT')
      await append()
      return postingCount
    })
  }
}

/** DuckDB 1.5.5 cannot write these types to Parquet without loss, so they are sent as text. */
const NOT_IN_PARQUET = /HUGEINT|INTERVAL|\bTIME\b(?!STAMP)|TIMESTAMP_/

/** In key order, range by range: sorting all would need memory or disk for all vectors. */
function exportSelect(kb: KnowledgeBase, lastKey: number): string {
  const rangesMax = Math.max(1, Math.floor(RANGE_COLUMNS_MAX / (kb.storedMetadata.length + 10)))
  const width = Math.max(RANGE_KEYS, Math.ceil(lastKey / rangesMax))
  const count = Math.max(1, Math.ceil((lastKey + 1) / width))
  const ranges = Array.from({ length: count }, (_, index) => {
    const to = index === count - 1 ? '' : ` AND chunk_key < ${(index + 1) * width}`
    return `(${rangeSelect(kb, `chunk_key >= ${index * width}${to}`)})`
  })
  return ranges.join(' UNION ALL ')
}

const RANGE_KEYS = 8192
/** The most columns over all ranges, because DuckDB plans each of them. */
const RANGE_COLUMNS_MAX = 4000

function rangeSelect(kb: KnowledgeBase, range: string): string {
  const { chunks, vectors, contexts } = chunkTables(kb)
  const metadata = kb.storedMetadata.map(({ name, type, column }) => {
    const value = `c.${quote(column)}`
    const stored = NOT_IN_PARQUET.test(type) ? `CAST(${value} AS VARCHAR)` : value
    return `, ${stored} AS ${quote(`${EXPORT_METADATA_PREFIX}${name}`)}`
  })
  const hasVectors = kb.dimensions !== null
  const vector = hasVectors ? 'v.vector' : 'CAST(NULL AS FLOAT[])'
  const part = (table: string) => `(FROM ${table} WHERE ${range})`
  const join = hasVectors ? `JOIN ${part(vectors)} AS v ON v.chunk_key = c.chunk_key` : ''
  return `SELECT c.document_id, c.chunk_id, c.chunk_content, CAST(c.metadata AS VARCHAR) AS metadata,
      ${vector} AS vector, coalesce(x.context, '') AS context, coalesce(x.is_cut, FALSE) AS is_cut${metadata.join('')}
    FROM ${part(chunks)} AS c ${join} LEFT JOIN ${part(contexts)} AS x ON x.chunk_key = c.chunk_key
    ORDER BY c.chunk_key`
}

const ROWS_PER_APPEND = 2048

/** @throws AppError `file_unreadable` naming a column that is missing or has the wrong type */
function requireColumns(table: ChunkFile['table'], columns: readonly ExportedColumn[]): void {
  const types = new Map(table.columns.map(({ name, type }) => [name, type]))
  for (const name of EXPORT_COLUMNS) {
    const type = types.get(name)
    const isRight = type !== undefined && FIXED_TYPES[name].test(type)
    if (isRight) continue
    const found = type === undefined ? 'is missing' : `is of the type ${type.slice(0, 100)}`
    throw unreadableFile(`its column ${name} ${found}`)
  }
  for (const { name } of columns) {
    if (types.has(`${EXPORT_METADATA_PREFIX}${name}`)) continue
    throw unreadableFile(`its column ${EXPORT_METADATA_PREFIX}${name.slice(0, 100)} is missing`)
  }
}

const FIXED_TYPES: Readonly<Record<(typeof EXPORT_COLUMNS)[number], RegExp>> = {
  document_id: /^VARCHAR$/,
  chunk_id: /^VARCHAR$/,
  chunk_content: /^VARCHAR$/,
  metadata: /^VARCHAR$/,
  vector: /^FLOAT\[\d*\]$/,
  context: /^VARCHAR$/,
  is_cut: /^BOOLEAN$/,
}

function unreadableFile(why: string): AppError {
  return new AppError('file_unreadable', `The file could not be imported: ${why}`)
}

/** @returns how many documents were imported. @throws AppError `insert_failed` */
async function copyRows(
  tables: OpenTables,
  { source, columns }: { readonly source: string; readonly columns: readonly ExportedColumn[] },
): Promise<number> {
  const { connection, nextChunkKey, dimensions } = tables
  const { chunks, vectors, contexts } = chunkTables(tables)
  const key = `${nextChunkKey} + file_row_number`
  const fitted = fittedColumns(tables, columns)
  await refuseMisfits(tables, source, fitted)
  const targets = fitted.map(({ column }) => `, ${quote(column.column)}`).join('')
  const values = fitted.map(({ cast }) => `, ${cast}`).join('')
  await connection.run(`INSERT INTO ${chunks}
      (chunk_key, document_id, chunk_id, chunk_content, metadata${targets})
    SELECT ${key}, document_id, chunk_id, chunk_content, CAST(metadata AS JSON)${values} FROM ${source}`)
  await connection.run(
    `INSERT INTO ${vectors} SELECT ${key}, CAST(vector AS FLOAT[${dimensions}]) FROM ${source}`,
  )
  await connection.run(`INSERT INTO ${contexts} (chunk_key, context, is_cut, layout)
    SELECT ${key}, coalesce(context, ''), coalesce(is_cut, FALSE), '' FROM ${source}
    WHERE context <> '' OR is_cut`)
  return countOf(connection, `SELECT count(DISTINCT document_id) FROM ${source}`)
}

interface FittedColumn {
  readonly column: MetadataColumn
  /** The column's name in the file. */
  readonly sent: string
  /** SQL that casts the value to its column's type, or to null if it does not fit. */
  readonly cast: string
}

function fittedColumns(
  { columns }: OpenTables,
  exported: readonly ExportedColumn[],
): readonly FittedColumn[] {
  const byKey = new Map(columns.map((column) => [nameKey(column.name), column]))
  return exported.flatMap(({ name }) => {
    const column = byKey.get(nameKey(name))
    const sent = quote(`${EXPORT_METADATA_PREFIX}${name}`)
    return column === undefined
      ? []
      : [{ column, sent, cast: `TRY_CAST(${sent} AS ${column.type})` }]
  })
}

/** Misfits of undeclared columns stay in `metadata` only and are counted. */
async function refuseMisfits(
  tables: OpenTables,
  source: string,
  fitted: readonly FittedColumn[],
): Promise<void> {
  if (fitted.length === 0) return
  const counts = fitted.map(({ sent, cast }) => {
    return `count(*) FILTER (${sent} IS NOT NULL AND ${cast} IS NULL)`
  })
  const found = await counted(tables.connection, `SELECT ${counts.join(', ')} FROM ${source}`)
  for (const [index, { column }] of fitted.entries()) {
    const misfits = found[index] ?? 0
    if (misfits === 0) continue
    if (column.isDeclared === true) {
      const what = `${misfits} of its values are not of the type ${column.type}`
      throw new AppError(
        'insert_failed',
        `The file cannot be imported: column ${column.name}: ${what}`,
      )
    }
    tables.strays.set(column.column, (tables.strays.get(column.column) ?? 0) + misfits)
  }
}

async function counted(connection: DuckDBConnection, sql: string): Promise<readonly number[]> {
  const [row = []] = await allRows(connection, sql)
  return row.map(Number)
}

const FOLDER = 'imports'
const IMPORT_FILE = /^[0-9a-f-]{36}\.parquet$/

/** Keeps the files that jobs import until each job ends. */
export class StoredImportFiles implements ImportFiles {
  readonly #folder: string
  readonly #isTemporary: boolean

  private constructor(folder: string, isTemporary: boolean) {
    this.#folder = folder
    this.#isTemporary = isTemporary
  }

  /** Removes files of no job. @param directory null: nothing on disk @param requests of jobs */
  static async open(
    directory: string | null,
    requests: readonly unknown[],
  ): Promise<StoredImportFiles> {
    const folder =
      directory === null
        ? join(tmpdir(), `eider-imports-${crypto.randomUUID()}`)
        : join(directory, FOLDER)
    const wanted = new Set(requests.map(importFileOf))
    for (const name of await readdir(folder).catch(() => [])) {
      if (!wanted.has(name)) await rm(join(folder, name), { recursive: true, force: true })
    }
    return new StoredImportFiles(folder, directory === null)
  }

  async keep(path: string): Promise<string> {
    const name = `${crypto.randomUUID()}.parquet`
    await mkdir(this.#folder, { recursive: true, mode: 0o700 })
    await rename(path, join(this.#folder, name))
    return name
  }

  async pathOf(name: string): Promise<string> {
    const path = join(this.#folder, name)
    if (IMPORT_FILE.test(name) && (await Bun.file(path).exists())) return path
    throw new AppError('job_items_missing', 'The file of the import is gone; import it again')
  }

  async remove(name: string): Promise<void> {
    if (IMPORT_FILE.test(name)) await rm(join(this.#folder, name), { force: true })
  }

  async close(): Promise<void> {
    if (this.#isTemporary) await rm(this.#folder, { recursive: true, force: true })
  }
}

/** Returns the file name in a job's request, or null if the job is not an import. */
function importFileOf(request: unknown): string | null {
  const file = typeof request === 'object' && request !== null ? Reflect.get(request, 'file') : null
  return typeof file === 'string' ? file : null
}
