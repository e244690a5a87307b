/**
 * The keyword index of a knowledge base: postings in tables, see domain/chunk-tables.ts. Every function here runs within
 * the transaction that changes the chunks, so that a search sees a chunk's terms with the chunk, and never those of one
 * that is gone.
 */
import type { DuckDBConnection } from '@duckdb/node-api'
import { TERM_RULES_VERSION } from '../../analysis/analyzer.ts'
import {
  chunkTableName,
  chunkTables,
  projectSchema,
  type TableIds,
} from '../../domain/chunk-tables.ts'
import { literal } from '../../domain/identifier.ts'
import { type AppendedColumns, appendColumns } from '../duckdb/column-appender.ts'
import type { ChunkTerms } from './chunk-terms.ts'

/** A chunk by its key, and its terms. */
export interface KeywordRow {
  readonly key: bigint
  readonly terms: ChunkTerms
}

/** The table's comment says by which rules the terms were made. */
export const KEYWORD_RULES = literal(`term rules ${TERM_RULES_VERSION}`)

const POSTING_COLUMNS = 'term BIGINT, chunk_key BIGINT, frequency INTEGER, term_count INTEGER'

export async function createKeywordTables(
  connection: DuckDBConnection,
  ids: TableIds,
): Promise<void> {
  const { postings, recentPostings, termCounts } = chunkTables(ids)
  await connection.run(`
    CREATE TABLE ${postings} (${POSTING_COLUMNS});
    CREATE TABLE ${recentPostings} (${POSTING_COLUMNS});
    CREATE TABLE ${termCounts} (chunk_key BIGINT, term_count INTEGER);
    COMMENT ON TABLE ${termCounts} IS ${KEYWORD_RULES}`)
}

export async function dropKeywordTables(
  connection: DuckDBConnection,
  ids: TableIds,
): Promise<void> {
  for (const table of keywordTables(ids)) await connection.run(`DROP TABLE IF EXISTS ${table}`)
}

/** Each has the key of its chunk in `chunk_key`. A removed chunk must go from all of them. */
export function keywordTables(ids: TableIds): readonly string[] {
  const { postings, recentPostings, termCounts } = chunkTables(ids)
  return [postings, recentPostings, termCounts]
}

/** Adds the terms of new chunks. */
export async function appendKeywords(
  connection: DuckDBConnection,
  ids: TableIds,
  rows: readonly KeywordRow[],
): Promise<void> {
  const schema = projectSchema(ids.projectId)
  const table = (part: 'recent_postings' | 'term_counts') => {
    return { connection, schema, table: chunkTableName(ids, part) }
  }
  await appendColumns(table('term_counts'), termCountColumns(rows))
  await appendColumns(table('recent_postings'), postingColumns(rows))
}

function* termCountColumns(rows: readonly KeywordRow[]): AppendedColumns {
  for (let start = 0; start < rows.length; start += ROWS_PER_APPEND) {
    const batch = rows.slice(start, start + ROWS_PER_APPEND)
    yield [batch.map(({ key }) => key), batch.map(({ terms }) => terms.termCount)]
  }
}

/** A vector of DuckDB. */
const ROWS_PER_APPEND = 2048

function* postingColumns(rows: readonly KeywordRow[]): AppendedColumns {
  let terms: bigint[] = []
  let keys: bigint[] = []
  let frequencies: number[] = []
  let counts: number[] = []
  for (const row of rows) {
    for (const [term, frequency] of row.terms.frequencies) {
      terms.push(term.key)
      keys.push(row.key)
      frequencies.push(frequency)
      counts.push(row.terms.termCount)
      if (terms.length < ROWS_PER_APPEND) continue
      yield [terms, keys, frequencies, counts]
      ;[terms, keys, frequencies, counts] = [[], [], [], []]
    }
  }
  if (terms.length > 0) yield [terms, keys, frequencies, counts]
}

/** A search reads all recent postings: some four milliseconds for a million. */
const RECENT_ROWS_MAX = 250_000

/** Whether so many postings are recent that sorting them all is worth its time. */
export async function needsSorting(connection: DuckDBConnection, ids: TableIds): Promise<boolean> {
  const { postings, recentPostings } = chunkTables(ids)
  const reader = await connection.runAndReadAll(`SELECT (SELECT count(*) FROM ${recentPostings})
    > greatest(${RECENT_ROWS_MAX}, (SELECT count(*) FROM ${postings}) / 8)`)
  return reader.getRows()[0]?.[0] === true
}

/**
 * Merges the recent postings into the sorted ones: 1.5 seconds for seven million. In a transaction of its own, since that
 * is a long time for an insert.
 */
export async function sortPostings(connection: DuckDBConnection, ids: TableIds): Promise<void> {
  const { postings, recentPostings } = chunkTables(ids)
  await connection.run(`CREATE OR REPLACE TABLE ${postings} AS
    SELECT * FROM (FROM ${postings} UNION ALL FROM ${recentPostings}) ORDER BY term, chunk_key`)
  await connection.run(`DELETE FROM ${recentPostings}`)
}
