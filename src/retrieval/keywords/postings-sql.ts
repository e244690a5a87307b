import { chunkTables, type TableIds } from '../../domain/chunk-tables.ts'
import type { BoundSql } from '../../domain/ports.ts'

/** A term, and the key from which on its chunks are wanted. */
export interface WantedTerm {
  readonly term: bigint
  readonly since: number
}

/** Sorted postings are looked up term by term: DuckDB then reads the blocks of that term alone, in half the time. */
const SINGLE_TERMS_MAX = 16

/**
 * A SELECT of `term, chunk_key, frequency, term_count`, and of four rows with the frequency 0 that say of what state
 * these are: the `chunk_key` of the row with the `term_count` 0 is its revision, with 1 the key of the next chunk, with 2
 * the number of all chunks, with 3 the number of all their terms.
 */
export function postingsSql(ids: TableIds, wanted: readonly WantedTerm[]): BoundSql {
  const { postings, recentPostings } = chunkTables(ids)
  const terms = wanted.map(({ term }) => term)
  const sinces = wanted.map(({ since }) => BigInt(since))
  if (wanted.length === 0) return { sql: stateSql(ids), values: {} }
  const listed = `(SELECT unnest($terms::BIGINT[]) AS term, unnest($sinces::BIGINT[]) AS since)`
  const joined = (table: string) => {
    return `SELECT ${COLUMNS} FROM ${table} JOIN ${listed} USING (term) WHERE chunk_key >= since`
  }
  const values: Record<string, readonly bigint[] | bigint> = { terms, sinces }
  const sorted: string[] = []
  if (wanted.length > SINGLE_TERMS_MAX) sorted.push(joined(postings))
  else {
    for (const [index, { term, since }] of wanted.entries()) {
      values[`term_${index}`] = term
      values[`since_${index}`] = BigInt(since)
      sorted.push(`SELECT ${COLUMNS} FROM ${postings}
        WHERE term = $term_${index}::BIGINT AND chunk_key >= $since_${index}::BIGINT`)
    }
  }
  const sql = [stateSql(ids), ...sorted, joined(recentPostings)].join(' UNION ALL ')
  return { sql, values }
}

const COLUMNS = 'term, chunk_key, frequency, term_count'

function stateSql(ids: TableIds): string {
  const { termCounts } = chunkTables(ids)
  return `SELECT 0::BIGINT AS term,
      unnest([revision, next_chunk_key, chunks, terms])::BIGINT AS chunk_key,
      0::INTEGER AS frequency, unnest([0, 1, 2, 3])::INTEGER AS term_count
    FROM eider.knowledge_bases,
      (SELECT count(*) AS chunks, coalesce(sum(term_count), 0)::BIGINT AS terms FROM ${termCounts})
    WHERE id = ${ids.id}`
}
