/**
 * Vectors and keywords together: a chunk's relevance is alpha · vector part + (1 - alpha) · keyword part, see
 * hybrid-parts.ts. Every chunk is measured; where the first are enough, `search/hybrid/` makes the same of those that count.
 */
import { chunkTables } from '../../domain/chunk-tables.ts'
import { quote } from '../../domain/identifier.ts'
import type { KnowledgeBase } from '../../domain/knowledge-base.ts'
import {
  alphaParameter,
  CHUNK_KEY,
  distanceColumn,
  fusedColumn,
  type HybridSearch,
  type Ranking,
  type Search,
  textsOfRanking,
} from '../search/ranking.ts'
import { distanceColumns, textsOfSearch } from './distance-rows.ts'
import { nearPartsSql, wordedPartsSql } from './hybrid-parts.ts'
import { keywordScoresSql } from './keyword-scores.ts'

/** Stands where the statement's own conditions belong. */
export const CONDITIONS = '__conditions'

/** A hybrid search over a knowledge base that has vectors. */
export interface HybridRows {
  readonly knowledgeBase: KnowledgeBase
  readonly dimensions: number
  readonly search: Search
  readonly hybrid: HybridSearch
  readonly ranking: Ranking
  /** Columns of the chunks `c` that the statement's conditions may name, and its name for them all; null: no conditions. */
  readonly conditions: { readonly alias: string; readonly columns: readonly string[] } | null
}

/** The WITH of a hybrid search: `__measured`, and the parts of each text as `__near_<text>` and `__worded_<text>`. */
export function hybridCtes(rows: HybridRows): string {
  const ofTexts = textsOfRanking(rows.ranking).flatMap((text) => [
    `__distances_${text} AS (SELECT ${CHUNK_KEY} AS chunk_key, ${distanceColumn(text)} AS distance
      FROM __measured)`,
    ...partCtes(rows, text),
  ])
  return `WITH ${[`__measured AS MATERIALIZED (${measuredSql(rows)})`, ...ofTexts].join(', ')}`
}

function partCtes({ knowledgeBase, hybrid: { fusion } }: HybridRows, text: number) {
  const scores = `SELECT * FROM (${keywordScoresSql(knowledgeBase, text)})
    WHERE chunk_key IN (SELECT ${CHUNK_KEY} FROM __measured)`
  return [
    `__keywords_${text} AS MATERIALIZED (${scores})`,
    `__near_${text} AS MATERIALIZED (${nearPartsSql(`__distances_${text}`, fusion)})`,
    `__worded_${text} AS MATERIALIZED (${wordedPartsSql(`__keywords_${text}`, fusion)})`,
  ]
}

/** `__chunk_key` and the distances, of the chunks that the conditions keep. */
function measuredSql({ knowledgeBase, dimensions, search, conditions }: HybridRows): string {
  const { chunks, vectors } = chunkTables(knowledgeBase)
  const measured = [`v.chunk_key AS ${CHUNK_KEY}`, ...distanceColumns(dimensions, search)]
  if (conditions === null) return `SELECT ${measured.join(', ')} FROM ${vectors} AS v`
  const kept = [CHUNK_KEY, ...textsOfSearch(search).map(distanceColumn)].join(', ')
  const columns = [...measured, ...conditions.columns].join(', ')
  return `SELECT ${kept} FROM (SELECT ${columns} FROM ${vectors} AS v JOIN ${chunks} AS c USING (chunk_key))
    AS ${quote(conditions.alias)} WHERE ${CONDITIONS}`
}

/** The chunks that the conditions keep, with distances and fused relevances. */
export function hybridRows({ knowledgeBase, search, hybrid, ranking }: HybridRows): string {
  const { chunks } = chunkTables(knowledgeBase)
  const texts = textsOfRanking(ranking)
  const columns = [
    ...textsOfSearch(search).map((text) => `m.${distanceColumn(text)}`),
    ...texts.map((text) => `${fusedSql(text, hybrid)} AS ${fusedColumn(text)}`),
  ]
  const joins = texts.flatMap((text) => [
    `LEFT JOIN __near_${text} AS n${text} ON n${text}.chunk_key = m.${CHUNK_KEY}`,
    `LEFT JOIN __worded_${text} AS k${text} ON k${text}.chunk_key = m.${CHUNK_KEY}`,
  ])
  return `(SELECT c.*, ${columns.join(', ')} FROM __measured AS m ${joins.join(' ')}
    JOIN ${chunks} AS c ON c.chunk_key = m.${CHUNK_KEY})`
}

function fusedSql(text: number, hybrid: HybridSearch): string {
  const alpha = `${hybrid.alpha ?? `$${alphaParameter(text)}`}::DOUBLE`
  const near = `coalesce(n${text}.part, 0)`
  const worded = `coalesce(k${text}.part, 0)`
  return `least(1, ${alpha} * ${near} + (1 - ${alpha}) * ${worded})::DOUBLE`
}
