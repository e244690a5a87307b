import { ownMetadata } from '../../domain/chunk.ts'
import type { Row, RowValue } from '../../domain/document.ts'
import { nameKey } from '../../domain/identifier.ts'
import { KNOWLEDGE_BASE_COLUMNS } from '../../domain/knowledge-base.ts'
import type { RowStream } from '../../domain/query-result.ts'
import { type ColumnMapping, findColumn } from '../../ingest/document-of-row.ts'

/**
 * The values of a SELECT as the rows of an insert. An object in a column `metadata` stands for its fields, where the
 * knowledge base has no column of that name; rows of `SELECT *` from a knowledge base are its chunks.
 * @param columns the names of the values
 */
export async function* rowsToInsert(
  batches: RowStream['batches'],
  columns: readonly string[],
  rule: ColumnMapping,
): AsyncGenerator<Row, void, void> {
  const isOfKnowledgeBase = KNOWLEDGE_BASE_COLUMNS.every((name) => columns.includes(name))
  const known = [...rule.contentColumns, ...(rule.metadataColumns ?? []), ...rule.idColumns]
  const metadataColumn = findColumn(columns, 'metadata')
  const flattened = findColumn(known, 'metadata') === undefined ? metadataColumn : undefined
  // Of columns with one name the first, as in a join of two tables with an `id`.
  const places = new Map(columns.map((name, index) => [name, index] as const).toReversed())
  for await (const batch of batches) {
    for (const values of batch) {
      const entries = [...places].map(([name, index]) => [name, values[index] ?? null] as const)
      const row: Row = Object.fromEntries(entries.toReversed())
      const document = isOfKnowledgeBase ? documentOfChunk(row, rule) : row
      yield flattened === undefined ? document : withFields(document, flattened)
    }
  }
}

/**
 * A chunk as a document of its own. It keeps the id of the document that it is the whole of, where that holds nothing
 * else: else it takes its chunk id, so that no chunk takes another one's place.
 */
function documentOfChunk(row: Row, { contentColumns }: ColumnMapping): Row {
  const { chunk_id, chunk_content, relevance: _, distance: __, ...rest } = row
  const metadata = objectOf(row.metadata ?? null)
  const column = String(metadata?.content_column ?? '')
  const [only = '', ...others] = contentColumns
  const isSameColumn = nameKey(column) === nameKey(only) || column === 'content'
  const isWhole = typeof chunk_id === 'string' && /:1of1:\d+to\d+$/.test(chunk_id)
  const keepsId = isWhole && isSameColumn && others.length === 0
  const target = findColumn(contentColumns, column) ?? only
  return {
    ...Object.fromEntries(contentColumns.map((name) => [name, null])),
    [target]: chunk_content ?? null,
    ...rest,
    ...(keepsId ? {} : { id: chunk_id ?? null }),
  }
}

/** A column that has the name of a field wins. */
function withFields(row: Row, metadataColumn: string): Row {
  const { [metadataColumn]: metadata = null, ...rest } = row
  if (metadata === null) return rest
  const fields = objectOf(metadata)
  return fields === null ? row : { ...ownMetadata(fields), ...rest }
}

function objectOf(value: RowValue): Row | null {
  const object = typeof value === 'string' && value.startsWith('{') ? parsed(value) : value
  if (typeof object !== 'object' || object === null || Array.isArray(object)) return null
  // What JSON holds is a row's values.
  return object as Row
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
