/** Rows of chunks from PostgreSQL in the tables here, within the transaction of the caller. */
import { chunkTables } from '../../core/domain/chunk.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import type { TouchedRows } from '../../core/domain/ports/storage-ports.ts'
import {
  type OpenTables,
  replaceChunkRows,
  rewriteChunkRows,
  vectorsOfRows,
} from '../documents/write-chunk-rows.ts'
import { runWithKeys } from '../duckdb/typed-values.ts'
import type { KeyedRows } from './remote-rows.ts'

/** Keys of chunks that are gone; or, where too much has happened, all that are not. */
export type Gone = readonly bigint[] | { readonly allBut: ReadonlySet<bigint> }

export async function copiedRows(
  tables: OpenTables,
  { keys, rows }: KeyedRows,
  gone: Gone,
  nextChunkKey: number,
) {
  const removedKeys = 'allBut' in gone ? await keysWithout(tables, gone.allBut) : gone
  const there = await keysAmong(tables, keys)
  const at = (isThere: boolean) =>
    keys.flatMap((key, index) => (there.has(key) === isThere ? index : []))
  const pick = <T>(from: readonly T[], places: readonly number[]) =>
    places.flatMap((one) => from[one] ?? [])
  const [known, fresh] = [at(true), at(false)]
  const freshRows = pick(rows, fresh)
  const freshKeys = pick(keys, fresh)
  await replaceChunkRows(tables, freshRows, removedKeys, freshKeys)
  // A text never changes under its key.
  await rewriteChunkRows(tables, pick(rows, known), pick(keys, known))
  const { vectors } = vectorsOfRows(freshRows, 0, tables.dimensions ?? 0) ?? {}
  const changes = {
    removedKeys: BigInt64Array.from(removedKeys),
    rewrittenKeys: BigInt64Array.from(pick(keys, known)),
    ...(vectors === undefined ? {} : { keys: BigInt64Array.from(freshKeys), vectors }),
  }
  const postingCount = freshRows.reduce((sum, { terms }) => sum + terms.keys.length, 0)
  const copied = { rowCount: rows.length, postingCount, nextChunkKey, changes }
  return { result: null, newRows: [], removedKeys, copied }
}

/** Those of the keys whose chunks are here. */
async function keysAmong(
  tables: OpenTables,
  keys: readonly bigint[],
): Promise<ReadonlySet<bigint>> {
  if (keys.length === 0) return new Set()
  const sql = `SELECT chunk_key FROM ${chunkTables(tables).chunks} WHERE chunk_key IN ($keys)`
  const rows = await (await runWithKeys(tables.connection, sql, { keys })).getRows()
  return new Set(rows.map(([key]) => BigInt(String(key))))
}

export async function keysWithout(
  tables: OpenTables,
  kept: ReadonlySet<bigint>,
): Promise<readonly bigint[]> {
  const sql = `SELECT chunk_key FROM ${chunkTables(tables).chunks}`
  const rows = (await tables.connection.runAndReadAll(sql)).getRows()
  return rows.map(([key]) => BigInt(String(key))).filter((key) => !kept.has(key))
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

/** Keys of rows that are here and should be among those that came. */
export async function keysOfTouched(
  { connection, ...tables }: OpenTables,
  { ids, keys }: TouchedRows,
): Promise<readonly bigint[]> {
  const sql = `SELECT chunk_key FROM ${chunkTables(tables).chunks}
    WHERE chunk_key IN ($keys) OR document_id IN (SELECT unnest($ids::JSON::VARCHAR[]))`
  const rows = await (
    await runWithKeys(connection, sql, { keys, ids: JSON.stringify(ids) })
  ).getRows()
  return rows.map(([key]) => BigInt(String(key)))
}
