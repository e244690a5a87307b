/**
 * The keyword index of a knowledge base: postings in tables, see domain/chunk-tables.ts. Every function here runs within
 * the transaction that changes the chunks, so that a search sees a chunk's terms with the chunk, and never those of one
 * that is gone.
 */
import type { DuckDBConnection } from '@duckdb/node-api'
import {
  chunkTableName,
  chunkTables,
  projectSchema,
  type TableIds,
  type TermCounts,
} from '../../core/domain/document.ts'
import { literal } from '../../core/domain/names.ts'
import { TERM_RULES_VERSION } from '../../core/text/words.ts'
import {
  APPENDED_ROWS_MAX,
  type AppendedColumns,
  appendColumns,
  countOf,
} from '../duckdb/columns.ts'
import {
  POSTING_COLUMNS,
  RECENT_POSTING_COLUMNS,
  type RecentPostings,
  TERM_COUNT_COLUMNS,
} from '../upkeep/posting-sorter.ts'

/** A chunk's key and terms. */
export interface KeywordRow {
  readonly key: bigint
  readonly terms: TermCounts
}

/** The table's comment contains the version of the term rules. */
export const KEYWORD_RULES = `term rules ${TERM_RULES_VERSION}`

export async function createKeywordTables(
  connection: DuckDBConnection,
  ids: TableIds,
): Promise<void> {
  const { postings, recentPostings, termCounts } = chunkTables(ids)
  await connection.run(`
    CREATE TABLE ${postings} (${POSTING_COLUMNS});
    CREATE TABLE ${recentPostings} (${RECENT_POSTING_COLUMNS});
    CREATE TABLE ${termCounts} (${TERM_COUNT_COLUMNS});
    COMMENT ON TABLE ${termCounts} IS ${literal(KEYWORD_RULES)}`)
}

export async function dropKeywordTables(
  connection: DuckDBConnection,
  ids: TableIds,
): Promise<void> {
  for (const table of keywordTables(ids)) await connection.run(`DROP TABLE IF EXISTS ${table}`)
}

/** Tables with a chunk's key in `chunk_key`. A removed chunk must leave all of them. */
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
  await appendColumns(
    { ...table('recent_postings'), batchesPerFlush: BATCHES_PER_FLUSH },
    postingColumns(rows),
  )
}

function* termCountColumns(rows: readonly KeywordRow[]): AppendedColumns {
  for (let start = 0; start < rows.length; start += APPENDED_ROWS_MAX) {
    const batch = rows.slice(start, start + APPENDED_ROWS_MAX)
    yield [
      BigInt64Array.from(batch, ({ key }) => key),
      Int32Array.from(batch, ({ terms }) => terms.termCount),
    ]
  }
}

/** Storing this many postings holds the main thread for about five milliseconds. */
const BATCHES_PER_FLUSH = 8

function* postingColumns(rows: readonly KeywordRow[]): AppendedColumns {
  const columns = [
    new BigInt64Array(APPENDED_ROWS_MAX),
    new BigInt64Array(APPENDED_ROWS_MAX),
    new Int32Array(APPENDED_ROWS_MAX),
    new Int32Array(APPENDED_ROWS_MAX),
  ] as const
  const [termKeys, chunkKeys, frequencies, termCounts] = columns
  let filled = 0
  for (const { key, terms } of rows) {
    for (let from = 0; from < terms.keys.length; ) {
      const to = Math.min(terms.keys.length, from + APPENDED_ROWS_MAX - filled)
      const end = filled + to - from
      termKeys.set(terms.keys.subarray(from, to), filled)
      frequencies.set(terms.frequencies.subarray(from, to), filled)
      chunkKeys.fill(key, filled, end)
      termCounts.fill(terms.termCount, filled, end)
      from = to
      filled = end
      if (filled < APPENDED_ROWS_MAX) continue
      // Copied before the next one is requested.
      yield columns
      filled = 0
    }
  }
  if (filled > 0) yield columns.map((column) => column.subarray(0, filled))
}

/** A search reads all recent postings: some four milliseconds for a million. */
const RECENT_ROWS_MAX = 250_000

export async function recentPostingsOf(
  connection: DuckDBConnection,
  ids: TableIds,
): Promise<RecentPostings> {
  const { postings, recentPostings } = chunkTables(ids)
  const reader = await connection.runAndReadAll(`SELECT (SELECT count(*) FROM ${recentPostings}),
    greatest(${RECENT_ROWS_MAX}, (SELECT count(*) FROM ${postings}) / 8)`)
  const [count, countMax] = reader.getRows()[0] ?? []
  return { count: Number(count), countMax: Number(countMax) }
}

/** Postings that are sorted at once: less than a hundred megabytes. */
export const ROWS_PER_SORT = 1_000_000

/**
 * Merges the recent postings into the sorted ones: 1.5 seconds for seven million. In a transaction of its own, since that
 * is a long time for an insert. Keys of terms are hashes, so equal parts of their range hold about as many postings: one
 * part is sorted after the other, and no more than that is in memory, however large the index is.
 */
export async function sortPostings(
  connection: DuckDBConnection,
  ids: TableIds,
  rowsPerSort = ROWS_PER_SORT,
): Promise<void> {
  const { postings, recentPostings } = chunkTables(ids)
  const former = `${chunkTableName(ids, 'postings')}_former`
  const formerTable = `${projectSchema(ids.projectId)}.${former}`
  const count = await countOf(
    connection,
    `SELECT (SELECT count(*) FROM ${postings}) + (SELECT count(*) FROM ${recentPostings})`,
  )
  const parts = termRanges(Math.ceil(count / rowsPerSort))
  await connection.run(`ALTER TABLE ${postings} RENAME TO ${former};
    CREATE TABLE ${postings} (${POSTING_COLUMNS})`)
  for (const condition of parts) {
    await connection.run(`INSERT INTO ${postings}
      SELECT * FROM (FROM ${formerTable} UNION ALL FROM ${recentPostings})
      WHERE ${condition} ORDER BY term, chunk_key`)
  }
  await connection.run(`DROP TABLE ${formerTable}; DELETE FROM ${recentPostings}`)
}

/** Conditions that divide all terms into `count` parts, in their order. */
export function termRanges(count: number): readonly string[] {
  const bounds = Array.from({ length: Math.max(0, count - 1) }, (_, index) => {
    return (BigInt(index + 1) * 2n ** 64n) / BigInt(count) - 2n ** 63n
  })
  return [null, ...bounds].map((from, index) => {
    const to = bounds[index]
    const least = from === null ? 'true' : `term >= ${from}`
    return to === undefined ? least : `${least} AND term < ${to}`
  })
}
