import { chunkTables } from '../../domain/chunk-tables.ts'
import type { KnowledgeBase } from '../../domain/knowledge-base.ts'
import { distanceColumn, type Search, textsOfRanking, vectorParameter } from '../search/ranking.ts'

/** The chunks with the cosine distance to each text as `__distance_<text>`. */
export function distanceRows(kb: KnowledgeBase, search: Search): string {
  const { chunks, vectors } = chunkTables(kb)
  if (kb.dimensions === null) {
    const none = textsOfSearch(search).map((text) => `NULL::DOUBLE AS ${distanceColumn(text)}`)
    return `(SELECT c.*, ${none.join(', ')} FROM ${chunks} AS c)`
  }
  const distances = distanceColumns(kb.dimensions, search).join(', ')
  return `(SELECT c.*, ${distances} FROM ${chunks} AS c JOIN ${vectors} AS v USING (chunk_key))`
}

/** The wanted texts and the unwanted ones. */
export function textsOfSearch(search: Search): readonly number[] {
  const excluded = search.exclusions.flatMap((exclusion) => exclusion.texts)
  return [...new Set([...textsOfRanking(search.ranking), ...excluded])]
}

/** Columns over the vectors `v`. */
export function distanceColumns(dimensions: number, search: Search): readonly string[] {
  return textsOfSearch(search).map((text) => {
    // Stored vectors and query vectors have unit length, so that 1 - their inner product is the cosine distance.
    const vector = `$${vectorParameter(text)}::FLOAT[${dimensions}]`
    const product = `array_negative_inner_product(v.vector, ${vector})`
    return `least(2, greatest(0, 1 + ${product}))::DOUBLE AS ${distanceColumn(text)}`
  })
}
