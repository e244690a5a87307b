/** What can be done for an UPDATE before its transaction begins. */

import type { Analyzer } from '../../analysis/analyzer.ts'
import type { ChunkChange, ChunkVector, DocumentChange } from '../../domain/chunk.ts'
import type { Row, RowValue } from '../../domain/document.ts'
import { yieldToEventLoop } from '../../runtime/scheduling.ts'
import { type IndexedChunk, indexedChunks, sameDimensions, unitOf } from './chunk-rows.ts'
import { type ChunkTerms, TermCounter } from './chunk-terms.ts'
import { typeOfValue } from './metadata-columns.ts'

/** What the tables must have room for. */
export interface Incoming {
  /** Has every metadata column with every type of its values. */
  readonly metadata: readonly Row[]
  /** Of the new vectors; null when there is none. */
  readonly dimensions: number | null
}

export interface PreparedText {
  readonly content: string
  readonly vector: ChunkVector
  readonly terms: ChunkTerms
}

export interface PreparedChunk {
  readonly chunkKey: bigint
  readonly metadata: Row
  /** null: it stays. */
  readonly text: PreparedText | null
}

export interface PreparedDocument extends Omit<DocumentChange, 'chunks'> {
  readonly chunks: readonly IndexedChunk[]
}

export interface Prepared<T> {
  readonly changes: readonly T[]
  readonly incoming: Incoming
}

/** Changes that are prepared between two looks at what else waits. */
const CHANGES_PER_TURN = 2_000

/** @throws AppError `provider_failed`, `dimension_mismatch` */
export async function preparedChunks(
  changes: readonly ChunkChange[],
  reader: Analyzer,
): Promise<Prepared<PreparedChunk>> {
  const counter = new TermCounter(reader)
  const values = new ValueSamples()
  const prepared: PreparedChunk[] = []
  let dimensions: number | null = null
  for (const { chunkKey, content, metadata = {} } of changes) {
    values.add(metadata)
    let text: PreparedText | null = null
    if (content !== undefined) {
      const vector = unitOf({ kind: 'new', vector: content.vector }, `with the key ${chunkKey}`)
      dimensions = sameDimensions(dimensions, content.vector.length)
      const wellFormed = content.text.toWellFormed()
      text = { content: wellFormed, vector, terms: await counter.count(wellFormed) }
    }
    prepared.push({ chunkKey, metadata, text })
    if (prepared.length % CHANGES_PER_TURN === 0) await yieldToEventLoop()
  }
  return { changes: prepared, incoming: { metadata: values.rows(), dimensions } }
}

/** @throws AppError `provider_failed`, `dimension_mismatch` */
export async function preparedDocuments(
  changes: readonly DocumentChange[],
  reader: Analyzer,
): Promise<Prepared<PreparedDocument>> {
  const counter = new TermCounter(reader)
  const values = new ValueSamples()
  const prepared: PreparedDocument[] = []
  let dimensions: number | null = null
  for (const { documentId, columns, metadata, chunks } of changes) {
    values.add(metadata)
    const indexed = await indexedChunks(chunks, counter)
    if (indexed.dimensions !== null) dimensions = sameDimensions(dimensions, indexed.dimensions)
    prepared.push({
      documentId: documentId.toWellFormed(),
      columns,
      metadata,
      chunks: indexed.chunks,
    })
    if (prepared.length % CHANGES_PER_TURN === 0) await yieldToEventLoop()
  }
  return { changes: prepared, incoming: { metadata: values.rows(), dimensions } }
}

/** Few rows that stand for many: one value of each type of each name. */
class ValueSamples {
  readonly #samples = new Map<string, readonly [string, RowValue]>()

  add(row: Row): void {
    for (const entry of Object.entries(row)) {
      const type = typeOfValue(entry[1])
      const key = `${type} ${entry[0]}`
      if (type !== null && !this.#samples.has(key)) this.#samples.set(key, entry)
    }
  }

  rows(): readonly Row[] {
    return [...this.#samples.values()].map((entry) => Object.fromEntries([entry]))
  }
}
