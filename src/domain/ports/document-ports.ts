/** What is stored in a knowledge base, document by document and chunk by chunk, without a search. */
import type { Row } from '../document.ts'
import type { KnowledgeBase } from '../knowledge-base.ts'

/** A stored document without its text. */
export interface StoredDocument {
  readonly id: string
  /** Of its first chunk: a document that comes later has a larger one. */
  readonly firstKey: bigint
  readonly chunkCount: number
  /** Content columns that hold a text, each with the end of its last chunk. */
  readonly columns: readonly { readonly name: string; readonly endChar: number }[]
  /** What came with the document. */
  readonly metadata: Row
}

export interface StoredChunk {
  readonly key: bigint
  readonly documentId: string
  readonly chunkId: string
  readonly content: string
  /** As answers show it: the standard keys and those of its document. */
  readonly metadata: Row
}

/** A part of all, in the order in which they were stored. */
export interface KeyPage {
  /** Those after this key. */
  readonly afterKey: bigint
  readonly limit: number
}

/** Every method throws AppError `knowledge_base_not_found` where it was dropped. */
export interface StoredDocuments {
  /** How many documents there are. */
  count(kb: KnowledgeBase): Promise<number>
  /** How many chunks there are. */
  chunkCount(kb: KnowledgeBase): Promise<number>
  page(kb: KnowledgeBase, page: KeyPage): Promise<readonly StoredDocument[]>
  /** Those of the documents that are there, in the order in which they were stored. */
  find(kb: KnowledgeBase, documentIds: readonly string[]): Promise<readonly StoredDocument[]>
  chunkPage(kb: KnowledgeBase, page: KeyPage): Promise<readonly StoredChunk[]>
  /** Those of the chunks that are there, in the order of their keys. */
  chunks(kb: KnowledgeBase, keys: readonly bigint[]): Promise<readonly StoredChunk[]>
  /** All chunks of a document, in the order of their keys; empty where there is no such document. */
  chunksOf(kb: KnowledgeBase, documentId: string): Promise<readonly StoredChunk[]>
  /** The vectors of those of the chunks that are there. */
  vectorsOf(kb: KnowledgeBase, keys: readonly bigint[]): Promise<ReadonlyMap<bigint, Float32Array>>
}
