import type { CellValue, Document, Row } from '../../core/domain/document.ts'
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

/** What readers report about the files, pages or rows of a source. */

export interface SyncSink {
  /** It is unchanged. @param stamp a new stamp for recognizing it the next time */
  unchanged(known: SyncItem, stamp?: string | null): void
  /** It now has these rows, which are read to the end before this resolves. */
  content(content: ItemContent): Promise<void>
  /** Its current content is unavailable: the stored one stays. */
  failed(failure: ItemFailure): void
  /** A part of an item failed; its other parts are stored. */
  leaveOut(item: string, message: string): void
  /** It was removed at the source. */
  gone(item: string): void
  /** Bytes read, or pages requested. */
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
  /** Set: it is not tried again while it has this one. */
  readonly stamp?: string | null
}

/** How much of its source a reader has seen. */
export interface SyncReach {
  /** Items that exist, readable or not. */
  readonly found: number
  /** False for an item that could not be checked: it has not vanished. */
  mayHaveVanished(item: string): boolean
  /** Where the next run starts to read rows. */
  readonly cursor?: CellValue
}

/** For one run. */
export interface SyncTask {
  readonly source: SyncSource
  readonly mapping: ColumnMapping
  readonly projectName: string
  /** The remembered state, by item. */
  readonly known: ReadonlyMap<string, SyncItem>
  readonly sink: SyncSink
}

/** Items on their way into a knowledge base. */

/** An item with all its rows. */
export interface WholeItem {
  readonly item: string
  readonly hash: string
  readonly stamp: string | null
  readonly rows: readonly IdentifiedRow[]
  readonly chars: number
  /** Its remembered state; null: none. */
  readonly known: SyncItem | null
}

export interface IdentifiedRow {
  readonly row: Row
  readonly documentId: string
}

/**
 * The row with its document's id; null without content, and therefore without a document.
 * @throws AppError `insert_failed` if a content column is missing
 */
export async function identified(
  row: Row,
  kb: KnowledgeBase,
  slice: TimeSlice,
  signal: AbortSignal,
): Promise<(IdentifiedRow & { readonly chars: number }) | null> {
  const document = documentOfRow(row, 0, columnMappingOf(kb))
  if (document.texts.length === 0) return null
  const chars = charsOf(document)
  const { id, texts } = document
  return { row, documentId: id ?? (await contentId(texts, slice, signal)), chars }
}

/** Document ids that an item no longer has. */
export function staleIds(items: readonly WholeItem[]): readonly string[] {
  return items.flatMap(({ known, rows }) => {
    const own = new Set(rows.map(({ documentId }) => documentId))
    return (known?.documentIds ?? []).filter((id) => !own.has(id))
  })
}

/** False: it could never be read, or it is unknown whether its first text was stored. No run has counted it. */
export function wasStored(known: SyncItem | null): known is SyncItem {
  return known !== null && (known.hash !== null || known.outcome === 'changed')
}

function charsOf({ texts }: Pick<Document, 'texts'>): number {
  return texts.reduce((sum, { text }) => sum + text.length, 0)
}

/** So that a moved or copied file keeps its vectors: its text is stored under another id. */
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
