import { availableParallelism } from 'node:os'
import type { CatalogSnapshot } from '../core/domain/access/catalog-snapshot.ts'
import type { IndexReport } from '../core/domain/index-definition.ts'
import type { KnowledgeBase } from '../core/domain/knowledge-base.ts'
import { fullName } from '../core/domain/names.ts'
import type {
  ColumnReader,
  CommitListener,
  CommittedWrite,
  RowReader,
  VectorSource,
} from '../core/domain/ports/retrieval-ports.ts'
import type {
  DocumentRequest,
  KnownChunks,
  NearestChunks,
  NearestFound,
  NearestSearch,
  VectorAccess,
} from '../core/domain/ports/search-ports.ts'
import type { VectorCopy } from '../core/domain/server-state.ts'
import { hasCode } from '../core/errors.ts'
import { abortable } from '../core/runtime/cancellation.ts'
import { VECTOR_LIMITS } from './kernel/memory-layout.ts'
import { hasKernel } from './kernel/open-kernel.ts'
import { Retriever, snapshotOf } from './retriever.ts'
import {
  type AcceleratorDeps,
  acceleratorOf,
  listFileOf,
  VectorCache,
  VectorLookup,
} from './vector-cache.ts'
import { ScanPool } from './vectors/scan-pool.ts'
import { VectorMemory } from './vectors/vector-memory.ts'

/** More threads would only wait for memory. */
const THREADS_MAX = 8

/** Fewer vectors are compared within about a millisecond. */
const ADVISED_MIN = 50_000

/** A search that has waited this long for vectors to load is answered by a database scan. */
const LOAD_WAIT_MS = 5_000

interface VectorCachesDeps extends AcceleratorDeps {
  readonly vectors: VectorSource
  readonly reader: ColumnReader & RowReader
  snapshot(): CatalogSnapshot
}

export interface VectorCachesOptions {
  /** The limit for all caches; with 0, every search is a database scan. */
  readonly bytesMax: number
  /** The most vectors of one knowledge base to keep in full. Beyond that, only codes are kept. */
  readonly wholeVectorsMax: number
  /** Recommend an index from this number of vectors on; by default `ADVISED_MIN`. */
  readonly advisedMin?: number
  /**
   * Called before memory is taken from the system, and with a negative number when it is returned.
   */
  readonly onTaking?: (bytes: number) => void
}

type Entry = { readonly vectorsNumber: number } & (
  | {
      readonly kind: 'loading'
      readonly cache: VectorCache
      readonly loaded: Promise<void>
    }
  | CachedEntry
  | RefusedEntry
)

/** A cache that did not fit. It is not tried again until another one is released. */
interface RefusedEntry {
  readonly kind: 'refused'
  readonly reason: string
}

interface CachedEntry {
  readonly kind: 'cached'
  readonly cache: VectorCache
  /** The accelerator's definition as JSON. */
  indexDefinition: string
}

interface Scanning {
  readonly memory: VectorMemory
  readonly pool: ScanPool
}

/** Loaded in the background. Until then, or without memory, the database scans. */
export class VectorCaches implements NearestChunks, KnownChunks, CommitListener {
  readonly #deps: VectorCachesDeps
  readonly #options: VectorCachesOptions
  readonly #retriever: Retriever
  /** Why all searches are database scans; null if they are not. */
  readonly #offReason: string | null
  readonly #entries = new Map<number, Entry>()
  #scanning: Scanning | null = null
  #lastLoad: Promise<void> = Promise.resolve()
  #loadCount = 0
  #isClosed = false

  constructor(deps: VectorCachesDeps, options: VectorCachesOptions) {
    this.#deps = deps
    this.#options = options
    this.#retriever = new Retriever(deps.reader)
    const noMemory = options.bytesMax === 0 ? 'EIDER_VECTOR_MEMORY is 0' : null
    this.#offReason = noMemory ?? (hasKernel() ? null : 'this processor has no AVX')
  }

  /** Memory taken from the system for all caches. It is never returned. */
  get memoryBytes(): number {
    return this.#scanning?.memory.memory.buffer.byteLength ?? 0
  }

  catalogChanged({ knowledgeBases }: CatalogSnapshot): void {
    const byId = new Map(knowledgeBases.map((kb) => [kb.id, kb]))
    for (const [id, entry] of [...this.#entries]) {
      const kb = byId.get(id)
      const isOther = kb?.vectorsNumber !== entry.vectorsNumber
      if (isOther) this.forget(id)
      if (kb === undefined) continue
      if (isOther) this.#load(kb)
      else if (entry.kind === 'cached') this.#setIndex(entry, kb)
    }
  }

  #setIndex(entry: CachedEntry, kb: KnowledgeBase): void {
    const indexDefinition = JSON.stringify(kb.vectorIndex)
    if (indexDefinition === entry.indexDefinition) return
    entry.indexDefinition = indexDefinition
    entry.cache.setAccelerator((index) => acceleratorOf(kb, index, this.#deps))
  }

  /** Loads the vectors of every knowledge base, the most recently written first. */
  start(): void {
    const { knowledgeBases } = this.#deps.snapshot()
    const byAge = knowledgeBases.toSorted((a, b) => b.updatedAt.localeCompare(a.updatedAt))
    for (const kb of byAge) this.#load(kb)
    const ivf = knowledgeBases.filter(({ vectorIndex }) => vectorIndex?.type === 'ivf')
    // Files that cannot be deleted take little space, and are deleted at the next start.
    void this.#deps.derived?.keepOnly(new Set(ivf.map(listFileOf))).catch(() => {})
  }

  async settled(): Promise<void> {
    let last: Promise<void>
    do {
      last = this.#lastLoad
      await last
    } while (last !== this.#lastLoad)
    for (const entry of this.#entries.values()) {
      if (entry.kind === 'cached') await entry.cache.acceleratorSettled()
    }
  }

  async nearest(search: NearestSearch, signal: AbortSignal): Promise<NearestFound | null> {
    const snapshot = await snapshotOf(await this.#cacheFor(search.knowledgeBase, signal))
    if (snapshot === null || search.count > VECTOR_LIMITS.neighboursMax) return null
    const { isCurrent } = snapshot
    try {
      return await this.#retriever.search(snapshot, search, signal)
    } catch (error) {
      signal.throwIfAborted()
      // If the cache was released or vectors were removed during the search, it has not failed.
      if (!isCurrent()) return { neighbours: [], isCurrent }
      throw error
    }
  }

  async keysOfDocument(document: DocumentRequest, signal: AbortSignal) {
    const snapshot = await snapshotOf(this.#cacheOf(document.knowledgeBase))
    const keys = snapshot && (await this.#retriever.keysOfDocument(snapshot, document, signal))
    return keys && { keys, isCurrent: snapshot.isCurrent }
  }

  access(kb: KnowledgeBase, isPrefiltered = false): VectorAccess {
    if (this.#offReason !== null) return scan(this.#offReason)
    const entry = this.#entries.get(kb.id)
    if (entry?.kind === 'refused') return scan(entry.reason)
    const index = entry?.cache.index ?? null
    if (index === null) return scan('its vectors are not in memory yet')
    const vectors = `${index.count} vectors in memory`
    const report = isPrefiltered ? null : (entry?.cache.accelerator?.report() ?? null)
    const advice = isPrefiltered ? '' : adviceFor(kb, entry)
    if (report?.state !== 'ready') {
      return { kind: 'memory', detail: `${vectors}, scanned exactly${advice}` }
    }
    return { kind: 'memory', detail: `${vectors}, nearly: ${report.detail}` }
  }

  /** Returns how its vectors are held in memory. */
  copyOf(kb: KnowledgeBase): VectorCopy {
    const entry = this.#entries.get(kb.id)
    if (entry === undefined || entry.kind === 'refused') return { kind: 'none', count: 0, bytes: 0 }
    const { index, isWhole } = entry.cache
    if (index === null) return { kind: 'loading', count: 0, bytes: 0 }
    return { kind: isWhole ? 'whole' : 'codes', count: index.count, bytes: index.bytes }
  }

  /** Returns the state of the index from CREATE INDEX; null if there is none. */
  reportOf(kb: KnowledgeBase): IndexReport | null {
    const entry = this.#entries.get(kb.id)
    if (entry?.kind !== 'cached') return this.#reportWithoutCache(kb, entry)
    const { accelerator, index } = entry.cache
    if (accelerator !== null) return accelerator.report()
    if (index === null) return null
    const size = `${(index.bytes / 1e6).toFixed(1)} MB`
    const detail = `all vectors are compared, in ${size} of memory${adviceFor(kb, entry)}`
    return { state: 'exact', vectorCount: index.count, detail }
  }

  /** Null if no index was requested. */
  #reportWithoutCache(kb: KnowledgeBase, entry: Entry | undefined): IndexReport | null {
    const hasIndex = kb.vectorIndex !== null && kb.vectorIndex.type !== 'exact'
    if (!hasIndex || kb.dimensions === null) return null
    const isPossible = entry?.kind !== 'refused' && this.#offReason === null
    const state = isPossible ? 'building' : 'unavailable'
    const { detail } = this.access(kb)
    return { state, vectorCount: null, detail: `${detail}; all vectors are compared` }
  }

  needsChange(kb: Pick<KnowledgeBase, 'id'>): boolean {
    const entry = this.#entries.get(kb.id)
    return entry !== undefined && entry.kind !== 'refused'
  }

  beginCommit({ id }: Pick<KnowledgeBase, 'id'>): void {
    const entry = this.#entries.get(id)
    if (entry !== undefined && entry.kind !== 'refused') entry.cache.beginCommit()
  }

  endCommit(kb: KnowledgeBase, write: CommittedWrite | null): void {
    if (write !== null) this.#retriever.committed(kb, write)
    const entry = this.#entries.get(kb.id)
    if (entry?.kind === 'refused') return
    if (entry !== undefined && !entry.cache.endCommit(write)) this.forget(kb.id)
    this.#load(kb)
  }

  /** Call when the knowledge base's vectors were dropped or replaced. */
  forget(id: number): void {
    const entry = this.#entries.get(id)
    this.#entries.delete(id)
    this.#retriever.forget(id)
    if (entry === undefined || entry.kind === 'refused') return
    entry.cache.close()
    // Memory was freed, so one that did not fit before may fit now.
    for (const [other, { kind }] of this.#entries) {
      if (kind === 'refused') this.#entries.delete(other)
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    for (const id of [...this.#entries.keys()]) this.forget(id)
    await this.settled()
    await this.#scanning?.pool.close()
  }

  /** A search during a load waits for it, because a scan would read just as much. */
  async #cacheFor(kb: KnowledgeBase, signal: AbortSignal): Promise<VectorCache | null> {
    const cache = this.#cacheOf(kb)
    const entry = this.#entries.get(kb.id)
    if (entry?.vectorsNumber !== kb.vectorsNumber) return null
    const isNext = this.#loadCount === 1
    if (cache !== null || entry?.kind !== 'loading' || !isNext) return cache
    const patience = AbortSignal.any([signal, AbortSignal.timeout(LOAD_WAIT_MS)])
    // If the load fails or takes longer, the search is a database scan.
    await abortable(entry.loaded, patience).catch(() => {})
    signal.throwIfAborted()
    return this.#cacheOf(kb)
  }

  /** Null if there is none yet. An outdated cache is replaced. */
  #cacheOf(planned: KnowledgeBase): VectorCache | null {
    const { knowledgeBases } = this.#deps.snapshot()
    const kb = knowledgeBases.find(({ id }) => id === planned.id)
    // The query vector of an older plan comes from another model.
    if (kb === undefined || kb.vectorsNumber !== planned.vectorsNumber) return null
    const entry = this.#entries.get(kb.id)
    if (entry === undefined) this.#load(kb)
    if (entry === undefined || entry.kind !== 'cached') return null
    if (entry.cache.index?.revision === kb.revision) return entry.cache
    this.forget(kb.id)
    this.#load(kb)
    return null
  }

  #load(kb: KnowledgeBase): void {
    if (this.#isClosed || this.#offReason !== null || kb.dimensions === null) return
    if (this.#entries.has(kb.id)) return
    const cache = this.#newCache(kb)
    this.#loadCount += 1
    const loaded = this.#lastLoad.then(() => this.#loadInto(kb, cache))
    this.#lastLoad = loaded.finally(() => {
      this.#loadCount -= 1
    })
    const { vectorsNumber } = kb
    this.#entries.set(kb.id, { kind: 'loading', cache, loaded: this.#lastLoad, vectorsNumber })
  }

  async #loadInto({ id, vectorsNumber }: KnowledgeBase, cache: VectorCache): Promise<void> {
    const isWanted = () => {
      const entry = this.#entries.get(id)
      return entry?.kind === 'loading' && entry.cache === cache
    }
    if (!isWanted()) return
    const entry = await this.#loaded(cache)
    if (!isWanted()) return
    if (entry.kind === 'refused') cache.close()
    if (entry.kind === 'missed') {
      this.forget(id)
      return
    }
    this.#entries.set(id, { ...entry, vectorsNumber })
    this.catalogChanged(this.#deps.snapshot())
  }

  async #loaded(cache: VectorCache): Promise<Loaded> {
    try {
      return (await cache.load())
        ? { kind: 'cached', cache, indexDefinition: 'null' }
        : { kind: 'missed' }
    } catch (error) {
      const reason = hasCode(error, 'out_of_memory')
        ? 'its vectors do not fit into the memory for vectors (EIDER_VECTOR_MEMORY)'
        : 'its vectors could not be loaded into memory'
      return { kind: 'refused', reason }
    }
  }

  #newCache(kb: KnowledgeBase): VectorCache {
    const { vectors: source, reader } = this.#deps
    const { wholeVectorsMax, advisedMin = ADVISED_MIN } = this.#options
    const { memory, pool } = this.#scanner()
    const { id, projectId, vectorsNumber } = kb
    const ids = { id, projectId, vectorsNumber }
    const lookup = new VectorLookup(reader, ids)
    return new VectorCache({ source, memory, pool, ids, lookup, wholeVectorsMax, advisedMin })
  }

  #scanner(): Scanning {
    if (this.#scanning !== null) return this.#scanning
    const threadCount = Math.min(availableParallelism(), THREADS_MAX)
    const { bytesMax, onTaking } = this.#options
    const memory = new VectorMemory({ bytesMax, threadCount, ...(onTaking && { onTaking }) })
    this.#scanning = { memory, pool: new ScanPool(memory) }
    return this.#scanning
  }
}

type Loaded = CachedEntry | RefusedEntry | { readonly kind: 'missed' }

/** Recommends an index, with its statement, if none was chosen and one would be much faster. */
function adviceFor(kb: KnowledgeBase, entry: Entry | undefined): string {
  const isOpen = kb.vectorIndex === null && entry?.kind === 'cached'
  const advice = isOpen ? entry.cache.advice() : null
  if (advice === null) return ''
  return `; ${advice}: CREATE INDEX ON KNOWLEDGE_BASE ${fullName(kb)} WITH (type = 'ivf')`
}

function scan(detail: string): VectorAccess {
  return { kind: 'scan', detail }
}
