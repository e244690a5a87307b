/** Knowledge bases whose rows another database holds: what the store, the use cases and that database's client share. */
import type { DataSource } from '../flow/source-parameters.ts'
import type { VectorIndexDefinition } from '../index-definition.ts'
import type { KnowledgeBase } from '../knowledge-base.ts'
import type { SourceValue } from './engine-ports.ts'

/** Runs one statement; each value of its rows as text. Without values it may be several statements. */
export type RunRemote = (
  sql: string,
  values?: readonly SourceValue[],
) => Promise<readonly (readonly (string | null)[])[]>

/** What begins a transaction. */
export interface RemoteBegin {
  readonly mode: 'read' | 'write'
  /** Statements that come with its beginning, in one round trip. */
  readonly opening: string
}

/** A database that can store knowledge bases. `sources/` implements it. */
export interface RemoteDatabases {
  /**
   * One transaction, committed when `work` has resolved and rolled back when it fails. Each statement of a `read` sees the
   * same state.
   * @throws AppError `source_failed` with the server's reason, `timeout`, `sql_not_supported` for an engine that cannot
   * store any
   */
  transaction<T>(
    source: DataSource,
    begin: RemoteBegin,
    signal: AbortSignal,
    work: (run: RunRemote) => Promise<T>,
  ): Promise<T>
}

/** A table in a connected database. */
export interface StoragePlace {
  readonly source: DataSource
  readonly table: string
}

/** Where knowledge bases are stored, for creating, attaching and dropping them. */
export interface KnowledgeBaseStorages {
  /**
   * Creates the tables, all of them or none.
   * @param definition what another Eider makes the same knowledge base from
   * @throws AppError `storage_in_use`, `invalid_database` naming what the server lacks, `source_failed`
   */
  create(place: StoragePlace, definition: string, dimensions: number | null): Promise<void>
  /** The definition that `create` stored. @throws AppError `table_not_found`, `invalid_database`, `source_failed` */
  definitionOf(place: StoragePlace): Promise<string>
  /** Detaches it; the last one takes the tables along. Does nothing for one stored here. @throws AppError `source_failed` */
  drop(kb: KnowledgeBase): Promise<void>
  /** Removes tables that no knowledge base uses. */
  remove(place: StoragePlace): Promise<void>
  /**
   * Updates the local copy of one that another database holds.
   * @returns the knowledge base after that
   * @throws AppError `source_failed`, `timeout`, `invalid_database`
   */
  fresh(kb: KnowledgeBase): Promise<KnowledgeBase>
  /**
   * Stores another definition, which all that share the rows take over; then each runs `adopt` with it, see `connect`.
   * Does nothing for one stored here.
   * @throws AppError `too_busy` if another Eider changed it since it was read here, `source_failed`
   */
  redefine(kb: KnowledgeBase, definition: string): Promise<void>
  /** Makes or drops the index that its place has for searches. Nothing happens where searches run here. */
  index(kb: KnowledgeBase, definition: VectorIndexDefinition | null): Promise<void>
}
