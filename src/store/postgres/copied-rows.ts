/** Copies chunk rows from PostgreSQL into the local tables, within the caller's transaction. */

import { chunkTables } from '../../core/domain/document.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { allRows, wholeRows } from '../../core/runtime/all-rows.ts'
import { SerialQueue } from '../../core/runtime/serial-queue.ts'
import { keysOfDocuments } from '../documents/document-ids.ts'
import {
  type OpenTables,
  replaceChunkRows,
  rewriteChunkRows,
  vectorsOfRows,
} from '../documents/write-chunk-rows.ts'
import { runWithKeys } from '../duckdb/typed-values.ts'
import type { KeyedRows, TouchedRows } from './remote-rows.ts'
import type { RemoteState } from './remote-tables.ts'

/** Rows written by other servers arrive after this time even without a request. */
export const POLL_MS = 1000
/** How late a refresh may be, because of its own round trips and a busy process. */
const POLL_DELAY_MS = 250

export const NO_ROWS: KeyedRows = { keys: [], rows: [] }

export interface KeyRange {
  readonly afterKey: bigint
  /** Null if the range is open-ended. */
  readonly lastKey: bigint | null
}

/** The local copy of a knowledge base that is stored in another database. */
export interface Copy {
  /** The revision of the remote rows when they were last copied. */
  revision: number
  /** For a partial copy: the rows that running work needs. */
  readonly touched: Set<TouchedRows>
  /** Without a full copy, how many pieces of work use some of them. */
  userCount: number
  /** For a partial copy: how many rows were fetched. */
  rowCount: number
  /**
   * True while all rows of a partial copy are fetched, to move the knowledge base to this server.
   */
  isLeaving: boolean
  /** Whether the knowledge base is about to be dropped. */
  isDetached: boolean
  /** The last state that the database reported, or null if none since startup. */
  state: RemoteState | null
  /** The definition that was last applied here, or null if none since startup. */
  definition: string | null
  /** When the copy was last refreshed, from `performance.now()`. */
  refreshedMs: number
  /** How often this server has changed the remote rows or the definition. */
  changeCount: number
  /** Runs this server's writes one after the other. */
  readonly writes: SerialQueue
  refreshing: Promise<void> | null
  /** The refresh to run after the current one, for requests that arrived in the meantime. */
  following: Promise<void> | null
}

export function newCopy(revision: number): Copy {
  return {
    revision,
    touched: new Set(),
    userCount: 0,
    rowCount: 0,
    isLeaving: false,
    isDetached: false,
    state: null,
    definition: null,
    refreshedMs: Number.NEGATIVE_INFINITY,
    changeCount: 0,
    writes: new SerialQueue(),
    refreshing: null,
    following: null,
  }
}

/** A partial copy needs only the definition, which may be a second old. */
export function isRecent({ touched, refreshedMs }: Copy): boolean {
  return touched.size === 0 && performance.now() - refreshedMs < POLL_MS + POLL_DELAY_MS
}

/** Call after this server has changed the remote rows, because they may have new columns. */
export function noteChange(copy: Copy): void {
  copy.changeCount += 1
  copy.refreshedMs = Number.NEGATIVE_INFINITY
}

/** A refresh that began before a change has not seen it. @param changeCount when it began */
export function noteRefresh(copy: Copy, changeCount: number): void {
  if (copy.changeCount === changeCount) copy.refreshedMs = performance.now()
}

const NEEDED_ROWS_MAX = 50_000

/** Whether to remove fetched rows that are not in use. */
export function isOverfull({ rowCount, userCount, isLeaving }: Copy): boolean {
  return rowCount > NEEDED_ROWS_MAX && userCount === 0 && !isLeaving
}

/** Returns what the local tables must have columns and types for. */
export function shapeOf({ columns, dimensions, nextChunkKey }: RemoteState) {
  return { columns, dimensions, nextChunkKey }
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
  // The text of a key never changes, so only metadata is updated.
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

/** Returns those of the keys whose chunks are stored locally. */
async function keysAmong(
  { connection, ...tables }: OpenTables,
  keys: readonly bigint[],
): Promise<readonly bigint[]> {
  if (keys.length === 0) return []
  const sql = `SELECT chunk_key FROM ${chunkTables(tables).chunks} WHERE chunk_key IN ($keys)`
  return keysOf(await wholeRows(await runWithKeys(connection, sql, { keys })))
}

export async function keysWithout(
  { connection, ...tables }: OpenTables,
  kept: ReadonlySet<bigint>,
  { afterKey, lastKey }: KeyRange = { afterKey: -1n, lastKey: null },
): Promise<readonly bigint[]> {
  const sql = `SELECT chunk_key FROM ${chunkTables(tables).chunks}
    WHERE chunk_key > ${afterKey} AND chunk_key <= ${lastKey ?? 'chunk_key'}`
  const keys = keysOf(await allRows(connection, sql))
  return keys.filter((key) => !kept.has(key))
}

/** Returns the keys of local rows that the fetch should have returned. */
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
