/** Rows of chunks from PostgreSQL in the tables here, within the transaction of the caller. */
import { chunkTables } from '../../core/domain/document.ts'
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

/** By then, the rows that others wrote have arrived, even if nothing asks for them. */
export const POLL_MS = 1000

export const NO_ROWS: KeyedRows = { keys: [], rows: [] }

/** The state of one knowledge base that another database stores. */
export interface Copy {
  /** Of the rows there when they were copied last. */
  revision: number
  /** Without a full copy: the rows that running work needs. */
  readonly touched: Set<TouchedRows>
  /** Without a full copy: the rows that searches fetched. */
  readonly found: FoundRows
  /** Without a full copy: how many pieces of work use some of them. */
  userCount: number
  /** Without a full copy: how many rows were fetched, counting each time. */
  rowCount: number
  /** What its database said last; null: nothing since the start. */
  state: RemoteState | null
  /** The definition when last taken over; null: not since the start. */
  definition: string | null
  /** The time of the last refresh, on the clock of `performance.now()`. */
  refreshedMs: number
  /** Writes from this Eider, one after the other. */
  readonly writes: SerialQueue
  refreshing: Promise<void> | null
  /** Starts after that, for requests that arrived while it was reading. */
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
    definition: null,
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

/** Whether unused rows should be removed. */
export function isOverfull({ rowCount, userCount }: Copy): boolean {
  return rowCount > NEEDED_ROWS_MAX && userCount === 0
}

/** What the tables here must be prepared for. */
export function shapeOf({ columns, dimensions, nextChunkKey }: RemoteState) {
  return { columns, dimensions, nextChunkKey }
}

const FOUND_ROWS_MAX = 2000

/** The rows of the last searches, so that they are not fetched twice. */
class FoundRows {
  readonly #rows = new LruMap<bigint, ChunkRow>({ sizeMax: FOUND_ROWS_MAX })

  /** @param found as the server sent them */
  add(found: Parameters<typeof keyedRows>[0], state: RemoteState | null): void {
    if (state === null) return
    const { keys, rows } = keyedRows(found, state.columns)
    for (const [index, row] of rows.entries()) this.#rows.set(keys[index] ?? 0n, row)
  }

  /** null: some are unknown. */
  of(keys: readonly bigint[]): KeyedRows | null {
    const rows = keys.flatMap((key) => this.#rows.get(key) ?? [])
    return rows.length === keys.length ? { keys, rows } : null
  }
}

/** Keys of removed chunks; if there are too many changes, all missing ones. */
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
  // The text of a key never changes.
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

/** The keys whose chunks are here. */
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

/** Keys of rows that are here and should be among the fetched ones. */
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
  await connection.run('UPDATE eider.attachments SET revision = $2 WHERE knowledge_base_id = $1', [
    id,
    revision,
  ])
}
