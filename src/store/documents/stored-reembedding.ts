import {
  BIGINT,
  DuckDBArrayValue,
  type DuckDBConnection,
  type DuckDBValue,
  INTEGER,
} from '@duckdb/node-api'
import { eq } from 'drizzle-orm'
import {
  chunkTableName,
  chunkTables,
  embeddedText,
  projectSchema,
  type TableIds,
  withNextVectors,
} from '../../core/domain/document.ts'
import type {
  KnowledgeBase,
  MissingVectors,
  NextVector,
  SwitchOutcome,
} from '../../core/domain/knowledge-base.ts'
import { isSameSource, type ModelRef } from '../../core/domain/model-ref.ts'
import type { ReembeddingStore } from '../../core/domain/ports/store-ports.ts'
import { dimensionMismatch, notFound } from '../../core/errors.ts'
import { allRows, wholeRows } from '../../core/runtime/all-rows.ts'
import { timestampOfMillis } from '../../core/time.ts'
import { queriesOver } from '../catalog/catalog-queries.ts'
import { knowledgeBaseOf, unsealedOrNull } from '../catalog/catalog-rows.ts'
import type { StoreParts } from '../catalog/catalog-state.ts'
import { knowledgeBases } from '../catalog/schema.ts'
import { appendColumns, countOf } from '../duckdb/columns.ts'
import { runWithKeys } from '../duckdb/typed-values.ts'
import { contextsOf, createVectorTable } from './chunk-columns.ts'
import { sameDimensions, unitVector } from './chunk-rows.ts'
import { rowOfKnowledgeBase, takenOver } from './stored-vectors.ts'

/** Appending blocks the main thread: less than 20 ms for this many rows. */
const VECTORS_PER_APPEND = 64

/** In a separate table until they replace the current ones. Changed text gets a new key. */
export class StoredReembedding implements ReembeddingStore {
  readonly #parts: StoreParts

  constructor(parts: StoreParts) {
    this.#parts = parts
  }

  async missing(
    kb: KnowledgeBase,
    { afterKey, limit }: { readonly afterKey: bigint; readonly limit: number },
  ): Promise<MissingVectors> {
    return this.#parts.database.lease(async (connection) => {
      await connection.run('BEGIN TRANSACTION READ ONLY')
      const row = await rowOfKnowledgeBase(connection, kb)
      if (row === undefined) throw notFound('knowledge_base', kb.name)
      const isThere = (await nextDimensions(connection, row)) !== null
      const missing = await missingChunks(connection, row, { isThere, afterKey, limit })
      const chunkCount = await rowCount(connection, chunkTables(row).chunks)
      const next = chunkTables(withNextVectors(row)).vectors
      const doneCount = isThere ? await rowCount(connection, next) : 0
      await connection.run('COMMIT')
      return { chunks: missing, doneCount, chunkCount }
    })
  }

  async append(kb: KnowledgeBase, vectors: readonly NextVector[]): Promise<boolean> {
    const { database, secrets } = this.#parts
    if (vectors.length === 0) return true
    let dimensions: number | null = null
    const units: NextVector[] = []
    for (const { chunkKey, vector } of vectors) {
      const unit = unitVector(vector, `with the key ${chunkKey}`)
      dimensions = sameDimensions(dimensions, unit.length)
      units.push({ chunkKey, vector: unit })
    }
    const length = dimensions ?? 0
    return database.write(async (connection) => {
      const row = await rowOfKnowledgeBase(connection, kb)
      if (row === undefined) throw notFound('knowledge_base', kb.name)
      const next = unsealedOrNull<ModelRef>(row.sealedNextEmbeddingModel, secrets)
      const { nextEmbeddingModel: made, vectorsNumber } = kb
      if (next === null || made === null || row.vectorsNumber !== vectorsNumber) return false
      if (!isSameSource(next, made)) return false
      await openNextTable(connection, row, length)
      await appendNextVectors(connection, row, units)
      return true
    })
  }

  switchOver(kb: KnowledgeBase): Promise<SwitchOutcome> {
    const { database, state } = this.#parts
    return database
      .write(
        (connection) => this.#switched(connection, kb),
        ({ changed }) => {
          if (changed === null) return
          state.put('knowledgeBases', changed)
        },
      )
      .then(({ outcome }) => outcome)
  }

  async #switched(
    connection: DuckDBConnection,
    kb: KnowledgeBase,
  ): Promise<{ readonly outcome: SwitchOutcome; readonly changed: KnowledgeBase | null }> {
    const { secrets, state, now } = this.#parts
    const row = await rowOfKnowledgeBase(connection, kb)
    if (row?.sealedNextEmbeddingModel == null) {
      return { outcome: { kind: 'settled' }, changed: null }
    }
    const dimensions = await nextDimensions(connection, row)
    const count = await missingCount(connection, row, dimensions !== null)
    if (count > 0) return { outcome: { kind: 'missing', count }, changed: null }
    const { chunks, vectors } = chunkTables(row)
    if (dimensions !== null) {
      const next = chunkTables(withNextVectors(row)).vectors
      await connection.run(`DELETE FROM ${next} AS n
        WHERE NOT EXISTS (SELECT 1 FROM ${chunks} AS c WHERE c.chunk_key = n.chunk_key)`)
    }
    await connection.run(`DROP TABLE IF EXISTS ${vectors}`)
    const changes = {
      ...takenOver(row, { sealedEmbeddingModel: row.sealedNextEmbeddingModel, dimensions }),
      updatedAt: timestampOfMillis(now()),
    }
    await queriesOver(connection)
      .update(knowledgeBases)
      .set(changes)
      .where(eq(knowledgeBases.id, row.id))
    const changed = knowledgeBaseOf({ ...row, ...changes }, state.current(kb), secrets)
    return { outcome: { kind: 'switched' }, changed }
  }
}

/** Returns the length of the vectors in the next table, or null if the table does not exist yet. */
async function nextDimensions(connection: DuckDBConnection, ids: TableIds): Promise<number | null> {
  const [[type] = []] = await allRows(
    connection,
    `SELECT data_type FROM duckdb_columns()
      WHERE schema_name = $schema AND table_name = $table AND column_name = 'vector'`,
    nextTable(ids),
  )
  if (type === undefined) return null
  const length = /^FLOAT\[(\d+)\]$/.exec(String(type))?.[1]
  if (length === undefined) throw new Error(`vectors of the type ${type}`)
  return Number(length)
}

function nextTable(ids: TableIds): { readonly schema: string; readonly table: string } {
  return {
    schema: projectSchema(ids.projectId),
    table: chunkTableName(withNextVectors(ids), 'vectors'),
  }
}

/** Selects the missing keys first, so that DuckDB reads only their texts. */
async function missingChunks(
  connection: DuckDBConnection,
  ids: TableIds,
  {
    isThere,
    afterKey,
    limit,
  }: { readonly isThere: boolean; readonly afterKey: bigint; readonly limit: number },
): Promise<MissingVectors['chunks']> {
  const { chunks } = chunkTables(ids)
  const next = chunkTables(withNextVectors(ids)).vectors
  const done = isThere
    ? `ANTI JOIN (SELECT chunk_key FROM ${next} WHERE chunk_key > $after) AS n USING (chunk_key)`
    : ''
  const found = await allRows(
    connection,
    `SELECT chunk_key FROM ${chunks} ${done} WHERE chunk_key > $after ORDER BY chunk_key LIMIT $limit`,
    { after: afterKey, limit },
    { after: BIGINT, limit: INTEGER },
  )
  const keys = found.map(([key]) => BigInt(String(key)))
  const texts = await runWithKeys(
    connection,
    `SELECT chunk_key, chunk_content FROM ${chunks} WHERE chunk_key IN ($keys) ORDER BY chunk_key`,
    { keys },
  )
  const contexts = await contextsOf(connection, ids, keys)
  return (await wholeRows(texts)).map(([key, text]) => {
    const chunkKey = BigInt(String(key))
    const context = contexts.get(chunkKey) ?? ''
    return { chunkKey, content: embeddedText({ context, content: String(text) }) }
  })
}

async function missingCount(
  connection: DuckDBConnection,
  ids: TableIds,
  isThere: boolean,
): Promise<number> {
  const { chunks } = chunkTables(ids)
  if (!isThere) return rowCount(connection, chunks)
  const next = chunkTables(withNextVectors(ids)).vectors
  return rowCount(connection, `${chunks} ANTI JOIN ${next} USING (chunk_key)`)
}

function rowCount(connection: DuckDBConnection, from: string): Promise<number> {
  return countOf(connection, `SELECT count(*) FROM ${from}`)
}

/** When the first vectors arrive. @throws AppError `dimension_mismatch` with both lengths */
async function openNextTable(
  connection: DuckDBConnection,
  ids: TableIds,
  dimensions: number,
): Promise<void> {
  const known = await nextDimensions(connection, ids)
  if (known === dimensions) return
  if (known === null) return createVectorTable(connection, withNextVectors(ids), dimensions)
  throw dimensionMismatch(`the model gives ${dimensions}, and gave ${known} before`)
}

async function appendNextVectors(
  connection: DuckDBConnection,
  ids: TableIds,
  vectors: readonly NextVector[],
): Promise<void> {
  await appendColumns({ connection, ...nextTable(ids) }, function* () {
    for (let start = 0; start < vectors.length; start += VECTORS_PER_APPEND) {
      const some = vectors.slice(start, start + VECTORS_PER_APPEND)
      yield [some.map(({ chunkKey }) => chunkKey), some.map(({ vector }) => arrayOf(vector))]
    }
  })
}

function arrayOf(vector: Float32Array): DuckDBValue {
  // The driver declares a list of values; a Float32Array works the same and avoids a copy.
  return new DuckDBArrayValue(vector as unknown as readonly DuckDBValue[])
}
