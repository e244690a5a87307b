/**
 * Vectors and keywords together. The two are put on one scale, each from 0 to 1 over its best hundred chunks, and added:
 * alpha · vector part + (1 - alpha) · keyword part.
 */
import { chunkTables } from '../domain/chunk-tables.ts'
import { quote } from '../domain/identifier.ts'
import type { KnowledgeBase } from '../domain/knowledge-base.ts'
import { keywordScoresSql } from './keyword-scores.ts'
import { distanceColumns, textsOfSearch } from './measured-rows.ts'
import {
  alphaParameter,
  CHUNK_KEY,
  distanceColumn,
  fusedColumn,
  type HybridSearch,
  type Ranking,
  type Search,
  textsOfRanking,
} from './ranking.ts'

/** The best of each kind span its scale; what is worse than they all gets 0. */
const SCALE_CHUNKS = 100

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

/** The WITH of a hybrid search: `__measured`, and per text `__keywords_<text>` and `__scale_<text>`. */
export function hybridCtes(rows: HybridRows): string {
  const ofTexts = textsOfRanking(rows.ranking).flatMap((text) => [
    `__keywords_${text} AS MATERIALIZED (${keywordScoresSql(rows.knowledgeBase, text)})`,
    `__scale_${text} AS MATERIALIZED (${scaleSql(text)})`,
  ])
  return `WITH ${[`__measured AS MATERIALIZED (${measuredSql(rows)})`, ...ofTexts].join(', ')}`
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

/** One row: the ends of both scales. While few chunks have a term, those without one are the lower end for keywords. */
function scaleSql(text: number): string {
  return `SELECT * FROM
    (SELECT min(distance) AS nearest, max(distance) AS farthest FROM
      (SELECT ${distanceColumn(text)} AS distance FROM __measured ORDER BY 1 LIMIT ${SCALE_CHUNKS})),
    (SELECT max(score) AS best, CASE WHEN count(*) < ${SCALE_CHUNKS} THEN 0 ELSE min(score) END AS least
      FROM (SELECT score FROM __keywords_${text} WHERE chunk_key IN (SELECT ${CHUNK_KEY} FROM __measured)
        ORDER BY 1 DESC LIMIT ${SCALE_CHUNKS}))`
}

/** The chunks that the conditions keep, with distances and fused relevances. */
export function hybridRows({ knowledgeBase, search, hybrid, ranking }: HybridRows): string {
  const columns = [
    ...textsOfSearch(search).map((text) => `m.${distanceColumn(text)}`),
    ...textsOfRanking(ranking).map((text) => `${fusedSql(text, hybrid)} AS ${fusedColumn(text)}`),
  ]
  const texts = textsOfRanking(ranking)
  // All outer joins first: DuckDB 1.5.5 prints one after a CROSS JOIN so that it binds to that table alone.
  const joins = [
    ...texts.map(
      (text) => `LEFT JOIN __keywords_${text} AS k${text} ON k${text}.chunk_key = m.${CHUNK_KEY}`,
    ),
    ...texts.map((text) => `CROSS JOIN __scale_${text} AS s${text}`),
  ]
  return `(SELECT c.*, ${columns.join(', ')} FROM __measured AS m
    JOIN ${chunkTables(knowledgeBase).chunks} AS c ON c.chunk_key = m.${CHUNK_KEY} ${joins.join(' ')})`
}

function fusedSql(text: number, hybrid: HybridSearch): string {
  const alpha = `${hybrid.alpha ?? `$${alphaParameter(text)}`}::DOUBLE`
  const distance = `m.${distanceColumn(text)}`
  const nearness = `CASE WHEN ${distance} <= s${text}.nearest THEN 1 WHEN ${distance} >= s${text}.farthest THEN 0
    ELSE (s${text}.farthest - ${distance}) / (s${text}.farthest - s${text}.nearest) END`
  const score = `k${text}.score`
  const keywords = `CASE WHEN ${score} >= s${text}.best THEN 1 WHEN ${score} > s${text}.least
    THEN (${score} - s${text}.least) / (s${text}.best - s${text}.least) ELSE 0 END`
  return `least(1, ${alpha} * ${nearness} + (1 - ${alpha}) * ${keywords})::DOUBLE`
}
