/** Writes to a knowledge base that is stored in another database and copied locally. */
import { chunkTables, type TableIds } from '../../core/domain/document.ts'
import type { KnowledgeBase, MetadataColumn } from '../../core/domain/knowledge-base.ts'
import { literal, nameKey, quote } from '../../core/domain/names.ts'
import type { KeyPage } from '../../core/domain/ports/document-ports.ts'
import { allRows } from '../../core/runtime/all-rows.ts'
import type { OpenTables } from './write-chunk-rows.ts'

/** The changes of a write as text, in forms that both databases can read. */
export interface RemoteChange {
  /** The revision of the local copy from which the change was computed. */
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
  /** Metadata column values as a JSON object of texts by column name. */
  readonly typed: string
}

export interface SentRow extends SentMetadata {
  readonly document_id: string
  readonly chunk_id: string
  readonly content: string
  readonly context: string
  readonly is_cut: boolean
  readonly layout: string | null
  /** For example `[0.1, 0.2]`. */
  readonly vector: string
  readonly terms: string
  readonly frequencies: string
  readonly term_count: number
  readonly language: string
}

export interface RemoteWrites {
  /** @param compute of the copy's revision; called again if another writer was faster */
  store<W extends { readonly change: RemoteChange }>(
    kb: KnowledgeBase,
    compute: (revision: number) => Promise<W>,
  ): Promise<W>
}

/** For servers that store everything locally. */
export const NOTHING_REMOTE: RemoteWrites = {
  store: () => Promise.reject(new Error('no other database holds a knowledge base')),
}

/** The tables that hold the rows to send. */
export type SentTables = TableIds & Pick<OpenTables, 'connection' | 'columns' | 'language'>

/** @param isSent a condition on `chunk_key` */
export async function sentRows(
  { connection, ...tables }: SentTables,
  isSent: string,
): Promise<readonly SentRow[]> {
  const { chunks, vectors, contexts, postings, recentPostings } = chunkTables(tables)
  const list = (column: string) => `'{' || string_agg(${column}::VARCHAR, ',' ORDER BY term) || '}'`
  const sql = `SELECT c.chunk_key::VARCHAR, c.metadata::VARCHAR, ${typedSql(tables.columns)},
      c.document_id, c.chunk_id, c.chunk_content, coalesce(x.context, ''), coalesce(x.is_cut, false),
      nullif(x.layout, ''), v.vector::VARCHAR, coalesce(t.terms, '{}'), coalesce(t.frequencies, '{}'),
      coalesce(t.term_count, 0)
    FROM (FROM ${chunks} WHERE ${isSent}) AS c
      JOIN (FROM ${vectors} WHERE ${isSent}) AS v ON v.chunk_key = c.chunk_key
      LEFT JOIN (FROM ${contexts} WHERE ${isSent}) AS x ON x.chunk_key = c.chunk_key
      LEFT JOIN (SELECT chunk_key, ${list('term')} AS terms, ${list('frequency')} AS frequencies,
          max(term_count) AS term_count
        FROM (FROM ${postings} WHERE ${isSent} UNION ALL FROM ${recentPostings} WHERE ${isSent})
        GROUP BY chunk_key) AS t ON t.chunk_key = c.chunk_key
    ORDER BY c.chunk_key`
  return (await allRows(connection, sql)).map((row) => ({
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
  { connection, ...tables }: SentTables,
  keys: readonly bigint[],
): Promise<readonly SentMetadata[]> {
  if (keys.length === 0) return []
  const sql = `SELECT c.chunk_key::VARCHAR, c.metadata::VARCHAR, ${typedSql(tables.columns)}
    FROM ${chunkTables(tables).chunks} AS c WHERE c.chunk_key IN (${keys.join(', ')})`
  return (await allRows(connection, sql)).map(metadataOf)
}

/** Returns a hash of what `sentMetadata` sends for each key, in key order. */
export async function metadataHashes(
  { connection, ...tables }: SentTables,
  { afterKey, limit }: KeyPage,
): Promise<ReadonlyMap<bigint, string>> {
  const sql = `SELECT c.chunk_key::VARCHAR, md5(c.metadata::VARCHAR || ${typedSql(tables.columns)})
    FROM ${chunkTables(tables).chunks} AS c WHERE c.chunk_key > ${afterKey}
    ORDER BY c.chunk_key LIMIT ${limit}`
  const rows = await allRows(connection, sql)
  return new Map(rows.map(([key, hash]) => [BigInt(String(key)), String(hash)]))
}

function metadataOf([key, metadata, typed]: readonly unknown[]): SentMetadata {
  return { key: String(key), metadata: String(metadata), typed: String(typed) }
}

/** Converts column values to texts that `fitValues` turns back into the same values. */
function typedSql(columns: readonly MetadataColumn[]): string {
  const pairs = columns.map(({ name, type, column }) => {
    const value = `c.${quote(column)}`
    const text = type === 'BLOB' ? `to_base64(${value})` : `${value}::VARCHAR`
    return `${literal(nameKey(name))}, ${text}`
  })
  return pairs.length === 0 ? "'{}'" : `json_object(${pairs.join(', ')})::VARCHAR`
}
