/** The documents and chunks of a knowledge base, without a search. */
import type { Row, TextLayout } from '../document.ts'
import type { ExportDefinition, KnowledgeBase } from '../knowledge-base.ts'
import type { ExportedRows } from './engine-ports.ts'
import type { ReadTable } from './reading-ports.ts'

/** A stored document without its text. */
export interface StoredDocument {
  readonly id: string
  /** The key of its first chunk: later documents have a larger one. */
  readonly firstKey: bigint
  readonly chunkCount: number
  /** Content columns with text, each with the end of its last chunk. */
  readonly columns: readonly { readonly name: string; readonly endChar: number }[]
  /** The document's own metadata. */
  readonly metadata: Row
}

export interface StoredChunk {
  readonly key: bigint
  readonly documentId: string
  readonly chunkId: string
  readonly content: string
  /** As answers show it: the standard keys and the document's own. */
  readonly metadata: Row
}

/** A stored chunk with details of the chunking. */
export interface CutChunk extends StoredChunk {
  /** The text embedded before it. */
  readonly context: string
  /** On the first chunk of a text, its layout; null: unknown. */
  readonly layout: TextLayout | null
  /** On the first chunk of a text, the text outside its chunks; null: unknown. */
  readonly between: string | null
  /** The document's own metadata with typed values, including what `metadata` does not show. */
  readonly own: Row
}

/** One page of keys, in insertion order. */
export interface KeyPage {
  /** After this key. */
  readonly afterKey: bigint
  readonly limit: number
}

export interface ContentCounts {
  readonly documents: number
  readonly chunks: number
}

/** Every method throws AppError `knowledge_base_not_found` after a drop. */
export interface StoredDocuments {
  /** How many documents there are. */
  count(kb: KnowledgeBase): Promise<number>
  /**
   * Free if nothing was written since; for a large one with writes, up to a few seconds old.
   * @throws AppError if it is gone
   */
  counts(kb: KnowledgeBase): Promise<ContentCounts>
  /** How many chunks there are. */
  chunkCount(kb: KnowledgeBase): Promise<number>
  page(kb: KnowledgeBase, page: KeyPage): Promise<readonly StoredDocument[]>
  /** The existing documents among these, in storing order. */
  find(kb: KnowledgeBase, documentIds: readonly string[]): Promise<readonly StoredDocument[]>
  chunkPage(kb: KnowledgeBase, page: KeyPage): Promise<readonly StoredChunk[]>
  /** The existing chunks among these, ordered by key. */
  chunks(kb: KnowledgeBase, keys: readonly bigint[]): Promise<readonly StoredChunk[]>
  /** All chunks of a document, ordered by key; empty for an unknown document. */
  chunksOf(kb: KnowledgeBase, documentId: string): Promise<readonly StoredChunk[]>
  /** All chunks of these documents, in key order. */
  cutChunks(kb: KnowledgeBase, documentIds: readonly string[]): Promise<readonly CutChunk[]>
  /** The vectors of those chunks that exist. */
  vectorsOf(kb: KnowledgeBase, keys: readonly bigint[]): Promise<ReadonlyMap<bigint, Float32Array>>
}

/** Chunks from a file that replace those stored for their documents. */
export interface ChunkFile {
  /** For an export: a Parquet file written by Eider's own DuckDB. */
  readonly table: ReadTable
  readonly definition: ExportDefinition
}

/** Knowledge bases as files. */
export interface KnowledgeBaseFiles {
  /**
   * All chunks with their vectors, as of one moment.
   * @param definition what the file says of the knowledge base
   * @throws AppError `timeout`, `out_of_memory`, `storage_full`
   */
  export(kb: KnowledgeBase, definition: string, signal: AbortSignal): Promise<ExportedRows>
  /**
   * Checks the file at this path against its checksum, which exports of earlier versions do not have.
   * @throws AppError `file_unreadable` if it does not match
   */
  checkSeal(path: string, signal: AbortSignal): Promise<void>
  /**
   * Stores the chunks in one transaction.
   * @throws AppError `file_unreadable` for a row that no export holds, `insert_failed` for a value that does not fit the
   * declared type of its column, `dimension_mismatch`, `storage_full`
   */
  import(
    kb: KnowledgeBase,
    file: ChunkFile,
    signal: AbortSignal,
  ): Promise<{ readonly documents: number; readonly chunks: number }>
}

/** Files that jobs import. */
export interface ImportFiles {
  /** Takes over a file from the same disk. @returns its name here */
  keep(path: string): Promise<string>
  /** @throws AppError `job_items_missing` */
  pathOf(name: string): Promise<string>
  remove(name: string): Promise<void>
}
