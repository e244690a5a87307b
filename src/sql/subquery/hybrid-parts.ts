/**
 * What the vectors and the keywords each add to a chunk's relevance in a hybrid search: a part from 0 to 1 for the best
 * hundred of each kind and those equal to the last of them, 0 for all others.
 */
import { type Fusion, PART_CHUNKS, RRF_K } from '../../domain/hybrid-search.ts'

const RRF_PART = `${RRF_K + 1}::DOUBLE / (${RRF_K} + rank)`

/** A SELECT of `chunk_key, part` over a relation of `chunk_key, distance`. */
export function nearPartsSql(relation: string, fusion: Fusion): string {
  const scaled = `CASE WHEN distance = nearest THEN 1
    ELSE (farthest - distance) / (farthest - nearest) END`
  return `SELECT chunk_key, (${fusion === 'rrf' ? RRF_PART : scaled})::DOUBLE AS part FROM
    (SELECT chunk_key, distance, rank() OVER (ORDER BY distance) AS rank,
        min(distance) OVER () AS nearest, max(distance) OVER () AS farthest
      FROM ${relation} WHERE distance <= (SELECT max(distance) FROM
        (SELECT distance FROM ${relation} ORDER BY distance LIMIT ${PART_CHUNKS})))`
}

/**
 * The same over a relation of `chunk_key, score`. While fewer chunks than count have a term, the scale ends at those
 * without one.
 */
export function wordedPartsSql(relation: string, fusion: Fusion): string {
  const scaled = 'CASE WHEN score = best THEN 1 ELSE (score - least) / (best - least) END'
  return `SELECT chunk_key, (${fusion === 'rrf' ? RRF_PART : scaled})::DOUBLE AS part FROM
    (SELECT chunk_key, score, least, rank() OVER (ORDER BY score DESC) AS rank,
        max(score) OVER () AS best
      FROM ${relation}, (SELECT CASE WHEN count(*) < ${PART_CHUNKS} THEN 0 ELSE min(score) END AS least
        FROM (SELECT score FROM ${relation} ORDER BY score DESC LIMIT ${PART_CHUNKS}))
      WHERE score >= least)`
}
