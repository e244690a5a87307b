/**
 * Knowledge bases whose rows another database stores: the interface between the store, the use
 * cases and the database client.
 */
import type { DataSource } from '../flow/source-parameters.ts'
import type { VectorIndexDefinition } from '../index-definition.ts'
import type { KnowledgeBase, RemoteStorage } from '../knowledge-base.ts'
import type { RunLimits, SourceSelect, SourceValue } from './engine-ports.ts'

/** Runs one statement, or several without values. Returns each value of the rows as text. */
export type RunRemote = (
  sql: string,
  values?: readonly SourceValue[],
) => Promise<readonly (readonly (string | null)[])[]>

export interface RemoteBegin {
  readonly mode: 'read' | 'write'
  /** Settings of the transaction, each with an SQL expression of its text. */
  readonly settings: Readonly<Record<string, string>>
  /** If unset, the limits for long work. */
  readonly limits?: RunLimits
  /** Returns a server's error with the next step, if it knows one. */
  failure(error: unknown): unknown
}

/** A database that can store knowledge bases. Implemented in `sources/`. */
export interface RemoteDatabases {
  /**
   * Runs `work` in one transaction, which is committed when `work` resolves and rolled back when it
   * fails. All statements of a `read` see the same state.
   * @throws AppError `source_failed` with the server's reason, `timeout`, or `sql_not_supported`
   * for an engine that cannot store knowledge bases
   */
  transaction<T>(
    source: DataSource,
    begin: RemoteBegin,
    signal: AbortSignal,
    work: (run: RunRemote) => Promise<T>,
  ): Promise<T>
  /** Runs one statement in its own `read`, in one round trip. @throws AppError like `transaction` */
  select(
    source: DataSource,
    begin: Omit<RemoteBegin, 'mode'>,
    signal: AbortSignal,
    select: SourceSelect,
  ): ReturnType<RunRemote>
}

export interface StoragePlace {
  readonly source: DataSource
  readonly table: string
}

/** The connected database that a knowledge base is moved to. */
export interface MoveTarget extends Pick<RemoteStorage, 'attachment' | 'isCopied'> {
  readonly place: StoragePlace
}

/**
 * The tables that a knowledge base leaves behind in a connected database, under its attachment's
 * name.
 */
export interface LeftStorage extends Pick<RemoteStorage, 'attachment'> {
  readonly place: StoragePlace
}

export interface MoveProgress {
  /** The definition from which another Eider can create the same knowledge base. */
  definitionOf(kb: KnowledgeBase): string
  report(done: { readonly chunks: number; readonly total: number }): Promise<void>
}

/**
 * Moves a knowledge base to another storage without interrupting it: first its rows are copied,
 * then its catalog entry changes in one transaction. Until then, the old storage is used. After a
 * crash, call the method again to continue.
 */
export interface KnowledgeBaseMoves {
  /**
   * Creates the tables as a test and removes them again. @throws AppError like
   * `KnowledgeBaseStorages.create`
   */
  check(kb: KnowledgeBase, target: MoveTarget, definition: string): Promise<void>
  /** @throws AppError `source_failed`, `timeout`, `knowledge_base_not_found`, like `check` */
  toConnected(
    kb: KnowledgeBase,
    target: MoveTarget,
    progress: MoveProgress,
    signal: AbortSignal,
  ): Promise<void>
  /** @throws AppError `source_failed`, `timeout`, `knowledge_base_not_found`, `storage_full` */
  toEmbedded(
    kb: KnowledgeBase,
    names: Pick<KnowledgeBase, 'vectorDatabase' | 'vectorDatabaseTable'>,
    progress: MoveProgress,
    signal: AbortSignal,
  ): Promise<void>
  /** Detaches once running statements have ended. Tables without another user are dropped. */
  leave(left: LeftStorage, signal: AbortSignal): Promise<void>
  abandon(target: LeftStorage): Promise<void>
}

/** Creates, attaches and drops the storage of knowledge bases. */
export interface KnowledgeBaseStorages {
  /**
   * Creates all tables or none.
   * @param definition from which another Eider can create the same knowledge base
   * @throws AppError `storage_in_use`, `invalid_database` naming what the server lacks,
   * `source_failed`
   */
  create(place: StoragePlace, definition: string, dimensions: number | null): Promise<void>
  /** The definition that `create` stored. @throws AppError `table_not_found`, `invalid_database`, `source_failed` */
  definitionOf(place: StoragePlace): Promise<string>
  /**
   * Detaches the knowledge base; if no other server is attached, the tables are dropped. Does
   * nothing for local storage. @throws AppError `source_failed`
   */
  drop(kb: KnowledgeBase): Promise<void>
  /** Removes tables that no knowledge base uses. */
  remove(place: StoragePlace): Promise<void>
  /**
   * Updates the local copy if another database stores the rows.
   * @returns the updated knowledge base
   * @throws AppError `source_failed`, `timeout`, `invalid_database`
   */
  fresh(kb: KnowledgeBase): Promise<KnowledgeBase>
  /**
   * Stores a new definition for all servers that share the rows; each of them then runs `adopt`
   * with it, see `connect`. Does nothing for local storage.
   * @throws AppError `too_busy` if another Eider changed the definition since it was read here,
   * `source_failed`
   */
  redefine(kb: KnowledgeBase, definition: string): Promise<void>
  /** Creates or drops the index on the remote server. Does nothing if searches run locally. */
  index(kb: KnowledgeBase, definition: VectorIndexDefinition | null): Promise<void>
}
