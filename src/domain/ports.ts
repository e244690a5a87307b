/**
 * What the middle of the house needs from its edges. `store/`, `models/`, `retrieval/` and `ingest/` implement
 * these, `app.ts` joins them, and tests pass in fakes. Every method that takes a signal stops within a second of its abort and throws its reason.
 */
import type { Agent, AgentChanges, AgentDraft } from './agent.ts'
import type { CatalogSnapshot } from './catalog-snapshot.ts'
import type { ChunkChange, DocumentChange, EmbeddedDocument, StoredChunkText } from './chunk.ts'
import type { Citation } from './completion-event.ts'
import type { Row } from './document.ts'
import type { KeywordHit, KeywordSearch } from './hybrid-search.ts'
import type { IndexPossibility, VectorIndexState, VectorIndexType } from './index-definition.ts'
import type { KnowledgeBase, KnowledgeBaseChanges, KnowledgeBaseDraft } from './knowledge-base.ts'
import type { ModelRef } from './model-ref.ts'
import type { Project, ProjectTable, View, ViewChanges, ViewDraft } from './project.ts'
import type { RowStream } from './query-result.ts'
import type {
  MissingVectors,
  NextVector,
  ReembeddingProgress,
  SwitchOutcome,
} from './reembedding.ts'
import type { FileFormat, UploadedFile } from './uploaded-file.ts'

/** Names and definitions. Reads come from the snapshot; a write is one transaction and renews it before it resolves. */
export interface Catalog {
  snapshot(): CatalogSnapshot
  /** @throws AppError `project_exists` */
  createProject(name: string): Promise<Project>
  /** Drops the project with all that is in it. */
  dropProject(project: Project): Promise<void>
  /** @throws AppError `knowledge_base_exists`, `storage_in_use` */
  createKnowledgeBase(draft: KnowledgeBaseDraft): Promise<KnowledgeBase>
  /**
   * With `reembedding` another model is going to take over; where there are no chunks it does so at once.
   * @throws AppError `knowledge_base_not_found`; `invalid_knowledge_base` where the embedding model is to change and
   * another one has taken over since `kb` was read
   */
  alterKnowledgeBase(kb: KnowledgeBase, changes: KnowledgeBaseChanges): Promise<KnowledgeBase>
  /** True where no chunk is stored. @throws AppError `knowledge_base_not_found` */
  isEmpty(kb: KnowledgeBase): Promise<boolean>
  /** Definition, chunks and vectors go in one transaction. */
  dropKnowledgeBase(kb: KnowledgeBase): Promise<void>
  /** @throws AppError `agent_exists` */
  createAgent(draft: AgentDraft): Promise<Agent>
  /** A `null` clears, a missing field stays. @throws AppError `agent_exists` */
  alterAgent(agent: Agent, changes: AgentChanges): Promise<Agent>
  dropAgent(agent: Agent): Promise<void>
  /**
   * With `orReplace` a view of that name gets the new definition and stays the view that it is.
   * @throws AppError `relation_exists` when the project has anything else of that name
   */
  createView(draft: ViewDraft, orReplace?: boolean): Promise<View>
  alterView(view: View, changes: ViewChanges): Promise<View>
  dropView(view: View): Promise<void>
}

export type WriteOutcome =
  | { readonly kind: 'stored' }
  /** A stored vector that was to be taken over is gone: another insert replaced its document meanwhile. */
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
   * Stores vectors, with length one. They must be of `kb.nextEmbeddingModel`: where that is another one by now, nothing
   * is stored.
   * @returns whether they are stored
   * @throws AppError `dimension_mismatch` (naming both numbers), `provider_failed` for a vector without a direction
   */
  append(kb: KnowledgeBase, vectors: readonly NextVector[]): Promise<boolean>
  /** The next model and its vectors take over, in one transaction, where no chunk is without one. */
  switchOver(kb: KnowledgeBase): Promise<SwitchOutcome>
}

/** Makes the vectors of next embedding models, in the background. */
export interface Reembeddings {
  /** The next embedding model of this knowledge base has changed. */
  wake(kb: Pick<KnowledgeBase, 'id'>): void
  /** null: nothing is being made for it. */
  progressOf(kb: Pick<KnowledgeBase, 'id'>): ReembeddingProgress | null
}

/** Documents of knowledge bases, whole. */
export interface DocumentStore {
  /** The stored chunks of these documents, so that unchanged text keeps its vector. */
  storedTexts(
    kb: KnowledgeBase,
    documentIds: readonly string[],
  ): Promise<readonly StoredChunkText[]>
  /**
   * Replaces each document whole, all of them in one transaction; ids must be distinct. Vectors are normalised.
   * @throws AppError `dimension_mismatch` (naming both numbers), `provider_failed` for a zero or non-finite vector,
   * `knowledge_base_not_found` when it was dropped meanwhile, `storage_full`, `SupersededVectors`
   */
  replaceDocuments(kb: KnowledgeBase, documents: readonly EmbeddedDocument[]): Promise<WriteOutcome>
}

export type DocumentsOutcome =
  | { readonly kind: 'stored'; readonly chunkCount: number }
  /** As in `WriteOutcome`. */
  | { readonly kind: 'stale' }

/** The stored truth of knowledge bases. */
export interface ChunkStore extends DocumentStore {
  /** Removes those of the chunks that are still there, in one transaction: how many they were. */
  removeChunks(kb: KnowledgeBase, chunkKeys: readonly bigint[]): Promise<number>
  /**
   * Changes those of the chunks that are still there, in one transaction: how many they were. Keys must be distinct.
   * @throws AppError `dimension_mismatch`, `knowledge_base_not_found`, `storage_full`, `SupersededVectors`
   */
  changeChunks(kb: KnowledgeBase, changes: readonly ChunkChange[]): Promise<number>
  /**
   * Changes those of the documents that are still there, in one transaction: how many chunks they have now. Ids must be
   * distinct.
   * @throws AppError as `changeChunks`
   */
  changeDocuments(kb: KnowledgeBase, changes: readonly DocumentChange[]): Promise<DocumentsOutcome>
}

/** Tables of projects. */
export interface TableStore {
  /**
   * Stores the rows of a guarded SELECT as a new table. The SELECT runs in a READ ONLY transaction like any other.
   * @throws AppError `relation_exists`, `storage_full`, those of `SqlEngine.run`
   */
  createTable(target: NewTable, limits: RunLimits, signal: AbortSignal): Promise<ProjectTable>
  /**
   * Adds the rows of a guarded SELECT to the table of that name, by the names of its columns; makes it where there is none.
   * @throws AppError `invalid_request` for a column that the table does not have, those of `createTable`
   */
  appendRows(target: NewTable, limits: RunLimits, signal: AbortSignal): Promise<ProjectTable>
  dropTable(table: ProjectTable): Promise<void>
}

export interface NewTable {
  readonly projectId: number
  readonly name: string
  readonly select: BoundSql
  /** A table of that name gives way, in the same transaction. */
  readonly orReplace?: boolean
}

export interface NewFile {
  readonly name: string
  readonly originalName: string
  readonly format: FileFormat
  readonly sizeBytes: number
}

/** A file made of a SELECT's rows. */
export interface NewSelectedFile {
  readonly name: string
  readonly select: BoundSql
  /** A file of that name gives way, in the same transaction. */
  readonly orReplace?: boolean
}

/** Uploaded files as tables. */
export interface FileStore {
  /** Reads CSV, JSON, JSON lines or Parquet. @throws AppError `file_unreadable`, `file_exists` */
  importTable(file: NewFile, bytes: Uint8Array, signal: AbortSignal): Promise<UploadedFile>
  /** Stores a document that was read already, as a table of these rows. @throws AppError `file_exists` */
  importRows(file: NewFile, rows: readonly Row[]): Promise<UploadedFile>
  rows(file: UploadedFile, signal: AbortSignal): AsyncIterable<Row>
  dropFile(file: UploadedFile): Promise<void>
  /** Stores the rows of a guarded SELECT as the file of that name. @throws AppError `file_exists` */
  importSelect(file: NewSelectedFile, limits: RunLimits, signal: AbortSignal): Promise<UploadedFile>
}

/** A value bound to a placeholder `$name`. A Float32Array is a vector. */
export type BoundValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | Float32Array
  | readonly BoundValue[]

export interface BoundSql {
  readonly sql: string
  readonly values: Readonly<Record<string, BoundValue>>
  /** True when its answer has few rows, which are then made all at once. */
  readonly isShort?: boolean
}

/** A SELECT of the keys of the chunks that conditions keep, as `__chunk_key`. */
export interface PrefilterSql extends BoundSql {
  /** False where a later statement may keep other chunks although none was written: its conditions read the clock. */
  readonly isCacheable: boolean
}

export interface RunLimits {
  /** For waiting, running and reading the rows. */
  readonly timeoutMs: number
  /** When set, `timeoutMs` ends with the first rows, and this counts from them: for a reader that works on the rows. */
  readonly readingMs?: number
}

/** DuckDB as a reader of SQL and a runner of guarded SELECTs. */
export interface SqlEngine {
  /**
   * The syntax tree of one SELECT as JSON text (`json_serialize_sql`).
   * @throws AppError `sql_syntax` (with line and column), `sql_not_supported` for what is not a SELECT
   */
  parse(sql: string): Promise<string>
  /** SQL for a syntax tree: the way back. */
  print(tree: string): Promise<string>
  /**
   * Runs one statement in a READ ONLY transaction and streams its rows. Waits for a free place first; the deadline
   * covers the wait and the reading of the rows. The caller must have guarded the statement.
   * @throws AppError `timeout`, `too_busy`, `out_of_memory`, `sql_failed`, `sql_unknown_name`
   */
  run(statement: BoundSql, limits: RunLimits, signal: AbortSignal): Promise<RowStream>
  /** Runs one SELECT like `run` and gives all its rows as a Parquet file, with DuckDB's own types. */
  exportParquet(select: BoundSql, limits: RunLimits, signal: AbortSignal): Promise<ExportedRows>
}

export interface NearestSearch {
  readonly knowledgeBase: KnowledgeBase
  /** Of unit length. */
  readonly queryVector: Float32Array
  readonly count: number
  /** A SELECT of the keys of the chunks among which to search; null: all. */
  readonly prefilter: PrefilterSql | null
  /** For the prefilter and the keyword SELECTs. */
  readonly limits: RunLimits
  /** Set for a hybrid search. */
  readonly keywordSearch?: KeywordSearch
}

export interface NearestChunk {
  readonly key: bigint
  /** Cosine distance, 0 to 2. */
  readonly distance: number
}

export interface KeywordHits {
  /** The best first: `count` of them or all there are, and any that are equal to the last. */
  readonly best: readonly KeywordHit[]
  /**
   * Their distances, or those of any other chunks. One that is gone may be left out.
   * @throws AppError those of `SqlEngine.run`
   */
  distancesOf(keys: readonly bigint[], signal: AbortSignal): Promise<readonly NearestChunk[]>
}

export interface NearestFound {
  /** The nearest first: `count` of them or all there are, and any that are exactly as far as the last. */
  readonly neighbours: readonly NearestChunk[]
  /** Set for a hybrid search. */
  readonly keywordHits?: KeywordHits
  /** Of one state of the knowledge base: false once a later one may be visible to a transaction that begins. */
  isCurrent(): boolean
}

/** How the next search of a knowledge base is answered. */
export interface VectorAccess {
  readonly kind: 'memory' | 'scan'
  /** What is searched, or why memory is not: a clause. */
  readonly detail: string
}

/** The nearest chunks by their vectors, found by something faster than measuring each in SQL. */
export interface NearestChunks {
  /**
   * Exactly the chunks that measuring all of them would find.
   * @returns null where there is nothing faster at the moment
   * @throws AppError those of `SqlEngine.run` for the SELECT of the keys; `too_busy`, `dimension_mismatch`
   */
  nearest(search: NearestSearch, signal: AbortSignal): Promise<NearestFound | null>
  /** @param isPrefiltered true for a search among some of the chunks */
  access(knowledgeBase: KnowledgeBase, isPrefiltered?: boolean): VectorAccess
}

/** What is known about the indexes of the knowledge bases' vectors. */
export interface VectorIndexStates {
  /** One for each knowledge base. */
  states(): readonly VectorIndexState[]
  /** Of each type, whether it can be made in this process. */
  possible(): Readonly<Record<VectorIndexType, IndexPossibility>>
}

/** A file that is made already and has no name any more: whoever begins to read must read to its end, or return. */
export interface ExportedRows {
  readonly pieces: AsyncGenerator<Uint8Array, void, void>
}

/** Text → vectors. One model, ready to be called. */
export interface Embedder {
  /**
   * One vector per text, in the order of the texts, all of one length.
   * @throws AppError `provider_failed`, `provider_refused`; messages name URL and status
   */
  embed(texts: readonly string[], signal: AbortSignal): Promise<readonly Float32Array[]>
}

/** What kinds of embedding model there are. */
export interface EmbedderRegistry {
  readonly providers: readonly string[]
  /** @throws AppError `unknown_provider` listing those there are, `invalid_knowledge_base` for a missing setting */
  embedder(ref: ModelRef): Embedder
  /**
   * Tries the model once, without retries: its dimensions, or a warning where it could not be reached.
   * @throws AppError `provider_refused` on a definite refusal (bad key, no such model)
   */
  probe(ref: ModelRef, timeoutMs: number): Promise<EmbedderProbe>
}

export type EmbedderProbe =
  | { readonly kind: 'ready'; readonly dimensions: number }
  | { readonly kind: 'unreachable'; readonly warning: string }

/** A call of one tool. Every tool takes at most one text. */
export interface ToolCall {
  readonly id: string
  readonly name: string
  readonly input: string
}

export interface ToolSpec {
  readonly name: string
  readonly description: string
  /** Name and description of the one text argument; null for a tool without. */
  readonly input: { readonly name: string; readonly description: string } | null
}

export type ChatMessage =
  | { readonly role: 'system'; readonly content: string }
  | { readonly role: 'user'; readonly content: string }
  | {
      readonly role: 'assistant'
      readonly content: string
      readonly toolCalls: readonly ToolCall[]
    }
  | { readonly role: 'tool'; readonly callId: string; readonly content: string }

export interface ChatRequest {
  readonly messages: readonly ChatMessage[]
  readonly tools: readonly ToolSpec[]
}

/** What a chat model says, as it says it: text in pieces, then whole tool calls. No tool call: the text is the answer. */
export type ChatDelta =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'tool_call'; readonly call: ToolCall }

export interface ChatModel {
  /** @throws AppError `provider_failed`, `provider_refused`, `timeout` */
  respond(request: ChatRequest, signal: AbortSignal): AsyncIterable<ChatDelta>
}

/** Chat models for what the server asks by itself; agents have theirs in threads. */
export interface ChatModels {
  /** That of the settings; null: there is only the built-in one, which quotes and cannot write. */
  readonly defaultModel: ModelRef | null
  /** @throws AppError `unknown_provider`, `invalid_agent` for a missing setting */
  chatModel(ref: ModelRef): Promise<ChatModel>
}

/** What an agent said to one question. */
export interface AgentAnswer {
  readonly content: string
  readonly traceId: string
  readonly citations: readonly Citation[]
}

export interface AgentAnswers {
  /** @throws AppError as the question failed: `timeout`, `too_busy`, `provider_failed`, `agent_crashed`, … */
  ask(agent: Agent, question: string, signal: AbortSignal): Promise<AgentAnswer>
}

/** A query text and passages → how well each passage answers it. One model, ready to be called. */
export interface Reranker {
  /**
   * One score per passage in [0, 1], larger is better, in the order of the passages.
   * @throws AppError `provider_failed`, `provider_refused`; messages name URL and status
   */
  rerank(
    queryText: string,
    passages: readonly string[],
    signal: AbortSignal,
  ): Promise<readonly number[]>
}

/** What kinds of reranker there are. */
export interface RerankerRegistry {
  readonly providers: readonly string[]
  /** @throws AppError `unknown_provider` listing those there are, `invalid_knowledge_base` for a wrong setting */
  reranker(ref: ModelRef): Reranker
}
