import { chunkTables } from '../../domain/chunk-tables.ts'
import type { Row } from '../../domain/document.ts'
import { nameKey, quote } from '../../domain/identifier.ts'
import type { MetadataColumn } from '../../domain/knowledge-base.ts'
import { appendColumns } from '../duckdb/column-appender.ts'
import { chunkMetadata } from './chunk-rows.ts'
import { metadataValue } from './chunk-writer.ts'
import { valuesByKey } from './metadata-columns.ts'
import type { OpenTables } from './replace-chunk-rows.ts'
import type { StoredMetadata } from './stored-metadata.ts'

/** Appending holds the main thread: so many rows at a time. */
const ROWS_PER_APPEND = 512

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
    const columns = this.#columns
    await appendColumns(target, function* () {
      for (let start = 0; start < chunks.length; start += ROWS_PER_APPEND) {
        const some = chunks.slice(start, start + ROWS_PER_APPEND)
        const values = some.map(({ own }) => valuesByKey(own))
        yield [
          some.map(({ chunkKey }) => chunkKey),
          some.map(({ standard, own }) => chunkMetadata(standard, own)),
          ...columns.map((column) => values.map((one) => metadataValue(one, column))),
        ]
      }
    })
  }
}
