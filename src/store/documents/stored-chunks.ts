import type { Document } from '../../core/domain/document.ts'
import {
  type ChunkChange,
  chunkTables,
  type DocumentChange,
  type EmbeddedDocument,
  type StoredChunkText,
} from '../../core/domain/document.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import type { JobMark } from '../../core/domain/ports/job-ports.ts'
import type {
  ChunkStore,
  CutCounts,
  DocumentsOutcome,
  WriteOutcome,
} from '../../core/domain/ports/store-ports.ts'
import { notFound } from '../../core/errors.ts'
import { allRows } from '../../core/runtime/all-rows.ts'
import { LruMap } from '../../core/runtime/lru-map.ts'
import { analyzerFor } from '../../core/text/analyzer.ts'
import type { KnowledgeBaseRow } from '../catalog/catalog-queries.ts'
import type { StoreParts } from '../catalog/catalog-state.ts'
import { countOf } from '../duckdb/columns.ts'
import {
  changeChunkRows,
  changeDocumentRows,
  preparedChunks,
  preparedDocuments,
} from './chunk-changes.ts'
import { contextsOf, cutCounts, readTablesOf } from './chunk-columns.ts'
import { chunkRowsOf, type Incoming, type PreparedInsert } from './chunk-rows.ts'
import { ChunkWrites, type JobMarks, NOTHING_COMES, type RowsWritten } from './chunk-writes.ts'
import { DocumentIds, keysOfDocuments, storedTexts } from './document-ids.ts'
import { fitValues } from './fitted-values.ts'
import type { KeywordLanguages } from './keyword-languages.ts'
import { planMetadata, SeenColumns, valuesByKey } from './metadata-columns.ts'
import type { RemoteWrites } from './remote-writes.ts'
import {
  type OpenTables,
  removeChunkRows,
  replaceChunkRows,
  StaleVectors,
} from './write-chunk-rows.ts'

/** Cache counts of too-long chunks for this many knowledge bases. */
const CUT_COUNTS_MAX = 10_000

/** Stores chunks and vectors in DuckDB tables. */
export class StoredChunks implements ChunkStore {
  readonly #parts: StoreParts
  readonly #writes: ChunkWrites
  readonly #documentIds = new DocumentIds()
  readonly #inserts: GroupedInserts
  /** By knowledge base id. */
  readonly #cutCounts = new LruMap<number, CutCounts & { readonly revision: number }>({
    sizeMax: CUT_COUNTS_MAX,
  })

  constructor(parts: StoreParts, languages: KeywordLanguages, marks: JobMarks) {
    this.#parts = parts
    this.#writes = new ChunkWrites(parts, languages, marks)
    this.#inserts = new GroupedInserts(this.#writes, this.#documentIds)
  }

  /** Call before the database closes. No background work starts after this. */
  close(): void {
    this.#writes.close()
  }

  async storedTexts(
    kb: KnowledgeBase,
    documentIds: readonly string[],
  ): Promise<readonly StoredChunkText[]> {
    const possible = this.#documentIds.possible(kb.id, documentIds)
    if (possible.length === 0) return []
    return readTablesOf(this.#parts.database, kb, (connection) =>
      storedTexts(connection, kb, possible),
    )
  }

  withoutCaching<T>(work: () => Promise<T>): Promise<T> {
    return this.#parts.database.withoutCaching(work)
  }

  async nextChunkKey(kb: KnowledgeBase): Promise<bigint> {
    const sql = 'SELECT next_chunk_key FROM eider.knowledge_bases WHERE id = $1'
    const [row] = await this.#parts.database.lease((connection) => {
      return allRows(connection, sql, [kb.id])
    })
    if (row === undefined) throw notFound('knowledge_base', kb.name)
    return BigInt(String(row[0]))
  }

  /** Returns the number of stored chunks. @throws AppError `knowledge_base_not_found` */
  async chunkCount(kb: KnowledgeBase): Promise<number> {
    return readTablesOf(this.#parts.database, kb, (connection) =>
      countOf(connection, `SELECT count(*) FROM ${chunkTables(kb).chunks}`),
    )
  }

  async contextsOf(
    kb: KnowledgeBase,
    chunkKeys: readonly bigint[],
  ): Promise<ReadonlyMap<bigint, string>> {
    return readTablesOf(this.#parts.database, kb, (connection) =>
      contextsOf(connection, kb, chunkKeys),
    )
  }

  /** Counts chunks longer than the model's input limit. Counted again after each write. */
  async cutCounts(kb: KnowledgeBase): Promise<CutCounts> {
    const known = this.#cutCounts.get(kb.id)
    if (known?.revision === kb.revision) return known
    const counts = await readTablesOf(this.#parts.database, kb, (connection) =>
      cutCounts(connection, kb),
    )
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
    mark?: JobMark,
  ): Promise<WriteOutcome> {
    const prepared = await chunkRowsOf(documents)
    return this.#inserts.insert(kb, mark === undefined ? prepared : { ...prepared, mark })
  }

  setRemote(remote: RemoteWrites): void {
    this.#writes.setRemote(remote)
  }

  /** Makes new writes to a locally stored knowledge base wait until the work is done. */
  holding<T>(kb: KnowledgeBase, work: () => Promise<T>): Promise<T> {
    return this.#writes.holding(kb, work)
  }

  /** Stores rows copied from the database that holds the original. */
  copyHere<T>(
    kb: KnowledgeBase,
    incoming: Incoming,
    work: (tables: OpenTables) => Promise<RowsWritten<T>>,
  ): Promise<T> {
    return this.#writes.writeHere(kb, incoming, (tables) => {
      this.#documentIds.forget(kb.id)
      return work(tables)
    })
  }

  /** Runs a transaction in which DuckDB copies the chunks from table to table. */
  copyChunks<T>(
    kb: KnowledgeBase,
    incoming: Incoming,
    work: (tables: OpenTables) => Promise<RowsWritten<T>>,
  ): Promise<T> {
    return this.#writes.write(kb, incoming, (tables) => {
      this.#documentIds.forget(kb.id)
      return work(tables)
    })
  }

  removeChunks(kb: KnowledgeBase, chunkKeys: readonly bigint[]): Promise<number> {
    return this.#writes.write(kb, NOTHING_COMES, async (tables) => {
      const result = await removeChunkRows(tables.connection, tables, chunkKeys)
      return { result, newRows: [], removedKeys: chunkKeys }
    })
  }

  removeDocuments(kb: KnowledgeBase, documentIds: readonly string[]): Promise<number> {
    return this.#writes.write(kb, NOTHING_COMES, async (tables) => {
      const removedKeys = await keysOfDocuments(tables.connection, tables, documentIds)
      const result = await removeChunkRows(tables.connection, tables, removedKeys)
      return { result, newRows: [], removedKeys }
    })
  }

  async changeChunks(kb: KnowledgeBase, requested: readonly ChunkChange[]): Promise<number> {
    const { changes, incoming } = await preparedChunks(requested, analyzerFor(kb.language))
    return this.#writes.write(kb, incoming, async (tables) => {
      const { chunkCount, ...written } = await changeChunkRows(tables, changes)
      return { result: chunkCount, ...written }
    })
  }

  async changeDocuments(
    kb: KnowledgeBase,
    requested: readonly DocumentChange[],
    mark?: JobMark,
  ): Promise<DocumentsOutcome> {
    const { changes, incoming } = await preparedDocuments(requested)
    const marks = mark === undefined ? [] : [mark]
    const change = async (tables: OpenTables) => {
      const { documentCount, chunkCount, ...written } = await changeDocumentRows(tables, changes)
      return { result: { kind: 'stored', documentCount, chunkCount } as const, marks, ...written }
    }
    return this.#writes.write(kb, incoming, change).catch(staleOutcome)
  }
}

function staleOutcome(error: unknown): { readonly kind: 'stale' } {
  if (error instanceof StaleVectors) return { kind: 'stale' }
  throw error
}

interface MarkedInsert extends PreparedInsert {
  /** The progress mark of the job that inserts these rows, written in the same transaction. */
  readonly mark?: JobMark
}

interface WaitingInsert extends MarkedInsert {
  readonly outcome: PromiseWithResolvers<WriteOutcome>
}

/** An insert with more rows gets its own transaction. */
const ROWS_OF_SMALL_MAX = 64

/** The most rows that share one transaction. */
const ROWS_OF_GROUP_MAX = 512

/**
 * Stores small inserts that wait for the same turn in one transaction, because a COMMIT costs as
 * much as ten rows.
 */
class GroupedInserts {
  readonly #writes: ChunkWrites
  readonly #documentIds: DocumentIds
  /** Waiting inserts by knowledge base and vector table, in order of arrival. */
  readonly #waiting = new Map<string, WaitingInsert[]>()

  constructor(writes: ChunkWrites, documentIds: DocumentIds) {
    this.#writes = writes
    this.#documentIds = documentIds
  }

  /** Resolves after the commit. If another insert of the group fails, this one is still stored. */
  insert(kb: KnowledgeBase, prepared: MarkedInsert): Promise<WriteOutcome> {
    const waiting = { ...prepared, outcome: Promise.withResolvers<WriteOutcome>() }
    if (prepared.rows.length > ROWS_OF_SMALL_MAX) void this.#writeAlone(kb, waiting)
    else this.#wait(kb, waiting)
    return waiting.outcome.promise
  }

  #wait(kb: KnowledgeBase, insert: WaitingInsert): void {
    const key = `${kb.id} ${kb.vectorsNumber}`
    const others = this.#waiting.get(key)
    if (others !== undefined) {
      others.push(insert)
      return
    }
    this.#waiting.set(key, [insert])
    void this.#writeGroup(kb, key)
  }

  /**
   * Runs in the next turn of the write queue and stores as many waiting inserts as fit together.
   */
  async #writeGroup(kb: KnowledgeBase, key: string): Promise<void> {
    let taken: readonly WaitingInsert[] = []
    const take = (row: KnowledgeBaseRow | null) => {
      const waiting = this.#waiting.get(key) ?? []
      const count = row === null ? waiting.length : countThatFit(waiting, row)
      this.#waiting.delete(key)
      taken = waiting.slice(0, count)
      const rest = waiting.slice(count)
      if (rest.length > 0) {
        this.#waiting.set(key, rest)
        void this.#writeGroup(kb, key)
      }
      return incomingOf(taken)
    }
    try {
      await this.#writes.write(kb, take, (tables) => this.#replace(tables, taken))
      for (const { outcome } of taken) outcome.resolve({ kind: 'stored' })
    } catch (error) {
      if (taken.length === 0) take(null)
      const [only] = taken
      if (only !== undefined && taken.length === 1) fail(only, error)
      // Nothing was stored. Try each insert alone, so that only the faulty one fails.
      else for (const insert of taken) await this.#writeAlone(kb, insert)
    }
  }

  async #writeAlone(kb: KnowledgeBase, insert: WaitingInsert): Promise<void> {
    try {
      await this.#writes.write(kb, insert.incoming, (tables) => this.#replace(tables, [insert]))
      insert.outcome.resolve({ kind: 'stored' })
    } catch (error) {
      fail(insert, error)
    }
  }

  async #replace(tables: OpenTables, inserts: readonly MarkedInsert[]) {
    const documentIds = inserts.flatMap((insert) => insert.documentIds)
    const newRows = inserts.flatMap((insert) => insert.rows)
    const possible = await this.#documentIds.comeWith(tables.connection, tables, documentIds)
    const removedKeys = await keysOfDocuments(tables.connection, tables, possible)
    await replaceChunkRows(tables, newRows, removedKeys)
    const marks = inserts.flatMap(({ mark }) => (mark === undefined ? [] : [mark]))
    return { result: null, newRows, removedKeys, marks }
  }
}

function fail({ outcome }: WaitingInsert, error: unknown): void {
  if (error instanceof StaleVectors) outcome.resolve({ kind: 'stale' })
  else outcome.reject(error)
}

/**
 * Counts how many inserts, from the first one, can share a transaction without changing the result.
 */
function countThatFit(waiting: readonly WaitingInsert[], row: KnowledgeBaseRow): number {
  const ids = new Set<string>()
  let rowCount = 0
  for (const [index, { rows, documentIds, incoming }] of waiting.entries()) {
    rowCount += rows.length
    const isApart = documentIds.every((id) => !ids.has(id))
    const fits = isApart && rowCount <= ROWS_OF_GROUP_MAX && !changesTables(incoming, row)
    if (!fits) return Math.max(1, index)
    for (const id of documentIds) ids.add(id)
  }
  return waiting.length
}

/** Whether the insert would add columns or change types. Only the first insert of a group may. */
function changesTables({ metadata, dimensions }: Incoming, row: KnowledgeBaseRow): boolean {
  if (dimensions !== null && dimensions !== row.dimensions) return true
  const { added, widened } = planMetadata(row.storedMetadata, metadata)
  return added.length + widened.length > 0
}

/** Returns what the tables must have room for to store all of these inserts. */
function incomingOf(inserts: readonly MarkedInsert[]): Incoming {
  const [only] = inserts
  if (only !== undefined && inserts.length === 1) return only.incoming
  const dimensions = inserts.find(({ incoming }) => incoming.dimensions !== null)
  return { metadata: new SeenColumns(), dimensions: dimensions?.incoming.dimensions ?? null }
}
