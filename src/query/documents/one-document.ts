import { chunkFacts, ownMetadata } from '../../core/domain/chunk.ts'
import type { Row } from '../../core/domain/document.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import type { StoredChunk } from '../../core/domain/ports/document-ports.ts'
import { notFound } from '../../core/errors.ts'
import { TimeSlice } from '../../core/runtime/scheduling.ts'
import type { QueryDeps } from '../select/query-deps.ts'
import { chunksByColumn, JoinedText, type TextPlace } from './text-of-chunks.ts'

/** A document with its texts, put together from its chunks. */
export interface DocumentTexts {
  readonly id: string
  readonly metadata: Row
  readonly texts: readonly DocumentText[]
  readonly chunks: readonly PlacedChunk[]
}

export interface DocumentText {
  readonly column: string
  readonly text: string
  /** False where some of it stands in no chunk, or a chunk was changed by itself. */
  readonly isExact: boolean
}

export interface PlacedChunk {
  readonly chunkId: string
  readonly column: string
  /** Code units into the text of its column. */
  readonly startChar: number
  readonly endChar: number
  /** What cut it. */
  readonly source: string
  /** What is known of it alone, such as `page`. */
  readonly facts: Row
}

const JOINING_SLICE_MS = 4

/** @throws AppError `document_not_found`, `knowledge_base_not_found` */
export async function readDocument(
  kb: KnowledgeBase,
  id: string,
  deps: Pick<QueryDeps, 'documents'>,
  signal: AbortSignal,
): Promise<DocumentTexts> {
  const stored = await deps.documents.chunksOf(kb, id)
  const [first] = stored
  if (first === undefined) throw notFound('document', id)
  const slice = new TimeSlice(JOINING_SLICE_MS)
  const texts: DocumentText[] = []
  const chunks: PlacedChunk[] = []
  for (const [column, placed] of chunksByColumn(stored)) {
    const text = new JoinedText()
    for (const chunk of placed) {
      chunks.push(placedChunk(chunk, column, text.add(chunk)))
      await slice.yieldIfSpent(signal)
    }
    texts.push({ column, text: text.text, isExact: text.isExact })
  }
  return { id, metadata: ownMetadata(first.metadata), texts, chunks }
}

function placedChunk(chunk: StoredChunk, column: string, { start, end }: TextPlace): PlacedChunk {
  const { chunkId, metadata } = chunk
  const place = { startChar: start, endChar: end }
  return { chunkId, column, ...place, source: String(metadata.source), facts: chunkFacts(metadata) }
}
