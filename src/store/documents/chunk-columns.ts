/** The physical tables of a knowledge base; core/domain/chunk-tables.ts describes them. */
import type { DuckDBConnection } from '@duckdb/node-api'
import type { TextLayout } from '../../core/domain/document.ts'
import {
  chunkTableName,
  chunkTables,
  projectSchema,
  type TableIds,
} from '../../core/domain/document.ts'
import type { KnowledgeBase, MetadataColumn } from '../../core/domain/knowledge-base.ts'
import { quote } from '../../core/domain/names.ts'
import type { CutChunk } from '../../core/domain/ports/document-ports.ts'
import { notFound } from '../../core/errors.ts'
import { allRows, wholeRows } from '../../core/runtime/all-rows.ts'
import { appendColumns } from '../duckdb/columns.ts'
import type { Database } from '../duckdb/database.ts'
import { runWithKeys } from '../duckdb/typed-values.ts'
import { createKeywordTables } from './keyword-index.ts'
import { type MetadataPlan, physicalNumber } from './metadata-columns.ts'

/** Creates the tables. The table of vectors is created only when their length is known. */
export async function createChunkTables(
  connection: DuckDBConnection,
  ids: TableIds & { readonly dimensions: number | null },
): Promise<void> {
  await connection.run(`CREATE TABLE ${chunkTables(ids).chunks} (
    chunk_key BIGINT PRIMARY KEY,
    document_id VARCHAR NOT NULL,
    chunk_id VARCHAR NOT NULL,
    chunk_content VARCHAR NOT NULL,
    metadata JSON NOT NULL)`)
  await createKeywordTables(connection, ids)
  await createContextTable(connection, ids)
  if (ids.dimensions !== null) await createVectorTable(connection, ids, ids.dimensions)
}

export async function createVectorTable(
  connection: DuckDBConnection,
  ids: TableIds,
  dimensions: number,
): Promise<void> {
  await connection.run(`CREATE TABLE ${chunkTables(ids).vectors} (
    chunk_key BIGINT PRIMARY KEY, vector FLOAT[${dimensions}] NOT NULL)`)
}

/** First in its transaction: DuckDB 1.5.5 refuses ALTER TABLE after UPDATE or DELETE. */
export async function applyMetadataPlan(
  connection: DuckDBConnection,
  ids: TableIds,
  plan: MetadataPlan,
): Promise<void> {
  const { chunks } = chunkTables(ids)
  // Sorted by number, so that the columns m1, m2, … have this order in the table.
  const fresh = [...plan.added, ...plan.widened.map(({ to }) => to)]
  for (const column of fresh.toSorted((a, b) => physicalNumber(a) - physicalNumber(b))) {
    await connection.run(`ALTER TABLE ${chunks} ADD COLUMN ${quote(column.column)} ${column.type}`)
  }
  if (plan.widened.length === 0) return
  const moves = plan.widened.map(({ from, to }) => `${quote(to.column)} = ${movedValue(from, to)}`)
  await connection.run(`UPDATE ${chunks} SET ${moves.join(', ')}`)
}

function movedValue(from: MetadataColumn, to: MetadataColumn): string {
  const old = quote(from.column)
  if (from.type !== 'DOUBLE' || to.type !== 'VARCHAR') return `CAST(${old} AS ${to.type})`
  // JSON writes whole numbers without a fraction: 1, not 1.0.
  const isWhole = `${old} = trunc(${old}) AND abs(${old}) < 1e15`
  return `CASE WHEN ${isWhole} THEN ${old}::BIGINT::VARCHAR ELSE ${old}::VARCHAR END`
}

// Creates the table of texts that are embedded before chunks; see core/domain/chunk-tables.ts.

async function createContextTable(connection: DuckDBConnection, ids: TableIds): Promise<void> {
  await connection.run(`CREATE TABLE IF NOT EXISTS ${chunkTables(ids).contexts} (
    chunk_key BIGINT NOT NULL, context VARCHAR NOT NULL, is_cut BOOLEAN NOT NULL, layout VARCHAR)`)
}

/** Reads a knowledge base's tables. @throws AppError `knowledge_base_not_found` if it is dropped */
export async function readTablesOf<T>(
  database: Pick<Database, 'lease'>,
  kb: KnowledgeBase,
  work: (connection: DuckDBConnection) => Promise<T>,
): Promise<T> {
  try {
    return await database.lease(work)
  } catch (error) {
    const isGone = error instanceof Error && /^Catalog Error: Table/.test(error.message)
    throw isGone ? notFound('knowledge_base', kb.name) : error
  }
}

/** The columns `chunk_key, context, is_cut, layout`. */
const COLUMN_COUNT = 4

/** Adds the table, or its last column, to knowledge bases from older versions. */
export async function addContextTables(
  database: Database,
  knowledgeBases: readonly KnowledgeBase[],
): Promise<void> {
  const there = await database.lease(async (connection) => {
    const sql = `SELECT schema_name || '.' || table_name, column_count FROM duckdb_tables() WHERE table_name LIKE 'kb%contexts'`
    const found = await allRows(connection, sql)
    return new Map(found.map(([name, count]) => [String(name), Number(count)]))
  })
  const columnCount = (kb: KnowledgeBase) => {
    return there.get(`${projectSchema(kb.projectId)}.${chunkTableName(kb, 'contexts')}`) ?? 0
  }
  const older = knowledgeBases.filter((kb) => columnCount(kb) < COLUMN_COUNT)
  if (older.length === 0) return
  await database.write(async (connection) => {
    for (const kb of older) {
      if (columnCount(kb) === 0) await createContextTable(connection, kb)
      else {
        const { contexts } = chunkTables(kb)
        await connection.run(`ALTER TABLE ${contexts} ADD COLUMN IF NOT EXISTS layout VARCHAR`)
      }
    }
  })
}

/**
 * Not NULL: for each NULL after a text of more than 4 KB, DuckDB 1.5.5 reads that text again. One
 * layout of 4 MB took gigabytes at each checkpoint. Older versions of Eider stored NULL.
 */
const NO_LAYOUT = ''

/** Append this many rows, then yield to other work. */
const ROWS_PER_APPEND = 1024

export async function appendContexts(
  connection: DuckDBConnection,
  ids: TableIds,
  rows: readonly {
    readonly key: bigint
    readonly context: string
    readonly isCut: boolean
    readonly layout: string | null
  }[],
): Promise<void> {
  const some = rows.filter(({ context, isCut, layout }) => {
    return context !== '' || isCut || layout !== null
  })
  if (some.length === 0) return
  const schema = projectSchema(ids.projectId)
  const table = chunkTableName(ids, 'contexts')
  await appendColumns({ connection, schema, table }, function* () {
    for (let start = 0; start < some.length; start += ROWS_PER_APPEND) {
      const batch = some.slice(start, start + ROWS_PER_APPEND)
      yield [
        batch.map(({ key }) => key),
        batch.map(({ context }) => context),
        batch.map(({ isCut }) => isCut),
        batch.map(({ layout }) => layout ?? NO_LAYOUT),
      ]
    }
  })
}

/** Returns the text embedded before each chunk, for chunks that have one. */
export async function contextsOf(
  connection: DuckDBConnection,
  ids: TableIds,
  chunkKeys: readonly bigint[],
): Promise<ReadonlyMap<bigint, string>> {
  const cuts = await cutsOf(connection, ids, chunkKeys)
  return new Map([...cuts].map(([key, { context }]) => [key, context]))
}

/** What is known about how a chunk was cut from its text. */
export type Cut = Pick<CutChunk, 'context' | 'layout' | 'between'>

export const NOTHING_KNOWN: Cut = { context: '', layout: null, between: null }

export async function cutsOf(
  connection: DuckDBConnection,
  ids: TableIds,
  chunkKeys: readonly bigint[],
): Promise<ReadonlyMap<bigint, Cut>> {
  if (chunkKeys.length === 0) return new Map()
  const sql = `SELECT chunk_key, context, layout FROM ${chunkTables(ids).contexts}
    WHERE chunk_key IN ($keys)`
  const rows = await wholeRows(await runWithKeys(connection, sql, { keys: chunkKeys }))
  return new Map(
    rows.map(([key, context, layout]) => [
      BigInt(String(key)),
      {
        ...NOTHING_KNOWN,
        ...(layout === null || layout === NO_LAYOUT ? {} : layoutOf(String(layout))),
        context: String(context),
      },
    ]),
  )
}

/** Parses JSON that `storedLayout` wrote. */
function layoutOf(json: string): Pick<Cut, 'layout' | 'between'> {
  const { between = null, ...layout } = JSON.parse(json) as Partial<TextLayout> & {
    readonly between?: string
  }
  const { title = null, syntax, parts = null } = layout
  return { layout: syntax === undefined ? null : { title, syntax, parts }, between }
}

/** Longer than the embedding model's input limit, and in total. */
export async function cutCounts(
  connection: DuckDBConnection,
  ids: TableIds,
): Promise<{ readonly cutCount: number; readonly chunkCount: number }> {
  const { chunks, contexts } = chunkTables(ids)
  const [[cutCount, chunkCount] = []] = await allRows(
    connection,
    `SELECT (SELECT count(*) FROM ${contexts} WHERE is_cut), (SELECT count(*) FROM ${chunks})`,
  )
  return { cutCount: Number(cutCount ?? 0), chunkCount: Number(chunkCount ?? 0) }
}
