/** The chunks of a search with their distances: measured by the database, or found before the statement runs. */
import { chunkTables } from '../../core/domain/chunk-tables.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import {
  candidateDistancesParameter,
  candidateKeysParameter,
  candidateRelevancesParameter,
  vectorParameter,
} from '../search/plan-inputs.ts'
import { allTextIndexes, distanceColumn, fusedColumn, type Search } from '../search/ranking.ts'

/**
 * The chunks with the cosine distance to each text as `__distance_<textIndex>`.
 * @param isNarrowed a condition of the statement may leave chunks out before they are measured. Where none does, all
 * vectors are measured before the join: DuckDB would copy them into the table that it joins by.
 */
export function distanceRows(kb: KnowledgeBase, search: Search, isNarrowed: boolean): string {
  const { chunks, vectors } = chunkTables(kb)
  if (kb.dimensions === null) {
    const none = allTextIndexes(search).map(
      (textIndex) => `NULL::DOUBLE AS ${distanceColumn(textIndex)}`,
    )
    return `(SELECT c.*, ${none.join(', ')} FROM ${chunks} AS c)`
  }
  const distances = distanceColumns(kb.dimensions, search).join(', ')
  if (isNarrowed) {
    return `(SELECT c.*, ${distances} FROM ${chunks} AS c JOIN ${vectors} AS v USING (chunk_key))`
  }
  const names = allTextIndexes(search).map((textIndex) => `m.${distanceColumn(textIndex)}`)
  return `(SELECT c.*, ${names.join(', ')} FROM ${chunks} AS c
    JOIN (SELECT v.chunk_key, ${distances} FROM ${vectors} AS v) AS m USING (chunk_key))`
}

/** Columns over the vectors `v`. */
export function distanceColumns(dimensions: number, search: Search): readonly string[] {
  return allTextIndexes(search).map((textIndex) => {
    const vector = `$${vectorParameter(textIndex)}::FLOAT[${dimensions}]`
    return `${distanceSql(vector)} AS ${distanceColumn(textIndex)}`
  })
}

/** Of the vectors `v` to another. All have unit length, so that 1 - their inner product is the cosine distance. */
export function distanceSql(vector: string): string {
  return `least(2, greatest(0, 1 + array_negative_inner_product(v.vector, ${vector})))::DOUBLE`
}

/**
 * The candidates with the cosine distance to the text as `__distance_<textIndex>`, those of a hybrid search with their
 * relevance as `__fused_<textIndex>` as well.
 */
export function candidateRows(kb: KnowledgeBase, textIndex: number, isHybrid: boolean): string {
  const fused = [[candidateRelevancesParameter(textIndex), fusedColumn(textIndex)]] as const
  return listedChunks(kb, candidateKeysParameter(textIndex), [
    [candidateDistancesParameter(textIndex), distanceColumn(textIndex)],
    ...(isHybrid ? fused : []),
  ])
}

/**
 * The chunks of a bound list of keys, with the numbers of other lists: each a parameter and the name of its column. They are
 * read by key, which a join with the list would not do.
 */
export function listedChunks(
  kb: KnowledgeBase,
  keys: string,
  lists: readonly (readonly [string, string])[],
): string {
  const columns = lists.map(([parameter, name]) => {
    const place = `list_position($${keys}::BIGINT[], c.chunk_key)`
    return `list_extract($${parameter}::DOUBLE[], ${place}) AS ${name}`
  })
  return `(SELECT c.*, ${columns.join(', ')} FROM ${chunkTables(kb).chunks} AS c
    WHERE c.chunk_key IN ($${keys}))`
}
