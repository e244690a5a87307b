/** Rows of chunks from PostgreSQL in the tables here, within the transaction of the caller. */
import { chunkTables } from '../../core/domain/chunk.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { LruMap } from '../../core/runtime/lru-map.ts'
import { SerialQueue } from '../../core/runtime/serial-queue.ts'
import type { ChunkRow } from '../documents/chunk-rows.ts'
import { keysOfDocuments } from '../documents/document-ids.ts'
import {
  type OpenTables,
  replaceChunkRows,
  rewriteChunkRows,
  vectorsOfRows,
} from '../documents/write-chunk-rows.ts'
import { runWithKeys } from '../duckdb/typed-values.ts'
import { type KeyedRows, keyedRows, type TouchedRows } from './remote-rows.ts'
import type { RemoteState } from './remote-tables.ts'

/** What others have written is here by then, also where nothing asks for it. */
export const POLL_MS = 1000

export const NO_ROWS: KeyedRows = { keys: [], rows: [] }

/** What is known of one knowledge base that another database holds. */
export interface Copy {
  /** Of the rows there when they were copied last. */
  revision: number
  /** Where not all rows are here: what runs now needs these. */
  readonly touched: Set<TouchedRows>
  /** Where not all rows are here: those that searches have brought along. */
  readonly found: FoundRows
  /** Where not all rows are here: the pieces of work that use some of them now. */
  userCount: number
  /** Where not all rows are here: the rows that were brought, counted each time. */
  rowCount: number
  /** As it was read last, where not all rows are here; null: not since the start. */
  state: RemoteState | null
  /** When that was, on the clock of `performance.now()`. */
  refreshedMs: number
  /** Writes from here, one after the other. */
  readonly writes: SerialQueue
  refreshing: Promise<void> | null
  /** Begins when that is over, for those who came while it was reading. */
  following: Promise<void> | null
}

export function newCopy(revision: number): Copy {
  return {
    revision,
    touched: new Set(),
    found: new FoundRows(),
    userCount: 0,
    rowCount: 0,
    state: null,
    refreshedMs: Number.NEGATIVE_INFINITY,
    writes: new SerialQueue(),
    refreshing: null,
    following: null,
  }
}

/** Where not all rows are here: only the definition is of interest, and that may be a second old. */
export function isRecent({ touched, refreshedMs }: Copy): boolean {
  return touched.size === 0 && performance.now() - refreshedMs < POLL_MS
}

const NEEDED_ROWS_MAX = 50_000

/** Whether the rows that are here should go, which nothing uses. */
export function isOverfull({ rowCount, userCount }: Copy): boolean {
  return rowCount > NEEDED_ROWS_MAX && userCount === 0
}

/** What the tables here must be prepared for. */
export function shapeOf({ columns, dimensions, nextChunkKey }: RemoteState) {
  return { columns, dimensions, nextChunkKey }
}

const FOUND_ROWS_MAX = 2000

/** The rows of the last searches, so that they are not fetched a second time. */
class FoundRows {
  readonly #rows = new LruMap<bigint, ChunkRow>({ sizeMax: FOUND_ROWS_MAX })

  /** @param found as the server sent them */
  add(found: Parameters<typeof keyedRows>[0], state: RemoteState | null): void {
    if (state === null) return
    const { keys, rows } = keyedRows(found, state.columns)
    for (const [index, row] of rows.entries()) this.#rows.set(keys[index] ?? 0n, row)
  }

  /** null: not all of them are known. */
  of(keys: readonly bigint[]): KeyedRows | null {
    const rows = keys.flatMap((key) => this.#rows.get(key) ?? [])
    return rows.length === keys.length ? { keys, rows } : null
  }
}

/** Keys of chunks that are gone; or, where too much has happened, all that are not. */
export type Gone = readonly bigint[] | { readonly allBut: ReadonlySet<bigint> }

export async function copiedRows(
  tables: OpenTables,
  { keys, rows }: KeyedRows,
  gone: Gone,
  nextChunkKey: number,
) {
  const removedKeys = 'allBut' in gone ? await keysWithout(tables, gone.allBut) : gone
  const there = new Set(await keysAmong(tables, keys))
  const split = (isThere: boolean): KeyedRows => {
    const at = keys.flatMap((key, index) => (there.has(key) === isThere ? index : []))
    const pick = <T>(from: readonly T[]) => at.flatMap((index) => from[index] ?? [])
    return { keys: pick(keys), rows: pick(rows) }
  }
  const [known, fresh] = [split(true), split(false)]
  await replaceChunkRows(tables, fresh.rows, removedKeys, fresh.keys)
  // A text never changes under its key.
  await rewriteChunkRows(tables, known.rows, known.keys)
  const { vectors } = vectorsOfRows(fresh.rows, 0, tables.dimensions ?? 0) ?? {}
  const changes = {
    removedKeys: BigInt64Array.from(removedKeys),
    rewrittenKeys: BigInt64Array.from(known.keys),
    ...(vectors === undefined ? {} : { keys: BigInt64Array.from(fresh.keys), vectors }),
  }
  const postingCount = fresh.rows.reduce((sum, { terms }) => sum + terms.keys.length, 0)
  const copied = { rowCount: rows.length, postingCount, nextChunkKey, changes }
  return { result: null, newRows: [], removedKeys, copied }
}

/** Those of the keys whose chunks are here. */
async function keysAmong(
  { connection, ...tables }: OpenTables,
  keys: readonly bigint[],
): Promise<readonly bigint[]> {
  if (keys.length === 0) return []
  const sql = `SELECT chunk_key FROM ${chunkTables(tables).chunks} WHERE chunk_key IN ($keys)`
  return keysOf(await (await runWithKeys(connection, sql, { keys })).getRows())
}

export async function keysWithout(
  { connection, ...tables }: OpenTables,
  kept: ReadonlySet<bigint>,
): Promise<readonly bigint[]> {
  const sql = `SELECT chunk_key FROM ${chunkTables(tables).chunks}`
  const keys = keysOf((await connection.runAndReadAll(sql)).getRows())
  return keys.filter((key) => !kept.has(key))
}

/** Keys of rows that are here and should be among those that came. */
export async function keysOfTouched(
  tables: OpenTables,
  { ids, keys }: TouchedRows,
): Promise<ReadonlySet<bigint>> {
  const ofDocuments = await keysOfDocuments(tables.connection, tables, ids)
  return new Set([...ofDocuments, ...(await keysAmong(tables, keys))])
}

function keysOf(rows: readonly (readonly unknown[])[]): readonly bigint[] {
  return rows.map(([key]) => BigInt(String(key)))
}

export async function noteRevision(
  { connection }: OpenTables,
  { id }: KnowledgeBase,
  revision: number,
): Promise<void> {
  await connection.run('UPDATE eider.storages SET revision = $2 WHERE knowledge_base_id = $1', [
    id,
    revision,
  ])
}
