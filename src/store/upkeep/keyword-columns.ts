/**
 * How the tables of the keyword index are stored. Sorted by term they shrink to a ninth: a term's rows are one run, their keys
 * ascend, and the rest are small numbers. The database as a whole is stored without compression, for its vectors.
 */

const TERM = 'term BIGINT'
const PACKED_COLUMNS = ['chunk_key BIGINT', 'frequency INTEGER', 'term_count INTEGER'].map(packed)

export const POSTING_COLUMNS = [`${TERM} USING COMPRESSION rle`, ...PACKED_COLUMNS].join(', ')

/** Their terms come in no order. */
export const RECENT_POSTING_COLUMNS = [TERM, ...PACKED_COLUMNS].join(', ')

export const TERM_COUNT_COLUMNS = ['chunk_key BIGINT', 'term_count INTEGER'].map(packed).join(', ')

const BY_TABLE: readonly (readonly [name: RegExp, columns: string])[] = [
  [/^kb_\d+_(next_)?postings$/, POSTING_COLUMNS],
  [/^kb_\d+_(next_)?recent_postings$/, RECENT_POSTING_COLUMNS],
  [/^kb_\d+_(next_)?term_counts$/, TERM_COUNT_COLUMNS],
]

/**
 * Columns and constraints of a table that is to be made anew. DuckDB 1.5.5 does not tell how a column is compressed.
 * @param createSql as DuckDB says it; what follows the name, which is one of ours and has no parenthesis
 */
export function definition(table: string, createSql: string): string {
  const known = BY_TABLE.find(([name]) => name.test(table))
  return known === undefined ? createSql.slice(createSql.indexOf('(')) : `(${known[1]})`
}

function packed(column: string): string {
  return `${column} USING COMPRESSION bitpacking`
}
