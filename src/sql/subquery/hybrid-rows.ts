/**
 * Selects the chunks of a search with their distances, computed by the database or found before the
 * statement runs.
 */
import { chunkTables } from '../../core/domain/document.ts'
import { BM25, FEEDBACK, type Fusion, PART_CHUNKS, RRF_K } from '../../core/domain/hybrid-search.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { quote } from '../../core/domain/names.ts'
import { BOUND } from '../search/plan-inputs.ts'
import { CONDITIONS } from '../search/predicate-pushdown.ts'
import {
  allTextIndexes,
  CHUNK_KEY,
  distanceColumn,
  fusedColumn,
  type HybridSearch,
  type Ranking,
  type Search,
  textIndexesOf,
} from '../search/ranking.ts'

/** @param isNarrowed if false, distances come first: DuckDB would copy vectors into the join */
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

/** Returns columns over the vectors `v`. */
function distanceColumns(dimensions: number, search: Search): readonly string[] {
  return allTextIndexes(search).map((textIndex) => {
    const vector = `$${BOUND.vector(textIndex)}::FLOAT[${dimensions}]`
    return `${distanceSql(vector)} AS ${distanceColumn(textIndex)}`
  })
}

/** All vectors have length 1, so the cosine distance is 1 - the inner product. */
function distanceSql(vector: string): string {
  return `least(2, greatest(0, 1 + array_negative_inner_product(v.vector, ${vector})))::DOUBLE`
}

/** `__distance_<textIndex>`, and in a hybrid search `__fused_<textIndex>`. */
export function candidateRows(kb: KnowledgeBase, textIndex: number, isHybrid: boolean): string {
  const fused = [[BOUND.candidateRelevances(textIndex), fusedColumn(textIndex)]] as const
  return listedChunks(kb, BOUND.candidateKeys(textIndex), [
    [BOUND.candidateDistances(textIndex), distanceColumn(textIndex)],
    ...(isHybrid ? fused : []),
  ])
}

/** Given as parameters and column names. By key, which a join with the list would not do. */
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

/**
 * Combines vectors and keywords: a chunk's relevance is alpha · vector part + (1 - alpha) · keyword
 * part. In a convex combination, the parts are the cosine (at least 0) and the BM25 score divided
 * by its bound. In other fusions, a part is a number from 0 to 1 for the best hundred chunks of
 * each kind and ties with the last, and 0 for all others. This SQL computes it for every chunk; if
 * the first rows are enough, retrieval/fusion.ts computes the same from candidates.
 */

export interface HybridRows {
  readonly knowledgeBase: KnowledgeBase
  readonly dimensions: number
  readonly search: Search
  readonly hybrid: HybridSearch
  readonly ranking: Ranking
  /** That conditions may name, and the source's alias; null without conditions. */
  readonly conditions: { readonly alias: string; readonly columns: readonly string[] } | null
}

/** `__measured`, and per text `__near_<textIndex>` and `__worded_<textIndex>`. */
export function hybridCtes(rows: HybridRows): string {
  const parts = textIndexesOf(rows.ranking).flatMap((textIndex) => {
    return rows.hybrid.fusion === 'convex'
      ? [convexCte(rows, textIndex), ...feedbackCtes(rows, textIndex)]
      : partCtes(rows, textIndex)
  })
  return `WITH ${[`__measured AS MATERIALIZED (${measuredSql(rows)})`, ...parts].join(', ')}`
}

function convexCte({ knowledgeBase }: HybridRows, textIndex: number): string {
  return `__worded_${textIndex} AS MATERIALIZED (SELECT chunk_key, score / score_bound AS part
    FROM (${keywordScoresSql(knowledgeBase, textIndex)}))`
}

/** `__moved_<textIndex>`. retrieval/feedback.ts adds the same numbers in the same order. */
function feedbackCtes(rows: HybridRows, textIndex: number): readonly string[] {
  const { knowledgeBase, hybrid, dimensions } = rows
  if (!hybrid.hasFeedback) return []
  const { vectors } = chunkTables(knowledgeBase)
  const distance = `m.${distanceColumn(textIndex)}`
  const first = `SELECT *, row_number() OVER (ORDER BY relevance DESC, distance, chunk_key) AS place
    FROM (SELECT m.${CHUNK_KEY} AS chunk_key, ${distance} AS distance, k.part AS part,
        ${relevanceSql(textIndex, hybrid, `greatest(0, 1 - ${distance})`, 'coalesce(k.part, 0)')} AS relevance
      FROM __measured AS m LEFT JOIN __worded_${textIndex} AS k ON k.chunk_key = m.${CHUNK_KEY}
      WHERE $${BOUND.isFedBack(textIndex)}::BOOLEAN
      ORDER BY relevance DESC, distance, chunk_key LIMIT ${FEEDBACK.firstCount})`
  const parts = `SELECT place, unnest(range(1, ${dimensions + 1})) AS dimension, unnest(vector::FLOAT[]) AS part
    FROM ${vectors} JOIN __first_${textIndex} USING (chunk_key) WHERE __first_${textIndex}.part > 0`
  const sums = `SELECT dimension, ($${BOUND.vector(textIndex)}::FLOAT[${dimensions}])[dimension]::DOUBLE
      + ${FEEDBACK.weight / FEEDBACK.firstCount}::DOUBLE * sum(part::DOUBLE ORDER BY place) AS total
    FROM (${parts}) GROUP BY dimension`
  const vector = `SELECT list((total / length)::FLOAT ORDER BY dimension)::FLOAT[${dimensions}] AS vector
    FROM __sums_${textIndex}, (SELECT sqrt(sum(total * total ORDER BY dimension)) AS length FROM __sums_${textIndex})`
  const moved = `SELECT v.chunk_key, ${distanceSql(`f.vector`)} AS distance
    FROM ${vectors} AS v, (${vector}) AS f WHERE f.vector IS NOT NULL`
  return [
    `__first_${textIndex} AS MATERIALIZED (${first})`,
    `__sums_${textIndex} AS MATERIALIZED (${sums})`,
    `__moved_${textIndex} AS (${moved})`,
  ]
}

function partCtes({ knowledgeBase, hybrid: { fusion } }: HybridRows, textIndex: number) {
  const scores = `SELECT chunk_key, score FROM (${keywordScoresSql(knowledgeBase, textIndex)})
    WHERE chunk_key IN (SELECT ${CHUNK_KEY} FROM __measured)`
  return [
    `__distances_${textIndex} AS (SELECT ${CHUNK_KEY} AS chunk_key, ${distanceColumn(textIndex)} AS distance
      FROM __measured)`,
    `__keywords_${textIndex} AS MATERIALIZED (${scores})`,
    `__near_${textIndex} AS MATERIALIZED (${vectorPartsSql(`__distances_${textIndex}`, fusion)})`,
    `__worded_${textIndex} AS MATERIALIZED (${keywordPartsSql(`__keywords_${textIndex}`, fusion)})`,
  ]
}

/** Selects `__chunk_key` and the distances of chunks that meet the conditions. */
function measuredSql({ knowledgeBase, dimensions, search, conditions }: HybridRows): string {
  const { chunks, vectors } = chunkTables(knowledgeBase)
  const measured = [`v.chunk_key AS ${CHUNK_KEY}`, ...distanceColumns(dimensions, search)]
  if (conditions === null) return `SELECT ${measured.join(', ')} FROM ${vectors} AS v`
  const list = [CHUNK_KEY, ...allTextIndexes(search).map(distanceColumn)].join(', ')
  const columns = [...measured, ...conditions.columns].join(', ')
  return `SELECT ${list} FROM (SELECT ${columns} FROM ${vectors} AS v JOIN ${chunks} AS c USING (chunk_key))
    AS ${quote(conditions.alias)} WHERE ${CONDITIONS}`
}

/** Selects the chunks that meet the conditions, with distances and fused relevances. */
export function hybridRows({ knowledgeBase, search, hybrid, ranking }: HybridRows): string {
  const { chunks } = chunkTables(knowledgeBase)
  const textIndexes = textIndexesOf(ranking)
  const columns = [
    ...allTextIndexes(search).map((textIndex) => `m.${distanceColumn(textIndex)}`),
    ...textIndexes.map(
      (textIndex) => `${fusedSql(textIndex, hybrid)} AS ${fusedColumn(textIndex)}`,
    ),
  ]
  const joins = textIndexes.flatMap((textIndex) => [
    hybrid.fusion === 'convex'
      ? ''
      : `LEFT JOIN __near_${textIndex} AS n${textIndex} ON n${textIndex}.chunk_key = m.${CHUNK_KEY}`,
    `LEFT JOIN __worded_${textIndex} AS k${textIndex} ON k${textIndex}.chunk_key = m.${CHUNK_KEY}`,
    hybrid.hasFeedback
      ? `LEFT JOIN __moved_${textIndex} AS f${textIndex} ON f${textIndex}.chunk_key = m.${CHUNK_KEY}`
      : '',
  ])
  return `(SELECT c.*, ${columns.join(', ')} FROM __measured AS m ${joins.join(' ')}
    JOIN ${chunks} AS c ON c.chunk_key = m.${CHUNK_KEY})`
}

function fusedSql(textIndex: number, hybrid: HybridSearch): string {
  const own = `m.${distanceColumn(textIndex)}`
  const distance = hybrid.hasFeedback ? `coalesce(f${textIndex}.distance, ${own})` : own
  const near =
    hybrid.fusion === 'convex' ? `greatest(0, 1 - ${distance})` : `coalesce(n${textIndex}.part, 0)`
  return relevanceSql(textIndex, hybrid, near, `coalesce(k${textIndex}.part, 0)`)
}

/** @param near the vector part as SQL, `keyword` the keyword part */
function relevanceSql(textIndex: number, hybrid: HybridSearch, near: string, keyword: string) {
  const alpha = `${hybrid.alpha ?? `$${BOUND.alpha(textIndex)}`}::DOUBLE`
  return `least(1, ${alpha} * ${near} + (1 - ${alpha}) * ${keyword})::DOUBLE`
}

const RRF_PART = `${RRF_K + 1}::DOUBLE / (${RRF_K} + rank)`

/** A SELECT of `chunk_key, part` from a relation of `chunk_key, distance`. */
export function vectorPartsSql(relation: string, fusion: Fusion): string {
  const scaled = `CASE WHEN distance = nearest THEN 1
    ELSE (farthest - distance) / (farthest - nearest) END`
  return `SELECT chunk_key, (${fusion === 'rrf' ? RRF_PART : scaled})::DOUBLE AS part FROM
    (SELECT chunk_key, distance, rank() OVER (ORDER BY distance) AS rank,
        min(distance) OVER () AS nearest, max(distance) OVER () AS farthest
      FROM ${relation} WHERE distance <= (SELECT max(distance) FROM
        (SELECT distance FROM ${relation} ORDER BY distance LIMIT ${PART_CHUNKS})))`
}

/** If too few chunks contain a term, the scale ends at chunks that contain none. */
export function keywordPartsSql(relation: string, fusion: Fusion): string {
  const scaled = 'CASE WHEN score = best THEN 1 ELSE (score - least) / (best - least) END'
  return `SELECT chunk_key, (${fusion === 'rrf' ? RRF_PART : scaled})::DOUBLE AS part FROM
    (SELECT chunk_key, score, least, rank() OVER (ORDER BY score DESC) AS rank,
        max(score) OVER () AS best
      FROM ${relation}, (SELECT CASE WHEN count(*) < ${PART_CHUNKS} THEN 0 ELSE min(score) END AS least
        FROM (SELECT score FROM ${relation} ORDER BY score DESC LIMIT ${PART_CHUNKS}))
      WHERE score >= least)`
}

/** `chunk_key, score, score_bound`: BM25 (core/domain/hybrid-search.ts) with phrase bonuses. */
export function keywordScoresSql(kb: KnowledgeBase, textIndex: number): string {
  const { k1, b, scoreDigits } = BM25
  const { postings, recentPostings, termCounts } = chunkTables(kb)
  const phraseKeys = `$${BOUND.phraseKeys(textIndex)}::BIGINT[]`
  const keys = `$${BOUND.termKeys(textIndex)}`
  const saturation = `frequency + ${k1}::DOUBLE * (${1 - b}::DOUBLE + ${b}::DOUBLE * term_count / mean)`
  return `WITH hits AS MATERIALIZED (
      SELECT * FROM (SELECT * FROM ${postings} UNION ALL SELECT * FROM ${recentPostings})
      WHERE term IN (${keys})),
    corpus AS (SELECT count(*) AS chunks, sum(term_count) / count(*) AS mean FROM ${termCounts}),
    weights AS (SELECT term, mean, uses
        * ln(1 + (chunks - coalesce(holders, 0) + 0.5::DOUBLE) / (coalesce(holders, 0) + 0.5::DOUBLE)) AS weight
      FROM (SELECT unnest(${keys}::BIGINT[]) AS term, unnest($${BOUND.termCounts(textIndex)}::DOUBLE[]) AS uses)
        LEFT JOIN (SELECT term, count(*) AS holders FROM hits GROUP BY term) USING (term), corpus),
    bounds AS (SELECT round(sum(weight) * ${k1 + 1}::DOUBLE
        + $${BOUND.phraseBound(textIndex)}::DOUBLE, ${scoreDigits}) AS score_bound FROM weights),
    phrased AS MATERIALIZED (SELECT unnest(${phraseKeys}) AS chunk_key,
      unnest($${BOUND.phraseBonuses(textIndex)}::DOUBLE[]) AS bonus)
    SELECT chunk_key,
      round(sum(weight * frequency * ${k1 + 1}::DOUBLE / (${saturation})) + coalesce(any_value(bonus), 0),
        ${scoreDigits}) AS score,
      any_value(score_bound) AS score_bound
    FROM hits JOIN weights USING (term) LEFT JOIN phrased USING (chunk_key), bounds
    WHERE NOT $${BOUND.isPhraseFilter(textIndex)}::BOOLEAN OR bonus IS NOT NULL
    GROUP BY chunk_key`
}
