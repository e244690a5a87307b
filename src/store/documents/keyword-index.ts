/**
 * The keyword index of a knowledge base: postings in tables, described in
 * core/domain/chunk-tables.ts. Every function here runs in the transaction that changes the chunks,
 * so a search never sees a chunk without its terms.
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
import { allRows } from '../../core/runtime/all-rows.ts'
import { TERM_RULES_VERSION } from '../../core/text/words.ts'
import {
  APPENDED_ROWS_MAX,
  type AppendedColumns,
  appendColumns,
  countOf,
} from '../duckdb/columns.ts'
import { insertFound, insertRow, ONE_ROW, runPrepared } from '../duckdb/prepared.ts'
import {
  POSTING_COLUMNS,
  RECENT_POSTING_COLUMNS,
  type RecentPostings,
  TERM_COUNT_COLUMNS,
} from '../upkeep/posting-sorter.ts'

export interface KeywordRow {
  readonly key: bigint
  readonly terms: TermCounts
}

/** The table's comment records the version of the term rules. */
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

/** Tables with a `chunk_key` column. Deleting a chunk must delete its rows from all of them. */
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
  const [only] = rows
  if (only !== undefined && rows.length === 1) return insertKeywords(connection, ids, only)
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

/** Binding a list takes a microsecond for each item, so its text is bound. */
async function insertKeywords(
  connection: DuckDBConnection,
  ids: TableIds,
  { key, terms }: KeywordRow,
): Promise<void> {
  const { termCounts, recentPostings } = chunkTables(ids)
  const { termCount } = terms
  await insertRow(connection, termCounts, [
    ['chunk_key', key],
    ['term_count', termCount],
  ])
  const sql = `INSERT INTO ${recentPostings}
    SELECT unnest(cells[1]::BIGINT[]), cells[2], unnest(cells[3]::INTEGER[]), cells[4] ${ONE_ROW}`
  const listText = (items: BigInt64Array | Int32Array) => `[${items.join()}]`
  const cells = [listText(terms.keys), key, listText(terms.frequencies), termCount]
  await runPrepared(connection, sql, cells)
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

/** Storing this many batches of postings blocks the main thread for about five milliseconds. */
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
      // The consumer copies the batch before it requests the next, so the arrays can be reused.
      yield columns
      filled = 0
    }
  }
  if (filled > 0) yield columns.map((column) => column.subarray(0, filled))
}

/** A search reads all recent postings: about four milliseconds per million. */
const RECENT_ROWS_MAX = 250_000

export async function recentPostingsOf(
  connection: DuckDBConnection,
  ids: TableIds,
): Promise<RecentPostings> {
  const { postings, recentPostings } = chunkTables(ids)
  const [[count, countMax] = []] = await allRows(
    connection,
    `SELECT (SELECT count(*) FROM ${recentPostings}),
    greatest(${RECENT_ROWS_MAX}, (SELECT count(*) FROM ${postings}) / 8)`,
  )
  return { count: Number(count), countMax: Number(countMax) }
}

/** The number of postings sorted at once, which takes less than 100 MB. */
export const ROWS_PER_SORT = 1_000_000

/** In a transaction of its own: seven million take 1.5 s. Range by range saves memory. */
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
    const rows = `FROM (FROM ${formerTable} UNION ALL FROM ${recentPostings}) WHERE ${condition}`
    await insertFound(connection, postings, rows, 'ORDER BY term, chunk_key')
  }
  await connection.run(`DROP TABLE ${formerTable}; DELETE FROM ${recentPostings}`)
}

/** Returns conditions that divide the term keys into `count` ranges, in order. */
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
