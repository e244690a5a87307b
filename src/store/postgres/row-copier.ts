/** Copies rows from PostgreSQL into the local tables. */
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import type { RunRemote, StoragePlace } from '../../core/domain/ports/storage-ports.ts'
import { NOTHING_COMES } from '../documents/chunk-writes.ts'
import type { StoredChunks } from '../documents/stored-chunks.ts'
import { removeChunkRows } from '../documents/write-chunk-rows.ts'
import {
  type Copy,
  copiedRows,
  type Gone,
  isOverfull,
  keysOfTouched,
  keysWithout,
  NO_ROWS,
  noteRevision,
  shapeOf,
} from './copied-rows.ts'
import {
  allKeys,
  incomingOf,
  type KeyedRows,
  removedSince,
  rowsSince,
  touchedRows,
} from './remote-rows.ts'
import { type RemoteState, remoteTables, requireSmall } from './remote-tables.ts'

export interface Current {
  readonly run: RunRemote
  readonly place: StoragePlace
  readonly state: RemoteState
}

/** Chunks that a search has found, and what they are selected from. */
export interface FoundKeys {
  readonly run: RunRemote
  readonly chunks: string
  readonly keys: readonly bigint[]
}

export class RowCopier {
  readonly #chunks: StoredChunks

  constructor(chunks: StoredChunks) {
    this.#chunks = chunks
  }

  async all(kb: KnowledgeBase, copy: Copy, { run, place, state }: Current): Promise<void> {
    copy.state = state
    if (state.revision === copy.revision) return
    requireSmall(kb, state)
    await this.since(kb, copy, { run, place, state })
  }

  /** Copies what changed since the copy's revision. */
  async since(kb: KnowledgeBase, copy: Copy, { run, place, state }: Current): Promise<void> {
    // If a server was restored from a backup, its revision is lower than the copy's: copy all rows
    // again.
    const isBehind = state.revision < copy.revision
    if (isBehind) await this.#emptied(kb)
    const from = isBehind ? 0 : copy.revision
    const removed = await removedSince(run, place, { from, to: state.revision })
    const gone = removed ?? { allBut: new Set(await allKeys(run, place)) }
    await this.#inBatches(kb, state, {
      gone,
      batches: rowsSince(run, place, { ...state, revision: from }),
    })
    copy.revision = state.revision
  }

  /** Copies the next rows in key order. @returns the last key copied, or null at the end */
  async page(
    kb: KnowledgeBase,
    { run, place, state }: Current,
    afterKey: bigint,
  ): Promise<KeyedRows & { readonly lastKey: bigint | null }> {
    const { columns } = state
    const rows = rowsSince(run, place, { revision: 0, columns }, afterKey)
    const batch = (await rows.next()).value ?? NO_ROWS
    const lastKey = batch.keys.at(-1) ?? null
    await this.#chunks.copyHere(kb, incomingOf(state), async (tables) => {
      const gone = await keysWithout(tables, new Set(batch.keys), { afterKey, lastKey })
      return copiedRows(tables, batch, gone, state.nextChunkKey)
    })
    return { ...batch, lastKey }
  }

  /** Copies the chunks that a search has found. @returns false if some are missing by now */
  async found(kb: KnowledgeBase, copied: Copy, { run, chunks, keys }: FoundKeys): Promise<boolean> {
    const { state, isLeaving } = copied
    if (state === null || isLeaving) return false
    const batch = await touchedRows(run, chunks, { ids: [], keys }, state)
    if (batch.keys.length < keys.length) return false
    copied.rowCount += keys.length
    await this.#chunks.copyHere(kb, incomingOf(state), (tables) => {
      return copiedRows(tables, batch, [], state.nextChunkKey)
    })
    return true
  }

  async touched(kb: KnowledgeBase, copy: Copy, { run, place, state }: Current): Promise<void> {
    const touched = {
      ids: [...copy.touched].flatMap(({ ids }) => ids),
      keys: [...copy.touched].flatMap(({ keys }) => keys),
    }
    const isNothing = touched.ids.length + touched.keys.length === 0
    if (copy.state === null || isOverfull(copy)) {
      await this.#emptied(kb)
      copy.rowCount = 0
    }
    if (!isNothing || !Bun.deepEquals(shapeOf(state), copy.state && shapeOf(copy.state))) {
      const batch = isNothing
        ? NO_ROWS
        : await touchedRows(run, remoteTables(place).chunks, touched, state)
      copy.rowCount += batch.keys.length
      await this.#chunks.copyHere(kb, incomingOf(state), async (tables) => {
        const came = new Set(batch.keys)
        const gone = [...(await keysOfTouched(tables, touched))].filter((key) => !came.has(key))
        return copiedRows(tables, batch, gone, state.nextChunkKey)
      })
    }
    copy.state = state
    copy.revision = state.revision
  }

  async #emptied(kb: KnowledgeBase): Promise<void> {
    await this.#chunks.copyHere(kb, NOTHING_COMES, async (tables) => {
      const removedKeys = await keysWithout(tables, new Set())
      await removeChunkRows(tables.connection, tables, removedKeys)
      const copied = { rowCount: 0, postingCount: 0 }
      return { result: null, newRows: [], removedKeys, copied }
    })
  }

  /** Each in a write. The last one sets the revision, so an interrupted copy is continued. */
  async #inBatches(
    kb: KnowledgeBase,
    state: RemoteState,
    { gone, batches }: { gone: Gone; batches: AsyncGenerator<KeyedRows, void, void> },
  ): Promise<void> {
    const apply = (batch: KeyedRows, isLast: boolean, removed: Gone) => {
      return this.#chunks.copyHere(kb, incomingOf(state), async (tables) => {
        if (isLast) await noteRevision(tables, kb, state.revision)
        return copiedRows(tables, batch, removed, state.nextChunkKey)
      })
    }
    let removed = gone
    let waiting = NO_ROWS
    for await (const batch of batches) {
      if (waiting.keys.length > 0) {
        await apply(waiting, false, removed)
        removed = []
      }
      waiting = batch
    }
    await apply(waiting, true, removed)
  }
}
