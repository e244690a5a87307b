/** Reads chunk rows from PostgreSQL and writes them there. */
import type { CellValue } from '../../core/domain/document.ts'
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

const ROWS_PER_STATEMENT = 500
/** Keys removed by this many recent writes are recorded in PostgreSQL. */
const REMEMBERED_REVISIONS = 1000

/** @returns false, having changed nothing, if another writer was faster */
export async function sendChange(
  run: RunRemote,
  place: StoragePlace,
  change: RemoteChange,
): Promise<boolean> {
  const state = await remoteState(run, place, true)
  if (state.revision !== change.baseRevision) return false
  if (await adoptLeftovers(run, place, state)) return false
  const { chunks, removed } = remoteTables(place)
  const revision = state.revision + 1
  const { dimensions, columns, nextChunkKey, rewritten } = change
  if (state.dimensions === null && dimensions !== null) {
    await run(`ALTER TABLE ${chunks} ALTER COLUMN vector TYPE vector(${dimensions})`)
    await run(inlineVectors(place, dimensions))
  }
  const counted = new TermCounts()
  await removeRows(run, place, { keys: change.removedKeys, revision, counted })
  for (const rows of batchesOf(change.rows)) {
    await addRows(run, place, rows, revision)
    for (const { terms, term_count: count } of rows) counted.add(terms, count, 1)
  }
  for (const rows of batchesOf(rewritten)) {
    const keys = listOf(rows.map(({ key }) => BigInt(key)))
    await run(
      `UPDATE ${chunks} AS c SET metadata = r.metadata::json, typed = r.typed::json, revision = $2
        FROM json_to_recordset($1::json) AS r(key bigint, metadata text, typed text)
        WHERE c.chunk_key = r.key AND c.chunk_key = ANY($3::bigint[])`,
      [JSON.stringify(rows), revision, keys],
    )
  }
  await counted.store(run, place)
  const shown = columns.map(({ name, type }) => ({ name, type }))
  const { chunkCount, termTotal } = counted
  const next = { revision, nextChunkKey, dimensions, columns: shown, chunkCount, termTotal }
  await advance(run, place, next)
  await run(`DELETE FROM ${removed} WHERE revision <= ${revision - REMEMBERED_REVISIONS}`)
  return true
}

/**
 * PostgreSQL nodes commit one after the other. If one fails, the others may keep rows of a failed
 * write. This adds such rows to the knowledge base, so that their keys are not used again, and
 * makes the copies compare all keys.
 * @returns whether there were such rows
 */
export async function adoptLeftovers(
  run: RunRemote,
  place: StoragePlace,
  { parts, revision, nextChunkKey, dimensions, columns }: RemoteState,
): Promise<boolean> {
  if (parts.length === 0) return false
  const rows = await run(
    `SELECT chunk_key, terms, term_count FROM ${remoteTables(place).chunks} WHERE chunk_key >= $1`,
    [nextChunkKey],
  )
  if (rows.length === 0) return false
  const counted = new TermCounts()
  for (const [, terms, count] of rows) counted.add(terms ?? '', Number(count), 1)
  await counted.store(run, place)
  const { chunkCount, termTotal } = counted
  const next = {
    revision: revision + REMEMBERED_REVISIONS,
    dimensions,
    columns,
    chunkCount,
    termTotal,
  }
  const keys = rows.map(([key]) => Number(key))
  await advance(run, place, { ...next, nextChunkKey: Math.max(...keys) + 1 })
  return true
}

/** Collects how a write changes the term statistics that scores depend on. */
class TermCounts {
  chunkCount = 0
  termTotal = 0
  readonly #chunkCounts = new Map<string, number>()

  /**
   * @param terms in PostgreSQL's notation @param sign 1 for an added chunk, -1 for a removed one
   */
  add(terms: string, termCount: number, sign: 1 | -1): void {
    this.chunkCount += sign
    this.termTotal += sign * termCount
    for (const term of numbersOf(terms)) {
      this.#chunkCounts.set(term, (this.#chunkCounts.get(term) ?? 0) + sign)
    }
  }

  async store(run: RunRemote, place: StoragePlace): Promise<void> {
    const changed = [...this.#chunkCounts].filter(([, count]) => count !== 0)
    if (changed.length === 0) return
    const [terms, counts] = [0, 1].map((at) => `{${changed.map((one) => one[at]).join(',')}}`)
    await run(
      `INSERT INTO ${remoteTables(place).terms} AS t SELECT * FROM unnest($1::bigint[], $2::bigint[])
        ON CONFLICT (term) DO UPDATE SET chunk_count = t.chunk_count + excluded.chunk_count`,
      [terms ?? '', counts ?? ''],
    )
  }
}

async function removeRows(
  run: RunRemote,
  place: StoragePlace,
  {
    keys,
    revision,
    counted,
  }: { readonly keys: readonly bigint[]; readonly revision: number; readonly counted: TermCounts },
): Promise<void> {
  if (keys.length === 0) return
  const { chunks, removed } = remoteTables(place)
  const gone = await run(
    `DELETE FROM ${chunks} WHERE chunk_key = ANY($1::bigint[]) RETURNING chunk_key, terms, term_count`,
    [listOf(keys)],
  )
  for (const [, terms, count] of gone) counted.add(terms ?? '', Number(count), -1)
  await run(`INSERT INTO ${removed} SELECT unnest($1::bigint[]), $2::bigint`, [
    listOf(keysOf(gone)),
    revision,
  ])
}

async function addRows(
  run: RunRemote,
  place: StoragePlace,
  rows: RemoteChange['rows'],
  revision: number,
): Promise<void> {
  await run(
    `INSERT INTO ${remoteTables(place).chunks} (chunk_key, document_id, chunk_id, content, metadata,
        typed, context, is_cut, layout, vector, terms, frequencies, term_count, language, revision)
      SELECT key, document_id, chunk_id, content, metadata::json, typed::json, context, is_cut,
        layout, vector::vector, terms::bigint[], frequencies::integer[], term_count, language, $2::bigint
      FROM json_to_recordset($1::json) AS r(key bigint, document_id text, chunk_id text,
        content text, metadata text, typed text, context text, is_cut boolean, layout text,
        vector text, terms text, frequencies text, term_count integer, language text)`,
    [JSON.stringify(rows), revision],
  )
}

function* batchesOf<T>(rows: readonly T[]): Generator<readonly T[], void> {
  for (let start = 0; start < rows.length; start += ROWS_PER_STATEMENT) {
    yield rows.slice(start, start + ROWS_PER_STATEMENT)
  }
}

export interface KeyedRows {
  readonly keys: readonly bigint[]
  readonly rows: readonly ChunkRow[]
}

/** The rows that a task needs locally. */
export interface TouchedRows {
  readonly ids: readonly string[]
  readonly keys: readonly bigint[]
}

/** As bytes, because the server takes longest to write numbers as text. */
export const VECTOR_SQL = `encode(vector_send(vector), 'base64')`
const ROW_LIST = `chunk_key, document_id, chunk_id, content, metadata, typed, context, is_cut,
  layout, ${VECTOR_SQL}, terms, frequencies, term_count, language`

export async function touchedRows(
  run: RunRemote,
  chunks: string,
  { ids, keys }: TouchedRows,
  { columns }: Pick<RemoteState, 'columns'>,
): Promise<KeyedRows> {
  const found = await run(
    `SELECT ${ROW_LIST} FROM ${chunks} AS c
      WHERE chunk_key = ANY($1::bigint[])
        OR document_id = ANY(ARRAY(SELECT json_array_elements_text($2::json))) ORDER BY chunk_key`,
    [listOf(keys), JSON.stringify(ids)],
  )
  return keyedRows(found, columns)
}

/** Yields the rows written since a revision in key order, 500 at a time. */
export async function* rowsSince(
  run: RunRemote,
  place: StoragePlace,
  { revision, columns }: Pick<RemoteState, 'revision' | 'columns'>,
  afterKey = 0n,
): AsyncGenerator<KeyedRows, void, void> {
  const { chunks } = remoteTables(place)
  for (let last = afterKey; ; ) {
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

/** @param found rows with `ROW_LIST` */
function keyedRows(
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
      // `sentRows` wrote this value, so the type is right.
      language: language as Language,
    },
    context: context ?? '',
    isCut: isCut === 't',
    layout: layout ?? null,
  }
}

/** Formats an array for PostgreSQL, for example `{1,2}`. */
export function listOf(items: readonly (bigint | number)[]): string {
  return `{${items.join(',')}}`
}

/** Before the numbers of a vector: how many there are. */
const VECTOR_HEAD_BYTES = 4

/** @param base64 of `VECTOR_SQL` */
export function vectorOf(base64: string | null | undefined): Float32Array {
  const numbers = Buffer.from(base64 ?? '', 'base64').subarray(VECTOR_HEAD_BYTES)
  // The server sends the high byte first. The copy begins where numbers may begin.
  return new Float32Array(new Uint8Array(numbers.swap32()).buffer)
}

/** Parses `[1,2]` and `{1,2}`. */
function numbersOf(list: string | null | undefined): readonly string[] {
  const inner = (list ?? '').slice(1, -1)
  return inner === '' ? [] : inner.split(',')
}

function typedValues(
  json: string,
  types: ReadonlyMap<string, string>,
): ReadonlyMap<string, CellValue> {
  const values = new Map<string, CellValue>()
  // `typedSql` wrote this text, so the type is right.
  const texts = JSON.parse(json) as Record<string, string | null>
  for (const [key, text] of Object.entries(texts)) {
    if (text === null) continue
    const isJson = types.get(key) === 'JSON'
    // A JSON column holds any JSON value.
    values.set(key, isJson ? (JSON.parse(text) as CellValue) : text)
  }
  return values
}

/** Returns what the copy must have columns and types for. */
export function incomingOf({ columns, dimensions }: RemoteState): Incoming {
  return { metadata: SeenColumns.of(columns), dimensions }
}

/** Returns the keys of chunks removed since a revision, or null if that is no longer recorded. */
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
  const { parts } = await remoteState(run, place)
  // All chunks of a document are on the same node.
  const counted = selectEach({ place, parts }, (table) => {
    return `SELECT count(DISTINCT document_id) AS documents, count(*) AS chunks FROM ${table}`
  })
  const [row] = await run(`SELECT sum(documents), sum(chunks) FROM (${counted}) AS counted`)
  return { documents: Number(row?.[0]), chunks: Number(row?.[1]) }
}

/** From each node's part if there are nodes: PostgreSQL would not pass order and limit on. */
export function selectEach(
  { place, parts }: { readonly place: StoragePlace; readonly parts: RemoteState['parts'] },
  select: (table: string) => string,
): string {
  const tables = parts.length === 0 ? [remoteTables(place).chunks] : parts
  return tables.map((table) => `(${select(table)})`).join(' UNION ALL ')
}
