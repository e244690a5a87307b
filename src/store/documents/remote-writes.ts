/** Writes to a knowledge base whose rows are in another database, with a copy here. */
import type { DuckDBConnection } from '@duckdb/node-api'
import { chunkTables } from '../../core/domain/document.ts'
import type { KnowledgeBase, MetadataColumn } from '../../core/domain/knowledge-base.ts'
import { literal, nameKey, quote } from '../../core/domain/names.ts'
import type { OpenTables } from './write-chunk-rows.ts'

/** A write's changes as text: both databases read and write these forms. */
export interface RemoteChange {
  /** Revision of the copy it was computed on. */
  readonly baseRevision: number
  readonly removedKeys: readonly bigint[]
  readonly rows: readonly SentRow[]
  /** Existing chunks with changed metadata. */
  readonly rewritten: readonly SentMetadata[]
  readonly dimensions: number | null
  readonly columns: readonly MetadataColumn[]
  readonly nextChunkKey: number
}

interface SentMetadata {
  readonly key: string
  /** JSON text. */
  readonly metadata: string
  /** The values of the metadata columns, as JSON text of texts by their names. */
  readonly typed: string
}

export interface SentRow extends SentMetadata {
  readonly document_id: string
  readonly chunk_id: string
  readonly content: string
  readonly context: string
  readonly is_cut: boolean
  readonly layout: string | null
  /** `[0.1, 0.2]` */
  readonly vector: string
  /** `{1,2}`, and of each how often it occurs. */
  readonly terms: string
  readonly frequencies: string
  readonly term_count: number
  readonly language: string
}

/** Other databases, as writes see them. */
export interface RemoteWrites {
  /**
   * Commits there the change that `compute` returns for an up-to-date copy, which stays unchanged.
   * @param compute called with the revision of the copy; again if another writer was faster
   */
  store<W extends { readonly change: RemoteChange }>(
    kb: KnowledgeBase,
    compute: (revision: number) => Promise<W>,
  ): Promise<W>
}

/** Everything is stored here. */
export const NOTHING_REMOTE: RemoteWrites = {
  store: () => Promise.reject(new Error('no other database holds a knowledge base')),
}

/** @param keys of the rows that the write has added */
export async function sentRows(
  { connection, ...tables }: OpenTables,
  keys: { readonly from: number },
): Promise<readonly SentRow[]> {
  const { chunks, vectors, contexts, postings, recentPostings } = chunkTables(tables)
  const isNew = `chunk_key >= ${keys.from}`
  const list = (column: string) => `'{' || string_agg(${column}::VARCHAR, ',' ORDER BY term) || '}'`
  const sql = `SELECT c.chunk_key::VARCHAR, c.metadata::VARCHAR, ${typedSql(tables.columns)},
      c.document_id, c.chunk_id, c.chunk_content, coalesce(x.context, ''), coalesce(x.is_cut, false),
      x.layout, v.vector::VARCHAR, coalesce(t.terms, '{}'), coalesce(t.frequencies, '{}'),
      coalesce(t.term_count, 0)
    FROM (FROM ${chunks} WHERE ${isNew}) AS c
      JOIN (FROM ${vectors} WHERE ${isNew}) AS v ON v.chunk_key = c.chunk_key
      LEFT JOIN (FROM ${contexts} WHERE ${isNew}) AS x ON x.chunk_key = c.chunk_key
      LEFT JOIN (SELECT chunk_key, ${list('term')} AS terms, ${list('frequency')} AS frequencies,
          max(term_count) AS term_count
        FROM (FROM ${postings} WHERE ${isNew} UNION ALL FROM ${recentPostings} WHERE ${isNew})
        GROUP BY chunk_key) AS t ON t.chunk_key = c.chunk_key
    ORDER BY c.chunk_key`
  return (await rowsOf(connection, sql)).map((row) => ({
    ...metadataOf(row),
    document_id: String(row[3]),
    chunk_id: String(row[4]),
    content: String(row[5]),
    context: String(row[6]),
    is_cut: row[7] === true,
    layout: row[8] === null ? null : String(row[8]),
    vector: String(row[9]),
    terms: String(row[10]),
    frequencies: String(row[11]),
    term_count: Number(row[12]),
    language: tables.language,
  }))
}

/** @param keys of chunks whose metadata the write has changed */
export async function sentMetadata(
  { connection, ...tables }: OpenTables,
  keys: readonly bigint[],
): Promise<readonly SentMetadata[]> {
  if (keys.length === 0) return []
  const sql = `SELECT c.chunk_key::VARCHAR, c.metadata::VARCHAR, ${typedSql(tables.columns)}
    FROM ${chunkTables(tables).chunks} AS c WHERE c.chunk_key IN (${keys.join(', ')})`
  return (await rowsOf(connection, sql)).map(metadataOf)
}

function metadataOf([key, metadata, typed]: readonly unknown[]): SentMetadata {
  return { key: String(key), metadata: String(metadata), typed: String(typed) }
}

/** Texts that `fitValues` makes the same values of. */
function typedSql(columns: readonly MetadataColumn[]): string {
  const pairs = columns.map(({ name, type, column }) => {
    const value = `c.${quote(column)}`
    const text = type === 'BLOB' ? `to_base64(${value})` : `${value}::VARCHAR`
    return `${literal(nameKey(name))}, ${text}`
  })
  return pairs.length === 0 ? "'{}'" : `json_object(${pairs.join(', ')})::VARCHAR`
}

async function rowsOf(connection: DuckDBConnection, sql: string) {
  return (await connection.runAndReadAll(sql)).getRows()
}
