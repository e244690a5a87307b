/**
 * Stores what is remembered about the files, pages or rows of a source, within the caller's
 * transaction.
 */
import { type DuckDBConnection, LIST, listValue, VARCHAR } from '@duckdb/node-api'
import { chunkTables } from '../../core/domain/document.ts'
import type { SyncItem } from '../../core/domain/flow/sync-source.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { allRows, rowBatches } from '../../core/runtime/all-rows.ts'
import { yieldToEventLoop } from '../../core/runtime/serial-queue.ts'
import { APPENDED_ROWS_MAX, appendColumns } from '../duckdb/columns.ts'

const TABLE = 'eider.sync_documents'

export async function syncItems(
  connection: DuckDBConnection,
  sourceId: number,
): Promise<Map<string, SyncItem>> {
  const items = new Map<string, SyncItem & { readonly documentIds: string[] }>()
  const sql = `SELECT item, document_id, hash, stamp, failure, run_id, outcome FROM ${TABLE}
    WHERE source_id = $1`
  for await (const rows of rowBatches(connection, sql, [sourceId])) {
    for (const [name, documentId, hash, stamp, failure, runId, outcome] of rows) {
      const item = String(name)
      let known = items.get(item)
      if (known === undefined) {
        known = {
          item,
          documentIds: [],
          hash: textOrNull(hash),
          stamp: textOrNull(stamp),
          failure: textOrNull(failure),
          runId: Number(runId),
          outcome: outcome === 'added' ? 'added' : 'changed',
        }
        items.set(item, known)
      }
      if (documentId !== null && documentId !== undefined)
        known.documentIds.push(String(documentId))
    }
    await yieldToEventLoop()
  }
  return items
}

function textOrNull(value: unknown): string | null {
  return value === null || value === undefined ? null : String(value)
}

export async function deleteItems(
  connection: DuckDBConnection,
  sourceId: number,
  items: readonly string[],
): Promise<void> {
  const sql = `DELETE FROM ${TABLE} WHERE source_id = $source AND item IN (SELECT unnest($items))`
  const values = { source: sourceId, items: listValue(items.map((item) => item.toWellFormed())) }
  await connection.run(sql, values, { items: LIST(VARCHAR) })
}

export async function insertItems(
  connection: DuckDBConnection,
  sourceId: number,
  items: readonly SyncItem[],
): Promise<void> {
  const rows = items.flatMap((item) => {
    const ids: readonly (string | null)[] = item.documentIds.length > 0 ? item.documentIds : [null]
    return ids.map((documentId) => ({ ...item, documentId }))
  })
  await appendColumns({ connection, schema: 'eider', table: 'sync_documents' }, batches())

  function* batches() {
    for (let start = 0; start < rows.length; start += APPENDED_ROWS_MAX) {
      const some = rows.slice(start, start + APPENDED_ROWS_MAX)
      yield [
        Int32Array.from(some, () => sourceId),
        some.map(({ item }) => item.toWellFormed()),
        some.map(({ documentId }) => documentId),
        some.map(({ hash }) => hash),
        some.map(({ stamp }) => stamp),
        some.map(({ failure }) => failure?.toWellFormed() ?? null),
        Int32Array.from(some, ({ runId }) => runId),
        some.map(({ outcome }) => outcome),
      ]
    }
  }
}

/** The stored version may come from another source, so they must be read again. */
export async function sharedDocuments(
  connection: DuckDBConnection,
  sourceIds: readonly number[],
  documentIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const condition = `source_id IN (${sourceIds.map(Number).join(', ')})
    AND document_id IN (SELECT unnest($ids))`
  const values = { ids: listValue(documentIds.map((id) => id.toWellFormed())) }
  const types = { ids: LIST(VARCHAR) }
  const sql = `SELECT DISTINCT document_id FROM ${TABLE} WHERE ${condition}`
  const found = await allRows(connection, sql, values, types)
  if (found.length > 0) {
    const forget = `UPDATE ${TABLE} SET hash = '', stamp = NULL WHERE ${condition} AND hash IS NOT NULL`
    await connection.run(forget, values, types)
  }
  return new Set(found.map(([id]) => String(id)))
}

export async function itemsWithout(
  connection: DuckDBConnection,
  sourceId: number,
  kb: KnowledgeBase,
): Promise<ReadonlySet<string>> {
  const sql = `SELECT DISTINCT item FROM ${TABLE} AS d WHERE source_id = $1
    AND document_id IS NOT NULL AND hash IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM ${chunkTables(kb).chunks} AS c WHERE c.document_id = d.document_id)`
  const found = await allRows(connection, sql, [sourceId])
  return new Set(found.map(([item]) => String(item)))
}

/** Drops the sources of these knowledge bases and everything remembered about them. */
export async function dropSourcesOf(
  connection: DuckDBConnection,
  knowledgeBaseIds: readonly number[],
): Promise<void> {
  if (knowledgeBaseIds.length === 0) return
  const ids = knowledgeBaseIds.map(Number).join(', ')
  const own = `SELECT id FROM eider.sync_sources WHERE knowledge_base_id IN (${ids})`
  await connection.run(`DELETE FROM ${TABLE} WHERE source_id IN (${own})`)
  await connection.run(`DELETE FROM eider.sync_runs WHERE source_id IN (${own})`)
  await connection.run(`DELETE FROM eider.sync_sources WHERE knowledge_base_id IN (${ids})`)
}
