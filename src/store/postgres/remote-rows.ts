/** Sends rows of chunks to PostgreSQL, and reads them. */
import { type CellValue, TypedValue } from '../../core/domain/document.ts'
import type { Language } from '../../core/domain/language.ts'
import { nameKey } from '../../core/domain/names.ts'
import type { ContentCounts } from '../../core/domain/ports/document-ports.ts'
import type { RunRemote, StoragePlace } from '../../core/domain/ports/storage-ports.ts'
import type { ChunkRow, Incoming } from '../documents/chunk-rows.ts'
import { SeenColumns } from '../documents/metadata-columns.ts'
import type { RemoteChange } from '../documents/remote-writes.ts'
import {
  advance,
  inlineVectors,
  type RemoteState,
  remoteState,
  remoteTables,
} from './remote-tables.ts'

/** Rows of one statement. */
const ROWS_PER_STATEMENT = 500
/** Writes whose removed keys are remembered. */
const REMEMBERED_REVISIONS = 1000

/** @returns false if another writer was faster: nothing has changed */
export async function sendChange(
  run: RunRemote,
  place: StoragePlace,
  change: RemoteChange,
): Promise<boolean> {
  const state = await remoteState(run, place, true)
  if (state.revision !== change.baseRevision) return false
  const { chunks, removed } = remoteTables(place)
  const revision = state.revision + 1
  const { dimensions, columns, nextChunkKey, rewritten } = change
  if (state.dimensions === null && dimensions !== null) {
    await run(`ALTER TABLE ${chunks} ALTER COLUMN vector TYPE vector(${dimensions})`)
    await run(inlineVectors(place, dimensions))
  }
  const gone = await removeRows(run, place, change.removedKeys, revision)
  const come = { chunks: 0, terms: 0 }
  for (const rows of batchesOf(change.rows)) {
    const added = await addRows(run, place, rows, revision)
    come.chunks += added.chunks
    come.terms += added.terms
  }
  for (const rows of batchesOf(rewritten)) {
    await run(
      `UPDATE ${chunks} AS c SET metadata = r.metadata::json, typed = r.typed::json, revision = $2
        FROM json_to_recordset($1::json) AS r(key bigint, metadata text, typed text)
        WHERE c.chunk_key = r.key`,
      [JSON.stringify(rows), revision],
    )
  }
  const counted = { chunkCount: come.chunks - gone.chunks, termTotal: come.terms - gone.terms }
  const shown = columns.map(({ name, type }) => ({ name, type }))
  await advance(run, place, { revision, nextChunkKey, dimensions, columns: shown, ...counted })
  await run(`DELETE FROM ${removed} WHERE revision <= ${revision - REMEMBERED_REVISIONS}`)
  return true
}

async function removeRows(
  run: RunRemote,
  place: StoragePlace,
  keys: readonly bigint[],
  revision: number,
) {
  if (keys.length === 0) return { chunks: 0, terms: 0 }
  const { chunks, terms, removed } = remoteTables(place)
  const rows = await run(
    `WITH gone AS (DELETE FROM ${chunks} WHERE chunk_key = ANY($1::bigint[])
        RETURNING chunk_key, terms, term_count),
      noted AS (INSERT INTO ${removed} SELECT chunk_key, $2::bigint FROM gone),
      counted AS (UPDATE ${terms} AS t SET chunk_count = t.chunk_count - g.count
        FROM (SELECT term, count(*) FROM gone, unnest(terms) AS term GROUP BY term) AS g
        WHERE t.term = g.term)
      SELECT count(*), coalesce(sum(term_count), 0) FROM gone`,
    [listOf(keys), revision],
  )
  return countsOf(rows)
}

async function addRows(
  run: RunRemote,
  place: StoragePlace,
  rows: RemoteChange['rows'],
  revision: number,
) {
  const { chunks, terms } = remoteTables(place)
  return countsOf(
    await run(
      `WITH came AS (INSERT INTO ${chunks} (chunk_key, document_id, chunk_id, content, metadata,
            typed, context, is_cut, layout, vector, terms, frequencies, term_count, language, revision)
          SELECT key, document_id, chunk_id, content, metadata::json, typed::json, context, is_cut,
            layout, vector::vector, terms::bigint[], frequencies::integer[], term_count, language, $2::bigint
          FROM json_to_recordset($1::json) AS r(key bigint, document_id text, chunk_id text,
            content text, metadata text, typed text, context text, is_cut boolean, layout text,
            vector text, terms text, frequencies text, term_count integer, language text)
          RETURNING terms, term_count),
        counted AS (INSERT INTO ${terms} AS t
          SELECT term, count(*) FROM came, unnest(terms) AS term GROUP BY term
          ON CONFLICT (term) DO UPDATE SET chunk_count = t.chunk_count + excluded.chunk_count)
        SELECT count(*), coalesce(sum(term_count), 0) FROM came`,
      [JSON.stringify(rows), revision],
    ),
  )
}

function countsOf([row]: Awaited<ReturnType<RunRemote>>) {
  const [count = 0, terms = 0] = row ?? []
  return { chunks: Number(count), terms: Number(terms) }
}

function* batchesOf<T>(rows: readonly T[]): Generator<readonly T[], void> {
  for (let start = 0; start < rows.length; start += ROWS_PER_STATEMENT) {
    yield rows.slice(start, start + ROWS_PER_STATEMENT)
  }
}

/** Rows with their keys. */
export interface KeyedRows {
  readonly keys: readonly bigint[]
  readonly rows: readonly ChunkRow[]
}

/** Which rows a piece of work needs here. */
export interface TouchedRows {
  /** Of documents. */
  readonly ids: readonly string[]
  /** Of chunks. */
  readonly keys: readonly bigint[]
}

export const ROW_COLUMNS: readonly string[] = [
  ...['chunk_key', 'document_id', 'chunk_id', 'content', 'metadata', 'typed', 'context', 'is_cut'],
  ...['layout', 'vector', 'terms', 'frequencies', 'term_count', 'language'],
]
const ROW_LIST = ROW_COLUMNS.join(', ')

/** These rows, as far as they exist. */
export async function touchedRows(
  run: RunRemote,
  place: StoragePlace,
  { ids, keys }: TouchedRows,
  { columns }: Pick<RemoteState, 'columns'>,
): Promise<KeyedRows> {
  const found = await run(
    `SELECT ${ROW_LIST} FROM ${remoteTables(place).chunks}
      WHERE chunk_key = ANY($1::bigint[])
        OR document_id IN (SELECT json_array_elements_text($2::json)) ORDER BY chunk_key`,
    [listOf(keys), JSON.stringify(ids)],
  )
  return keyedRows(found, columns)
}

/** The rows written since a revision, in key order. */
export async function* rowsSince(
  run: RunRemote,
  place: StoragePlace,
  { revision, columns }: Pick<RemoteState, 'revision' | 'columns'>,
): AsyncGenerator<KeyedRows, void, void> {
  const { chunks } = remoteTables(place)
  for (let last = 0n; ; ) {
    const found = await run(
      `SELECT ${ROW_LIST} FROM ${chunks} WHERE revision > $1 AND chunk_key > $2
        ORDER BY chunk_key LIMIT ${ROWS_PER_STATEMENT}`,
      [revision, last],
    )
    if (found.length === 0) return
    const batch = keyedRows(found, columns)
    yield batch
    last = batch.keys.at(-1) ?? last
  }
}

/** @param found rows of `ROW_COLUMNS` */
export function keyedRows(
  found: Awaited<ReturnType<RunRemote>>,
  columns: RemoteState['columns'],
): KeyedRows {
  const types = new Map(columns.map(({ name, type }) => [nameKey(name), type]))
  const keys = found.map(([key]) => BigInt(key ?? 0))
  return { keys, rows: found.map((row) => chunkRowOf(row, types)) }
}

function chunkRowOf(row: readonly (string | null)[], types: ReadonlyMap<string, string>): ChunkRow {
  const [, documentId, chunkId, content, metadata, typed, context, isCut, layout] = row
  const [vector, terms, frequencies, termCount, language] = row.slice(9)
  return {
    documentId: documentId ?? '',
    chunkId: chunkId ?? '',
    content: content ?? '',
    metadata: metadata ?? '{}',
    values: typedValues(typed ?? '{}', types),
    rowIndex: null,
    vector: { kind: 'new', vector: vectorOf(vector) },
    terms: {
      keys: BigInt64Array.from(numbersOf(terms), BigInt),
      frequencies: Int32Array.from(numbersOf(frequencies), Number),
      termCount: Number(termCount),
      // Written by `sentRows`.
      language: language as Language,
    },
    context: context ?? '',
    isCut: isCut === 't',
    layout: layout ?? null,
  }
}

/** As PostgreSQL reads an array: `{1,2}` */
export function listOf(items: readonly (bigint | number)[]): string {
  return `{${items.join(',')}}`
}

export function vectorOf(list: string | null | undefined): Float32Array {
  return Float32Array.from(numbersOf(list), Number)
}

/** `[1,2]` and `{1,2}` */
function numbersOf(list: string | null | undefined): readonly string[] {
  const inner = (list ?? '').slice(1, -1)
  return inner === '' ? [] : inner.split(',')
}

function typedValues(
  json: string,
  types: ReadonlyMap<string, string>,
): ReadonlyMap<string, CellValue> {
  const values = new Map<string, CellValue>()
  // Written by `typedSql`.
  const texts = JSON.parse(json) as Record<string, string | null>
  for (const [key, text] of Object.entries(texts)) {
    if (text === null) continue
    const isJson = types.get(key) === 'JSON'
    // Values of a JSON column are JSON.
    values.set(key, isJson ? (JSON.parse(text) as CellValue) : text)
  }
  return values
}

/** The content that the copy needs room for. */
export function incomingOf({ columns, dimensions }: RemoteState): Incoming {
  const row = columns.map(({ name, type }) => [name, new TypedValue(type, null, null)] as const)
  return { metadata: new SeenColumns().add(Object.fromEntries(row)), dimensions }
}

/** The keys of chunks removed since a revision; null: unknown by now. */
export async function removedSince(
  run: RunRemote,
  place: StoragePlace,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<readonly bigint[] | null> {
  if (to - from >= REMEMBERED_REVISIONS) return null
  const { removed } = remoteTables(place)
  return keysOf(await run(`SELECT chunk_key FROM ${removed} WHERE revision > $1`, [from]))
}

export async function allKeys(run: RunRemote, place: StoragePlace): Promise<readonly bigint[]> {
  return keysOf(await run(`SELECT chunk_key FROM ${remoteTables(place).chunks}`))
}

function keysOf(rows: Awaited<ReturnType<RunRemote>>): readonly bigint[] {
  return rows.map(([key]) => BigInt(key ?? 0))
}

export async function remoteCounts(run: RunRemote, place: StoragePlace): Promise<ContentCounts> {
  const { chunks } = remoteTables(place)
  const [row] = await run(`SELECT count(DISTINCT document_id), count(*) FROM ${chunks}`)
  return { documents: Number(row?.[0]), chunks: Number(row?.[1]) }
}
