/** Lists documents and chunks of a knowledge base page by page, in insertion order. */

import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { nameKey, quote } from '../../core/domain/names.ts'
import type { StoredChunk, StoredDocument } from '../../core/domain/ports/document-ports.ts'
import { CHUNK_KEY } from '../../sql/search/ranking.ts'
import { quotedName, selectChunks } from '../search/chunk-search.ts'
import { searchFilter } from '../search/search-filter.ts'
import type { QueryDeps } from '../select/query-deps.ts'

/** Which documents or chunks to list. */
export interface Selection {
  /** See `searchFilter`. A document is selected if one of its chunks matches. */
  readonly filters?: unknown
  /** Part of an id or title, ignoring case. */
  readonly searched?: string
  readonly documentId?: string
}

export interface ListOrder extends Selection {
  readonly limit: number
  /** Start after this key, then skip `offset` more. */
  readonly afterKey: bigint
  readonly offset: number
  /** Reverses the order: lists those before `afterKey`, or from the end if it is 0. */
  readonly isBackwards?: boolean
}

export interface ListPage<T> {
  readonly items: readonly T[]
  readonly total: number
  /** The key to start the next page after; null on the last page. */
  readonly next: bigint | null
}

/** The metadata column that holds a document's title. */
const TITLE_COLUMN = 'title'

/** @throws AppError `invalid_request` for filters, and like `runSelect` */
export async function listDocuments(
  kb: KnowledgeBase,
  order: ListOrder,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<ListPage<StoredDocument>> {
  const { limit, afterKey } = order
  if (isWhole(order)) {
    const found = await deps.documents.page(kb, { afterKey, limit: limit + 1 })
    const items = found.slice(0, limit)
    const next = found.length > limit ? (items.at(-1)?.firstKey ?? null) : null
    return { items, total: await deps.documents.count(kb), next }
  }
  const found = await selectedRows('documents', { kb, order }, deps, signal)
  const ids = found.rows.map(({ id }) => id)
  const documents = await deps.documents.find(kb, ids)
  const byId = new Map(documents.map((document) => [document.id, document]))
  // Skip documents that were deleted in the meantime.
  return { ...found, items: ids.flatMap((id) => byId.get(id) ?? []) }
}

/** @throws AppError `invalid_request` for filters, and like `runSelect` */
export async function listChunks(
  kb: KnowledgeBase,
  order: ListOrder,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<ListPage<StoredChunk>> {
  const { limit, afterKey } = order
  if (isWhole(order)) {
    const found = await deps.documents.chunkPage(kb, { afterKey, limit: limit + 1 })
    const items = found.slice(0, limit)
    const next = found.length > limit ? (items.at(-1)?.key ?? null) : null
    return { items, total: await deps.documents.chunkCount(kb), next }
  }
  const found = await selectedRows('chunks', { kb, order }, deps, signal)
  const keys = found.rows.map(({ key }) => key)
  return { ...found, items: await deps.documents.chunks(kb, keys) }
}

function isWhole({ filters, searched, documentId, offset, isBackwards }: ListOrder): boolean {
  if (isBackwards === true) return false
  return offset === 0 && documentId === undefined && searched === undefined && isEmpty(filters)
}

/** Whether the filters exclude nothing. */
export function isEmpty(filters: unknown): boolean {
  if (filters === undefined || filters === null) return true
  return typeof filters === 'object' && Object.keys(filters).length === 0
}

/** Selects the page and the total with one statement. */
async function selectedRows(
  what: 'documents' | 'chunks',
  { kb, order }: { readonly kb: KnowledgeBase; readonly order: ListOrder },
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<{
  readonly rows: readonly { readonly id: string; readonly key: bigint }[]
  readonly total: number
  readonly next: bigint | null
}> {
  const { limit, afterKey, offset, isBackwards = false } = order
  const direction = isBackwards ? 'DESC' : 'ASC'
  const isAfter =
    isBackwards && afterKey === 0n ? 'TRUE' : `position ${isBackwards ? '<' : '>'} ${afterKey}`
  const condition = listCondition(kb, order)
  const from = `FROM ${quotedName(kb)} WHERE ${condition.sql}`
  const found =
    what === 'chunks'
      ? `SELECT id, ${CHUNK_KEY} AS position ${from}`
      : `SELECT id, min(${CHUNK_KEY}) AS position ${from} GROUP BY id`
  const sql = `WITH found AS (${found}) SELECT counted.total, page.id, page.position
    FROM (SELECT count(*) AS total FROM found) AS counted LEFT JOIN (
      SELECT id, position FROM found WHERE ${isAfter}
      ORDER BY position ${direction} LIMIT ${limit + 1} OFFSET ${offset}) AS page ON TRUE
    ORDER BY page.position ${direction}`
  const rows: { readonly id: string; readonly key: bigint }[] = []
  let total = 0
  const request = { sql, params: condition.params, readsChunkKeys: true }
  for await (const batch of (await selectChunks(kb, request, deps, signal)).batches) {
    for (const [count, id = null, key = null] of batch) {
      total = Number(count)
      if (key !== null) rows.push({ id: String(id), key: BigInt(String(key)) })
    }
  }
  const shown = rows.slice(0, limit)
  return { rows: shown, total, next: rows.length > limit ? (shown.at(-1)?.key ?? null) : null }
}

/** @throws AppError `invalid_request` with the position in the filters */
export function listCondition(
  kb: KnowledgeBase,
  { filters, searched, documentId }: Selection,
): { readonly sql: string; readonly params: Readonly<Record<string, unknown>> } {
  const filter = searchFilter(kb, filters ?? {})
  const parts = [filter.sql]
  const params: Record<string, unknown> = { ...filter.params }
  if (documentId !== undefined) {
    parts.push('id = :document_id')
    params.document_id = documentId
  }
  if (searched !== undefined) {
    const title = kb.storedMetadata.find(({ name }) => nameKey(name) === TITLE_COLUMN)
    const places = ['id', ...(title === undefined ? [] : [`CAST(${quote(title.name)} AS VARCHAR)`])]
    const found = places.map(
      (place) => `coalesce(contains(lower(${place}), lower(:searched)), FALSE)`,
    )
    parts.push(`(${found.join(' OR ')})`)
    params.searched = searched
  }
  return { sql: parts.join(' AND '), params }
}
