import { type DuckDBValue, LIST, listValue, VARCHAR } from '@duckdb/node-api'
import {
  chunkPart,
  chunkTables,
  ownMetadata,
  STANDARD_METADATA_KEYS,
  type TableIds,
} from '../../core/domain/chunk.ts'
import { type Row, shownValue, TypedValue } from '../../core/domain/document.ts'
import { nameKey, quote } from '../../core/domain/identifier.ts'
import type { MetadataColumn } from '../../core/domain/knowledge-base.ts'
import { yieldToEventLoop } from '../../core/runtime/serial-queue.ts'
import { appendColumns } from '../duckdb/columns.ts'
import { chunkMetadata } from './chunk-rows.ts'
import { fitValues } from './fitted-values.ts'
import { valuesByKey } from './metadata-columns.ts'
import { countStrays, type OpenTables } from './write-chunk-rows.ts'

/** A stored chunk without its text. */
export interface StoredMetadata {
  readonly chunkKey: bigint
  readonly documentId: string
  readonly chunkId: string
  /** The standard keys, and what is known of this chunk alone. */
  readonly standard: Row
  /** What came with its document. */
  readonly own: Row
}

/** The chunks with one of these keys or document ids, in the order in which they were stored. */
export async function readMetadata(
  tables: TableIds & Pick<OpenTables, 'connection' | 'columns'>,
  column: 'chunk_key' | 'document_id',
  values: readonly DuckDBValue[],
): Promise<readonly StoredMetadata[]> {
  const hidden = tables.columns.filter(({ name }) => STANDARD_METADATA_KEYS.has(nameKey(name)))
  const typed = tables.columns.filter(({ type }) => !SHOWN_EXACTLY.has(type))
  const list = [
    ...hidden.map((one) => `, to_json(${quote(one.column)})::VARCHAR`),
    ...typed.map((one) => `, ${quote(one.column)}`),
  ].join('')
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
        standard: chunkPart(shown),
        own: withTypes(
          withHidden(ownMetadata(shown), hidden, others),
          typed,
          others.slice(hidden.length),
        ),
      })
    }
    await yieldToEventLoop()
  }
  return chunks
}

/** Types whose values JSON holds as they are. */
const SHOWN_EXACTLY: ReadonlySet<string> = new Set([
  'BOOLEAN',
  'BIGINT',
  'DOUBLE',
  'VARCHAR',
  'JSON',
])

/** Values as their columns hold them in place of what is shown of them. */
function withTypes(
  shown: Row,
  columns: readonly MetadataColumn[],
  values: readonly DuckDBValue[],
): Row {
  if (columns.length === 0) return shown
  const byKey = new Map(columns.map(({ name, type }, index) => [nameKey(name), { type, index }]))
  const entries = Object.entries(shown).map(([name, value]) => {
    const column = byKey.get(nameKey(name))
    const exact = column === undefined ? null : (values[column.index] ?? null)
    if (column === undefined || exact === null) return [name, value] as const
    return [name, new TypedValue(column.type, shownValue(value), exact)] as const
  })
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

/** Appending holds the main thread: so many rows at a time. */
const METADATA_PER_APPEND = 512

/** Rows that are held before they are appended. */
const HELD_ROWS_MAX = 4_096

const STAGED = 'temp.main.changed_metadata'

/**
 * New metadata of chunks that stay, within a write: it is collected in a temporary table and then written by one
 * statement.
 */
export class MetadataUpdate {
  readonly #tables: OpenTables
  /** Those that the changes name. */
  readonly #columns: readonly MetadataColumn[]
  readonly #isEmpty: boolean
  #held: StoredMetadata[] = []

  private constructor(tables: OpenTables, names: ReadonlySet<string>) {
    this.#tables = tables
    this.#columns = tables.columns.filter(({ name }) => names.has(nameKey(name)))
    this.#isEmpty = names.size === 0
  }

  static async begin(
    tables: OpenTables,
    changes: readonly { readonly metadata: Row }[],
  ): Promise<MetadataUpdate> {
    const names = new Set<string>()
    for (const { metadata } of changes) {
      for (const name of Object.keys(metadata)) names.add(nameKey(name))
    }
    const update = new MetadataUpdate(tables, names)
    if (update.#isEmpty) return update
    const columns = ['chunk_key', 'metadata', ...update.#columns.map(({ column }) => quote(column))]
    const { chunks } = chunkTables(tables)
    await tables.connection.run(
      `CREATE TEMP TABLE changed_metadata AS SELECT ${columns.join(', ')} FROM ${chunks} LIMIT 0`,
    )
    return update
  }

  /** Takes chunks with their new metadata, each once. */
  async add(chunks: readonly StoredMetadata[]): Promise<void> {
    if (this.#isEmpty) return
    this.#held.push(...chunks)
    if (this.#held.length >= HELD_ROWS_MAX) await this.#append()
  }

  async finish(): Promise<void> {
    if (this.#isEmpty) return
    await this.#append()
    const names = ['metadata', ...this.#columns.map(({ column }) => quote(column))]
    const set = names.map((name) => `${name} = staged.${name}`).join(', ')
    const { connection } = this.#tables
    await connection.run(`UPDATE ${chunkTables(this.#tables).chunks} AS chunks SET ${set}
      FROM ${STAGED} AS staged WHERE chunks.chunk_key = staged.chunk_key`)
    await connection.run(`DROP TABLE ${STAGED}`)
  }

  async #append(): Promise<void> {
    const chunks = this.#held
    this.#held = []
    const { connection } = this.#tables
    const target = {
      connection,
      catalog: 'temp',
      schema: 'main',
      table: 'changed_metadata',
    } as const
    const rows = chunks.map(({ own }) => ({ values: valuesByKey(own), rowIndex: null }))
    const fitted = await fitValues(connection, this.#columns, rows)
    countStrays(this.#tables, fitted.strays)
    const columns = this.#columns
    await appendColumns(target, function* () {
      for (let start = 0; start < chunks.length; start += METADATA_PER_APPEND) {
        const some = chunks.slice(start, start + METADATA_PER_APPEND)
        const values = rows
          .slice(start, start + METADATA_PER_APPEND)
          .map((row) => fitted.of(row.values))
        yield [
          some.map(({ chunkKey }) => chunkKey),
          some.map(({ standard, own }) => chunkMetadata(standard, own)),
          ...columns.map((_, index) => values.map((row) => row[index] ?? null)),
        ]
      }
    })
  }
}
