import { nameKey } from '../../core/domain/identifier.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { fullName } from '../../core/domain/project.ts'
import type { ResultValue } from '../../core/domain/query-result.ts'
import type { FirstRows } from '../data/observation.ts'
import { type ChunkPlace, chunkPlace } from './chunk-place.ts'

/** A chunk as the model was shown it. */
export interface ShownPassage {
  readonly chunkId: string
  /** null: not selected by the statement. */
  readonly documentId: string | null
  readonly text: string | null
  readonly relevance: number | null
  /** The chunk's place; null: not selected by the statement. */
  readonly place: ChunkPlace | null
  /** Its possible knowledge bases: those its statement names. */
  readonly origins: readonly KnowledgeBase[]
  /** Whether the statement shows a knowledge base's columns unchanged, so that nothing has to be looked up. */
  readonly isPlain: boolean
}

/** The chunks in some rows: those with a column `chunk_id`. */
export function passagesOf(
  { columns, rows }: Pick<FirstRows, 'columns' | 'rows'>,
  origins: readonly KnowledgeBase[],
  isPlain: boolean,
): readonly ShownPassage[] {
  const indexOf = (name: string) => columns.findIndex((column) => nameKey(column) === name)
  const columnIndexes = {
    chunkId: indexOf('chunk_id'),
    documentId: indexOf('id'),
    text: indexOf('chunk_content'),
    relevance: indexOf('relevance'),
    metadata: indexOf('metadata'),
    knowledgeBase: indexOf('knowledge_base'),
  }
  return rows.flatMap((row) => {
    const chunkId = row[columnIndexes.chunkId]
    if (typeof chunkId !== 'string') return []
    const relevance = row[columnIndexes.relevance]
    const own = origins.length < 2 ? origins : told(row[columnIndexes.knowledgeBase], origins)
    const passage = {
      chunkId,
      documentId: textOrNull(row[columnIndexes.documentId]),
      text: textOrNull(row[columnIndexes.text]),
      relevance: typeof relevance === 'number' ? relevance : null,
      place: chunkPlace(row[columnIndexes.metadata], own),
      origins: own,
      // Columns of the statement itself are looked up.
      isPlain: isPlain && own === origins,
    }
    return [passage]
  })
}

/** Of several knowledge bases, the one the row names. */
function told(
  name: ResultValue | undefined,
  origins: readonly KnowledgeBase[],
): readonly KnowledgeBase[] {
  const own = origins.find(
    (kb) => typeof name === 'string' && nameKey(fullName(kb)) === nameKey(name),
  )
  return own === undefined ? origins : [own]
}

function textOrNull(value: ResultValue | undefined): string | null {
  return typeof value === 'string' ? value : null
}

/**
 * Whether each `chunk_id` and `chunk_content` in a statement is a plain column: then its rows show chunks as stored, neither
 * derived nor made up.
 */
export function showsPlainChunks(sql: string): boolean {
  const names = [...sql.matchAll(/["`]?\b(?:chunk_id|chunk_content)\b["`]?/gi)]
  return names.every(({ 0: name, index }) => {
    const before = sql.slice(Math.max(0, index - 200), index)
    const after = sql.slice(index + name.length, index + name.length + 50)
    return /(?:select|,|\.)\s*$/i.test(before) && /^\s*(?:,|from\b)/i.test(after)
  })
}

/**
 * The facts about a chunk from two results of the same origins; the later one wins if both have a value.
 */
export function mergedPassage(known: ShownPassage | undefined, next: ShownPassage): ShownPassage {
  if (known === undefined) return next
  return {
    chunkId: next.chunkId,
    documentId: next.documentId ?? known.documentId,
    text: next.text ?? known.text,
    relevance: next.relevance ?? known.relevance,
    place: next.place ?? known.place,
    origins: next.origins,
    isPlain: known.isPlain && next.isPlain,
  }
}
