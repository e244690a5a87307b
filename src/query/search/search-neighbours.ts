import type { KnowledgeBase } from '../../domain/knowledge-base.ts'
import type { QueryDeps } from '../query-deps.ts'
import { runSelect } from '../select/run-select.ts'
import { CHUNK_COLUMNS, type FoundChunk, nameOf, readChunks } from './chunk-search.ts'

/** The chunks around one, of the same column of the same document, in the order of the text. */
export interface Neighbourhood {
  readonly before: readonly FoundChunk[]
  readonly after: readonly FoundChunk[]
}

interface Place {
  readonly column: string
  /** Zero-based, in the column's text. */
  readonly chunkIndex: number
}

/**
 * The neighbourhoods of all chunks by one statement, in their order.
 * @param count most chunks on each side
 */
export async function searchNeighbours(
  {
    kb,
    chunks,
    count,
  }: {
    readonly kb: KnowledgeBase
    readonly chunks: readonly FoundChunk[]
    readonly count: number
  },
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<readonly Neighbourhood[]> {
  const places = new Set(chunks.flatMap((chunk) => keysAround(chunk, count).all))
  if (places.size === 0) return chunks.map(() => ({ before: [], after: [] }))
  const sql = `SELECT ${CHUNK_COLUMNS} FROM ${nameOf(kb)} WHERE id IN :ids
    AND concat(id, ':', metadata->>'content_column', ':', metadata->>'chunk_index') IN :places`
  const ids = [...new Set(chunks.map(({ id }) => id))]
  const request = { sql, database: kb.projectName, params: { ids, places: [...places] } }
  const nearby = await readChunks(await runSelect(request, deps, signal))
  const byPlace = new Map(nearby.map((chunk) => [keyOf(chunk.id, placeOf(chunk)), chunk]))
  const present = (keys: readonly string[]) => keys.flatMap((key) => byPlace.get(key) ?? [])
  return chunks.map((chunk) => {
    const { before, after } = keysAround(chunk, count)
    return { before: present(before), after: present(after) }
  })
}

function keysAround(chunk: FoundChunk, count: number) {
  const { column, chunkIndex } = placeOf(chunk)
  const at = (index: number) => keyOf(chunk.id, { column, chunkIndex: index })
  const first = Math.max(0, chunkIndex - count)
  const before = Array.from({ length: chunkIndex - first }, (_, offset) => at(first + offset))
  const after = Array.from({ length: count }, (_, offset) => at(chunkIndex + 1 + offset))
  return { before, after, all: [...before, ...after] }
}

function keyOf(id: string, { column, chunkIndex }: Place): string {
  return `${id}:${column}:${chunkIndex}`
}

function placeOf({ metadata: { content_column: column, chunk_index: index } }: FoundChunk): Place {
  return { column: String(column), chunkIndex: Number(index) }
}
