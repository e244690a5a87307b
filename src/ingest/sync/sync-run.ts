import type { Row } from '../../core/domain/document.ts'
import { INGEST_LIMITS } from '../../core/domain/flow/ingest-limits.ts'
import type { JobError } from '../../core/domain/flow/job.ts'
import type {
  SyncCounts,
  SyncItem,
  SyncOutcome,
  SyncRun,
  SyncSource,
} from '../../core/domain/flow/sync-source.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import type { SyncStore } from '../../core/domain/ports/job-ports.ts'
import type { ChunkStore } from '../../core/domain/ports/store-ports.ts'
import { AppError, type ErrorCode, toAppError } from '../../core/errors.ts'
import { SerialQueue, TimeSlice } from '../../core/runtime/serial-queue.ts'
import { storeRows } from '../pipeline/store-rows.ts'
import { type InsertDeps, noCounts } from '../sources/insert-request.ts'
import { CURSOR_ITEM } from './query-source.ts'
import {
  type IdentifiedRow,
  type ItemContent,
  type ItemFailure,
  identified,
  type SyncReach,
  type SyncSink,
  staleIds,
  type WholeItem,
  wasStored,
  withTextsOf,
} from './sync-sink.ts'

export interface SyncDeps extends Omit<InsertDeps, 'chunks' | 'reader' | 'files'> {
  readonly chunks: ChunkStore
  readonly syncStore: SyncStore
}

export interface SyncProgressReport {
  readonly run: SyncRun
  readonly chunks: number
  readonly documents: number
}

/** The most items in one transaction, and the most characters in them. */
const BATCH_ITEMS = 500
const BATCH_CHARS = 2_000_000
/** For an item stored on its own: rows between two updates of what is remembered about it. */
const STREAM_ROWS = 1_000
const REMOVED_AT_ONCE = 500
/** Items whose stamp changed but not their content, recorded this many at a time. */
const STAMPS_AT_ONCE = 1_000
const ERRORS_MAX = 100

/** Failures of a single item. All others end the run. */
const OF_ITEM: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['insert_failed', 'dimension_mismatch'])

/** @throws AppError `knowledge_base_not_found` if it was dropped */
export function knowledgeBaseOf(source: SyncSource, { snapshot }: SyncDeps): KnowledgeBase {
  const kb = snapshot().knowledgeBases.find(({ id }) => id === source.knowledgeBaseId)
  if (kb !== undefined) return kb
  throw new AppError('knowledge_base_not_found', `The knowledge base of ${source.name} was dropped`)
}

/** Records what an item may have before storing it, so an interrupted one is read again. */
export class SyncWork implements SyncSink {
  readonly #source: SyncSource
  readonly #known: Map<string, SyncItem>
  readonly #deps: SyncDeps
  readonly #signal: AbortSignal
  readonly #report: (progress: SyncProgressReport) => Promise<void>
  readonly #onEmbedded: (chunkCount: number) => void
  readonly #slice = new TimeSlice(INGEST_LIMITS.loopSliceMs)
  readonly #seen = new Set<string>()
  readonly #gone = new Set<string>()
  readonly #errors: JobError[] = []
  /** Documents of items that still exist. Two items may share one, as addresses of a page do. */
  readonly #held = new Set<string>()
  /** Documents by content hash. */
  #byHash: Map<string, readonly string[]> | null = null
  #run: SyncRun
  #counts: { -readonly [K in keyof SyncCounts]: SyncCounts[K] }
  #documents = 0
  #chunks = 0
  #pending: WholeItem[] = []
  #pendingChars = 0
  #flushedMs = performance.now()
  #stamps: SyncItem[] = []
  readonly #turns = new SerialQueue()

  constructor(
    given: {
      readonly source: SyncSource
      readonly run: SyncRun
      readonly known: Map<string, SyncItem>
      readonly report: (progress: SyncProgressReport) => Promise<void>
      readonly onEmbedded: (chunkCount: number) => void
    },
    deps: SyncDeps,
    signal: AbortSignal,
  ) {
    const { source, run, known, report, onEmbedded } = given
    this.#source = source
    this.#run = run
    this.#known = known
    this.#deps = deps
    this.#signal = signal
    this.#report = report
    this.#onEmbedded = onEmbedded
    const { removed, bytes, pages } = run.counts
    this.#counts = { added: 0, changed: 0, unchanged: 0, removed, failed: 0, bytes, pages }
  }

  get run(): SyncRun {
    return { ...this.#run, counts: { ...this.#counts }, errors: [...this.#errors] }
  }

  unchanged(known: SyncItem, stamp?: string | null): void {
    if (this.#seen.has(known.item)) return
    this.#seen.add(known.item)
    for (const id of known.documentIds) this.#held.add(id)
    // This run stored it before it was interrupted.
    const isOwn = known.runId === this.#run.id
    this.#counts[isOwn ? known.outcome : 'unchanged'] += 1
    const isSame = known.failure === null && (stamp === undefined || stamp === known.stamp)
    if (!isSame) this.#stamps.push({ ...known, stamp: stamp ?? known.stamp, failure: null })
  }

  failed({ item, message, stamp }: ItemFailure): void {
    if (this.#seen.has(item)) return
    this.#seen.add(item)
    this.#counts.failed += 1
    this.leaveOut(item, message)
    const known = this.#known.get(item)
    if (typeof stamp !== 'string' || (known?.stamp === stamp && known.failure !== null)) return
    const none = {
      item,
      documentIds: [],
      hash: null,
      runId: this.#run.id,
      outcome: 'added' as const,
    }
    this.#stamps.push({ ...none, ...known, stamp, failure: message })
  }

  /** An arrow function, because readers pass it on as a callback. */
  readonly leaveOut = (item: string, message: string): void => {
    if (this.#errors.length >= ERRORS_MAX) return
    this.#errors.push({ item: item.slice(0, 1000), message: message.slice(0, 1000) })
  }

  gone(item: string): void {
    this.#gone.add(item)
  }

  count({ bytes = 0, pages = 0 }: { readonly bytes?: number; readonly pages?: number }): void {
    this.#counts.bytes += bytes
    this.#counts.pages += pages
  }

  async content(content: ItemContent): Promise<void> {
    const { item, hash, stamp } = content
    if (this.#seen.has(item)) return
    const known = this.#known.get(item) ?? null
    if (known !== null && known.hash === hash) return this.unchanged(known, stamp)
    this.#seen.add(item)
    try {
      await this.#take({ ...content, known })
    } catch (error) {
      if (!this.#isOfItem(error)) throw error
      this.#miss(item, error)
    }
    const isOld = performance.now() - this.#flushedMs >= INGEST_LIMITS.batchMs
    if (isOld || this.#pending.length >= BATCH_ITEMS || this.#pendingChars >= BATCH_CHARS) {
      await this.#inTurn(() => this.#flush())
    }
  }

  /** Collects items until a batch is full. A large item is stored while it is read. */
  async #take(content: ItemContent & { readonly known: SyncItem | null }): Promise<void> {
    const { rows: source, item, hash, stamp, known } = content
    const kb = knowledgeBaseOf(this.#source, this.#deps)
    const rows: IdentifiedRow[] = []
    let chars = 0
    const iterator = rowsFrom(source)
    for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) {
      await this.#slice.yieldIfSpent(this.#signal)
      const found = await identified(next.value, kb, this.#slice, this.#signal)
      if (found === null) continue
      rows.push(found)
      chars += found.chars
      if (rows.length <= STREAM_ROWS && chars <= BATCH_CHARS) continue
      const whole = { item, hash, stamp, known, rows, chars }
      return this.#inTurn(() => this.#stream(whole, iterator, kb))
    }
    this.#pending.push({ item, hash, stamp, known, rows, chars })
    this.#pendingChars += chars
  }

  /** Stores the remaining items and deletes removed ones. */
  async finish(reach: SyncReach): Promise<void> {
    await this.#inTurn(() => this.#flush())
    const vanished = [...this.#known.values()].filter(({ item }) => {
      if (item === CURSOR_ITEM) return false
      return !this.#seen.has(item) && (this.#gone.has(item) || reach.mayHaveVanished(item))
    })
    this.#refuseEmpty(reach, vanished)
    if (!this.#source.removesVanished) return
    for (let start = 0; start < vanished.length; start += REMOVED_AT_ONCE) {
      this.#signal.throwIfAborted()
      await this.#remove(vanished.slice(start, start + REMOVED_AT_ONCE))
    }
  }

  /** The folder may not be mounted, and a site's only page may be a notice of maintenance. */
  #refuseEmpty({ found }: SyncReach, vanished: readonly SyncItem[]): void {
    // A page that answers 404 is gone, even if the only page left is a notice.
    const isLost = ({ item, documentIds }: SyncItem) =>
      documentIds.length > 0 && !this.#gone.has(item)
    const isEmpty = found === 0 || (found === 1 && this.#source.kind === 'site')
    if (!isEmpty || !vanished.some(isLost) || this.#source.parameters.allow_empty === true) return
    const kept = `its ${vanished.length} known ${vanished.length === 1 ? 'item stays' : 'items stay'}`
    const how = '"allow_empty": true removes them'
    const what = found === 0 ? 'The source is empty' : 'The site has only one page now'
    throw new AppError('source_empty', `${what}; ${kept}. If that is right, ${how}`)
  }

  async #remove(items: readonly SyncItem[]): Promise<void> {
    const ids = [...new Set(items.flatMap(({ documentIds }) => documentIds))]
    await this.#removeDocuments(ids)
    this.#counts.removed += items.filter(wasStored).length
    await this.#deps.syncStore.forget(
      this.run,
      items.map(({ item }) => item),
    )
    await this.#tell()
  }

  /** Removes documents that no other source has. */
  async #removeDocuments(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return
    const kept = await this.#deps.syncStore.release(this.#source, ids)
    const own = ids.filter((id) => !kept.has(id) && !this.#held.has(id))
    if (own.length > 0)
      await this.#deps.chunks.removeDocuments(knowledgeBaseOf(this.#source, this.#deps), own)
  }

  async #flush(): Promise<void> {
    const items = this.#pending
    this.#pending = []
    this.#pendingChars = 0
    this.#flushedMs = performance.now()
    if (items.length > 0) await this.#storeItems(items)
    const stamps = this.#stamps.splice(0)
    for (let start = 0; start < stamps.length; start += STAMPS_AT_ONCE) {
      const some = stamps.slice(start, start + STAMPS_AT_ONCE)
      await this.#deps.syncStore.remember(this.#source, some)
    }
  }

  async #storeItems(items: readonly WholeItem[]): Promise<void> {
    try {
      await this.#storeTogether(items)
    } catch (error) {
      if (!this.#isOfItem(error)) throw error
      const [only] = items
      if (items.length === 1 && only !== undefined) return this.#miss(only.item, error)
      const half = Math.ceil(items.length / 2)
      await this.#storeItems(items.slice(0, half))
      await this.#storeItems(items.slice(half))
    }
  }

  async #storeTogether(items: readonly WholeItem[]): Promise<void> {
    const intents = items.flatMap(({ item, known, rows }) => {
      const before = new Set(known?.documentIds ?? [])
      const isKnown = known?.hash === null && rows.every(({ documentId }) => before.has(documentId))
      return isKnown ? [] : [this.#intent(item, known, rows)]
    })
    await this.#deps.syncStore.remember(this.#source, intents)
    const rows = items.flatMap((item) => item.rows.map(({ row }) => row))
    await this.#storeRows(rows, false, this.#sameTexts(items))
    const remembered = items.map(({ item, hash, stamp, known, rows: own }) => {
      const documentIds = [...new Set(own.map(({ documentId }) => documentId))]
      for (const id of documentIds) this.#held.add(id)
      return { ...this.#outcomeOf(item, known), documentIds, hash, stamp, failure: null }
    })
    await this.#removeDocuments(staleIds(items))
    await this.#deps.syncStore.remember(this.#source, remembered)
    for (const { outcome } of remembered) this.#counts[outcome] += 1
    await this.#tell()
  }

  /** Stores an item with many rows, which are never all in memory. */
  async #stream(
    { rows, known, item, hash, stamp }: WholeItem,
    rest: AsyncGenerator<Row, void, void>,
    kb: KnowledgeBase,
  ): Promise<void> {
    await this.#flush()
    const ids = new Set<string>()
    let batch: IdentifiedRow[] = [...rows]
    const store = async () => {
      if (batch.length === 0) return
      for (const { documentId } of batch) ids.add(documentId)
      const all = [...ids, ...(known?.documentIds ?? [])].map((documentId) => ({ documentId }))
      await this.#deps.syncStore.remember(this.#source, [this.#intent(item, known, all)])
      await this.#storeRows(
        batch.map(({ row }) => row),
        true,
        [],
      )
      batch = []
    }
    for await (const row of rest) {
      await this.#slice.yieldIfSpent(this.#signal)
      const found = await identified(row, kb, this.#slice, this.#signal)
      if (found !== null) batch.push(found)
      if (batch.length >= STREAM_ROWS) await store()
    }
    await store()
    for (const id of ids) this.#held.add(id)
    await this.#removeDocuments((known?.documentIds ?? []).filter((id) => !ids.has(id)))
    const outcome = this.#outcomeOf(item, known)
    const remembered = { ...outcome, documentIds: [...ids], hash, stamp, failure: null }
    await this.#deps.syncStore.remember(this.#source, [remembered])
    this.#counts[outcome.outcome] += 1
    await this.#tell()
  }

  /** Records, before storing, which documents an item may have. */
  #intent(
    item: string,
    known: SyncItem | null,
    rows: readonly { readonly documentId: string }[],
  ): SyncItem {
    const ids = [...(known?.documentIds ?? []), ...rows.map(({ documentId }) => documentId)]
    const documentIds = [...new Set(ids)]
    return { ...this.#outcomeOf(item, known), documentIds, hash: null, stamp: null, failure: null }
  }

  #outcomeOf(item: string, known: SyncItem | null) {
    const isOwn = known !== null && known.runId === this.#run.id
    const outcome: SyncOutcome = wasStored(known) ? 'changed' : 'added'
    return { item, runId: this.#run.id, outcome: isOwn ? known.outcome : outcome }
  }

  async #storeRows(
    rows: readonly Row[],
    isUnbounded: boolean,
    others: readonly string[],
  ): Promise<void> {
    if (rows.length === 0) return
    const counts = noCounts()
    const target = {
      kb: knowledgeBaseOf(this.#source, this.#deps),
      source: this.#source.name,
      rows,
      isUnbounded,
      counts,
    }
    const deps = { ...this.#deps, chunks: withTextsOf(this.#deps.chunks, others) }
    await storeRows(target, deps, this.#signal, { onEmbedded: this.#onEmbedded })
    this.#documents += counts.storedDocuments
    this.#chunks += counts.chunks
  }

  /** Returns documents of other items with the same content, whose vectors can be reused. */
  #sameTexts(items: readonly WholeItem[]): readonly string[] {
    if (this.#byHash === null) {
      const known = [...this.#known.values()].filter(({ hash }) => hash !== null)
      this.#byHash = new Map(known.map(({ hash, documentIds }) => [hash ?? '', documentIds]))
    }
    return items.flatMap(({ hash }) => this.#byHash?.get(hash) ?? [])
  }

  #miss(item: string, error: unknown): void {
    this.#counts.failed += 1
    this.leaveOut(item, toAppError(error).message)
  }

  #isOfItem(error: unknown): boolean {
    return !this.#signal.aborted && error instanceof AppError && OF_ITEM.has(error.code)
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    return this.#turns.run(() => {
      this.#signal.throwIfAborted()
      return work()
    })
  }

  #tell(): Promise<void> {
    return this.#report({ run: this.run, chunks: this.#chunks, documents: this.#documents })
  }
}

async function* rowsFrom(
  rows: AsyncIterable<Row> | readonly Row[],
): AsyncGenerator<Row, void, void> {
  yield* rows
}
