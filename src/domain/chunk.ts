import type { CellValue, Document, Row } from './document.ts'
import { nameKey } from './identifier.ts'

/** The preprocessor that cut a chunk, by the name that existing clients know. */
export type ChunkSource =
  | 'TextChunkingPreprocessor'
  | 'JSONChunkingPreprocessor'
  | 'ContextualPreprocessor'
  | 'MarkdownChunkingPreprocessor'

/** A span of a document's column; the unit of embedding and retrieval. */
export interface Chunk {
  readonly documentId: string
  /** `<document id>:<column>:<n>of<total>:<start>to<end>`, n from 1. */
  readonly chunkId: string
  readonly contentColumn: string
  /** Code units into the column's text: `content === text.slice(startChar, endChar)`. */
  readonly content: string
  readonly startChar: number
  readonly endChar: number
  readonly chunkIndex: number
  readonly source: ChunkSource
}

/** What the keyword index holds of a text: its distinct terms, and how often each stands in it. */
export interface TermCounts {
  /** A term as the first 64 bits of its hash, see `termKey`. */
  readonly keys: BigInt64Array
  /** Of the term at the same index. */
  readonly frequencies: Int32Array
  /** Their sum: the length of the text in terms. */
  readonly termCount: number
}

/** A vector that is known already: made just now, or that of a stored chunk with the same text. */
export type ChunkVector =
  | { readonly kind: 'new'; readonly vector: Float32Array }
  | { readonly kind: 'stored'; readonly chunkKey: bigint }

export interface EmbeddedChunk {
  readonly chunk: Chunk
  readonly terms: TermCounts
  readonly vector: ChunkVector
}

/** A document with all its chunks, as it replaces whatever is stored under its id. */
export interface EmbeddedDocument {
  readonly document: Document
  readonly chunks: readonly EmbeddedChunk[]
}

/** A chunk in the store whose vector a new chunk with equal text may take over. */
export interface StoredChunkText {
  readonly chunkKey: bigint
  readonly documentId: string
  readonly content: string
}

/** What becomes of one stored chunk; a missing part stays. Its `chunk_id` and the offsets in it stay in any case. */
export interface ChunkChange {
  readonly chunkKey: bigint
  readonly content?: { readonly text: string; readonly vector: Float32Array }
  /** Values of metadata columns, over those that are stored. */
  readonly metadata?: Row
}

/** What becomes of one stored document; whatever is not named stays. */
export interface DocumentChange {
  readonly documentId: string
  /** Content columns whose chunks go. */
  readonly columns: readonly string[]
  /** Those that take their places. */
  readonly chunks: readonly EmbeddedChunk[]
  /** Values of metadata columns, over those that are stored, for all chunks of the document. */
  readonly metadata: Row
}

/** The keys of `metadata` that every chunk has; a metadata column of such a name is not shown there. */
export const STANDARD_METADATA_KEYS: ReadonlySet<string> = new Set([
  'chunk_index',
  'content_column',
  'start_char',
  'end_char',
  'original_doc_id',
  'original_row_index',
  'source',
])

/** What came with a document: of the metadata of a chunk, which has all the standard keys, the others. */
export function ownMetadata(metadata: Row): Row {
  const isOfChunk = [...STANDARD_METADATA_KEYS].every((key) => Object.hasOwn(metadata, key))
  if (!isOfChunk) return metadata
  const own = Object.entries(metadata).filter(([key]) => !STANDARD_METADATA_KEYS.has(key))
  return Object.fromEntries(own)
}

/** Values over those of a row. Names are compared without case; the spelling that was there first stays. */
export function mergedMetadata(stored: Row, changed: Row): Row {
  const changes = new Map(Object.entries(changed).map((entry) => [nameKey(entry[0]), entry]))
  const merged: [string, CellValue][] = []
  const taken = new Set<string>()
  for (const [name, value] of Object.entries(stored)) {
    const key = nameKey(name)
    const change = changes.get(key)
    if (change === undefined) merged.push([name, value])
    else if (!taken.has(key)) merged.push([name, change[1]])
    taken.add(key)
  }
  for (const [key, change] of changes) if (!taken.has(key)) merged.push(change)
  return Object.fromEntries(merged)
}
