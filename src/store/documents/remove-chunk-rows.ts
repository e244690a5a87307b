import { BIGINT, type DuckDBConnection, LIST, listValue } from '@duckdb/node-api'
import { chunkTables, type TableIds } from '../../domain/chunk-tables.ts'
import { appendColumns } from '../duckdb/column-appender.ts'
import { keywordTables } from './keyword-index.ts'

export interface StoredTables extends TableIds {
  /** null: there is no table of vectors yet. */
  readonly dimensions: number | null
}

/** A list is bound on the main thread. More keys go into a table, and each statement then runs once for all. */
const KEYS_IN_LIST_MAX = 2_000

const KEYS_PER_APPEND = 2_048

/**
 * Removes chunks with their vectors and terms, within the caller's transaction.
 * @returns how many of the chunks were there
 */
export async function removeChunkRows(
  connection: DuckDBConnection,
  tables: StoredTables,
  chunkKeys: readonly bigint[],
): Promise<number> {
  if (chunkKeys.length === 0) return 0
  const { chunks, vectors } = chunkTables(tables)
  const dependent = [...(tables.dimensions === null ? [] : [vectors]), ...keywordTables(tables)]
  if (chunkKeys.length <= KEYS_IN_LIST_MAX) {
    const values = { keys: listValue(chunkKeys) }
    const remove = async (table: string) => {
      const sql = `DELETE FROM ${table} WHERE chunk_key IN (SELECT unnest($keys))`
      return (await connection.run(sql, values, { keys: LIST(BIGINT) })).rowsChanged
    }
    for (const table of dependent) await remove(table)
    return remove(chunks)
  }
  await connection.run('CREATE TEMP TABLE removed_keys (chunk_key BIGINT)')
  await appendKeys(connection, chunkKeys)
  const remove = async (table: string) => {
    const sql = `DELETE FROM ${table} WHERE chunk_key IN (FROM temp.main.removed_keys)`
    return (await connection.run(sql)).rowsChanged
  }
  for (const table of dependent) await remove(table)
  const removed = await remove(chunks)
  await connection.run('DROP TABLE temp.main.removed_keys')
  return removed
}

function appendKeys(connection: DuckDBConnection, keys: readonly bigint[]): Promise<void> {
  const target = { connection, catalog: 'temp', schema: 'main', table: 'removed_keys' } as const
  return appendColumns(target, function* () {
    for (let start = 0; start < keys.length; start += KEYS_PER_APPEND) {
      yield [keys.slice(start, start + KEYS_PER_APPEND)]
    }
  })
}
