/** Chunks as rows of the physical tables. */

import type { CellValue, Document, Row } from '../../core/domain/document.ts'
import {
  type Chunk,
  type ChunkVector,
  type EmbeddedChunk,
  type EmbeddedDocument,
  STANDARD_METADATA_KEYS,
  type TermCounts,
} from '../../core/domain/document.ts'
import { DIMENSIONS_MAX } from '../../core/domain/model-ref.ts'
import { nameKey } from '../../core/domain/names.ts'
import { AppError } from '../../core/errors.ts'
import { yieldToEventLoop } from '../../core/runtime/serial-queue.ts'
import { SeenColumns, valuesByKey } from './metadata-columns.ts'

/** Rows made between two checks of waiting work. */
const ROWS_PER_TURN = 256

export interface ChunkRow {
  readonly documentId: string
  readonly chunkId: string
  readonly content: string
  /** JSON text. */
  readonly metadata: string
  /** Values of the metadata columns by `nameKey` of their names. */
  readonly values: ReadonlyMap<string, CellValue>
  /** Position of its document in the insert, from 0; null: not just inserted. */
  readonly rowIndex: number | null
  /** A new one has the length 1. */
  readonly vector: ChunkVector
  readonly terms: TermCounts
  /** The text embedded before the content. */
  readonly context: string
  readonly isCut: boolean
  /** JSON text; null: not the first chunk of its text, or unknown. */
  readonly layout: string | null
}

/** The content that the tables must have room for. */
export interface Incoming {
  /** The metadata columns with the types of their values. */
  readonly metadata: SeenColumns
  /** For the new vectors; null: none. */
  readonly dimensions: number | null
}

/**
 * All preparation before the write.
 * @throws AppError `provider_failed`, `dimension_mismatch`
 */
export async function chunkRowsOf(documents: readonly EmbeddedDocument[]): Promise<{
  readonly documentIds: readonly string[]
  readonly rows: readonly ChunkRow[]
  readonly incoming: Incoming
}> {
  const rows: ChunkRow[] = []
  let dimensions: number | null = null
  for (const { document, chunks } of documents) {
    for (const row of rowsOfDocument(document, chunks)) {
      const vector = unitOf(row.vector, row.chunkId)
      if (vector.kind === 'new') dimensions = sameDimensions(dimensions, vector.vector.length)
      rows.push({ ...row, vector })
      if (rows.length % ROWS_PER_TURN === 0) await yieldToEventLoop()
    }
  }
  const documentIds = documents.map(({ document }) => document.id.toWellFormed())
  if (new Set(documentIds).size < documentIds.length) throw new Error('document ids must differ')
  const metadata = await seenMetadata(documents)
  return { documentIds, rows, incoming: { metadata, dimensions } }
}

async function seenMetadata(documents: readonly EmbeddedDocument[]): Promise<SeenColumns> {
  const seen = new SeenColumns()
  for (const [index, { document, chunks }] of documents.entries()) {
    seen.add(document.metadata)
    for (const { chunk } of chunks) if (chunk.facts !== undefined) seen.add(chunk.facts)
    if (index % ROWS_PER_TURN === ROWS_PER_TURN - 1) await yieldToEventLoop()
  }
  return seen
}

/**
 * Makes text well-formed: DuckDB stores UTF-8, which has no lone surrogates; replacing them with U+FFFD keeps every offset.
 * NUL is stored as it is.
 */
export function* rowsOfDocument(
  document: Omit<Document, 'texts'>,
  chunks: readonly EmbeddedChunk[],
): Generator<ChunkRow, void> {
  const documentValues = valuesByKey(document.metadata)
  const ownMetadata = metadataText(document.metadata)
  for (const { chunk, vector, terms } of chunks) {
    const { facts, context = '', isCut = false } = chunk
    const values = facts === undefined ? documentValues : withFacts(facts, documentValues)
    const own =
      facts === undefined ? ownMetadata : metadataText(withoutNulls(document.metadata, facts))
    yield {
      documentId: document.id.toWellFormed(),
      chunkId: chunk.chunkId.toWellFormed(),
      content: chunk.content.toWellFormed(),
      metadata: `${standardMetadata(document, chunk)}${own}}`,
      values,
      rowIndex: document.rowIndex,
      vector,
      terms,
      context: context.toWellFormed(),
      isCut,
      layout: storedLayout(chunk),
    }
  }
}

/** The layout of its text, and the text between its chunks. */
function storedLayout({ layout, between }: Chunk): string | null {
  if (layout === undefined && between === undefined) return null
  return jsonText(between === undefined ? layout : { ...layout, between })
}

/** The document's own metadata wins. */
export function withFacts(
  facts: Row,
  documentValues: ReadonlyMap<string, CellValue>,
): ReadonlyMap<string, CellValue> {
  return new Map([...valuesByKey(facts), ...documentValues])
}

/** A null of the document says nothing of what is known of the chunk. */
function withoutNulls(metadata: Row, facts: Row): Row {
  const known = new Set(Object.keys(facts).map(nameKey))
  const entries = Object.entries(metadata)
  return Object.fromEntries(
    entries.filter(([name, value]) => value !== null || !known.has(nameKey(name))),
  )
}

/** @throws AppError `provider_failed`, `dimension_mismatch` */
export function unitOf(vector: ChunkVector, chunkId: string): ChunkVector {
  if (vector.kind === 'stored') return vector
  return { kind: 'new', vector: unitVector(vector.vector, chunkId) }
}

/** @throws AppError `dimension_mismatch` */
export function sameDimensions(known: number | null, next: number): number {
  if (known === null || known === next) return next
  const sizes = `the model gives vectors of ${known} and of ${next}`
  throw new AppError('dimension_mismatch', `Dimensions do not match: ${sizes}`)
}

/**
 * The vector with length 1, so that an inner product is a cosine.
 * @throws AppError `provider_failed` for a vector without a direction, `dimension_mismatch` for a
 * length out of bounds
 */
export function unitVector(vector: Float32Array, chunkId: string): Float32Array {
  if (vector.length > DIMENSIONS_MAX) {
    const sizes = `the model gives ${vector.length}, at most ${DIMENSIONS_MAX} can be stored`
    throw new AppError('dimension_mismatch', `Dimensions do not match: ${sizes}`)
  }
  let squares = 0
  // By index: iterators take ten times as long.
  for (let index = 0; index < vector.length; index += 1) squares += (vector[index] ?? 0) ** 2
  const length = Math.sqrt(squares)
  if (!(length > 0 && Number.isFinite(length))) {
    const what = 'a vector that is zero or has parts that are not finite numbers'
    throw new AppError('provider_failed', `The embedding model gave ${what}, for chunk ${chunkId}`)
  }
  const unit = new Float32Array(vector.length)
  for (let index = 0; index < unit.length; index += 1) unit[index] = (vector[index] ?? 0) / length
  return unit
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
    ...chunk.facts,
    source: chunk.source,
  }
  return jsonText(fields).slice(0, -1)
}

/** The metadata of a chunk as JSON text. @param standard the standard keys, and what is known of this chunk alone */
export function chunkMetadata(standard: Row, own: Row): string {
  const taken = new Set(Object.keys(own).map(nameKey))
  const entries = Object.entries(standard)
  const kept = entries.filter(
    ([key]) => STANDARD_METADATA_KEYS.has(key) || !taken.has(nameKey(key)),
  )
  return `${jsonText(Object.fromEntries(kept)).slice(0, -1)}${metadataText(own)}}`
}

/**
 * The rest of that object, each field with a comma before it. Standard names win over its own.
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
