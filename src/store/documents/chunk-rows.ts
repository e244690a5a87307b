/** Converts chunks to rows of the physical tables. */

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
import { AppError, dimensionMismatch } from '../../core/errors.ts'
import { yieldToEventLoop } from '../../core/runtime/serial-queue.ts'
import { SeenColumns, valuesByKey } from './metadata-columns.ts'

/** Yield to other work after this many rows. */
const ROWS_PER_TURN = 256

export interface ChunkRow {
  readonly documentId: string
  readonly chunkId: string
  readonly content: string
  /** JSON text. */
  readonly metadata: string
  /** Metadata column values by the `nameKey` of the column. */
  readonly values: ReadonlyMap<string, CellValue>
  /** The row's position in the insert, for error messages; null if it is not part of an insert. */
  readonly rowIndex: number | null
  /** The vector. New vectors are scaled to length 1. */
  readonly vector: ChunkVector
  readonly terms: TermCounts
  /** Text that is embedded before the chunk's content. */
  readonly context: string
  readonly isCut: boolean
  /** JSON text; null if unknown, or if this is not the first chunk of its text. */
  readonly layout: string | null
}

/** What the tables must have columns and types for before rows are added. */
export interface Incoming {
  readonly metadata: SeenColumns
  /** The length of the new vectors, or null if there are none. */
  readonly dimensions: number | null
}

export interface PreparedInsert {
  readonly rows: readonly ChunkRow[]
  /** Document ids without duplicates. */
  readonly documentIds: readonly string[]
  readonly incoming: Incoming
}

/** Before the write begins. @throws AppError `provider_failed`, `dimension_mismatch` */
export async function chunkRowsOf(documents: readonly EmbeddedDocument[]): Promise<PreparedInsert> {
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

/** Lone surrogates become U+FFFD: DuckDB stores UTF-8. Offsets do not change. NUL is kept. */
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

/** Returns the layout of the chunk's text, and the text between chunks, as JSON. */
function storedLayout({ layout, between }: Chunk): string | null {
  if (layout === undefined && between === undefined) return null
  return jsonText(between === undefined ? layout : { ...layout, between })
}

export function withFacts(
  facts: Row,
  documentValues: ReadonlyMap<string, CellValue>,
): ReadonlyMap<string, CellValue> {
  return new Map([...valuesByKey(facts), ...documentValues])
}

/** Drops null values that would hide a fact about the chunk. */
function withoutNulls(metadata: Row, facts: Row): Row {
  const known = new Set(Object.keys(facts).map(nameKey))
  const entries = Object.entries(metadata)
  return Object.fromEntries(
    entries.filter(([name, value]) => value !== null || !known.has(nameKey(name))),
  )
}

/** Scales a new vector to length 1. @throws AppError `provider_failed`, `dimension_mismatch` */
export function unitOf(vector: ChunkVector, chunkId: string): ChunkVector {
  if (vector.kind === 'stored') return vector
  return { kind: 'new', vector: unitVector(vector.vector, chunkId) }
}

/** @throws AppError `dimension_mismatch` */
export function sameDimensions(known: number | null, next: number): number {
  if (known === null || known === next) return next
  throw dimensionMismatch(`the model gives vectors of ${known} and of ${next}`)
}

/** Inner products are then cosines. @throws AppError `provider_failed`, `dimension_mismatch` */
export function unitVector(vector: Float32Array, chunkId: string): Float32Array {
  if (vector.length > DIMENSIONS_MAX) {
    const sizes = `the model gives ${vector.length}, at most ${DIMENSIONS_MAX} can be stored`
    throw dimensionMismatch(sizes)
  }
  let squares = 0
  // An index loop: iterators are ten times slower here.
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

/** The start of a JSON object with the standard keys, left open for more fields. */
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

/** As JSON. @param standard the standard keys, and facts about this chunk alone */
export function chunkMetadata(standard: Row, own: Row): string {
  const taken = new Set(Object.keys(own).map(nameKey))
  const entries = Object.entries(standard)
  const kept = entries.filter(
    ([key]) => STANDARD_METADATA_KEYS.has(key) || !taken.has(nameKey(key)),
  )
  return `${jsonText(Object.fromEntries(kept)).slice(0, -1)}${metadataText(own)}}`
}

/** The rest of that JSON object, each field preceded by a comma. Standard names win. */
function metadataText(metadata: Row): string {
  return Object.entries(metadata)
    .filter(([name]) => !STANDARD_METADATA_KEYS.has(name))
    .map(([name, value]) => `,${JSON.stringify(name.toWellFormed())}:${jsonText(value)}`)
    .join('')
}

/** Returns JSON without lone surrogates in any text or name: DuckDB refuses to read `"\ud800"`. */
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
