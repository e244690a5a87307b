/**
 * What the use cases need from the store. When its signal aborts, every method stops within a
 * second and throws the signal's reason.
 */

import type { CatalogSnapshot } from '../access/catalog-snapshot.ts'
import type { Agent, AgentChanges, AgentDraft } from '../agents/agent.ts'
import type {
  ChunkChange,
  Document,
  DocumentChange,
  EmbeddedDocument,
  Row,
  StoredChunkText,
} from '../document.ts'
import type { DataSource, DataSourceChanges, DataSourceDraft } from '../flow/source-parameters.ts'
import type {
  KnowledgeBase,
  KnowledgeBaseChanges,
  KnowledgeBaseDraft,
  MissingVectors,
  NextVector,
  ReembeddingProgress,
  SwitchOutcome,
} from '../knowledge-base.ts'
import type { Project, ProjectTable, View, ViewChanges, ViewDraft } from '../names.ts'
import type { RowStream } from '../query-result.ts'
import type { Backup } from '../server-state.ts'
import type { FileTable, UploadedFile } from '../uploaded-file.ts'
import type { BoundSql, RunLimits } from './engine-ports.ts'
import type { JobMark } from './job-ports.ts'
import type { ReadTable } from './reading-ports.ts'

/** Names and definitions. A write is one transaction and updates the snapshot before it resolves. */
export interface Catalog {
  snapshot(): CatalogSnapshot
  /** @throws AppError `project_exists`, `database_exists` */
  createProject(name: string): Promise<Project>
  /** Drops the project and everything in it. */
  dropProject(project: Project): Promise<void>
  /** @throws AppError `knowledge_base_exists`, `storage_in_use` */
  createKnowledgeBase(draft: KnowledgeBaseDraft): Promise<KnowledgeBase>
  /**
   * With `reembedding`, a change of the embedding model starts; if there are no chunks, it is
   * complete at once.
   * @throws AppError `knowledge_base_not_found`; `invalid_knowledge_base` if the embedding model
   * should change but has already changed since `kb` was read
   */
  alterKnowledgeBase(kb: KnowledgeBase, changes: KnowledgeBaseChanges): Promise<KnowledgeBase>
  /** Replaces the previous crawl's warnings. Does nothing if the knowledge base is gone. */
  keepCrawlWarnings(kb: KnowledgeBase, warnings: readonly string[]): Promise<void>
  /** Whether no chunk is stored. @throws AppError `knowledge_base_not_found` */
  isEmpty(kb: KnowledgeBase): Promise<boolean>
  /** Drops the definition, chunks and vectors in one transaction. */
  dropKnowledgeBase(kb: KnowledgeBase): Promise<void>
  /** @throws AppError `agent_exists` */
  createAgent(draft: AgentDraft): Promise<Agent>
  /**
   * A `null` clears a field; a missing field stays unchanged.
   * @param check gets the stored agent just before the change; if it throws, nothing changes
   * @throws AppError `agent_exists`
   */
  alterAgent(agent: Agent, changes: AgentChanges, check?: (stored: Agent) => void): Promise<Agent>
  dropAgent(agent: Agent): Promise<void>
  /**
   * With `orReplace`, an existing view gets the new definition and keeps its id.
   * @throws AppError `relation_exists` if anything else in the project has that name
   */
  createView(draft: ViewDraft, orReplace?: boolean): Promise<View>
  alterView(view: View, changes: ViewChanges): Promise<View>
  dropView(view: View): Promise<void>
}

export interface DataSourceCatalog {
  /**
   * With `orReplace`, an existing data source gets the new definition and keeps its id.
   * @throws AppError `project_exists`, `database_exists`
   */
  createDataSource(draft: DataSourceDraft, orReplace?: boolean): Promise<DataSource>
  /**
   * @param changes applied to the definition stored at that time, possibly after another change
   * @throws AppError `database_not_found`, errors of `changes`
   */
  alterDataSource(
    source: DataSource,
    changes: (stored: DataSource) => DataSourceChanges,
  ): Promise<DataSource>
  /** @throws AppError `database_not_found` */
  dropDataSource(source: DataSource): Promise<void>
}

export type WriteOutcome =
  | { readonly kind: 'stored' }
  /** A vector to be reused is gone, because another insert replaced its document. */
  | { readonly kind: 'stale' }

/** The vectors of a knowledge base's next embedding model, until that model is in use. */
export interface ReembeddingStore {
  /**
   * The first chunks without a vector, starting at a key.
   * @throws AppError `knowledge_base_not_found`
   */
  missing(
    kb: KnowledgeBase,
    from: { readonly afterKey: bigint; readonly limit: number },
  ): Promise<MissingVectors>
  /**
   * Stores vectors, normalised. They must come from `kb.nextEmbeddingModel`; if that has changed,
   * nothing is stored.
   * @returns whether they were stored
   * @throws AppError `dimension_mismatch` (naming both numbers), `provider_failed` for a zero
   * vector
   */
  append(kb: KnowledgeBase, vectors: readonly NextVector[]): Promise<boolean>
  /** Switches to the next model and its vectors in one transaction, if every chunk has a vector. */
  switchOver(kb: KnowledgeBase): Promise<SwitchOutcome>
}

export interface Reembeddings {
  /** Called when the next embedding model of this knowledge base has changed. */
  wake(kb: Pick<KnowledgeBase, 'id'>): void
  /** Returns null if none is being computed. */
  progressOf(kb: Pick<KnowledgeBase, 'id'>): ReembeddingProgress | null
}

/** Stores and removes whole documents. */
export interface DocumentStore {
  /** The stored chunks of these documents. Unchanged texts can reuse their vectors. */
  storedTexts(
    kb: KnowledgeBase,
    documentIds: readonly string[],
  ): Promise<readonly StoredChunkText[]>
  /**
   * Checks metadata against the declared column types before anything is embedded.
   * @throws AppError `insert_failed` naming row and column
   */
  checkDeclared(kb: KnowledgeBase, documents: readonly Document[]): Promise<void>
  /**
   * Replaces whole documents in one transaction; ids must be distinct. Normalises vectors.
   * @param mark the job's progress, stored in the same transaction
   * @throws AppError `dimension_mismatch` (naming both numbers), `provider_failed` for a zero or
   * non-finite vector, `knowledge_base_not_found` after a drop, `storage_full`, `SupersededVectors`
   */
  replaceDocuments(
    kb: KnowledgeBase,
    documents: readonly EmbeddedDocument[],
    mark?: JobMark,
  ): Promise<WriteOutcome>
  /**
   * A lower bound for the keys of chunks stored from now on. @throws AppError
   * `knowledge_base_not_found`
   */
  nextChunkKey(kb: KnowledgeBase): Promise<bigint>
  /** Keeps data that `work` stores out of the cache, for very large writes. */
  withoutCaching<T>(work: () => Promise<T>): Promise<T>
}

export type DocumentsOutcome =
  | { readonly kind: 'stored'; readonly documentCount: number; readonly chunkCount: number }
  /** See `WriteOutcome`. */
  | { readonly kind: 'stale' }

/** How many chunks exceed what the embedding model reads, and how many there are in total. */
export interface CutCounts {
  readonly cutCount: number
  readonly chunkCount: number
}

/** The stored documents and chunks of knowledge bases. */
export interface ChunkStore extends DocumentStore {
  /** The texts embedded before these chunks, by key; chunks without one are left out. */
  contextsOf(kb: KnowledgeBase, chunkKeys: readonly bigint[]): Promise<ReadonlyMap<bigint, string>>
  /** @throws AppError `knowledge_base_not_found` */
  cutCounts(kb: KnowledgeBase): Promise<CutCounts>
  /** Removes whole documents in one transaction. @returns how many chunks they had */
  removeDocuments(kb: KnowledgeBase, documentIds: readonly string[]): Promise<number>
  /** Removes those of these chunks that still exist, in one transaction. @returns how many */
  removeChunks(kb: KnowledgeBase, chunkKeys: readonly bigint[]): Promise<number>
  /**
   * Changes the chunks that still exist, in one transaction; keys must be distinct.
   * @returns how many
   * @throws AppError `dimension_mismatch`, `knowledge_base_not_found`, `storage_full`,
   * `SupersededVectors`
   */
  changeChunks(kb: KnowledgeBase, changes: readonly ChunkChange[]): Promise<number>
  /**
   * Changes the documents that still exist, in one transaction; ids must be distinct.
   * @returns how many, and how many chunks they have now
   * @param mark the job's progress, stored in the same transaction
   * @throws AppError like `changeChunks`
   */
  changeDocuments(
    kb: KnowledgeBase,
    changes: readonly DocumentChange[],
    mark?: JobMark,
  ): Promise<DocumentsOutcome>
}

/** The name of a table, which may not exist yet. */
export interface TableKey {
  /** null for an uploaded file. */
  readonly projectId: number | null
  readonly name: string
}

/** The tables of projects. Call the methods that write within `whileLocked`. */
export interface TableStore {
  /**
   * Runs work while nothing else can write to the table of this name, so that what the work reads
   * is still true when it writes.
   * @param work gets the time it waited for other writers
   * @throws AppError `timeout`, `too_busy`
   */
  whileLocked<T>(
    table: TableKey,
    limits: RunLimits,
    signal: AbortSignal,
    work: (waitedMs: number) => Promise<T>,
  ): Promise<T>
  /**
   * Stores the rows of a guarded SELECT as a new table. The SELECT runs in a READ ONLY transaction,
   * like any other.
   * @throws AppError `relation_exists`, `storage_full`, and like `SqlEngine.run`
   */
  createTable(target: NewTable, limits: RunLimits, signal: AbortSignal): Promise<ProjectTable>
  /**
   * Creates an empty table. @throws AppError `relation_exists`, or `sql_…` if DuckDB refuses the
   * definition
   */
  defineTable(target: NewEmptyTable): Promise<ProjectTable>
  /**
   * Appends the rows of a guarded SELECT to the table of that name, matching columns by name;
   * creates the table if missing.
   * @throws AppError `invalid_request` for a column the table does not have, and like `createTable`
   */
  appendRows(target: NewTable, limits: RunLimits, signal: AbortSignal): Promise<ProjectTable>
  /** @throws AppError `sql_constraint`, `table_not_found`, and like `createTable` */
  writeRows(write: RowWrite, limits: RunLimits, signal: AbortSignal): Promise<WrittenRows>
  /** Removes all rows. @returns how many @throws AppError `table_not_found` */
  truncateTable(table: ProjectTable): Promise<number>
  /** The columns' default values as SQL, by column name. */
  defaultsOf(table: ProjectTable): Promise<ReadonlyMap<string, string>>
  /**
   * @param change guarded SQL that follows `ALTER TABLE name`
   * @throws AppError `table_not_found`, or `sql_…` if DuckDB refuses the change
   */
  alterTable(table: ProjectTable, change: string): Promise<void>
  /** @throws AppError `relation_exists`, `table_not_found` */
  renameTable(table: ProjectTable, name: string): Promise<void>
  dropTable(table: ProjectTable): Promise<void>
}

export interface NewTable {
  readonly projectId: number
  readonly name: string
  readonly select: BoundSql
  /** Replaces an existing table of that name in the same transaction. */
  readonly orReplace?: boolean
  /** For `appendRows`: first deletes rows whose `column` is one of `values`, in the transaction. */
  readonly replaced?: { readonly column: string; readonly values: readonly string[] }
}

export interface NewEmptyTable extends Pick<NewTable, 'projectId' | 'name' | 'orReplace'> {
  /** Guarded SQL: columns and constraints in parentheses. */
  readonly definition: string
}

/** A change to a table's rows, prepared by a guarded SELECT. */
export interface RowWrite {
  readonly table: ProjectTable
  /** The table's alias, used to qualify its columns. */
  readonly alias: string
  readonly kind: 'insert' | 'update' | 'delete'
  /** The columns to set. */
  readonly columns: readonly string[]
  /** Selects the new values, except for an insert after the two columns of `rowIdentity`. */
  readonly select: BoundSql
  /** Whether `select` is a short `VALUES` of literals, which need no time of their own. */
  readonly isConstant: boolean
  readonly instead?: 'replace' | 'ignore' | null
  /** Guarded SQL that follows `ON CONFLICT`. */
  readonly conflict?: string | null
  /** Guarded SQL that follows `RETURNING`. */
  readonly returning: string | null
}

export interface WrittenRows {
  readonly rowCount: number
  /** null if `returning` is null. */
  readonly returned: RowStream | null
}

/** A file in the data folder. */
export interface IncomingFile {
  readonly path: string
  readonly sizeBytes: number
}

/** A temporary folder for one request. */
export interface IncomingFolder {
  readonly path: string
  /**
   * Writes incoming bytes to a new file.
   * @param sizeBytes the announced size, for which free space is checked first
   * @throws AppError `storage_full`; errors of `pieces`
   */
  write(pieces: AsyncIterable<Uint8Array>, sizeBytes?: number): Promise<IncomingFile>
}

/** The bytes of files: incoming ones, and stored ones as they were sent. */
export interface FileBytes {
  /** Provides a folder for the files of one request, and deletes it afterwards. */
  withFolder<T>(use: (folder: IncomingFolder) => Promise<T>): Promise<T>
  /** @throws AppError `file_not_found` if the bytes were not kept */
  contentOf(file: UploadedFile): Promise<IncomingFile>
}

export interface NewFile
  extends Pick<
    UploadedFile,
    'name' | 'originalName' | 'format' | 'recognized' | 'warnings' | 'contentType' | 'sourceUrl'
  > {
  /** The original bytes; null if a statement created the file. */
  readonly content: IncomingFile | null
  readonly replaces: boolean
}

/** A file created from the rows of a SELECT. */
export interface NewSelectedFile {
  readonly name: string
  readonly select: BoundSql
  readonly replaces: boolean
}

/** Uploaded files, stored as tables. */
export interface FileStore {
  /**
   * Called before a file is stored as a table. @throws AppError `storage_full` if the disk has too
   * little space
   */
  checkSpace(wantedBytes: number): void
  /**
   * Stores tables that another process has read, and moves their Parquet files away.
   * @throws AppError `file_unreadable` for a table missing in its Parquet file, `file_exists`
   */
  importTables(
    file: NewFile,
    tables: readonly ReadTable[],
    signal: AbortSignal,
  ): Promise<UploadedFile>
  /** Stores these rows, one per document read, as a table. @throws AppError `file_exists` */
  importRows(file: NewFile, rows: AsyncIterable<Row>, signal: AbortSignal): Promise<UploadedFile>
  rows(table: FileTable, signal: AbortSignal): AsyncIterable<Row>
  dropFile(file: UploadedFile): Promise<void>
  /**
   * Stores the rows of a guarded SELECT as the file of that name. @throws AppError `file_exists`
   */
  importSelect(file: NewSelectedFile, limits: RunLimits, signal: AbortSignal): Promise<UploadedFile>
}

/** Backups of all data. A backup continues if its client disconnects. */
export interface BackupStore {
  /**
   * Creates a consistent copy while reads and writes continue.
   * @throws AppError `backup_running`, `backup_failed`, `storage_full`, `shutting_down`; a failed
   * backup leaves nothing behind
   */
  create(): Promise<Backup>
  /** Newest first. */
  list(): Promise<readonly Backup[]>
}

/** Reclaims the space of deleted rows on request. Otherwise this happens in the background. */
export interface StorageUpkeep {
  /**
   * Reclaims the space of deleted rows and the free end of the file. Readers continue; writers
   * wait.
   * @param scope null means everything
   */
  vacuum(scope: VacuumScope | null, signal: AbortSignal): Promise<VacuumReport>
}

export type VacuumScope =
  | { readonly kind: 'knowledge_base' | 'table'; readonly id: number; readonly projectId: number }
  | { readonly kind: 'file'; readonly id: number }

/** The effect of a vacuum on the database file and its log. */
export interface VacuumReport {
  readonly bytesBefore: number
  readonly bytesAfter: number
  /** Rows deleted earlier that are now removed from disk. */
  readonly deletedRows: number
}
