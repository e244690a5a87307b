/**
 * The use cases' requirements on the store. Every method with a signal stops within a second of its abort and throws its
 * reason.
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

/** Names and definitions. Reads use the snapshot; a write is one transaction and renews it before it resolves. */
export interface Catalog {
  snapshot(): CatalogSnapshot
  /** @throws AppError `project_exists`, `database_exists` */
  createProject(name: string): Promise<Project>
  /** Drops the project with everything in it. */
  dropProject(project: Project): Promise<void>
  /** @throws AppError `knowledge_base_exists`, `storage_in_use` */
  createKnowledgeBase(draft: KnowledgeBaseDraft): Promise<KnowledgeBase>
  /**
   * With `reembedding` another model will take over; without chunks, at once.
   * @throws AppError `knowledge_base_not_found`; `invalid_knowledge_base` if the embedding model is to change and another
   * has taken over since `kb` was read
   */
  alterKnowledgeBase(kb: KnowledgeBase, changes: KnowledgeBaseChanges): Promise<KnowledgeBase>
  /** Replaces the previous crawl's warnings. Does nothing if the knowledge base is gone. */
  keepCrawlWarnings(kb: KnowledgeBase, warnings: readonly string[]): Promise<void>
  /** True without stored chunks. @throws AppError `knowledge_base_not_found` */
  isEmpty(kb: KnowledgeBase): Promise<boolean>
  /** Definition, chunks and vectors go in one transaction. */
  dropKnowledgeBase(kb: KnowledgeBase): Promise<void>
  /** @throws AppError `agent_exists` */
  createAgent(draft: AgentDraft): Promise<Agent>
  /**
   * A `null` clears, a missing field stays.
   * @param check sees the stored agent just before the change; if it throws, nothing changes
   * @throws AppError `agent_exists`
   */
  alterAgent(agent: Agent, changes: AgentChanges, check?: (stored: Agent) => void): Promise<Agent>
  dropAgent(agent: Agent): Promise<void>
  /**
   * With `orReplace`, an existing view gets the new definition and keeps its identity.
   * @throws AppError `relation_exists` when the project has anything else of that name
   */
  createView(draft: ViewDraft, orReplace?: boolean): Promise<View>
  alterView(view: View, changes: ViewChanges): Promise<View>
  dropView(view: View): Promise<void>
}

/** Remote databases in the catalog. Nothing connects. They are read from the catalog's snapshot. */
export interface DataSourceCatalog {
  /**
   * With `orReplace`, an existing data source gets the new definition and keeps its identity.
   * @throws AppError `project_exists`, `database_exists`
   */
  createDataSource(draft: DataSourceDraft, orReplace?: boolean): Promise<DataSource>
  /**
   * @param changes applied to what is stored by then, perhaps after another change
   * @throws AppError `database_not_found`, what `changes` throws
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
  /** A stored vector to be reused is gone: another insert has replaced its document. */
  | { readonly kind: 'stale' }

/** The vectors of a knowledge base's next embedding model, until it takes over. */
export interface ReembeddingStore {
  /**
   * The first chunks without a vector, from a key on.
   * @throws AppError `knowledge_base_not_found`
   */
  missing(
    kb: KnowledgeBase,
    from: { readonly afterKey: bigint; readonly limit: number },
  ): Promise<MissingVectors>
  /**
   * Stores vectors, normalised. They must be of `kb.nextEmbeddingModel`: if that has changed, nothing is stored.
   * @returns whether they are stored
   * @throws AppError `dimension_mismatch` (naming both numbers), `provider_failed` for a vector without a direction
   */
  append(kb: KnowledgeBase, vectors: readonly NextVector[]): Promise<boolean>
  /** Switches to the next model and its vectors in one transaction, if every chunk has a vector. */
  switchOver(kb: KnowledgeBase): Promise<SwitchOutcome>
}

/** Makes the vectors of next embedding models, in the background. */
export interface Reembeddings {
  /** The next embedding model of this knowledge base has changed. */
  wake(kb: Pick<KnowledgeBase, 'id'>): void
  /** null: none is being computed. */
  progressOf(kb: Pick<KnowledgeBase, 'id'>): ReembeddingProgress | null
}

/** Documents of knowledge bases, whole. */
export interface DocumentStore {
  /** The stored chunks of these documents, whose vectors unchanged text can reuse. */
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
   * Replaces whole documents, all in one transaction; ids must be distinct. Normalises vectors.
   * @param mark the job's progress, stored in the same transaction
   * @throws AppError `dimension_mismatch` (naming both numbers), `provider_failed` for a zero or non-finite vector,
   * `knowledge_base_not_found` after a drop, `storage_full`, `SupersededVectors`
   */
  replaceDocuments(
    kb: KnowledgeBase,
    documents: readonly EmbeddedDocument[],
    mark?: JobMark,
  ): Promise<WriteOutcome>
  /** A lower bound for the keys of chunks stored from now on. @throws AppError `knowledge_base_not_found` */
  nextChunkKey(kb: KnowledgeBase): Promise<bigint>
  /** Runs work that stores more than anybody is going to read soon: what it stored does not stay in memory. */
  withoutCaching<T>(work: () => Promise<T>): Promise<T>
}

export type DocumentsOutcome =
  | { readonly kind: 'stored'; readonly documentCount: number; readonly chunkCount: number }
  /** As in `WriteOutcome`. */
  | { readonly kind: 'stale' }

/** How many chunks exceed what the embedding model reads, of how many. */
export interface CutCounts {
  readonly cutCount: number
  readonly chunkCount: number
}

/** The stored truth of knowledge bases. */
export interface ChunkStore extends DocumentStore {
  /** The texts embedded before chunks that have one, by key. */
  contextsOf(kb: KnowledgeBase, chunkKeys: readonly bigint[]): Promise<ReadonlyMap<bigint, string>>
  /** @throws AppError `knowledge_base_not_found` */
  cutCounts(kb: KnowledgeBase): Promise<CutCounts>
  /** Removes whole documents in one transaction. @returns how many chunks they had */
  removeDocuments(kb: KnowledgeBase, documentIds: readonly string[]): Promise<number>
  /** Removes those chunks that still exist, in one transaction. @returns how many */
  removeChunks(kb: KnowledgeBase, chunkKeys: readonly bigint[]): Promise<number>
  /**
   * Changes those chunks that still exist, in one transaction; keys must be distinct. @returns how many
   * @throws AppError `dimension_mismatch`, `knowledge_base_not_found`, `storage_full`, `SupersededVectors`
   */
  changeChunks(kb: KnowledgeBase, changes: readonly ChunkChange[]): Promise<number>
  /**
   * Changes those documents that still exist, in one transaction; ids must be distinct. @returns how many, and how many
   * chunks they have now
   * @param mark of the job that changes them: written in the same transaction
   * @throws AppError as `changeChunks`
   */
  changeDocuments(
    kb: KnowledgeBase,
    changes: readonly DocumentChange[],
    mark?: JobMark,
  ): Promise<DocumentsOutcome>
}

/** The name of a table, which need not exist yet. */
export interface TableKey {
  /** null: a file. */
  readonly projectId: number | null
  readonly name: string
}

/** Tables of projects. What writes a table runs within `whileLocked`. */
export interface TableStore {
  /**
   * Runs work while nothing else writes to the table of this name, so that what it reads is still true when it writes.
   * @param work receives how long it waited for others
   * @throws AppError `timeout`, `too_busy`
   */
  whileLocked<T>(
    table: TableKey,
    limits: RunLimits,
    signal: AbortSignal,
    work: (waitedMs: number) => Promise<T>,
  ): Promise<T>
  /**
   * Stores the rows of a guarded SELECT as a new table. The SELECT runs in a READ ONLY transaction like any other.
   * @throws AppError `relation_exists`, `storage_full`, those of `SqlEngine.run`
   */
  createTable(target: NewTable, limits: RunLimits, signal: AbortSignal): Promise<ProjectTable>
  /** Makes an empty table. @throws AppError `relation_exists`, `sql_…` for what DuckDB refuses */
  defineTable(target: NewEmptyTable): Promise<ProjectTable>
  /**
   * Adds the rows of a guarded SELECT to the table of that name, by column names; creates it if missing.
   * @throws AppError `invalid_request` for a column that the table does not have, those of `createTable`
   */
  appendRows(target: NewTable, limits: RunLimits, signal: AbortSignal): Promise<ProjectTable>
  /** @throws AppError `sql_constraint`, `table_not_found`, those of `createTable` */
  writeRows(write: RowWrite, limits: RunLimits, signal: AbortSignal): Promise<WrittenRows>
  /** Removes all rows. @returns how many @throws AppError `table_not_found` */
  truncateTable(table: ProjectTable): Promise<number>
  /** SQL for the default values of columns, by name. */
  defaultsOf(table: ProjectTable): Promise<ReadonlyMap<string, string>>
  /**
   * @param change guarded, as it follows `ALTER TABLE name`
   * @throws AppError `sql_…` for what DuckDB refuses, `table_not_found`
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
  /** A table of that name gives way, in the same transaction. */
  readonly orReplace?: boolean
  /** For `appendRows`: replaces rows with one of these values in this column, in the same transaction. */
  readonly replaced?: { readonly column: string; readonly values: readonly string[] }
}

export interface NewEmptyTable extends Pick<NewTable, 'projectId' | 'name' | 'orReplace'> {
  /** Guarded SQL: the columns and constraints, in parentheses. */
  readonly definition: string
}

/** A change of a table's rows, prepared by a guarded SELECT. */
export interface RowWrite {
  readonly table: ProjectTable
  /** What its own columns are qualified with. */
  readonly alias: string
  readonly kind: 'insert' | 'update' | 'delete'
  /** The columns that get values. */
  readonly columns: readonly string[]
  /** Gives these values; before them, except for an insert, the two of `rowIdentity`. */
  readonly select: BoundSql
  readonly instead?: 'replace' | 'ignore' | null
  /** Guarded, as it follows `ON CONFLICT`. */
  readonly conflict?: string | null
  /** Guarded, as it follows `RETURNING`. */
  readonly returning: string | null
}

export interface WrittenRows {
  readonly rowCount: number
  /** null without `returning`. */
  readonly returned: RowStream | null
}

/** A file on the disk of the data folder. */
export interface IncomingFile {
  readonly path: string
  readonly sizeBytes: number
}

/** A folder of one request. */
export interface IncomingFolder {
  readonly path: string
  /**
   * Writes incoming bytes to a new file.
   * @param sizeBytes the announced size: free space is checked first
   * @throws AppError `storage_full`; what `pieces` throws
   */
  write(pieces: AsyncIterable<Uint8Array>, sizeBytes?: number): Promise<IncomingFile>
}

/** The bytes of files, on their way in and as they were sent. */
export interface FileBytes {
  /** A folder for what one request sends. It is gone afterwards. */
  withFolder<T>(use: (folder: IncomingFolder) => Promise<T>): Promise<T>
  /** @throws AppError `file_not_found` if they were not kept */
  contentOf(file: UploadedFile): Promise<IncomingFile>
}

export interface NewFile
  extends Pick<
    UploadedFile,
    'name' | 'originalName' | 'format' | 'recognized' | 'warnings' | 'contentType' | 'sourceUrl'
  > {
  /** Its stored bytes; null: a statement made it. */
  readonly content: IncomingFile | null
  /** A file of that name gives way, in the same transaction. */
  readonly replaces: boolean
}

/** A file from the rows of a SELECT. */
export interface NewSelectedFile {
  readonly name: string
  readonly select: BoundSql
  /** A file of that name gives way, in the same transaction. */
  readonly replaces: boolean
}

/** Uploaded files as tables. */
export interface FileStore {
  /** Called before a file becomes a table. @throws AppError `storage_full` if the disk has too little space */
  checkSpace(wantedBytes: number): void
  /**
   * Stores tables read by another process and moves their Parquet files away.
   * @throws AppError `file_unreadable` for a table that its file does not hold, `file_exists`
   */
  importTables(
    file: NewFile,
    tables: readonly ReadTable[],
    signal: AbortSignal,
  ): Promise<UploadedFile>
  /** Stores documents already read as a table of these rows. @throws AppError `file_exists` */
  importRows(file: NewFile, rows: AsyncIterable<Row>, signal: AbortSignal): Promise<UploadedFile>
  rows(table: FileTable, signal: AbortSignal): AsyncIterable<Row>
  dropFile(file: UploadedFile): Promise<void>
  /** Stores the rows of a guarded SELECT as the file of that name. @throws AppError `file_exists` */
  importSelect(file: NewSelectedFile, limits: RunLimits, signal: AbortSignal): Promise<UploadedFile>
}

/** Copies of all data. A backup continues if its client leaves. */
export interface BackupStore {
  /**
   * Creates a consistent one while others read and write.
   * @throws AppError `backup_running`, `backup_failed`, `storage_full`, `shutting_down`; a failure leaves nothing behind
   */
  create(): Promise<Backup>
  /** The newest first. */
  list(): Promise<readonly Backup[]>
}

/** Space of deleted rows is freed in the background; this does it at once. */
export interface StorageUpkeep {
  /**
   * Reclaims the space of deleted rows, and the free end of the file. Readers continue, writers wait.
   * @param scope null: everything
   */
  vacuum(scope: VacuumScope | null, signal: AbortSignal): Promise<VacuumReport>
}

export type VacuumScope =
  | { readonly kind: 'knowledge_base' | 'table'; readonly id: number; readonly projectId: number }
  | { readonly kind: 'file'; readonly id: number }

/** The effect of a compaction on the database file and its log. */
export interface VacuumReport {
  readonly bytesBefore: number
  readonly bytesAfter: number
  /** Rows deleted long ago, no longer stored. */
  readonly deletedRows: number
}
