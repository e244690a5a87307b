import { type DuckDBConnection, type DuckDBValue, LIST, listValue, VARCHAR } from '@duckdb/node-api'
import {
  chunkPart,
  chunkTables,
  ownMetadata,
  type Row,
  STANDARD_METADATA_KEYS,
  shownValue,
  type TableIds,
  TypedValue,
} from '../../core/domain/document.ts'
import {
  type DeclaredColumn,
  METADATA_COLUMNS_MAX,
  type MetadataColumn,
} from '../../core/domain/knowledge-base.ts'
import { nameKey, quote } from '../../core/domain/names.ts'
import { AppError } from '../../core/errors.ts'
import { allRows, rowBatches } from '../../core/runtime/all-rows.ts'
import { yieldToEventLoop } from '../../core/runtime/serial-queue.ts'
import { appendColumns } from '../duckdb/columns.ts'
import { applyMetadataPlan } from './chunk-columns.ts'
import { chunkMetadata } from './chunk-rows.ts'
import { fitValues } from './fitted-values.ts'
import { physicalNumber, valuesByKey } from './metadata-columns.ts'
import { countStrays, type OpenTables } from './write-chunk-rows.ts'

/** A stored chunk's ids and metadata, without its text. */
export interface StoredMetadata {
  readonly chunkKey: bigint
  readonly documentId: string
  readonly chunkId: string
  /** The standard keys, and facts about this chunk alone. */
  readonly standard: Row
  /** The document's own metadata. */
  readonly own: Row
}

/** Returns the chunks with one of these keys or document ids, in insertion order. */
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
  const types = { values: LIST(VARCHAR) }
  const chunks: StoredMetadata[] = []
  for await (const rows of rowBatches(tables.connection, sql, texts, types)) {
    for (const [chunkKey, documentId, chunkId, metadata, ...others] of rows) {
      // This program wrote the JSON, so it is an object.
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

/** Types whose values JSON shows without loss. */
const SHOWN_EXACTLY: ReadonlySet<string> = new Set([
  'BOOLEAN',
  'BIGINT',
  'DOUBLE',
  'VARCHAR',
  'JSON',
])

/** Replaces values as shown in JSON with the typed ones from the columns. */
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

/** If its name equals a standard key, the JSON lacks it: read from its column. */
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

/** Append this many rows at a time, because appending blocks the main thread. */
const METADATA_PER_APPEND = 512

/** Collect this many rows in memory before appending them. */
const HELD_ROWS_MAX = 4_096

const STAGED = 'temp.main.changed_metadata'

/**
 * Collects new metadata of existing chunks in a temporary table and writes it with one statement.
 */
export class MetadataUpdate {
  readonly #tables: OpenTables
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

  /** Adds chunks with new metadata. Each chunk may be added once. */
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

// Declares the types of metadata columns, both for new tables and for tables with chunks.

/**
 * Gives the columns their declared types. Stored values are converted from the JSON metadata, or
 * from the old column if its type preserves them better. If the type stays the same, the column is
 * only marked as declared.
 * @returns all columns, as the catalog stores them
 * @throws AppError `invalid_knowledge_base` naming a chunk whose value does not fit, or if there
 * are too many columns
 */
export async function declareColumns(
  connection: DuckDBConnection,
  tables: TableIds & { readonly storedMetadata: readonly MetadataColumn[] },
  declared: readonly DeclaredColumn[],
): Promise<readonly MetadataColumn[]> {
  const columns = [...tables.storedMetadata]
  const added: MetadataColumn[] = []
  const moved: MetadataColumn[] = []
  let nextNumber = Math.max(0, ...columns.map(physicalNumber)) + 1
  for (const { name, type } of declared) {
    const place = columns.findIndex((column) => nameKey(column.name) === nameKey(name))
    const old = columns[place]
    if (old?.type === type) {
      columns[place] = { ...old, isDeclared: true }
      continue
    }
    const column = { name: old?.name ?? name, type, column: `m${nextNumber++}`, isDeclared: true }
    added.push(column)
    if (old === undefined) columns.push(column)
    else {
      columns[place] = column
      moved.push(column)
    }
  }
  if (columns.length > METADATA_COLUMNS_MAX) {
    const message = `The number of metadata columns is at most ${METADATA_COLUMNS_MAX}`
    throw new AppError('invalid_knowledge_base', message)
  }
  await applyMetadataPlan(connection, tables, { columns, added, widened: [] })
  if (moved.length > 0) await moveValues(connection, tables, moved)
  return columns
}

/** Move the values of this many chunks at a time. */
const CHUNKS_PER_MOVE = 4_096

async function moveValues(
  connection: DuckDBConnection,
  tables: TableIds & { readonly storedMetadata: readonly MetadataColumn[] },
  moved: readonly MetadataColumn[],
): Promise<void> {
  const { chunks } = chunkTables(tables)
  const names = moved.map(({ column }) => quote(column))
  const list = ['chunk_key', ...names].join(', ')
  await connection.run(`CREATE TEMP TABLE moved_values AS SELECT ${list} FROM ${chunks} LIMIT 0`)
  const source = { ...tables, connection, columns: tables.storedMetadata }
  const target = { connection, catalog: 'temp', schema: 'main', table: 'moved_values' } as const
  for (let after = 0n; ; ) {
    const sql = `SELECT chunk_key FROM ${chunks} WHERE chunk_key > ${after}
      ORDER BY chunk_key LIMIT ${CHUNKS_PER_MOVE}`
    const keys = (await allRows(connection, sql)).map(([key]) => BigInt(String(key)))
    const last = keys.at(-1)
    if (last === undefined) break
    after = last
    const stored = await readMetadata(source, 'chunk_key', keys)
    const rows = stored.map(({ own }) => ({ values: valuesByKey(own), rowIndex: null }))
    const fitted = await fitValues(connection, moved, rows).catch((error) => {
      throw refused(error)
    })
    await appendColumns(target, [
      [
        stored.map(({ chunkKey }) => chunkKey),
        ...moved.map((_, index) => rows.map(({ values }) => fitted.of(values)[index] ?? null)),
      ],
    ])
    await yieldToEventLoop()
  }
  const set = names.map((name) => `${name} = moved.${name}`).join(', ')
  await connection.run(`UPDATE ${chunks} AS chunks SET ${set}
    FROM temp.main.moved_values AS moved WHERE chunks.chunk_key = moved.chunk_key`)
  await connection.run('DROP TABLE temp.main.moved_values')
}

function refused(error: unknown): unknown {
  if (!(error instanceof AppError) || error.code !== 'insert_failed') return error
  const message = `A stored value does not fit: ${error.message}. Nothing was changed`
  return new AppError('invalid_knowledge_base', message, { cause: error })
}
