/**
 * Writes chunk rows with their vectors and terms, and removes them, within the caller's
 * transaction.
 */
import type { DuckDBConnection, DuckDBValue } from '@duckdb/node-api'
import {
  chunkTableName,
  chunkTables,
  projectSchema,
  type TableIds,
} from '../../core/domain/document.ts'
import type { MetadataColumn } from '../../core/domain/knowledge-base.ts'
import type { Language } from '../../core/domain/language.ts'
import type { VectorBatch } from '../../core/domain/ports/retrieval-ports.ts'
import { Analyzer } from '../../core/text/analyzer.ts'
import { APPENDED_ROWS_MAX, type AppendedColumns, appendColumns } from '../duckdb/columns.ts'
import { type Cell, insertRow } from '../duckdb/prepared.ts'
import { runWithKeys } from '../duckdb/typed-values.ts'
import { appendContexts } from './chunk-columns.ts'
import type { ChunkRow } from './chunk-rows.ts'
import { fitValues } from './fitted-values.ts'
import { appendKeywords, keywordTables } from './keyword-index.ts'

export interface StoredTables extends TableIds {
  /** The length of vectors; null if the table of vectors does not exist yet. */
  readonly dimensions: number | null
}

/** The tables of a knowledge base during a write, ready for its new rows. */
export interface OpenTables extends StoredTables {
  readonly connection: DuckDBConnection
  readonly columns: readonly MetadataColumn[]
  readonly nextChunkKey: number
  /** By the column's physical name. Updated during the write. */
  readonly strays: Map<string, number>
  readonly language: Language
}

export function countStrays(tables: OpenTables, found: ReadonlyMap<string, number>): void {
  for (const [column, count] of found) {
    tables.strays.set(column, (tables.strays.get(column) ?? 0) + count)
  }
}

export interface RowsReplaced {
  /** In key order. The first key is `nextChunkKey`. */
  readonly newRows: readonly ChunkRow[]
  readonly removedKeys: readonly bigint[]
}

/**
 * Thrown within a write to roll it back: a stored vector that was to be reused no longer exists.
 */
export class StaleVectors extends Error {}

/** Includes vectors and terms. @param keys existing keys of the rows, if any @throws StaleVectors */
export async function replaceChunkRows(
  tables: OpenTables,
  rows: readonly ChunkRow[],
  removedKeys: readonly bigint[],
  keys?: readonly bigint[],
): Promise<void> {
  const firstKey = BigInt(tables.nextChunkKey)
  const keyed = rows.map((row, index) => ({
    ...row,
    key: keys?.[index] ?? firstKey + BigInt(index),
  }))
  await takeOverVectors(tables, keyed)
  await removeChunkRows(tables.connection, tables, removedKeys)
  if (rows.length === 0) return
  await appendChunks(tables, keyed)
  await appendVectors(tables, keyed)
  await appendKeywords(tables.connection, tables, withTermsOf(keyed, tables.language))
  await appendContexts(tables.connection, tables, keyed)
}

export async function rewriteChunkRows(
  tables: OpenTables,
  rows: readonly ChunkRow[],
  keys: readonly bigint[],
): Promise<void> {
  if (rows.length === 0) return
  const sql = `DELETE FROM ${chunkTables(tables).chunks} WHERE chunk_key IN ($keys)`
  await runWithKeys(tables.connection, sql, { keys })
  await appendChunks(
    tables,
    rows.map((row, index) => ({ ...row, key: keys[index] ?? 0n })),
  )
}

/** Recomputes terms that were made before the index's language changed. */
function withTermsOf(rows: readonly KeyedRow[], language: Language): readonly KeyedRow[] {
  if (rows.every(({ terms }) => terms.language === language)) return rows
  const analyzer = new Analyzer(language)
  return rows.map((row) => ({ ...row, terms: analyzer.count([row.context, row.content]) }))
}

type KeyedRow = ChunkRow & { readonly key: bigint }

/** Copies the vectors of stored chunks to new rows with the same text. */
async function takeOverVectors(tables: OpenTables, rows: readonly KeyedRow[]): Promise<void> {
  const newKeys: bigint[] = []
  const oldKeys: bigint[] = []
  for (const { key, vector } of rows) {
    if (vector.kind === 'new') continue
    newKeys.push(key)
    oldKeys.push(vector.chunkKey)
  }
  if (newKeys.length === 0) return
  if (tables.dimensions === null) throw new StaleVectors()
  const { vectors } = chunkTables(tables)
  const result = await runWithKeys(
    tables.connection,
    `INSERT INTO ${vectors} SELECT taken.new_key, v.vector
      FROM (SELECT unnest($new_keys) AS new_key, unnest($old_keys) AS old_key) AS taken
      JOIN (SELECT * FROM ${vectors} WHERE chunk_key IN ($old_keys)) AS v ON v.chunk_key = taken.old_key`,
    { new_keys: newKeys, old_keys: oldKeys },
  )
  if (result.rowsChanged < newKeys.length) throw new StaleVectors()
}

async function appendChunks(tables: OpenTables, rows: readonly KeyedRow[]): Promise<void> {
  const fitted = await fitValues(tables.connection, tables.columns, rows)
  countStrays(tables, fitted.strays)
  const [only] = rows
  if (only !== undefined && rows.length === 1 && areBound(tables.columns)) {
    return insertChunk(tables, only, fitted.of(only.values))
  }
  const indexOf = new Map(tables.columns.map((column, index) => [column.column, index]))
  await append(tables, 'chunks', function* (columnCount) {
    for (const batch of appendBatches(rows, (row) => rowChars(row), CHARS_PER_APPEND)) {
      // The physical columns m1, m2, … are in table order. Columns replaced by a wider one stay
      // null.
      const metadata = Array.from({ length: columnCount - FIXED_COLUMNS }, (_, index) => {
        const at = indexOf.get(`m${index + 1}`)
        if (at === undefined) return batch.map(() => null)
        return batch.map(({ values }) => fitted.of(values)[at] ?? null)
      })
      yield [
        BigInt64Array.from(batch, ({ key }) => key),
        batch.map(({ documentId }) => documentId),
        batch.map(({ chunkId }) => chunkId),
        batch.map(({ content }) => content),
        batch.map((row) => row.metadata),
        ...metadata,
      ]
    }
  })
}

/** `chunk_key, document_id, chunk_id, chunk_content, metadata`. */
const FIXED_COLUMNS = 5

/** Types whose values can be bound. JSON is bound as its text. */
const BOUND_TYPES: ReadonlySet<string> = new Set(['VARCHAR', 'BIGINT', 'DOUBLE', 'BOOLEAN', 'JSON'])

/** Planning more columns takes longer than an appender. */
const BOUND_COLUMNS_MAX = 100

function areBound(columns: readonly MetadataColumn[]): boolean {
  return columns.length <= BOUND_COLUMNS_MAX && columns.every(({ type }) => BOUND_TYPES.has(type))
}

/** @param values in the order of the columns, whose types are bound */
function insertChunk(
  tables: OpenTables,
  row: KeyedRow,
  values: readonly DuckDBValue[],
): Promise<void> {
  const { key, documentId, chunkId, content, metadata } = row
  const own = tables.columns.map(({ column }, index) => {
    // Values of bound types are cells.
    const cell = (values[index] ?? null) as Cell
    return [column, cell] as const
  })
  return insertRow(tables.connection, chunkTables(tables).chunks, [
    ['chunk_key', key],
    ['document_id', documentId],
    ['chunk_id', chunkId],
    ['chunk_content', content],
    ['metadata', metadata],
    ...own,
  ])
}

async function appendVectors(tables: OpenTables, rows: readonly KeyedRow[]): Promise<void> {
  const { dimensions } = tables
  const fresh = rows.filter(({ vector }) => vector.kind === 'new')
  if (dimensions === null || fresh.length === 0) return
  const [only] = fresh
  if (only !== undefined && fresh.length === 1) return insertVector(tables, only)
  await append(tables, 'vectors', function* () {
    for (const batch of appendBatches(fresh, () => dimensions, FLOATS_PER_APPEND)) {
      const vectors = new Float32Array(batch.length * dimensions)
      for (const [index, { vector }] of batch.entries()) {
        if (vector.kind === 'new') vectors.set(vector.vector, index * dimensions)
      }
      yield [BigInt64Array.from(batch, ({ key }) => key), vectors]
    }
  })
}

/** Text keeps each number exactly, and binding a list takes a microsecond for each. */
async function insertVector(tables: OpenTables, { key, vector }: KeyedRow): Promise<void> {
  if (vector.kind !== 'new') return
  await insertRow(tables.connection, chunkTables(tables).vectors, [
    ['chunk_key', key],
    ['vector', `[${vector.vector.join()}]`],
  ])
}

/**
 * Append this many characters at a time: it blocks the main thread for less than ten milliseconds.
 */
const CHARS_PER_APPEND = 262_144
const FLOATS_PER_APPEND = 65_536

function rowChars({ content, metadata, values }: ChunkRow): number {
  return content.length + metadata.length + CHARS_PER_VALUE * (FIXED_COLUMNS + values.size)
}

/** Appending a value takes as long as this many characters. */
const CHARS_PER_VALUE = 64

/** Yields groups of rows that have a total size of at most `sizeMax`, or that have one row. */
function* appendBatches(
  rows: readonly KeyedRow[],
  sizeOf: (row: KeyedRow) => number,
  sizeMax: number,
): Generator<readonly KeyedRow[], void> {
  let batch: KeyedRow[] = []
  let size = 0
  for (const row of rows) {
    const rowSize = sizeOf(row)
    const isFull = size + rowSize > sizeMax || batch.length === APPENDED_ROWS_MAX
    if (batch.length > 0 && isFull) {
      yield batch
      batch = []
      size = 0
    }
    batch.push(row)
    size += rowSize
  }
  if (batch.length > 0) yield batch
}

function append(
  { connection, ...tables }: OpenTables,
  part: 'chunks' | 'vectors',
  batches: (columnCount: number) => AppendedColumns,
): Promise<void> {
  const schema = projectSchema(tables.projectId)
  return appendColumns({ connection, schema, table: chunkTableName(tables, part) }, batches)
}

/** The vectors of new rows as stored, or null if the database copied some of them itself. */
export function vectorsOfRows(
  rows: readonly ChunkRow[],
  firstKey: number,
  dimensions: number,
): VectorBatch | null {
  const keys = new BigInt64Array(rows.length)
  const vectors = new Float32Array(rows.length * dimensions)
  for (const [index, { vector }] of rows.entries()) {
    if (vector.kind !== 'new') return null
    keys[index] = BigInt(firstKey + index)
    vectors.set(vector.vector, index * dimensions)
  }
  return { keys, vectors }
}

/** Binding runs on the main thread, so more keys go into a temporary table. */
const KEYS_IN_LIST_MAX = 2_000

/** With vectors and terms, in the caller's transaction. @returns how many existed */
export async function removeChunkRows(
  connection: DuckDBConnection,
  tables: StoredTables,
  chunkKeys: readonly bigint[],
): Promise<number> {
  if (chunkKeys.length === 0) return 0
  const { chunks, vectors, contexts } = chunkTables(tables)
  const ofVectors = tables.dimensions === null ? [] : [vectors]
  const dependent = [...ofVectors, ...keywordTables(tables), contexts]
  if (chunkKeys.length <= KEYS_IN_LIST_MAX) {
    const remove = async (table: string) => {
      const sql = `DELETE FROM ${table} WHERE chunk_key IN ($keys)`
      return (await runWithKeys(connection, sql, { keys: chunkKeys })).rowsChanged
    }
    for (const table of dependent) await remove(table)
    return remove(chunks)
  }
  await connection.run('CREATE TEMP TABLE removed_keys (chunk_key BIGINT)')
  await appendKeys(connection, chunkKeys)
  const remove = async (table: string) => {
    const sql = `DELETE FROM ${table} WHERE chunk_key IN (FROM temp.main.removed_keys)`
    return (await connection.run(sql)).rowsChanged
  }
  for (const table of dependent) await remove(table)
  const removed = await remove(chunks)
  await connection.run('DROP TABLE temp.main.removed_keys')
  return removed
}

function appendKeys(connection: DuckDBConnection, keys: readonly bigint[]): Promise<void> {
  const target = { connection, catalog: 'temp', schema: 'main', table: 'removed_keys' } as const
  return appendColumns(target, function* () {
    for (let start = 0; start < keys.length; start += APPENDED_ROWS_MAX) {
      yield [BigInt64Array.from(keys.slice(start, start + APPENDED_ROWS_MAX))]
    }
  })
}
