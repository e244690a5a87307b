import type { CellValue, Row } from '../../core/domain/document.ts'
import type { SyncItem, SyncSource } from '../../core/domain/flow/sync-source.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import type { DocumentStore } from '../../core/domain/ports/store-ports.ts'
import type { TimeSlice } from '../../core/runtime/serial-queue.ts'
import {
  type ColumnMapping,
  columnMappingOf,
  contentId,
  documentOfRow,
} from '../sources/document-of-row.ts'

export interface SyncSink {
  /** Reports an unchanged item. @param stamp the new stamp to recognize it by */
  unchanged(known: SyncItem, stamp?: string | null): void
  /** Reports an item's new rows. Resolves when all of them were read. */
  content(content: ItemContent): Promise<void>
  /** Reports that the current content cannot be read. The stored version stays. */
  failed(failure: ItemFailure): void
  /** Reports that a part of an item failed. Its other parts are stored. */
  leaveOut(item: string, message: string): void
  gone(item: string): void
  /** Counts bytes that were read, or pages that were requested. */
  count(what: { readonly bytes?: number; readonly pages?: number }): void
}

export interface ItemContent {
  readonly item: string
  readonly hash: string
  readonly stamp: string | null
  readonly rows: AsyncIterable<Row> | readonly Row[]
}

export interface ItemFailure {
  readonly item: string
  readonly message: string
  /** If set, the item is not tried again while it has this stamp. */
  readonly stamp?: string | null
}

/** How much of its source a reader has seen. */
export interface SyncReach {
  /** The number of existing items, whether they can be read or not. */
  readonly found: number
  /** False for an item that could not be checked and must not count as removed. */
  mayHaveVanished(item: string): boolean
  /** Where the next run starts to read rows. */
  readonly cursor?: CellValue
}

export interface SyncTask {
  readonly source: SyncSource
  readonly mapping: ColumnMapping
  readonly projectName: string
  readonly known: ReadonlyMap<string, SyncItem>
  readonly sink: SyncSink
}

/** Items on their way into a knowledge base. */

export interface WholeItem {
  readonly item: string
  readonly hash: string
  readonly stamp: string | null
  readonly rows: readonly IdentifiedRow[]
  readonly chars: number
  readonly known: SyncItem | null
}

export interface IdentifiedRow {
  readonly row: Row
  readonly documentId: string
}

/** null if the row has no content. @throws AppError `insert_failed` for a missing column */
export async function identified(
  row: Row,
  kb: KnowledgeBase,
  slice: TimeSlice,
  signal: AbortSignal,
): Promise<(IdentifiedRow & { readonly chars: number }) | null> {
  const document = documentOfRow(row, 0, columnMappingOf(kb))
  if (document.texts.length === 0) return null
  const chars = document.texts.reduce((sum, { text }) => sum + text.length, 0)
  const { id, texts } = document
  return { row, documentId: id ?? (await contentId(texts, slice, signal)), chars }
}

/** Returns document ids that an item no longer has. */
export function staleIds(items: readonly WholeItem[]): readonly string[] {
  return items.flatMap(({ known, rows }) => {
    const own = new Set(rows.map(({ documentId }) => documentId))
    return (known?.documentIds ?? []).filter((id) => !own.has(id))
  })
}

/** False if it could never be read, or if it is unknown whether its text was stored. */
export function wasStored(known: SyncItem | null): known is SyncItem {
  return known !== null && (known.hash !== null || known.outcome === 'changed')
}

/** A moved or copied file reuses the vectors of its text under another id. */
export function withTextsOf<Store extends DocumentStore>(
  store: Store,
  others: readonly string[],
): Store {
  if (others.length === 0) return store
  const storedTexts: DocumentStore['storedTexts'] = (kb, documentIds) => {
    return store.storedTexts(kb, [...documentIds, ...others])
  }
  return new Proxy(store, {
    get(target, name) {
      if (name === 'storedTexts') return storedTexts
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
