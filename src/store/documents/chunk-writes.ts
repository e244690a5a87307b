/**
 * Writes chunks of knowledge bases. Each write is one transaction, followed by updates of the
 * catalog and caches.
 */
import type { DuckDBConnection } from '@duckdb/node-api'
import {
  type KnowledgeBase,
  type MetadataColumn,
  SupersededVectors,
} from '../../core/domain/knowledge-base.ts'
import type { JobMark } from '../../core/domain/ports/job-ports.ts'
import type { ChunkChanges } from '../../core/domain/ports/retrieval-ports.ts'
import { dimensionMismatch, notFound } from '../../core/errors.ts'
import { SingleFlight } from '../../core/runtime/serial-queue.ts'
import { timestampOfMillis } from '../../core/time.ts'
import { type KnowledgeBaseRow, KnownRows } from '../catalog/catalog-queries.ts'
import { knowledgeBaseOf } from '../catalog/catalog-rows.ts'
import type { StoreParts } from '../catalog/catalog-state.ts'
import { PostingSorter } from '../upkeep/posting-sorter.ts'
import { applyMetadataPlan, createVectorTable } from './chunk-columns.ts'
import type { Incoming } from './chunk-rows.ts'
import { recentPostingsOf, sortPostings } from './keyword-index.ts'
import type { KeywordLanguages } from './keyword-languages.ts'
import { planMetadata, SeenColumns } from './metadata-columns.ts'
import {
  NOTHING_REMOTE,
  type RemoteChange,
  type RemoteWrites,
  sentMetadata,
  sentRows,
} from './remote-writes.ts'
import { vectorRowsFrom } from './stored-vectors.ts'
import { type OpenTables, type RowsReplaced, vectorsOfRows } from './write-chunk-rows.ts'

/** A write's result, and its effect on the rows. */
export interface RowsWritten<T> extends RowsReplaced {
  readonly result: T
  /** Existing chunks with changed metadata, if any. */
  readonly rewrittenKeys?: readonly bigint[]
  /** Rows that DuckDB copied itself, besides `newRows`. They use the next keys. */
  readonly copied?: {
    readonly rowCount: number
    readonly postingCount: number
    /** The next free key, if the rows already had keys. */
    readonly nextChunkKey?: number
    /** How chunks and vectors changed, or undefined if unknown. */
    readonly changes?: ChunkChanges
  }
  /** Progress marks of the jobs that stored these rows. */
  readonly marks?: readonly JobMark[]
}

interface ComputedWrite<T> {
  readonly result: T
  readonly marks: readonly JobMark[]
  readonly change: RemoteChange
}

export interface JobMarks {
  /** Call within the transaction that stores the data covered by the mark. */
  writeMark(connection: DuckDBConnection, mark: JobMark): Promise<void>
  /** Call after that transaction commits. */
  committedMark(mark: JobMark): void
}

/** Thrown within a write to roll it back: the knowledge base has moved to another storage. */
export class MovedKnowledgeBase extends Error {}

/** The `Incoming` of a write that only removes rows. */
export const NOTHING_COMES: Incoming = { metadata: new SeenColumns(), dimensions: null }

export class ChunkWrites {
  readonly #parts: StoreParts
  readonly #languages: KeywordLanguages
  readonly #marks: JobMarks
  readonly #rows = new KnownRows()
  readonly #postings = new PostingSorter({ sort: (kb) => this.#sortPostings(kb) })
  /** By knowledge base id: the work that new writes wait for. */
  readonly #held = new SingleFlight()
  /**
   * By knowledge base id: the first key that no write has used yet. A key is never given twice,
   * because DuckDB's index may keep the keys of a COMMIT that ran out of memory.
   */
  readonly #unusedKeys = new Map<number, number>()
  #remote = NOTHING_REMOTE

  constructor(parts: StoreParts, languages: KeywordLanguages, marks: JobMarks) {
    this.#parts = parts
    this.#languages = languages
    this.#marks = marks
  }

  setRemote(remote: RemoteWrites): void {
    this.#remote = remote
  }

  /** In one transaction. @param incoming if a function, called once, in the write's turn */
  async write<T>(
    kb: KnowledgeBase,
    incoming: Incoming | ((row: KnowledgeBaseRow) => Incoming),
    work: (tables: OpenTables) => Promise<RowsWritten<T>>,
  ): Promise<T> {
    let asked = incoming
    const once = (row: KnowledgeBaseRow) => {
      if (typeof asked === 'function') asked = asked(row)
      return asked
    }
    for (;;) {
      await this.#held.of(String(kb.id))
      const { vectorsNumber } = kb
      const now = { ...this.#parts.state.current(kb), vectorsNumber }
      try {
        if (now.remote !== undefined) return await this.#writeThere(now, once, work)
        return await this.writeHere(now, asked === NOTHING_COMES ? asked : once, work)
      } catch (error) {
        if (!(error instanceof MovedKnowledgeBase)) throw error
      }
    }
  }

  /** Makes new writes to a locally stored knowledge base wait until `work` is done. */
  holding<T>({ id }: KnowledgeBase, work: () => Promise<T>): Promise<T> {
    return this.#held.run(String(id), work)
  }

  async #writeThere<T>(
    kb: KnowledgeBase,
    incoming: (row: KnowledgeBaseRow) => Incoming,
    work: (tables: OpenTables) => Promise<RowsWritten<T>>,
  ): Promise<T> {
    const { result, marks } = await this.#remote.store(kb, (revision) => {
      return this.#computed(kb, revision, incoming, work)
    })
    await this.#writeMarks(marks)
    return result
  }

  async #computed<T>(
    kb: KnowledgeBase,
    baseRevision: number,
    incoming: (row: KnowledgeBaseRow) => Incoming,
    work: (tables: OpenTables) => Promise<RowsWritten<T>>,
  ): Promise<ComputedWrite<T>> {
    const { promise, resolve } = Promise.withResolvers<ComputedWrite<T>>()
    const undone = new Error('a write that was only computed')
    const compute = this.#parts.database.write(async (connection) => {
      const { tables } = await this.#openTables(connection, kb, incoming)
      const { result, removedKeys, rewrittenKeys = [], marks = [], ...added } = await work(tables)
      const { columns, dimensions } = tables
      const fromKey = `chunk_key >= ${tables.nextChunkKey}`
      const nextChunkKey = keyAfter(tables, added)
      const rows = nextChunkKey === tables.nextChunkKey ? [] : await sentRows(tables, fromKey)
      const rewritten = await sentMetadata(tables, rewrittenKeys)
      const change = { baseRevision, removedKeys, rows, rewritten, dimensions, columns }
      resolve({ result, marks, change: { ...change, nextChunkKey } })
      throw undone
    })
    await compute.catch((error) => {
      if (error !== undone) throw error
    })
    return promise
  }

  /** Writes the marks after the data was committed in the other database. */
  async #writeMarks(marks: readonly JobMark[]): Promise<void> {
    if (marks.length === 0) return
    await this.#parts.database.write(async (connection) => {
      for (const mark of marks) await this.#marks.writeMark(connection, mark)
    })
    for (const mark of marks) this.#marks.committedMark(mark)
  }

  /** Like `write`, for rows that are stored or copied locally. */
  async writeHere<T>(
    kb: KnowledgeBase,
    incoming: Incoming | ((row: KnowledgeBaseRow) => Incoming),
    work: (tables: OpenTables) => Promise<RowsWritten<T>>,
  ): Promise<T> {
    const { database, state } = this.#parts
    let isCommitting = false
    try {
      const isFreeing = incoming === NOTHING_COMES
      const { result } = await database[isFreeing ? 'writeFreeing' : 'write'](
        async (connection) => {
          const outcome = await this.#writeRows(connection, kb, incoming, work)
          state.listener.beginCommit(kb)
          isCommitting = true
          return outcome
        },
        ({ changed, row, vectors, marks }) => {
          state.put('knowledgeBases', changed)
          this.#rows.remember(changed, row)
          state.listener.endCommit(changed, vectors)
          this.#languages.wake(changed)
          this.#postings.wake(changed)
          for (const mark of marks) this.#marks.committedMark(mark)
        },
      )
      return result
    } catch (error) {
      if (isCommitting) state.listener.endCommit(kb, null)
      throw error
    }
  }

  /** Writes the rows and the knowledge base's catalog row within the transaction. */
  async #writeRows<T>(
    connection: DuckDBConnection,
    kb: KnowledgeBase,
    incoming: Incoming | ((row: KnowledgeBaseRow) => Incoming),
    work: (tables: OpenTables) => Promise<RowsWritten<T>>,
  ) {
    const { row, known, tables } = await this.#openTables(connection, kb, incoming)
    const written = await work(tables)
    const { marks = [] } = written
    for (const mark of marks) await this.#marks.writeMark(connection, mark)
    await this.#countPostings(tables, written)
    const changes = {
      dimensions: tables.dimensions,
      storedMetadata: tables.columns.map((column) => withStrays(column, tables)),
      revision: row.revision + 1,
      updatedAt: timestampOfMillis(this.#parts.now()),
    }
    const nextChunkKey = keyAfter(tables, written)
    this.#unusedKeys.set(row.id, nextChunkKey)
    const changed = { ...row, ...changes, nextChunkKey }
    await this.#rows.write(connection, changed)
    return {
      changed: known === null ? this.#knowledgeBaseOf(changed, kb) : { ...known, ...changes },
      row: changed,
      marks,
      result: written.result,
      vectors: { revision: changes.revision, changed: await this.#chunkChanges(tables, written) },
    }
  }

  #knowledgeBaseOf(row: KnowledgeBaseRow, kb: KnowledgeBase): KnowledgeBase {
    return knowledgeBaseOf(row, kb, this.#parts.secrets)
  }

  /** Tables before rows, as `applyMetadataPlan` requires. @throws AppError, `MovedKnowledgeBase` */
  async #openTables(
    connection: DuckDBConnection,
    kb: KnowledgeBase,
    asked: Incoming | ((row: KnowledgeBaseRow) => Incoming),
  ) {
    const read = await this.#rows.read(connection, kb.id, this.#parts.state)
    if (read === undefined) throw notFound('knowledge_base', kb.name)
    const { remote } = this.#parts.state.current(kb)
    if (remote?.attachment !== kb.remote?.attachment) throw new MovedKnowledgeBase()
    const { row, known } = read
    const incoming = typeof asked === 'function' ? asked(row) : asked
    if (incoming.dimensions !== null && row.vectorsNumber !== kb.vectorsNumber) {
      throw new SupersededVectors(this.#knowledgeBaseOf(row, kb))
    }
    const dimensions = storedDimensions(row, incoming)
    const plan = planMetadata(row.storedMetadata, incoming.metadata)
    await applyMetadataPlan(connection, row, plan)
    if (row.dimensions === null && dimensions !== null) {
      await createVectorTable(connection, row, dimensions)
    }
    const { id, projectId, vectorsNumber } = row
    const nextChunkKey = Math.max(row.nextChunkKey, this.#unusedKeys.get(id) ?? 0)
    const { columns } = plan
    const ids = { id, projectId, vectorsNumber }
    const strays = new Map<string, number>()
    const { language } = known ?? this.#knowledgeBaseOf(row, kb)
    const own = { dimensions, columns, nextChunkKey, strays, language }
    const tables: OpenTables = { connection, ...ids, ...own }
    return { row, known, tables }
  }

  /** Returns how the write changed chunks and vectors, or null if no listener needs to know. */
  async #chunkChanges(
    tables: OpenTables,
    { newRows, removedKeys, rewrittenKeys = [], copied }: RowsWritten<unknown>,
  ): Promise<ChunkChanges | null> {
    // Copied rows may be too many for memory, so the caches read them from the tables.
    if (copied !== undefined) return copied.changes ?? null
    if (!this.#parts.state.listener.needsChange(tables)) return null
    const { connection, dimensions, nextChunkKey } = tables
    const removed = {
      removedKeys: BigInt64Array.from(removedKeys),
      rewrittenKeys: BigInt64Array.from(rewrittenKeys),
    }
    if (dimensions === null) return removed
    const atHand = vectorsOfRows(newRows, nextChunkKey, dimensions)
    return { ...removed, ...(atHand ?? (await vectorRowsFrom(connection, tables, nextChunkKey))) }
  }

  #countPostings(tables: OpenTables, { newRows, copied }: RowsWritten<unknown>): Promise<void> {
    const copiedCount = copied?.postingCount ?? 0
    const added = newRows.reduce((sum, { terms }) => sum + terms.keys.length, copiedCount)
    return this.#postings.count(tables.id, added, () => recentPostingsOf(tables.connection, tables))
  }

  #sortPostings(kb: KnowledgeBase): Promise<void> {
    const { database } = this.#parts
    return database.write(async (connection) => {
      // Recount: some recent postings may have been removed, or merged into the sorted ones.
      const { count, countMax } = await recentPostingsOf(connection, kb)
      if (count > countMax) await database.withoutCaching(() => sortPostings(connection, kb))
    })
  }

  /** Call before the database closes. No background work starts after this. */
  close(): void {
    this.#postings.close()
  }
}

/** Returns the first key that is free after a write. */
function keyAfter(
  { nextChunkKey }: OpenTables,
  { newRows, copied }: Pick<RowsWritten<unknown>, 'newRows' | 'copied'>,
): number {
  return copied?.nextChunkKey ?? nextChunkKey + newRows.length + (copied?.rowCount ?? 0)
}

function withStrays(column: MetadataColumn, { strays }: OpenTables): MetadataColumn {
  const found = strays.get(column.column) ?? 0
  return found === 0 ? column : { ...column, strayCount: (column.strayCount ?? 0) + found }
}

/** @throws AppError `dimension_mismatch` with both lengths */
function storedDimensions(row: KnowledgeBaseRow, { dimensions }: Incoming): number | null {
  if (row.dimensions === null || dimensions === null) return row.dimensions ?? dimensions
  if (row.dimensions === dimensions) return row.dimensions
  throw dimensionMismatch(`the model gives ${dimensions}, ${row.name} holds ${row.dimensions}`)
}
