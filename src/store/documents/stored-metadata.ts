import { type DuckDBConnection, type DuckDBValue, LIST, listValue, VARCHAR } from '@duckdb/node-api'
import { ownMetadata, STANDARD_METADATA_KEYS } from '../../domain/chunk.ts'
import { chunkTables, type TableIds } from '../../domain/chunk-tables.ts'
import type { Row } from '../../domain/document.ts'
import { nameKey, quote } from '../../domain/identifier.ts'
import type { MetadataColumn } from '../../domain/knowledge-base.ts'
import { yieldToEventLoop } from '../../runtime/scheduling.ts'

/** A stored chunk without its text. */
export interface StoredMetadata {
  readonly chunkKey: bigint
  readonly documentId: string
  readonly chunkId: string
  /** The standard keys. */
  readonly standard: Row
  /** What came with its document. */
  readonly own: Row
}

export interface ReadTables extends TableIds {
  readonly connection: DuckDBConnection
  readonly columns: readonly MetadataColumn[]
}

interface Wanted {
  readonly column: 'chunk_key' | 'document_id'
  readonly values: readonly DuckDBValue[]
}

/** The chunks with one of these keys or document ids, in the order in which they were stored. */
export async function storedMetadata(
  tables: ReadTables,
  { column, values }: Wanted,
): Promise<readonly StoredMetadata[]> {
  const hidden = tables.columns.filter(({ name }) => STANDARD_METADATA_KEYS.has(nameKey(name)))
  const list = hidden.map((one) => `, to_json(${quote(one.column)})::VARCHAR`).join('')
  const type = column === 'chunk_key' ? 'BIGINT' : 'VARCHAR'
  const sql = `SELECT chunk_key, document_id, chunk_id, metadata::VARCHAR${list}
    FROM ${chunkTables(tables).chunks}
    WHERE ${column} IN (SELECT unnest($values)::${type}) ORDER BY chunk_key`
  const texts = { values: listValue(values.map(String)) }
  const result = await tables.connection.stream(sql, texts, { values: LIST(VARCHAR) })
  const chunks: StoredMetadata[] = []
  for await (const data of result) {
    for (const [chunkKey, documentId, chunkId, metadata, ...others] of data.getRows()) {
      // Written by this program: an object.
      const shown = JSON.parse(String(metadata)) as Row
      chunks.push({
        chunkKey: BigInt(String(chunkKey)),
        documentId: String(documentId),
        chunkId: String(chunkId),
        standard: standardPart(shown),
        own: withHidden(ownMetadata(shown), hidden, others),
      })
    }
    await yieldToEventLoop()
  }
  return chunks
}

function standardPart(metadata: Row): Row {
  const entries = Object.entries(metadata).filter(([key]) => STANDARD_METADATA_KEYS.has(key))
  return Object.fromEntries(entries)
}

/** A value whose name is that of a standard key is not shown: it stands in its own column alone. */
function withHidden(
  shown: Row,
  columns: readonly MetadataColumn[],
  values: readonly DuckDBValue[],
): Row {
  const names = new Set(Object.keys(shown).map(nameKey))
  const hidden = columns.flatMap(({ name }, index) => {
    const key = nameKey(name)
    const value = values[index] ?? null
    return value === null || names.has(key) ? [] : [[key, JSON.parse(String(value))] as const]
  })
  return { ...shown, ...Object.fromEntries(hidden) }
}
