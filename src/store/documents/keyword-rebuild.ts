/**
 * Builds a new keyword index while searches use the old one. Chunk keys only grow, and changed text
 * gets a new key, so writes need no special handling: the index is filled batch by batch in key
 * order and reaches new chunks at the end. Each batch is a short transaction, and after a crash the
 * work continues.
 */

import { BIGINT, type DuckDBConnection } from '@duckdb/node-api'
import {
  chunkTableName,
  chunkTables,
  projectSchema,
  type TableIds,
  withNextKeywords,
} from '../../core/domain/document.ts'
import type { Language } from '../../core/domain/language.ts'
import { literal, quote } from '../../core/domain/names.ts'
import { allRows } from '../../core/runtime/all-rows.ts'
import { SLICE_MS, TimeSlice } from '../../core/runtime/serial-queue.ts'
import { Analyzer } from '../../core/text/analyzer.ts'
import { countOf } from '../duckdb/columns.ts'
import type { Database } from '../duckdb/database.ts'
import { POSTING_COLUMNS, RECENT_POSTING_COLUMNS } from '../upkeep/posting-sorter.ts'
import {
  appendKeywords,
  createKeywordTables,
  dropKeywordTables,
  KEYWORD_RULES,
  type KeywordRow,
  ROWS_PER_SORT,
  termRanges,
} from './keyword-index.ts'

/** Chunks read and postings written per batch. A write waits some tens of milliseconds for one. */
const ROWS_PER_READ = 200
const POSTINGS_PER_WRITE = 50_000

/** The switch itself may index up to this many chunks in its own transaction. */
const ROWS_AT_SWITCH = 1_000

/** Table comment that marks the new postings as completely sorted. */
const SORTED = 'sorted'

export class KeywordRebuild {
  readonly #database: Database
  readonly #ids: TableIds
  readonly #next: TableIds
  /** Comment of the new table of recent postings, which says what it was built for. */
  readonly #madeFor: string
  readonly #analyzer: Analyzer
  readonly #signal: AbortSignal
  readonly #slice = new TimeSlice(SLICE_MS)
  #lastKey = -1n

  /** @param signal stops the work; finished batches are kept */
  constructor(
    database: Database,
    ids: TableIds,
    { language, signal }: { readonly language: Language; readonly signal: AbortSignal },
  ) {
    this.#database = database
    this.#ids = ids
    this.#next = withNextKeywords(ids)
    this.#madeFor = `language ${language}`
    this.#analyzer = new Analyzer(language)
    this.#signal = signal
  }

  /** Builds the index up to the newest chunk at this moment. */
  async prepare(): Promise<void> {
    await this.#open()
    await this.#fill()
    await this.#sort()
    await this.#fill()
  }

  /** Reuses the tables of an earlier process if they were built for the same language and rules. */
  async #open(): Promise<void> {
    const { recentPostings, termCounts } = chunkTables(this.#next)
    await this.#database.write(async (connection) => {
      const known = await this.#comments(connection)
      const isThere =
        known.get('term_counts') === KEYWORD_RULES && known.get('recent_postings') === this.#madeFor
      if (!isThere) {
        await dropKeywordTables(connection, this.#next)
        await createKeywordTables(connection, this.#next)
        await connection.run(`COMMENT ON TABLE ${recentPostings} IS ${literal(this.#madeFor)}`)
      }
      const last = await allRows(connection, `SELECT max(chunk_key) FROM ${termCounts}`)
      this.#lastKey = BigInt(String(last[0]?.[0] ?? -1))
    })
  }

  async #comments(connection: DuckDBConnection): Promise<ReadonlyMap<string, unknown>> {
    const found = await allRows(
      connection,
      'SELECT table_name, comment FROM duckdb_tables() WHERE schema_name = $schema',
      { schema: projectSchema(this.#ids.projectId) },
    )
    const byName = new Map(found.map(([name, comment]) => [String(name), comment]))
    return new Map(
      KEYWORD_PARTS.map((part) => [part, byName.get(chunkTableName(this.#next, part))]),
    )
  }

  async #fill(): Promise<void> {
    for (;;) {
      const rows: KeywordRow[] = []
      let postingCount = 0
      let isEnd = false
      while (!isEnd && postingCount < POSTINGS_PER_WRITE) {
        const read = await this.#database.lease((connection) => this.#read(connection))
        for (const row of read) postingCount += row.terms.keys.length
        rows.push(...read)
        isEnd = read.length < ROWS_PER_READ
      }
      if (rows.length > 0) {
        await this.#database.write((connection) => appendKeywords(connection, this.#next, rows))
      }
      if (isEnd) return
    }
  }

  async #read(connection: DuckDBConnection): Promise<readonly KeywordRow[]> {
    const { chunks, contexts } = chunkTables(this.#ids)
    const found = await allRows(
      connection,
      `SELECT c.chunk_key, coalesce(context, ''), chunk_content
        FROM (SELECT chunk_key, chunk_content FROM ${chunks} WHERE chunk_key > $last
          ORDER BY chunk_key LIMIT ${ROWS_PER_READ}) AS c
        LEFT JOIN ${contexts} AS x ON x.chunk_key = c.chunk_key ORDER BY c.chunk_key`,
      { last: this.#lastKey },
      { last: BIGINT },
    )
    const rows: KeywordRow[] = []
    for (const [key, context, content] of found) {
      await this.#slice.yieldIfSpent(this.#signal)
      const terms = this.#analyzer.count([String(context), String(content)])
      rows.push({ key: BigInt(String(key)), terms })
    }
    this.#lastKey = rows.at(-1)?.key ?? this.#lastKey
    return rows
  }

  /**
   * Sorts range by range, each in its own transaction. After a crash, only one range is repeated.
   */
  async #sort(): Promise<void> {
    const { postings, recentPostings } = chunkTables(this.#next)
    const parts = await this.#database.write(async (connection) => {
      if ((await this.#comments(connection)).get('postings') === SORTED) return []
      await connection.run(`DROP TABLE ${postings}; CREATE TABLE ${postings} (${POSTING_COLUMNS})`)
      const count = await countOf(connection, `SELECT count(*) FROM ${recentPostings}`)
      return termRanges(Math.ceil(count / ROWS_PER_SORT))
    })
    await this.#database.withoutCaching(async () => {
      for (const [index, condition] of parts.entries()) {
        this.#signal.throwIfAborted()
        await this.#database.write(async (connection) => {
          await connection.run(`INSERT INTO ${postings}
            SELECT * FROM ${recentPostings} WHERE ${condition} ORDER BY term, chunk_key`)
          if (index < parts.length - 1) return
          await connection.run(`DROP TABLE ${recentPostings};
            CREATE TABLE ${recentPostings} (${RECENT_POSTING_COLUMNS});
            COMMENT ON TABLE ${recentPostings} IS ${literal(this.#madeFor)};
            COMMENT ON TABLE ${postings} IS ${literal(SORTED)}`)
        })
      }
    })
  }

  /** Within the caller's transaction. @returns false if too many were added: `prepare` again */
  async switchOver(connection: DuckDBConnection): Promise<boolean> {
    for (let count = 0; ; count += ROWS_PER_READ) {
      if (count > ROWS_AT_SWITCH) return false
      const rows = await this.#read(connection)
      await appendKeywords(connection, this.#next, rows)
      if (rows.length < ROWS_PER_READ) break
    }
    await dropKeywordTables(connection, this.#ids)
    for (const part of KEYWORD_PARTS) {
      const to = quote(chunkTableName(this.#ids, part))
      const from = `${quote(projectSchema(this.#ids.projectId))}.${quote(chunkTableName(this.#next, part))}`
      await connection.run(`ALTER TABLE ${from} RENAME TO ${to}`)
    }
    const { chunks, postings, recentPostings, termCounts } = chunkTables(this.#ids)
    await connection.run(`COMMENT ON TABLE ${postings} IS NULL;
      COMMENT ON TABLE ${recentPostings} IS NULL`)
    const gone = `(SELECT chunk_key FROM ${termCounts} ANTI JOIN ${chunks} USING (chunk_key))`
    const found = await allRows(connection, `SELECT 1 FROM ${gone} LIMIT 1`)
    if (found.length === 0) return true
    // Only now: DuckDB 1.5.5 logs a DELETE before a RENAME of its table under the new name, so
    // that the log cannot be replayed.
    for (const table of [postings, recentPostings, termCounts]) {
      await connection.run(`DELETE FROM ${table} WHERE chunk_key IN ${gone}`)
    }
    return true
  }
}

/** Creates an empty keyword index for knowledge bases that have none, or one with older rules. */
export class OlderIndexes {
  readonly #comments: ReadonlyMap<string, unknown>

  private constructor(comments: ReadonlyMap<string, unknown>) {
    this.#comments = comments
  }

  static async read(connection: DuckDBConnection): Promise<OlderIndexes> {
    const sql = `SELECT schema_name || '.' || table_name, comment
      FROM duckdb_tables() WHERE starts_with(table_name, 'kb_')`
    const found = await allRows(connection, sql)
    return new OlderIndexes(new Map(found.map(([name, comment]) => [String(name), comment])))
  }

  has(ids: TableIds): boolean {
    return (
      !this.#isWhole(ids) || this.#comments.get(partTable(ids, 'term_counts')) !== KEYWORD_RULES
    )
  }

  async complete(connection: DuckDBConnection, ids: TableIds): Promise<void> {
    if (this.#isWhole(ids)) return
    await dropKeywordTables(connection, ids)
    await createKeywordTables(connection, ids)
    await connection.run(`COMMENT ON TABLE ${chunkTables(ids).termCounts} IS NULL`)
  }

  #isWhole(ids: TableIds): boolean {
    return KEYWORD_PARTS.every((part) => this.#comments.has(partTable(ids, part)))
  }
}

const KEYWORD_PARTS = ['postings', 'recent_postings', 'term_counts'] as const

function partTable(ids: TableIds, part: (typeof KEYWORD_PARTS)[number]): string {
  return `${projectSchema(ids.projectId)}.${chunkTableName(ids, part)}`
}
