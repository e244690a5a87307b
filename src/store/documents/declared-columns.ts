/** Metadata columns whose types are chosen: in new tables, and in those that have chunks already. */
import type { DuckDBConnection } from '@duckdb/node-api'
import { chunkTables, type TableIds } from '../../core/domain/chunk.ts'
import { nameKey, quote } from '../../core/domain/identifier.ts'
import type { DeclaredColumn, MetadataColumn } from '../../core/domain/knowledge-base.ts'
import { AppError } from '../../core/errors.ts'
import { yieldToEventLoop } from '../../core/runtime/serial-queue.ts'
import { appendColumns } from '../duckdb/columns.ts'
import { applyMetadataPlan } from './chunk-columns.ts'
import { fitValues } from './fitted-values.ts'
import { METADATA_COLUMNS_MAX, physicalNumber, valuesByKey } from './metadata-columns.ts'
import { readMetadata } from './stored-metadata.ts'

/**
 * Gives the columns their types; stored values move over, from what `metadata` shows or, where the old type says it
 * better, from the old column. A column that has the type already only becomes a declared one.
 * @returns all columns, as the catalog keeps them
 * @throws AppError `invalid_knowledge_base` naming a chunk whose value does not fit, or for too many columns
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

/** Chunks whose values move at once. */
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
    const keys = (await connection.runAndReadAll(sql)).getRows().map(([key]) => BigInt(String(key)))
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
