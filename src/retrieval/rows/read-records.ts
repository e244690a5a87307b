import { chunkTables } from '../../core/domain/chunk.ts'
import { quote } from '../../core/domain/identifier.ts'
import type { KnowledgeBase, MetadataColumn } from '../../core/domain/knowledge-base.ts'
import type { RowReader } from '../../core/domain/ports/retrieval-ports.ts'
import type { ChunkRowsRequest } from '../../core/domain/ports/search-ports.ts'
import { recordBytes, recordSql } from './row-records.ts'

/**
 * The rows with these keys as records, by their keys; one that is gone is left out.
 * @throws AppError as `SqlEngine.run` does
 */
export async function readRecords(
  reader: RowReader,
  { knowledgeBase, keys, columns, limits }: ChunkRowsRequest,
  signal: AbortSignal,
): Promise<ReadonlyMap<number, Buffer>> {
  const list = ['chunk_key', 'document_id', 'chunk_id', 'chunk_content', 'metadata::VARCHAR']
  const sql = `SELECT ${[...list, ...columns.map(quote)].join(', ')}
    FROM ${chunkTables(knowledgeBase).chunks} WHERE chunk_key IN ($keys)`
  const { batches } = await reader.run({ sql, values: { keys }, isShort: true }, limits, signal)
  const records = new Map<number, Buffer>()
  for await (const rows of batches) {
    for (const [key, id, chunkId, content, metadata, ...values] of rows) {
      const record = {
        key: Number(key),
        id: String(id),
        chunkId: String(chunkId),
        content: String(content),
        metadata: String(metadata),
        columns: JSON.stringify(values),
      }
      records.set(record.key, recordBytes(record))
    }
  }
  return records
}

/** Nobody waits for the rows that are read in the background. */
const READ_LIMITS = { timeoutMs: 60_000 }

/** The least key from here on; null: there is none. */
export async function nextKey(
  reader: RowReader,
  kb: KnowledgeBase,
  from: number,
  signal: AbortSignal,
): Promise<number | null> {
  const sql = `SELECT min(chunk_key) FROM ${chunkTables(kb).chunks} WHERE chunk_key >= $from`
  const { batches } = await reader.run(
    { sql, values: { from }, isShort: true },
    READ_LIMITS,
    signal,
  )
  let least: number | null = null
  for await (const rows of batches) {
    for (const [key = null] of rows) least = key === null ? null : Number(key)
  }
  return least
}

/**
 * The rows of a range of keys, one record after the other, as the database writes them.
 * @param range.from, range.to not `to` itself
 * @throws AppError as `SqlEngine.run` does
 */
export async function readRange(
  reader: RowReader,
  kb: KnowledgeBase,
  range: { readonly from: number; readonly to: number },
  signal: AbortSignal,
): Promise<Buffer> {
  const sql = `SELECT string_agg(${recordSql(columnsSql(kb.storedMetadata))}, '')
    FROM ${chunkTables(kb).chunks} WHERE chunk_key >= $from AND chunk_key < $to`
  const statement = { sql, values: range, isShort: true }
  const { batches } = await reader.run(statement, READ_LIMITS, signal)
  const texts: string[] = []
  for await (const rows of batches) {
    for (const [text = null] of rows) if (typeof text === 'string') texts.push(text)
  }
  return Buffer.from(texts.join(''))
}

/** How the database writes a value as answers show it. Others are read one by one, by what reads the rows of answers. */
const SHOWN_VALUES: Readonly<Record<string, (column: string) => string>> = {
  BOOLEAN: (column) => column,
  BIGINT: (column) => column,
  DOUBLE: (column) => `CASE WHEN isfinite(${column}) THEN ${column} END`,
  VARCHAR: (column) => column,
}

/** An integer that a JavaScript number holds exactly, as all from here to its negative. */
const EXACT_MAX = 2n ** 53n

/** The values of the metadata columns as a JSON list, or an empty text where they must be read one by one. */
function columnsSql(columns: readonly MetadataColumn[]): string {
  const values: string[] = []
  const conditions: string[] = []
  for (const { column, type } of columns) {
    const name = quote(column)
    const value = SHOWN_VALUES[type]?.(name)
    if (value === undefined) return `''`
    values.push(value)
    if (type === 'BIGINT') {
      conditions.push(`coalesce(${name} BETWEEN -${EXACT_MAX} AND ${EXACT_MAX}, true)`)
    }
  }
  const list = values.length === 0 ? `'[]'` : `json_array(${values.join(', ')})::VARCHAR`
  if (conditions.length === 0) return list
  return `CASE WHEN ${conditions.join(' AND ')} THEN ${list} ELSE '' END`
}
