/** What keeping knowledge bases in step needs of the store. */

import type { Row } from '../document.ts'
import type { Job } from '../flow/job.ts'
import type {
  RunTrigger,
  SyncItem,
  SyncRun,
  SyncSource,
  SyncSourceChanges,
  SyncSourceDraft,
} from '../flow/sync-source.ts'
import type { KnowledgeBase } from '../knowledge-base.ts'
import type { ReadTable } from './reading-ports.ts'

/** Sources of knowledge bases, what is remembered of their items, and the history of their runs. */
export interface SyncStore {
  /** Of all knowledge bases that there are, as of the last committed change. */
  sources(): readonly SyncSource[]
  /** The newest one; null: it never ran. */
  lastRun(source: Pick<SyncSource, 'id'>): SyncRun | null
  /** @throws AppError `source_exists`, `knowledge_base_not_found` */
  create(draft: SyncSourceDraft): Promise<SyncSource>
  /** By other parameters each item is read again. @throws AppError `source_exists`, `source_not_found` */
  change(source: SyncSource, changes: SyncSourceChanges): Promise<SyncSource>
  /** With its history; its documents stay. @throws AppError `source_not_found` */
  drop(source: SyncSource): Promise<void>
  beginRun(source: SyncSource, trigger: RunTrigger, jobId: number | null): Promise<SyncRun>
  /** Nothing happens where the source is gone. */
  saveRun(run: SyncRun): Promise<void>
  /** The newest first. */
  runs(source: Pick<SyncSource, 'id'>, limit: number): Promise<readonly SyncRun[]>
  /** By their names. */
  items(source: Pick<SyncSource, 'id'>): Promise<Map<string, SyncItem>>
  /** Instead of what was remembered of these items. */
  remember(source: Pick<SyncSource, 'id'>, items: readonly SyncItem[]): Promise<void>
  /** In one transaction with what the run counts. */
  forget(run: SyncRun, items: readonly string[]): Promise<void>
  /** Those of the documents that another source of the knowledge base has as well. It will read them again. */
  release(source: SyncSource, documentIds: readonly string[]): Promise<ReadonlySet<string>>
  /** Items with a document that is not stored any more, as somebody has deleted it. */
  itemsWithout(source: Pick<SyncSource, 'id'>, kb: KnowledgeBase): Promise<ReadonlySet<string>>
}

/** Tables that were read elsewhere and are not stored. */
export interface TableRows {
  /** Its Parquet file is taken away. */
  rowsOfTable(table: ReadTable, signal: AbortSignal): AsyncIterable<Row>
}

/** Keeps knowledge bases in step with their sources: on request, by their schedules, or when a folder changes. */
export interface SourceKeeping {
  list(kb: Pick<KnowledgeBase, 'id'>): readonly SyncSource[]
  /** @throws AppError `source_exists`, `folder_refused`, `folder_unreadable` */
  create(draft: SyncSourceDraft): Promise<SyncSource>
  /** @throws AppError as `create`, and `source_not_found` */
  change(source: SyncSource, changes: SyncSourceChanges): Promise<SyncSource>
  /** Its documents stay. A run of it is cancelled. @throws AppError `source_not_found` */
  drop(source: SyncSource): Promise<void>
  /** The job that does it: one that waits or runs already, where there is one. @throws AppError `too_busy` */
  run(source: SyncSource, options?: { readonly isFull?: boolean }): Promise<Job>
  runs(source: SyncSource, limit: number): Promise<readonly SyncRun[]>
  stateOf(source: SyncSource): SourceState
}

export interface SourceState {
  readonly lastRun: SyncRun | null
  /** Waits or runs; null: none. */
  readonly jobId: number | null
  /** `YYYY-MM-DD HH:MM:SS.ffffff`, UTC; null: by no schedule. */
  readonly nextRunAt: string | null
  /** How changes of a folder are noticed; null: not at all. */
  readonly watching: 'events' | 'polling' | null
  /** Why by polling; null: there is nothing to say. */
  readonly watchNote: string | null
}
