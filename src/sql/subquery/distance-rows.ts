/** The chunks of a search with their distances: measured by the database, or found before the statement runs. */
import { chunkTables } from '../../domain/chunk-tables.ts'
import type { KnowledgeBase } from '../../domain/knowledge-base.ts'
import {
  candidateDistancesParameter,
  candidateKeysParameter,
  candidateRelevancesParameter,
  vectorParameter,
} from '../search/plan-inputs.ts'
import { allTextIndexes, distanceColumn, fusedColumn, type Search } from '../search/ranking.ts'

/** The chunks with the cosine distance to each text as `__distance_<textIndex>`. */
export function distanceRows(kb: KnowledgeBase, search: Search): string {
  const { chunks, vectors } = chunkTables(kb)
  if (kb.dimensions === null) {
    const none = allTextIndexes(search).map(
      (textIndex) => `NULL::DOUBLE AS ${distanceColumn(textIndex)}`,
    )
    return `(SELECT c.*, ${none.join(', ')} FROM ${chunks} AS c)`
  }
  const distances = distanceColumns(kb.dimensions, search).join(', ')
  return `(SELECT c.*, ${distances} FROM ${chunks} AS c JOIN ${vectors} AS v USING (chunk_key))`
}

/** Columns over the vectors `v`. */
export function distanceColumns(dimensions: number, search: Search): readonly string[] {
  return allTextIndexes(search).map((textIndex) => {
    // Stored vectors and query vectors have unit length, so that 1 - their inner product is the cosine distance.
    const vector = `$${vectorParameter(textIndex)}::FLOAT[${dimensions}]`
    const product = `array_negative_inner_product(v.vector, ${vector})`
    return `least(2, greatest(0, 1 + ${product}))::DOUBLE AS ${distanceColumn(textIndex)}`
  })
}

/**
 * The candidates with the cosine distance to the text as `__distance_<textIndex>`, those of a hybrid search with their
 * relevance as `__fused_<textIndex>` as well.
 */
export function candidateRows(kb: KnowledgeBase, textIndex: number, isHybrid: boolean): string {
  const list = (parameter: string, type: string, name: string) => {
    return `unnest($${parameter}::${type}[]) AS ${name}`
  }
  const lists = [
    list(candidateKeysParameter(textIndex), 'BIGINT', 'chunk_key'),
    list(candidateDistancesParameter(textIndex), 'DOUBLE', distanceColumn(textIndex)),
    ...(isHybrid
      ? [list(candidateRelevancesParameter(textIndex), 'DOUBLE', fusedColumn(textIndex))]
      : []),
  ]
  return `(SELECT c.*, n.* EXCLUDE (chunk_key) FROM (SELECT ${lists.join(', ')}) AS n
    JOIN ${chunkTables(kb).chunks} AS c USING (chunk_key))`
}
