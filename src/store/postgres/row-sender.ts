/** Sends the chunks of a local knowledge base that moves to PostgreSQL. */
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import type {
  MoveProgress,
  MoveTarget,
  RunRemote,
  StoragePlace,
} from '../../core/domain/ports/storage-ports.ts'
import { notFound } from '../../core/errors.ts'
import type { KnowledgeBaseRow } from '../catalog/catalog-queries.ts'
import type { StoreParts } from '../catalog/catalog-state.ts'
import {
  metadataHashes,
  type RemoteChange,
  type SentRow,
  type SentTables,
  sentMetadata,
  sentRows,
} from '../documents/remote-writes.ts'
import type { StoredChunks } from '../documents/stored-chunks.ts'
import { rowOfKnowledgeBase } from '../documents/stored-vectors.ts'
import { remoteHashes } from './move-tables.ts'
import { sendChange } from './remote-rows.ts'
import { INDEX_LIMITS, indexRemote } from './remote-search.ts'
import { type RemoteState, remoteState, setDefinition } from './remote-tables.ts'
import type { WorkingCopies } from './working-copies.ts'

/** The number of chunks to compare at a time, and to send per transaction. */
const COMPARED_CHUNKS = 20_000
const SENT_CHUNKS = 2000
/** A range may have this many keys for each one that is wanted. */
const DENSE = 2n

/** The result of comparing both sides, and what was sent. */
export interface Pass {
  /** The knowledge base's catalog row before the comparison. */
  readonly row: KnowledgeBaseRow
  readonly chunkCount: number
  readonly sentCount: number
}

interface Difference {
  readonly removedKeys: readonly bigint[]
  readonly addedKeys: readonly bigint[]
  readonly rewrittenKeys: readonly bigint[]
}

const NO_DIFFERENCE: Difference = { removedKeys: [], addedKeys: [], rewrittenKeys: [] }

export class RowSender {
  readonly #parts: StoreParts
  readonly #chunks: StoredChunks
  readonly #copies: WorkingCopies

  constructor(parts: StoreParts, chunks: StoredChunks, copies: WorkingCopies) {
    this.#parts = parts
    this.#chunks = chunks
    this.#copies = copies
  }

  /** Compares all chunks and sends the differences. */
  async pass(
    kb: KnowledgeBase,
    { place }: MoveTarget,
    progress: MoveProgress,
    signal: AbortSignal,
  ): Promise<Pass> {
    const row = await this.rowOf(kb)
    const total = await this.#chunks.chunkCount(kb)
    let chunkCount = 0
    let sentCount = 0
    for (let afterKey = -1n; ; ) {
      const range = { afterKey, limit: COMPARED_CHUNKS }
      const here = await this.#read(kb, ({ tables }) => metadataHashes(tables, range))
      const isLast = here.size < COMPARED_CHUNKS
      const lastKey = isLast ? null : ([...here.keys()].at(-1) ?? null)
      const there = await this.#copies.transaction(place, 'read', (run) => {
        return remoteHashes(run, place, { afterKey, lastKey })
      })
      const difference = differenceOf(here, there)
      chunkCount += here.size
      let missingCount = difference.addedKeys.length
      for (const batch of batchesOf(difference)) {
        signal.throwIfAborted()
        await this.#send(kb, place, batch)
        sentCount += batch.addedKeys.length + batch.rewrittenKeys.length
        missingCount -= batch.addedKeys.length
        await progress.report({ chunks: chunkCount - missingCount, total })
      }
      if (lastKey === null) return { row, chunkCount, sentCount }
      afterKey = lastKey
    }
  }

  async #send(kb: KnowledgeBase, place: StoragePlace, difference: Difference): Promise<void> {
    const change = await this.#changeOf(kb, difference)
    await this.#copies.transaction(place, 'write', (run) => sendNext(run, place, change))
  }

  /** Completes the tables, as the last write before the switch. */
  async finish(kb: KnowledgeBase, { place }: MoveTarget, definition: string): Promise<RemoteState> {
    const change = await this.#changeOf(kb, NO_DIFFERENCE)
    return this.#copies.transaction(place, 'write', async (run) => {
      await sendNext(run, place, change)
      await setDefinition(run, place, definition)
      return remoteState(run, place)
    })
  }

  #changeOf(kb: KnowledgeBase, { removedKeys, addedKeys, rewrittenKeys }: Difference) {
    return this.#read(kb, async ({ tables, row }) => ({
      removedKeys,
      rows: await rowsOf(tables, addedKeys),
      rewritten: await sentMetadata(tables, rewrittenKeys),
      columns: row.storedMetadata,
      dimensions: row.dimensions,
      nextChunkKey: row.nextChunkKey,
    }))
  }

  /** Creates the pgvector index if searches will run in PostgreSQL. */
  async index({ vectorIndex }: KnowledgeBase, { place, isCopied }: MoveTarget): Promise<void> {
    if (isCopied || vectorIndex?.type !== 'hnsw') return
    const work = (run: RunRemote) => indexRemote(run, place, vectorIndex)
    await this.#copies.transaction(place, 'write', work, INDEX_LIMITS)
  }

  async rowOf(kb: KnowledgeBase): Promise<KnowledgeBaseRow> {
    return this.#read(kb, async ({ row }) => row)
  }

  /** Reads local rows in one snapshot. @throws AppError `knowledge_base_not_found` */
  #read<T>(
    kb: KnowledgeBase,
    work: (stored: { readonly tables: SentTables; readonly row: KnowledgeBaseRow }) => Promise<T>,
  ): Promise<T> {
    const { database, state } = this.#parts
    return database.lease(async (connection) => {
      await connection.run('BEGIN TRANSACTION READ ONLY')
      const row = await rowOfKnowledgeBase(connection, kb)
      if (row === undefined) throw notFound('knowledge_base', kb.name)
      const { id, projectId, vectorsNumber, storedMetadata: columns } = row
      const { language } = state.current(kb)
      const tables = { connection, id, projectId, vectorsNumber, columns, language }
      const result = await work({ tables, row })
      await connection.run('COMMIT')
      return result
    })
  }
}

function differenceOf(
  here: ReadonlyMap<bigint, string>,
  there: ReadonlyMap<bigint, string>,
): Difference {
  const both = [...here.keys()].filter((key) => there.has(key))
  return {
    removedKeys: [...there.keys()].filter((key) => !here.has(key)),
    addedKeys: [...here.keys()].filter((key) => !there.has(key)),
    rewrittenKeys: both.filter((key) => here.get(key) !== there.get(key)),
  }
}

function* batchesOf({ removedKeys, addedKeys, rewrittenKeys }: Difference) {
  const count = Math.max(removedKeys.length, addedKeys.length, rewrittenKeys.length)
  for (let start = 0; start < count; start += SENT_CHUNKS) {
    const part = (keys: readonly bigint[]) => keys.slice(start, start + SENT_CHUNKS)
    yield {
      removedKeys: part(removedKeys),
      addedKeys: part(addedKeys),
      rewrittenKeys: part(rewrittenKeys),
    }
  }
}

/** @param keys ascending. Keys that are close together are read as a range, several times faster */
async function rowsOf(tables: SentTables, keys: readonly bigint[]): Promise<readonly SentRow[]> {
  const [first = 0n, last = first] = [keys[0], keys.at(-1)]
  if (keys.length === 0) return []
  const range = `chunk_key BETWEEN ${first} AND ${last}`
  const isDense = last - first < DENSE * BigInt(keys.length)
  if (!isDense) return sentRows(tables, `${range} AND chunk_key IN (${keys.join(', ')})`)
  const wanted = new Set(keys.map(String))
  return (await sentRows(tables, range)).filter(({ key }) => wanted.has(key))
}

/** Sends the next rows. Nothing else writes to these tables until the move ends. */
async function sendNext(
  run: RunRemote,
  place: StoragePlace,
  change: Omit<RemoteChange, 'baseRevision'>,
): Promise<void> {
  const { revision } = await remoteState(run, place, true)
  await sendChange(run, place, { ...change, baseRevision: revision })
}
