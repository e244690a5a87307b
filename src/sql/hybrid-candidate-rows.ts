/**
 * A hybrid search whose nearest chunks are known before its statement runs. Only they and the best by keywords have a
 * part in a relevance: any other chunk has 0 from both and lies farther than the known ones, so that as many rows as are
 * known are answered right.
 */
import { chunkTables } from '../domain/chunk-tables.ts'
import {
  candidateDistancesParameter,
  candidateKeysParameter,
  keptKeysSql,
} from './candidate-rows.ts'
import { fusedKeys, fusedRows, type HybridRows, partCtes } from './hybrid-rows.ts'
import { distanceColumns } from './measured-rows.ts'
import { CHUNK_KEY, distanceColumn, fusedColumn } from './ranking.ts'

/**
 * The WITH: the nearest as `__nearest`, the parts of the text, and all that have one or are among the nearest as
 * `__found`. Vectors are read of those only that keywords alone have found.
 */
export function hybridCandidateCtes(rows: HybridRows, text: number): string {
  const { knowledgeBase: kb, dimensions, search, conditions } = rows
  const keys = `unnest($${candidateKeysParameter(text)}::BIGINT[]) AS chunk_key`
  const distances = `unnest($${candidateDistancesParameter(text)}::DOUBLE[]) AS distance`
  const kept = conditions === null ? null : `SELECT ${CHUNK_KEY} FROM __kept`
  const measured = distanceColumns(dimensions, search).join(', ')
  const { vectors } = chunkTables(kb)
  const ctes = [
    ...(conditions === null ? [] : [`__kept AS MATERIALIZED (${keptKeysSql(kb, conditions)})`]),
    `__nearest AS MATERIALIZED (SELECT ${keys}, ${distances})`,
    ...partCtes(rows, { text, distances: '__nearest', kept }),
    `__worded_only AS MATERIALIZED (SELECT chunk_key FROM __worded_${text}
      WHERE chunk_key NOT IN (SELECT chunk_key FROM __nearest))`,
    `__found AS MATERIALIZED (
      SELECT chunk_key AS ${CHUNK_KEY}, distance AS ${distanceColumn(text)} FROM __nearest
      UNION ALL SELECT v.chunk_key, ${measured}
      FROM __worded_only AS w JOIN ${vectors} AS v ON v.chunk_key = w.chunk_key)`,
  ]
  return `WITH ${ctes.join(', ')}`
}

/**
 * The found chunks, with distances and fused relevances.
 * @param first.firstCount only so many of the first are read, and those that are equal to the last of them
 */
export function hybridCandidateRows(
  rows: HybridRows,
  { text, firstCount }: { readonly text: number; readonly firstCount: number | null },
): string {
  if (firstCount === null) return fusedRows(rows, '__found')
  const [distance, fused] = [distanceColumn(text), fusedColumn(text)]
  const { chunks } = chunkTables(rows.knowledgeBase)
  return `(SELECT c.*, f.${distance}, f.${fused}
    FROM (SELECT *, rank() OVER (ORDER BY ${fused} DESC, ${distance}) AS place
      FROM ${fusedKeys(rows, '__found')}) AS f
    JOIN ${chunks} AS c ON c.chunk_key = f.${CHUNK_KEY} WHERE f.place <= ${firstCount})`
}
