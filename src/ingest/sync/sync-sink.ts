/** What the readers of sources tell about the files, pages or rows that they meet. */
import type { CellValue, Row } from '../../core/domain/document.ts'
import type { SyncItem, SyncSource } from '../../core/domain/flow/sync-source.ts'
import type { ColumnMapping } from '../sources/document-of-row.ts'

export interface SyncSink {
  /** It is as it is remembered. @param stamp a new one by which it is known the next time */
  unchanged(known: SyncItem, stamp?: string | null): void
  /** It holds these rows now; they are read to their end before this resolves. */
  content(content: ItemContent): Promise<void>
  /** What it holds now is not to be had: what is stored of it stays. */
  failed(failure: ItemFailure): void
  /** Something in an item, whose other parts are stored. */
  leaveOut(item: string, message: string): void
  /** It is known not to be there any more. */
  gone(item: string): void
  /** Read, or asked for. */
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
  /** Items that there are, whether they could be read or not. */
  readonly found: number
  /** False for what nobody could look for: it has not vanished. */
  mayHaveVanished(item: string): boolean
  /** From where on rows are read the next time. */
  readonly cursor?: CellValue
}

/** Of one run. */
export interface SyncTask {
  readonly source: SyncSource
  readonly mapping: ColumnMapping
  readonly projectName: string
  /** What is remembered, by items. */
  readonly known: ReadonlyMap<string, SyncItem>
  readonly sink: SyncSink
}
