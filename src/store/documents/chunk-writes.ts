/** Writes to the chunks of knowledge bases: each one transaction, followed by the catalog and the caches. */
import type { DuckDBConnection } from '@duckdb/node-api'
import {
  type KnowledgeBase,
  type MetadataColumn,
  SupersededVectors,
} from '../../core/domain/knowledge-base.ts'
import type { JobMark } from '../../core/domain/ports/job-ports.ts'
import type { ChunkChanges } from '../../core/domain/ports/retrieval-ports.ts'
import { AppError, notFound } from '../../core/errors.ts'
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

/** A write's answer, and its effect on the rows. */
export interface RowsWritten<T> extends RowsReplaced {
  readonly result: T
  /** Existing chunks with changed metadata; unset: none. */
  readonly rewrittenKeys?: readonly bigint[]
  /** Rows with the next keys that DuckDB copied itself, besides `newRows`. */
  readonly copied?: {
    readonly rowCount: number
    readonly postingCount: number
    /** Set if the rows have keys already. */
    readonly nextChunkKey?: number
    /** How chunks and vectors changed; unset: unknown. */
    readonly changes?: ChunkChanges
  }
  /** Of the jobs that stored it. */
  readonly marks?: readonly JobMark[]
}

interface ComputedWrite<T> {
  readonly result: T
  readonly marks: readonly JobMark[]
  readonly change: RemoteChange
}

/** Where jobs record their progress. */
export interface JobMarks {
  /** Within the transaction that stores the data covered by the mark. */
  writeMark(connection: DuckDBConnection, mark: JobMark): Promise<void>
  /** After its commit. */
  committedMark(mark: JobMark): void
}

/** For a write that only removes. */
export const NOTHING_COMES: Incoming = { metadata: new SeenColumns(), dimensions: null }

export class ChunkWrites {
  readonly #parts: StoreParts
  readonly #languages: KeywordLanguages
  readonly #marks: JobMarks
  readonly #rows = new KnownRows()
  readonly #postings = new PostingSorter({ sort: (kb) => this.#sortPostings(kb) })
  #remote = NOTHING_REMOTE

  constructor(parts: StoreParts, languages: KeywordLanguages, marks: JobMarks) {
    this.#parts = parts
    this.#languages = languages
    this.#marks = marks
  }

  /** Sets where the rows of some knowledge bases are stored. */
  setRemote(remote: RemoteWrites): void {
    this.#remote = remote
  }

  /**
   * One transaction of chunks, vectors and terms, in tables with room for what is added.
   * @param incoming if it is a function, called once, within the turn of the write queue
   */
  async write<T>(
    kb: KnowledgeBase,
    incoming: Incoming | ((row: KnowledgeBaseRow) => Incoming),
    work: (tables: OpenTables) => Promise<RowsWritten<T>>,
  ): Promise<T> {
    if (kb.remote === undefined) return this.writeHere(kb, incoming, work)
    let asked = incoming
    const once = (row: KnowledgeBaseRow) => {
      if (typeof asked === 'function') asked = asked(row)
      return asked
    }
    const { result, marks } = await this.#remote.store(kb, (revision) => {
      return this.#computed(kb, revision, once, work)
    })
    await this.#writeMarks(marks)
    return result
  }

  /** The effect of a write, which is then undone. */
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
      const {
        result,
        newRows,
        removedKeys,
        rewrittenKeys = [],
        marks = [],
        copied,
      } = await work(tables)
      const { nextChunkKey, columns, dimensions } = tables
      const rowCount = newRows.length + (copied?.rowCount ?? 0)
      const rows = rowCount === 0 ? [] : await sentRows(tables, { from: nextChunkKey })
      const rewritten = await sentMetadata(tables, rewrittenKeys)
      const change = { baseRevision, removedKeys, rows, rewritten, dimensions, columns }
      resolve({ result, marks, change: { ...change, nextChunkKey: nextChunkKey + rowCount } })
      throw undone
    })
    await compute.catch((error) => {
      if (error !== undone) throw error
    })
    return promise
  }

  /** After the commit of what they cover, in another database. */
  async #writeMarks(marks: readonly JobMark[]): Promise<void> {
    if (marks.length === 0) return
    await this.#parts.database.write(async (connection) => {
      for (const mark of marks) await this.#marks.writeMark(connection, mark)
    })
    for (const mark of marks) this.#marks.committedMark(mark)
  }

  /** `write` for rows stored or copied here. */
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

  /** Within the transaction: writes the rows, and the knowledge base's entry in the catalog. */
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
    const copiedCount = written.copied?.rowCount ?? 0
    const following = row.nextChunkKey + written.newRows.length + copiedCount
    const nextChunkKey = written.copied?.nextChunkKey ?? following
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

  /**
   * Tables are changed first, see `applyMetadataPlan`.
   * @throws AppError `knowledge_base_not_found`, `dimension_mismatch`, `insert_failed` for too many metadata columns,
   * `SupersededVectors`
   */
  async #openTables(
    connection: DuckDBConnection,
    kb: KnowledgeBase,
    asked: Incoming | ((row: KnowledgeBaseRow) => Incoming),
  ) {
    const read = await this.#rows.read(connection, kb.id, this.#parts.state)
    if (read === undefined) throw notFound('knowledge_base', kb.name)
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
    const { id, projectId, vectorsNumber, nextChunkKey } = row
    const { columns } = plan
    const ids = { id, projectId, vectorsNumber }
    const strays = new Map<string, number>()
    const { language } = known ?? this.#knowledgeBaseOf(row, kb)
    const own = { dimensions, columns, nextChunkKey, strays, language }
    const tables: OpenTables = { connection, ...ids, ...own }
    return { row, known, tables }
  }

  /** The write's effect on chunks and vectors; null: no listener needs it. */
  async #chunkChanges(
    tables: OpenTables,
    { newRows, removedKeys, rewrittenKeys = [], copied }: RowsWritten<unknown>,
  ): Promise<ChunkChanges | null> {
    // Too many to keep: other caches read them again.
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
      // Some may have been removed or sorted.
      const { count, countMax } = await recentPostingsOf(connection, kb)
      if (count > countMax) await database.withoutCaching(() => sortPostings(connection, kb))
    })
  }

  /** Called before the database closes: no new work starts. */
  close(): void {
    this.#postings.close()
  }
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
