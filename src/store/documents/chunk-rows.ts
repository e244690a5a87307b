/** Chunks as rows of the physical tables. */

import type { Analyzer } from '../../analysis/analyzer.ts'
import {
  type Chunk,
  type ChunkVector,
  type EmbeddedChunk,
  type EmbeddedDocument,
  STANDARD_METADATA_KEYS,
} from '../../domain/chunk.ts'
import type { Document, Row, RowValue } from '../../domain/document.ts'
import { AppError } from '../../errors.ts'
import { yieldToEventLoop } from '../../runtime/scheduling.ts'
import { type ChunkTerms, TermCounter } from './chunk-terms.ts'
import { valuesByKey } from './metadata-columns.ts'
import { unitVector } from './unit-vector.ts'

/** Rows that are made between two looks at what else waits. */
const ROWS_PER_TURN = 256

export interface ChunkRow {
  readonly documentId: string
  readonly chunkId: string
  readonly content: string
  /** JSON text. */
  readonly metadata: string
  /** Values of the metadata columns by `nameKey` of their names. */
  readonly values: ReadonlyMap<string, RowValue>
  readonly vector: ChunkVector
  readonly terms: ChunkTerms
}

export interface ChunkRows {
  readonly documentIds: readonly string[]
  readonly rows: readonly ChunkRow[]
  readonly metadata: readonly Row[]
  /** Of the new vectors; null when there is none. */
  readonly dimensions: number | null
}

/** A chunk with a vector of length one and its terms. */
export interface IndexedChunk {
  readonly chunk: Chunk
  readonly vector: ChunkVector
  readonly terms: ChunkTerms
}

export interface IndexedChunks {
  readonly chunks: readonly IndexedChunk[]
  /** Of the new vectors; null when there is none. */
  readonly dimensions: number | null
}

/**
 * What takes long and can be done before the write begins.
 * @throws AppError `provider_failed`, `dimension_mismatch`
 */
export async function indexedChunks(
  chunks: readonly EmbeddedChunk[],
  terms: TermCounter,
): Promise<IndexedChunks> {
  const indexed: IndexedChunk[] = []
  let dimensions: number | null = null
  for (const { chunk, vector } of chunks) {
    const unit = unitOf(vector, chunk.chunkId)
    if (unit.kind === 'new') dimensions = sameDimensions(dimensions, unit.vector.length)
    indexed.push({ chunk, vector: unit, terms: await terms.count(chunk.content.toWellFormed()) })
  }
  return { chunks: indexed, dimensions }
}

/**
 * Everything that can be prepared before the write begins.
 * @throws AppError `provider_failed`, `dimension_mismatch`
 */
export async function chunkRowsOf(
  documents: readonly EmbeddedDocument[],
  reader: Analyzer,
): Promise<ChunkRows> {
  const terms = new TermCounter(reader)
  const rows: ChunkRow[] = []
  let dimensions: number | null = null
  for (const { document, chunks } of documents) {
    const indexed = await indexedChunks(chunks, terms)
    if (indexed.dimensions !== null) dimensions = sameDimensions(dimensions, indexed.dimensions)
    for (const row of rowsOfDocument(document, indexed.chunks)) {
      rows.push(row)
      if (rows.length % ROWS_PER_TURN === 0) await yieldToEventLoop()
    }
  }
  const documentIds = documents.map(({ document }) => document.id.toWellFormed())
  if (new Set(documentIds).size < documentIds.length) throw new Error('document ids must differ')
  const metadata = documents.map(({ document }) => document.metadata)
  return { documentIds, rows, metadata, dimensions }
}

/**
 * Text is made well-formed: DuckDB stores UTF-8, which has no lone surrogates, and U+FFFD in their place keeps every
 * offset. NUL is stored as it is.
 */
export function* rowsOfDocument(
  document: Omit<Document, 'texts'>,
  chunks: readonly IndexedChunk[],
): Generator<ChunkRow, void> {
  const values = valuesByKey(document.metadata)
  const ownMetadata = metadataText(document.metadata)
  for (const { chunk, vector, terms } of chunks) {
    yield {
      documentId: document.id.toWellFormed(),
      chunkId: chunk.chunkId.toWellFormed(),
      content: chunk.content.toWellFormed(),
      metadata: `${standardMetadata(document, chunk)}${ownMetadata}}`,
      values,
      vector,
      terms,
    }
  }
}

export function unitOf(vector: ChunkVector, chunkId: string): ChunkVector {
  if (vector.kind === 'stored') return vector
  return { kind: 'new', vector: unitVector(vector.vector, chunkId) }
}

export function sameDimensions(one: number | null, other: number): number {
  if (one === null || one === other) return other
  const sizes = `the model gives vectors of ${one} and of ${other}`
  throw new AppError('dimension_mismatch', `Dimensions do not match: ${sizes}`)
}

/** The start of a JSON object. */
function standardMetadata(document: Omit<Document, 'texts'>, chunk: Chunk): string {
  const fields = {
    chunk_index: chunk.chunkIndex,
    content_column: chunk.contentColumn,
    start_char: chunk.startChar,
    end_char: chunk.endChar,
    original_doc_id: document.id,
    original_row_index: String(document.rowIndex),
    source: chunk.source,
  }
  return jsonText(fields).slice(0, -1)
}

/** The metadata of a chunk as JSON text. @param standard the standard keys */
export function chunkMetadata(standard: Row, own: Row): string {
  return `${jsonText(standard).slice(0, -1)}${metadataText(own)}}`
}

/**
 * The rest of that object, each field with a comma before it. Its own names lose against the
 * standard ones.
 */
function metadataText(metadata: Row): string {
  return Object.entries(metadata)
    .filter(([name]) => !STANDARD_METADATA_KEYS.has(name))
    .map(([name, value]) => `,${JSON.stringify(name.toWellFormed())}:${jsonText(value)}`)
    .join('')
}

/** JSON whose texts, and names at any depth, are well-formed: DuckDB refuses to read `"\ud800"`. */
export function jsonText(value: unknown): string {
  const text = JSON.stringify(value) ?? 'null'
  if (!text.includes('\\ud')) return text
  return JSON.stringify(wellFormed(JSON.parse(text)))
}

function wellFormed(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed()
  if (Array.isArray(value)) return value.map(wellFormed)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([name, part]) => [
    name.toWellFormed(),
    wellFormed(part),
  ])
  return Object.fromEntries(entries)
}
