/** Reads documents and chunks of a knowledge base directly, without a search. */
import type { Row, TextLayout } from '../document.ts'
import type { ExportDefinition, KnowledgeBase } from '../knowledge-base.ts'
import type { ExportedRows } from './engine-ports.ts'
import type { ReadTable } from './reading-ports.ts'

/** A stored document without its text. */
export interface StoredDocument {
  readonly id: string
  /** The key of the first chunk; documents added later have larger keys. */
  readonly firstKey: bigint
  readonly chunkCount: number
  /** Content columns that have text, each with the end offset of its last chunk. */
  readonly columns: readonly { readonly name: string; readonly endChar: number }[]
  readonly metadata: Row
}

export interface StoredChunk {
  readonly key: bigint
  readonly documentId: string
  readonly chunkId: string
  readonly content: string
  /** As shown in answers: the standard keys, then the document's own. */
  readonly metadata: Row
}

/** A stored chunk with details of the chunking. */
export interface CutChunk extends StoredChunk {
  /** The text put in front of the content when it is embedded. */
  readonly context: string
  /** On a text's first chunk, its layout; null if unknown. */
  readonly layout: TextLayout | null
  /** On a text's first chunk, the text between its chunks; null if unknown. */
  readonly between: string | null
  /** The document's metadata with typed values, including what `metadata` does not show. */
  readonly own: Row
}

/** One page of keys, in insertion order. */
export interface KeyPage {
  /** Only keys greater than this. */
  readonly afterKey: bigint
  readonly limit: number
}

export interface ContentCounts {
  readonly documents: number
  readonly chunks: number
}

/** Every method throws AppError `knowledge_base_not_found` after a drop. */
export interface StoredDocuments {
  count(kb: KnowledgeBase): Promise<number>
  /**
   * Costs nothing if there was no write since the last count; for a large knowledge base being
   * written to, a few seconds old.
   * @throws AppError if the knowledge base is gone
   */
  counts(kb: KnowledgeBase): Promise<ContentCounts>
  chunkCount(kb: KnowledgeBase): Promise<number>
  page(kb: KnowledgeBase, page: KeyPage): Promise<readonly StoredDocument[]>
  /** Those of these documents that exist, in the order they were stored. */
  find(kb: KnowledgeBase, documentIds: readonly string[]): Promise<readonly StoredDocument[]>
  chunkPage(kb: KnowledgeBase, page: KeyPage): Promise<readonly StoredChunk[]>
  /** Those of these chunks that exist, in key order. */
  chunks(kb: KnowledgeBase, keys: readonly bigint[]): Promise<readonly StoredChunk[]>
  /** All chunks of a document, ordered by key; empty for an unknown document. */
  chunksOf(kb: KnowledgeBase, documentId: string): Promise<readonly StoredChunk[]>
  /** All chunks of these documents, in key order. */
  cutChunks(kb: KnowledgeBase, documentIds: readonly string[]): Promise<readonly CutChunk[]>
  /** The vectors of these chunks; chunks without one are left out. */
  vectorsOf(kb: KnowledgeBase, keys: readonly bigint[]): Promise<ReadonlyMap<bigint, Float32Array>>
}

/** Chunks from a file. They replace the stored chunks of their documents. */
export interface ChunkFile {
  /** For an export: a Parquet file written by Eider's own DuckDB. */
  readonly table: ReadTable
  readonly definition: ExportDefinition
}

export interface KnowledgeBaseFiles {
  /**
   * All chunks with their vectors, as of a single point in time.
   * @param definition the definition to store in the file
   * @throws AppError `timeout`, `out_of_memory`, `storage_full`
   */
  export(kb: KnowledgeBase, definition: string, signal: AbortSignal): Promise<ExportedRows>
  /**
   * Verifies the file's checksum. Exports of older versions have none.
   * @throws AppError `file_unreadable` if it does not match
   */
  checkSeal(path: string, signal: AbortSignal): Promise<void>
  /**
   * Stores the chunks in one transaction.
   * @throws AppError `file_unreadable` for a row that no export can contain, `insert_failed` for a
   * value that does not fit its column's declared type, `dimension_mismatch`, `storage_full`
   */
  import(
    kb: KnowledgeBase,
    file: ChunkFile,
    signal: AbortSignal,
  ): Promise<{ readonly documents: number; readonly chunks: number }>
}

/** Files waiting to be imported by a job. */
export interface ImportFiles {
  /** Moves a file from the same disk into the folder. @returns its name there */
  keep(path: string): Promise<string>
  /** @throws AppError `job_items_missing` */
  pathOf(name: string): Promise<string>
  remove(name: string): Promise<void>
}
