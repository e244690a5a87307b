import { type DuckDBConnection, LIST, listValue, VARCHAR } from '@duckdb/node-api'
import { eq } from 'drizzle-orm'
import { Analyzers } from '../../analysis/analyzer.ts'
import type {
  ChunkChange,
  DocumentChange,
  EmbeddedDocument,
  StoredChunkText,
} from '../../domain/chunk.ts'
import { chunkTables } from '../../domain/chunk-tables.ts'
import type { Document } from '../../domain/document.ts'
import type { KnowledgeBase, MetadataColumn } from '../../domain/knowledge-base.ts'
import type { ChunkChanges } from '../../domain/ports/retrieval-ports.ts'
import type {
  ChunkStore,
  CutCounts,
  DocumentsOutcome,
  WriteOutcome,
} from '../../domain/ports/store-ports.ts'
import { SupersededVectors } from '../../domain/reembedding.ts'
import { timestampOfMillis } from '../../domain/timestamp.ts'
import { AppError, notFound } from '../../errors.ts'
import { LruMap } from '../../runtime/lru-map.ts'
import { yieldToEventLoop } from '../../runtime/scheduling.ts'
import { queriesOver } from '../catalog/catalog-queries.ts'
import { knowledgeBaseOf } from '../catalog/catalog-rows.ts'
import type { StoreParts } from '../catalog/catalog-state.ts'
import { withReplaced } from '../catalog/catalog-state.ts'
import { knowledgeBases } from '../catalog/schema.ts'
import type { Secrets } from '../catalog/secrets.ts'
import {
  changeChunkRows,
  changeDocumentRows,
  preparedChunks,
  preparedDocuments,
} from './chunk-changes.ts'
import { applyMetadataPlan, createVectorTable } from './chunk-columns.ts'
import { contextsOf, cutCounts } from './chunk-contexts.ts'
import { chunkRowsOf, type Incoming } from './chunk-rows.ts'
import { fitValues } from './fitted-values.ts'
import { needsSorting, sortPostings } from './keyword-index.ts'
import { planMetadata, SeenColumns, valuesByKey } from './metadata-columns.ts'
import { vectorRowsFrom } from './stored-vectors.ts'
import {
  type OpenTables,
  removeChunkRows,
  replaceChunkRows,
  StaleVectors,
} from './write-chunk-rows.ts'

type KnowledgeBaseRow = typeof knowledgeBases.$inferSelect

/** What a write answers, and what it did to the rows. */
interface RowsWritten<T> {
  readonly result: T
  readonly newRowCount: number
  readonly removedKeys: readonly bigint[]
  /** Chunks that stay, with other metadata; unset: none. */
  readonly rewrittenKeys?: readonly bigint[]
}

/** Of a write that only removes. */
const NOTHING_COMES: Incoming = { metadata: new SeenColumns(), dimensions: null }

/** Knowledge bases whose cut chunks are remembered. */
const CUT_COUNTS_MAX = 10_000

/** Chunks and vectors in DuckDB's tables. */
export class StoredChunks implements ChunkStore {
  readonly #parts: StoreParts
  readonly #analyzers = new Analyzers()
  /** Ids of the knowledge bases whose postings are going to be sorted. */
  readonly #sorting = new Set<number>()
  /** By the ids of knowledge bases. */
  readonly #cutCounts = new LruMap<number, CutCounts & { readonly revision: number }>({
    sizeMax: CUT_COUNTS_MAX,
  })

  constructor(parts: StoreParts) {
    this.#parts = parts
  }

  async storedTexts(
    kb: KnowledgeBase,
    documentIds: readonly string[],
  ): Promise<readonly StoredChunkText[]> {
    if (documentIds.length === 0) return []
    const { chunks, contexts } = chunkTables(kb)
    const there = `SELECT 1 FROM ${chunks} WHERE document_id IN (SELECT unnest($ids)) LIMIT 1`
    const sql = `SELECT c.chunk_key, document_id, chunk_content, coalesce(context, '')
      FROM ${chunks} AS c LEFT JOIN ${contexts} AS x ON x.chunk_key = c.chunk_key
      WHERE document_id IN (SELECT unnest($ids)) ORDER BY c.chunk_key`
    return this.#read(kb, async (connection) => {
      const texts: StoredChunkText[] = []
      const ids = { values: idsValue(documentIds), types: { ids: LIST(VARCHAR) } }
      // Such a join reads the text of every chunk, those of other documents too: only where it is of use.
      const found = await connection.runAndReadAll(there, ids.values, ids.types)
      if (found.currentRowCount === 0) return texts
      const result = await connection.stream(sql, ids.values, ids.types)
      for await (const data of result) {
        for (const [chunkKey, documentId, content, context] of data.getRows()) {
          texts.push({
            chunkKey: BigInt(String(chunkKey)),
            documentId: String(documentId),
            content: String(content),
            context: String(context),
          })
        }
        await yieldToEventLoop()
      }
      return texts
    })
  }

  withoutCaching<T>(work: () => Promise<T>): Promise<T> {
    return this.#parts.database.withoutCaching(work)
  }

  /** How many chunks are stored. @throws AppError `knowledge_base_not_found` */
  async chunkCount(kb: KnowledgeBase): Promise<number> {
    return this.#read(kb, async (connection) => {
      const reader = await connection.runAndReadAll(
        `SELECT count(*) FROM ${chunkTables(kb).chunks}`,
      )
      return Number(reader.getRows()[0]?.[0] ?? 0)
    })
  }

  async contextsOf(
    kb: KnowledgeBase,
    chunkKeys: readonly bigint[],
  ): Promise<ReadonlyMap<bigint, string>> {
    return this.#read(kb, (connection) => contextsOf(connection, kb, chunkKeys))
  }

  /** Counted anew after each write that came since. */
  async cutCounts(kb: KnowledgeBase): Promise<CutCounts> {
    const known = this.#cutCounts.get(kb.id)
    if (known?.revision === kb.revision) return known
    const counts = await this.#read(kb, (connection) => cutCounts(connection, kb))
    this.#cutCounts.set(kb.id, { ...counts, revision: kb.revision })
    return counts
  }

  async checkDeclared(kb: KnowledgeBase, documents: readonly Document[]): Promise<void> {
    const declared = kb.storedMetadata.filter(({ isDeclared }) => isDeclared === true)
    if (declared.length === 0) return
    await this.#parts.database.lease((connection) => {
      const rows = documents.map(({ metadata, rowIndex }) => {
        return { values: valuesByKey(metadata), rowIndex }
      })
      return fitValues(connection, declared, rows)
    })
  }

  async replaceDocuments(
    kb: KnowledgeBase,
    documents: readonly EmbeddedDocument[],
  ): Promise<WriteOutcome> {
    const { rows, documentIds, incoming } = await chunkRowsOf(documents)
    const replace = async (tables: OpenTables) => {
      const removedKeys = await keysOfDocuments(tables, documentIds)
      await replaceChunkRows(tables, rows, removedKeys)
      return { result: { kind: 'stored' } as const, newRowCount: rows.length, removedKeys }
    }
    return this.#inTransaction(kb, incoming, replace).catch(staleOutcome)
  }

  removeChunks(kb: KnowledgeBase, chunkKeys: readonly bigint[]): Promise<number> {
    return this.#inTransaction(kb, NOTHING_COMES, async (tables) => {
      const result = await removeChunkRows(tables.connection, tables, chunkKeys)
      return { result, newRowCount: 0, removedKeys: chunkKeys }
    })
  }

  async changeChunks(kb: KnowledgeBase, requested: readonly ChunkChange[]): Promise<number> {
    const { changes, incoming } = await preparedChunks(requested, this.#analyzers.get(kb.language))
    return this.#inTransaction(kb, incoming, async (tables) => {
      const { chunkCount, ...written } = await changeChunkRows(tables, changes)
      return { result: chunkCount, ...written }
    })
  }

  async changeDocuments(
    kb: KnowledgeBase,
    requested: readonly DocumentChange[],
  ): Promise<DocumentsOutcome> {
    const { changes, incoming } = await preparedDocuments(requested)
    const change = async (tables: OpenTables) => {
      const { chunkCount, ...written } = await changeDocumentRows(tables, changes)
      return { result: { kind: 'stored', chunkCount } as const, ...written }
    }
    return this.#inTransaction(kb, incoming, change).catch(staleOutcome)
  }

  /** One transaction of chunks, vectors and terms, in tables that have room for what comes. */
  async #inTransaction<T>(
    kb: KnowledgeBase,
    incoming: Incoming,
    work: (tables: OpenTables) => Promise<RowsWritten<T>>,
  ): Promise<T> {
    const { database, state } = this.#parts
    let isCommitting = false
    try {
      const isFreeing = incoming === NOTHING_COMES
      const { isUnsorted, result } = await database[isFreeing ? 'writeFreeing' : 'write'](
        async (connection) => {
          const outcome = await this.#writeRows(connection, kb, incoming, work)
          state.listener.beginCommit(kb)
          isCommitting = true
          return outcome
        },
        ({ changed, vectors }) => {
          state.change({ knowledgeBases: withReplaced(state.snapshot().knowledgeBases, changed) })
          state.listener.endCommit(changed, vectors)
        },
      )
      if (isUnsorted) this.#sortPostings(kb)
      return result
    } catch (error) {
      if (isCommitting) state.listener.endCommit(kb, null)
      throw error
    }
  }

  /** Within the transaction: the rows, and what the catalog says of the knowledge base afterwards. */
  async #writeRows<T>(
    connection: DuckDBConnection,
    kb: KnowledgeBase,
    incoming: Incoming,
    work: (tables: OpenTables) => Promise<RowsWritten<T>>,
  ) {
    const { secrets, now } = this.#parts
    const { row, tables } = await openTables(connection, kb, { incoming, secrets })
    const written = await work(tables)
    const changes = {
      dimensions: tables.dimensions,
      storedMetadata: tables.columns.map((column) => withStrays(column, tables)),
      revision: row.revision + 1,
      nextChunkKey: row.nextChunkKey + written.newRowCount,
      updatedAt: timestampOfMillis(now()),
    }
    const changed = { ...row, ...changes }
    // Not an UPDATE: after one, DuckDB's log cannot move into the file while anybody reads, and grows.
    const queries = queriesOver(connection)
    await queries.delete(knowledgeBases).where(eq(knowledgeBases.id, row.id))
    await queries.insert(knowledgeBases).values(changed)
    const { projectName } = kb
    return {
      changed: knowledgeBaseOf(changed, { projectName, secrets }),
      result: written.result,
      isUnsorted: await needsSorting(connection, row),
      vectors: { revision: changes.revision, changed: await this.#vectorChange(tables, written) },
    }
  }

  /** What the write has done to the chunks and their vectors; null: nobody needs to know. */
  async #vectorChange(
    tables: OpenTables,
    { removedKeys, rewrittenKeys = [] }: RowsWritten<unknown>,
  ): Promise<ChunkChanges | null> {
    if (!this.#parts.state.listener.needsChange(tables)) return null
    const { connection, dimensions, nextChunkKey } = tables
    const removed = {
      removedKeys: BigInt64Array.from(removedKeys),
      rewrittenKeys: BigInt64Array.from(rewrittenKeys),
    }
    if (dimensions === null) return removed
    return { ...removed, ...(await vectorRowsFrom(connection, tables, nextChunkKey)) }
  }

  /** After the write, not in it: the caller does not wait. */
  #sortPostings(kb: KnowledgeBase): void {
    if (this.#sorting.has(kb.id)) return
    this.#sorting.add(kb.id)
    const { database } = this.#parts
    const sorted = database.write((connection) => {
      return database.withoutCaching(() => sortPostings(connection, kb))
    })
    // Searches only take longer without it: whatever prevents it, the next insert tries again.
    void sorted.catch(() => {}).finally(() => this.#sorting.delete(kb.id))
  }

  async #read<T>(
    kb: KnowledgeBase,
    work: (connection: DuckDBConnection) => Promise<T>,
  ): Promise<T> {
    try {
      return await this.#parts.database.lease(work)
    } catch (error) {
      const isGone = error instanceof Error && /^Catalog Error: Table/.test(error.message)
      throw isGone ? notFound('knowledge_base', kb.name) : error
    }
  }
}

/**
 * Tables are changed first, see `applyMetadataPlan`.
 * @throws AppError `knowledge_base_not_found`, `dimension_mismatch`, `insert_failed` for too many metadata columns,
 * `SupersededVectors`
 */
async function openTables(
  connection: DuckDBConnection,
  kb: KnowledgeBase,
  { incoming, secrets }: { readonly incoming: Incoming; readonly secrets: Secrets },
): Promise<{ readonly row: KnowledgeBaseRow; readonly tables: OpenTables }> {
  const [row] = await queriesOver(connection)
    .select()
    .from(knowledgeBases)
    .where(eq(knowledgeBases.id, kb.id))
  if (row === undefined) throw notFound('knowledge_base', kb.name)
  if (incoming.dimensions !== null && row.vectorsNumber !== kb.vectorsNumber) {
    throw new SupersededVectors(knowledgeBaseOf(row, { projectName: kb.projectName, secrets }))
  }
  const dimensions = storedDimensions(row, incoming)
  const plan = planMetadata(row.storedMetadata, incoming.metadata)
  await applyMetadataPlan(connection, row, plan)
  if (row.dimensions === null && dimensions !== null) {
    await createVectorTable(connection, row, dimensions)
  }
  const { id, projectId, vectorsNumber, nextChunkKey } = row
  const { columns } = plan
  const ids = { id, projectId, vectorsNumber }
  const strays = new Map<string, number>()
  return { row, tables: { connection, ...ids, dimensions, columns, nextChunkKey, strays } }
}

function withStrays(column: MetadataColumn, { strays }: OpenTables): MetadataColumn {
  const found = strays.get(column.column) ?? 0
  return found === 0 ? column : { ...column, strayCount: (column.strayCount ?? 0) + found }
}

/** @throws AppError `dimension_mismatch` naming both numbers */
function storedDimensions(row: KnowledgeBaseRow, { dimensions }: Incoming): number | null {
  if (row.dimensions === null || dimensions === null) return row.dimensions ?? dimensions
  if (row.dimensions === dimensions) return row.dimensions
  const sizes = `the model gives ${dimensions}, ${row.name} holds ${row.dimensions}`
  throw new AppError('dimension_mismatch', `Dimensions do not match: ${sizes}`)
}

function staleOutcome(error: unknown): { readonly kind: 'stale' } {
  if (error instanceof StaleVectors) return { kind: 'stale' }
  throw error
}

async function keysOfDocuments(
  tables: OpenTables,
  documentIds: readonly string[],
): Promise<readonly bigint[]> {
  const sql = `SELECT chunk_key FROM ${chunkTables(tables).chunks}
    WHERE document_id IN (SELECT unnest($ids))`
  const types = { ids: LIST(VARCHAR) }
  const reader = await tables.connection.runAndReadAll(sql, idsValue(documentIds), types)
  return reader.getRows().map(([key]) => BigInt(String(key)))
}

function idsValue(documentIds: readonly string[]) {
  return { ids: listValue(documentIds.map((id) => id.toWellFormed())) }
}
