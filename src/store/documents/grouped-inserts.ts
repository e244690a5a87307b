/**
 * Stores small inserts that wait for the same turn in one transaction, because a COMMIT costs as
 * much as ten rows.
 */
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import type { JobMark } from '../../core/domain/ports/job-ports.ts'
import type { WriteOutcome } from '../../core/domain/ports/store-ports.ts'
import type { KnowledgeBaseRow } from '../catalog/catalog-queries.ts'
import type { ChunkRow, Incoming } from './chunk-rows.ts'
import type { ChunkWrites } from './chunk-writes.ts'
import { type DocumentIds, keysOfDocuments } from './document-ids.ts'
import { planMetadata, SeenColumns } from './metadata-columns.ts'
import { type OpenTables, replaceChunkRows, StaleVectors } from './write-chunk-rows.ts'

interface PreparedInsert {
  readonly rows: readonly ChunkRow[]
  /** Document ids without duplicates. */
  readonly documentIds: readonly string[]
  readonly incoming: Incoming
  /** The progress mark of the job that inserts these rows, written in the same transaction. */
  readonly mark?: JobMark
}

interface WaitingInsert extends PreparedInsert {
  readonly outcome: PromiseWithResolvers<WriteOutcome>
}

/** An insert with more rows gets its own transaction. */
const ROWS_OF_SMALL_MAX = 64

/** The most rows that share one transaction. */
const ROWS_OF_GROUP_MAX = 512

export class GroupedInserts {
  readonly #writes: ChunkWrites
  readonly #documentIds: DocumentIds
  /** Waiting inserts by knowledge base and vector table, in order of arrival. */
  readonly #waiting = new Map<string, WaitingInsert[]>()

  constructor(writes: ChunkWrites, documentIds: DocumentIds) {
    this.#writes = writes
    this.#documentIds = documentIds
  }

  /** Resolves after the commit. If another insert of the group fails, this one is still stored. */
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

  /**
   * Runs in the next turn of the write queue and stores as many waiting inserts as fit together.
   */
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
function incomingOf(inserts: readonly PreparedInsert[]): Incoming {
  const [only] = inserts
  if (only !== undefined && inserts.length === 1) return only.incoming
  const dimensions = inserts.find(({ incoming }) => incoming.dimensions !== null)
  return { metadata: new SeenColumns(), dimensions: dimensions?.incoming.dimensions ?? null }
}
