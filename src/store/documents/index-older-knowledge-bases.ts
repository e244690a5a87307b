import type { DuckDBConnection } from '@duckdb/node-api'
import { Analyzer } from '../../analysis/analyzer.ts'
import { chunkTableName, chunkTables, projectSchema } from '../../domain/chunk-tables.ts'
import type { KnowledgeBase } from '../../domain/knowledge-base.ts'
import type { Database } from '../duckdb/database.ts'
import { TermCounter } from './chunk-terms.ts'
import {
  appendKeywords,
  createKeywordTables,
  dropKeywordTables,
  KEYWORD_RULES,
  type KeywordRow,
  sortPostings,
} from './keyword-index.ts'

/**
 * Gives a keyword index to each knowledge base that has none, or one by other rules: the data folder is that of an older
 * version. Each in one transaction; some ten seconds for a hundred thousand chunks.
 */
export async function indexOlderKnowledgeBases(
  database: Database,
  knowledgeBases: readonly KnowledgeBase[],
): Promise<void> {
  const indexed = await database.lease(indexedTables)
  for (const kb of knowledgeBases) {
    const table = `${projectSchema(kb.projectId)}.${chunkTableName(kb, 'term_counts')}`
    if (!indexed.has(table)) await database.write((connection) => indexAll(connection, kb))
  }
}

async function indexedTables(connection: DuckDBConnection): Promise<ReadonlySet<string>> {
  const reader = await connection.runAndReadAll(`SELECT schema_name || '.' || table_name
    FROM duckdb_tables() WHERE comment = ${KEYWORD_RULES}`)
  return new Set(reader.getRows().map(([name]) => String(name)))
}

async function indexAll(connection: DuckDBConnection, kb: KnowledgeBase): Promise<void> {
  await dropKeywordTables(connection, kb)
  await createKeywordTables(connection, kb)
  const counter = new TermCounter(new Analyzer(kb.language))
  let lastKey = -1n
  for (;;) {
    const rows = await keywordRowsAfter(connection, kb, { lastKey, counter })
    const last = rows.at(-1)
    if (last === undefined) break
    await appendKeywords(connection, kb, rows)
    lastKey = last.key
  }
  await sortPostings(connection, kb)
}

/** Chunks that are read at once. */
const ROWS_PER_READ = 1000

async function keywordRowsAfter(
  connection: DuckDBConnection,
  kb: KnowledgeBase,
  from: { readonly lastKey: bigint; readonly counter: TermCounter },
): Promise<readonly KeywordRow[]> {
  const reader = await connection.runAndReadAll(
    `SELECT chunk_key, chunk_content FROM ${chunkTables(kb).chunks}
      WHERE chunk_key > $last ORDER BY chunk_key LIMIT ${ROWS_PER_READ}`,
    { last: from.lastKey },
  )
  const rows: KeywordRow[] = []
  for (const [key, content] of reader.getRows()) {
    rows.push({ key: BigInt(String(key)), terms: await from.counter.count(String(content)) })
  }
  return rows
}
