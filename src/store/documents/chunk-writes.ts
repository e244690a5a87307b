/** Writes to the chunks of knowledge bases: each one transaction, followed by the catalog and the caches. */
import type { DuckDBConnection } from '@duckdb/node-api'
import {
  type KnowledgeBase,
  type MetadataColumn,
  SupersededVectors,
} from '../../core/domain/knowledge-base.ts'
import type { JobMark } from '../../core/domain/ports/job-ports.ts'
import type { ChunkChanges } from '../../core/domain/ports/retrieval-ports.ts'
import type { WriteOutcome } from '../../core/domain/ports/store-ports.ts'
import { AppError, notFound } from '../../core/errors.ts'
import { timestampOfMillis } from '../../core/time.ts'
import { type KnowledgeBaseRow, KnownRows } from '../catalog/catalog-queries.ts'
import { knowledgeBaseOf } from '../catalog/catalog-rows.ts'
import type { StoreParts } from '../catalog/catalog-state.ts'
import { PostingSorter } from '../upkeep/posting-sorter.ts'
import { applyMetadataPlan, createVectorTable } from './chunk-columns.ts'
import type { ChunkRow, Incoming } from './chunk-rows.ts'
import { type DocumentIds, keysOfDocuments } from './document-ids.ts'
import { recentPostingsOf, sortPostings } from './keyword-index.ts'
import type { KeywordLanguages } from './keyword-languages.ts'
import { planMetadata, SeenColumns } from './metadata-columns.ts'
import { vectorRowsFrom } from './stored-vectors.ts'
import {
  type OpenTables,
  type RowsReplaced,
  replaceChunkRows,
  StaleVectors,
  vectorsOfRows,
} from './write-chunk-rows.ts'

/** What a write answers, and what it did to the rows. */
export interface RowsWritten<T> extends RowsReplaced {
  readonly result: T
  /** Chunks that stay, with other metadata; unset: none. */
  readonly rewrittenKeys?: readonly bigint[]
  /** Rows with the next keys that DuckDB copied by itself, beside `newRows`. */
  readonly copied?: { readonly rowCount: number; readonly postingCount: number }
  /** Of the jobs that stored it. */
  readonly marks?: readonly JobMark[]
}

/** Where jobs note how far they are. */
export interface JobMarks {
  /** Within the transaction that stores what the mark speaks of. */
  writeMark(connection: DuckDBConnection, mark: JobMark): Promise<void>
  /** After its commit. */
  committedMark(mark: JobMark): void
}

/** Of a write that only removes. */
export const NOTHING_COMES: Incoming = { metadata: new SeenColumns(), dimensions: null }

export class ChunkWrites {
  readonly #parts: StoreParts
  readonly #languages: KeywordLanguages
  readonly #marks: JobMarks
  readonly #rows = new KnownRows()
  readonly #postings = new PostingSorter({ sort: (kb) => this.#sortPostings(kb) })

  constructor(parts: StoreParts, languages: KeywordLanguages, marks: JobMarks) {
    this.#parts = parts
    this.#languages = languages
    this.#marks = marks
  }

  /**
   * One transaction of chunks, vectors and terms, in tables that have room for what comes.
   * @param incoming is asked for within the turn of the write queue where it is a function
   */
  async write<T>(
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

  /** Within the transaction: the rows, and what the catalog says of the knowledge base afterwards. */
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
    const nextChunkKey = row.nextChunkKey + written.newRows.length + copiedCount
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

  #knowledgeBaseOf(row: KnowledgeBaseRow, { projectName }: KnowledgeBase): KnowledgeBase {
    return knowledgeBaseOf(row, { projectName, secrets: this.#parts.secrets })
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

  /** What the write has done to the chunks and their vectors; null: no listener needs to know. */
  async #chunkChanges(
    tables: OpenTables,
    { newRows, removedKeys, rewrittenKeys = [], copied }: RowsWritten<unknown>,
  ): Promise<ChunkChanges | null> {
    // Too many to be held here: caches of the others read them again.
    if (copied !== undefined) return null
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

  /** Before the database: nothing is begun any more. */
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

// Small inserts that wait for the same turn share its transaction: a COMMIT costs as much as ten rows.

/** Documents as rows, ready to be stored. */
export interface PreparedInsert {
  readonly rows: readonly ChunkRow[]
  /** Distinct. */
  readonly documentIds: readonly string[]
  readonly incoming: Incoming
  /** Of the job that stores it: written in the same transaction. */
  readonly mark?: JobMark
}

interface WaitingInsert extends PreparedInsert {
  readonly outcome: PromiseWithResolvers<WriteOutcome>
}

/** One of more rows has a transaction of its own. */
const ROWS_OF_SMALL_MAX = 64

/** Of all inserts that share one. */
const ROWS_OF_GROUP_MAX = 512

export class GroupedInserts {
  readonly #writes: ChunkWrites
  readonly #documentIds: DocumentIds
  /** By knowledge base and table of vectors, in the order in which they came. */
  readonly #waiting = new Map<string, WaitingInsert[]>()

  constructor(writes: ChunkWrites, documentIds: DocumentIds) {
    this.#writes = writes
    this.#documentIds = documentIds
  }

  /** Answers after the commit. The failure of another insert is not one of this. */
  insert(kb: KnowledgeBase, prepared: PreparedInsert): Promise<WriteOutcome> {
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

  /** In the next turn of the write queue: as many of those that wait then as fit together. */
  async #writeGroup(kb: KnowledgeBase, key: string): Promise<void> {
    let taken: readonly WaitingInsert[] = []
    const take = (row: KnowledgeBaseRow | null) => {
      const waiting = this.#waiting.get(key) ?? []
      this.#waiting.delete(key)
      const count = row === null ? waiting.length : countThatFit(waiting, row)
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
      // Nothing is stored. Which of them it was shows when each is tried by itself.
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

  async #replace(tables: OpenTables, inserts: readonly PreparedInsert[]) {
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

/** How many of the first come to the same together as one after the other. */
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

/** What comes decides about tables and types of columns, which is up to the first that does. */
function changesTables({ metadata, dimensions }: Incoming, row: KnowledgeBaseRow): boolean {
  if (dimensions !== null && dimensions !== row.dimensions) return true
  const { added, widened } = planMetadata(row.storedMetadata, metadata)
  return added.length + widened.length > 0
}

/** Together they bring what the tables have room for. */
function incomingOf(inserts: readonly PreparedInsert[]): Incoming {
  const [only] = inserts
  if (only !== undefined && inserts.length === 1) return only.incoming
  const dimensions = inserts.find(({ incoming }) => incoming.dimensions !== null)
  return { metadata: new SeenColumns(), dimensions: dimensions?.incoming.dimensions ?? null }
}
