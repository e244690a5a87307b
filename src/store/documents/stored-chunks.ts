import {
  type DuckDBConnection,
  type DuckDBType,
  type DuckDBValue,
  LIST,
  listValue,
  VARCHAR,
} from '@duckdb/node-api'
import { Analyzers } from '../../analysis/analyzer.ts'
import type {
  ChunkChange,
  DocumentChange,
  EmbeddedDocument,
  StoredChunkText,
} from '../../domain/chunk.ts'
import { chunkTables } from '../../domain/chunk-tables.ts'
import type { Document } from '../../domain/document.ts'
import type { KnowledgeBase } from '../../domain/knowledge-base.ts'
import type {
  ChunkStore,
  CutCounts,
  DocumentsOutcome,
  WriteOutcome,
} from '../../domain/ports/store-ports.ts'
import { notFound } from '../../errors.ts'
import { LruMap } from '../../runtime/lru-map.ts'
import { yieldToEventLoop } from '../../runtime/scheduling.ts'
import type { StoreParts } from '../catalog/catalog-state.ts'
import {
  changeChunkRows,
  changeDocumentRows,
  preparedChunks,
  preparedDocuments,
} from './chunk-changes.ts'
import { contextsOf, cutCounts } from './chunk-contexts.ts'
import { chunkRowsOf } from './chunk-rows.ts'
import { ChunkWrites, NOTHING_COMES } from './chunk-writes.ts'
import { DocumentIds } from './document-ids.ts'
import { fitValues } from './fitted-values.ts'
import { valuesByKey } from './metadata-columns.ts'
import {
  type OpenTables,
  removeChunkRows,
  replaceChunkRows,
  StaleVectors,
} from './write-chunk-rows.ts'

/** Knowledge bases whose cut chunks are remembered. */
const CUT_COUNTS_MAX = 10_000

/** Chunks and vectors in DuckDB's tables. */
export class StoredChunks implements ChunkStore {
  readonly #parts: StoreParts
  readonly #analyzers = new Analyzers()
  readonly #writes: ChunkWrites
  readonly #documentIds = new DocumentIds()
  /** By the ids of knowledge bases. */
  readonly #cutCounts = new LruMap<number, CutCounts & { readonly revision: number }>({
    sizeMax: CUT_COUNTS_MAX,
  })

  constructor(parts: StoreParts) {
    this.#parts = parts
    this.#writes = new ChunkWrites(parts)
  }

  async storedTexts(
    kb: KnowledgeBase,
    documentIds: readonly string[],
  ): Promise<readonly StoredChunkText[]> {
    const possible = this.#documentIds.possible(kb.id, documentIds)
    if (possible.length === 0) return []
    const { chunks, contexts } = chunkTables(kb)
    const { condition, values, types } = withIds(possible)
    const there = `SELECT 1 FROM ${chunks} WHERE ${condition} LIMIT 1`
    const sql = `SELECT c.chunk_key, document_id, chunk_content, coalesce(context, '')
      FROM ${chunks} AS c LEFT JOIN ${contexts} AS x ON x.chunk_key = c.chunk_key
      WHERE ${condition} ORDER BY c.chunk_key`
    return this.#read(kb, async (connection) => {
      const texts: StoredChunkText[] = []
      // Such a join reads the text of every chunk, those of other documents too: only where it is of use.
      const found = await connection.runAndReadAll(there, values, types)
      if (found.currentRowCount === 0) return texts
      const result = await connection.stream(sql, values, types)
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
      const possible = await this.#documentIds.comeWith(tables.connection, tables, documentIds)
      const removedKeys = await keysOfDocuments(tables, possible)
      await replaceChunkRows(tables, rows, removedKeys)
      return { result: { kind: 'stored' } as const, newRows: rows, removedKeys }
    }
    return this.#writes.write(kb, incoming, replace).catch(staleOutcome)
  }

  removeChunks(kb: KnowledgeBase, chunkKeys: readonly bigint[]): Promise<number> {
    return this.#writes.write(kb, NOTHING_COMES, async (tables) => {
      const result = await removeChunkRows(tables.connection, tables, chunkKeys)
      return { result, newRows: [], removedKeys: chunkKeys }
    })
  }

  async changeChunks(kb: KnowledgeBase, requested: readonly ChunkChange[]): Promise<number> {
    const { changes, incoming } = await preparedChunks(requested, this.#analyzers.get(kb.language))
    return this.#writes.write(kb, incoming, async (tables) => {
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
    return this.#writes.write(kb, incoming, change).catch(staleOutcome)
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

function staleOutcome(error: unknown): { readonly kind: 'stale' } {
  if (error instanceof StaleVectors) return { kind: 'stale' }
  throw error
}

async function keysOfDocuments(
  tables: OpenTables,
  documentIds: readonly string[],
): Promise<readonly bigint[]> {
  if (documentIds.length === 0) return []
  const { condition, values, types } = withIds(documentIds)
  const sql = `SELECT chunk_key FROM ${chunkTables(tables).chunks} WHERE ${condition}`
  const reader = await tables.connection.runAndReadAll(sql, values, types)
  return reader.getRows().map(([key]) => BigInt(String(key)))
}

/** Ids are compared within the scan, which takes a fifth of the time of a join; so many at most. */
const LISTED_IDS_MAX = 16

/** A condition on `document_id`, and what is bound to it. */
function withIds(documentIds: readonly string[]) {
  const ids = documentIds.map((id) => id.toWellFormed())
  if (ids.length > LISTED_IDS_MAX) {
    const values: Record<string, DuckDBValue> = { ids: listValue(ids) }
    const types: Record<string, DuckDBType> = { ids: LIST(VARCHAR) }
    return { condition: 'document_id IN (SELECT unnest($ids))', values, types }
  }
  const named = ids.map((id, index) => [`id${index}`, id] as const)
  const values: Record<string, DuckDBValue> = Object.fromEntries(named)
  const types: Record<string, DuckDBType> = {}
  for (const [name] of named) types[name] = VARCHAR
  const condition = `document_id IN (${named.map(([name]) => `$${name}`).join(', ')})`
  return { condition, values, types }
}
