import { checkedBytes, ofCheckedBytes } from '../../core/checked-bytes.ts'
import type { CatalogSnapshot } from '../../core/domain/access/catalog-snapshot.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import type { DerivedFiles } from '../../core/domain/ports/retrieval-ports.ts'
import type {
  ChunkMap,
  ChunkMaps,
  MapAsking,
  MapProgress,
  MapState,
} from '../../core/domain/ports/search-ports.ts'
import { LruMap } from '../../core/runtime/lru-map.ts'
import { type ComputeMapDeps, computeMap, versionOf } from './compute-map.ts'
import { fileOf } from './map-files.ts'

/** The limit for maps in memory. Others are read again from their files. */
const MAPS_BYTES_MAX = 32 * 1024 ** 2
const POINT_BYTES = 14
/** The pause between two maps of a knowledge base, which may be growing constantly. */
const PAUSE_MS_MIN = 3_000
const PAUSE_FACTOR = 4
/** Each failure doubles the pause up to this limit. */
const FAILED_PAUSE_MS_MAX = 600_000

interface ComputedMapsDeps extends ComputeMapDeps {
  readonly files: DerivedFiles
  snapshot(): CatalogSnapshot
  /** Called with a failure. The page shows it too. */
  readonly onFailure: (error: unknown) => void
}

interface Entry {
  /** Null if no map is being computed. */
  progress: MapProgress | null
  failure: string | null
  /** Failures since the last success. */
  failureCount: number
  /** The earliest start of the next computation, by `nowMs`. */
  nextMs: number
}

/** One at a time, when first viewed. The files are derived data and not backed up. */
export class ComputedMaps implements ChunkMaps {
  readonly #deps: ComputedMapsDeps
  readonly #closing = new AbortController()
  readonly #maps = new LruMap<string, ChunkMap>({
    sizeMax: MAPS_BYTES_MAX,
    sizeOf: ({ keys }) => keys.length * POINT_BYTES + 1_000,
  })
  readonly #entries = new Map<string, Entry>()
  #last: Promise<void> = Promise.resolve()

  constructor(deps: ComputedMapsDeps) {
    this.#deps = deps
  }

  async stateOf(kb: KnowledgeBase, { isRetry = false }: MapAsking = {}): Promise<MapState> {
    const name = fileOf(kb)
    const entry = this.#entries.get(name) ?? {
      ...{ progress: null, failure: null, failureCount: 0, nextMs: Number.NEGATIVE_INFINITY },
    }
    this.#entries.set(name, entry)
    const map = this.#maps.get(name) ?? (await this.#fromFile(name, kb))
    const isCurrent = map?.version === versionOf(kb, kb.revision)
    const isDue = this.#deps.nowMs() >= entry.nextMs || (isRetry && entry.failure !== null)
    const mayBegin = entry.progress === null && isDue
    const hasVectors = kb.dimensions !== null && kb.revision > 0
    if (!isCurrent && mayBegin && hasVectors) this.#begin(kb, entry)
    return { map, isCurrent, progress: entry.progress, failure: entry.failure }
  }

  async #fromFile(name: string, kb: KnowledgeBase): Promise<ChunkMap | null> {
    const bytes = await this.#deps.files.read(name)
    const map = bytes === null ? null : mapOfBytes(bytes, kb)
    // A map computed in the meantime is newer.
    const known = this.#maps.get(name)
    if (known !== undefined) return known
    if (map !== null) this.#maps.set(name, map)
    return map
  }

  async settled(): Promise<void> {
    await this.#last
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error('the server stops'))
    await this.#last
  }

  #begin(kb: KnowledgeBase, entry: Entry): void {
    entry.progress = { stage: 'waiting', share: 0 }
    this.#last = this.#last.then(() => this.#compute(kb, entry))
  }

  async #compute(kb: KnowledgeBase, entry: Entry): Promise<void> {
    const { nowMs, onFailure } = this.#deps
    const startMs = nowMs()
    const { signal } = this.#closing
    try {
      const current = this.#current(kb)
      entry.progress = { stage: 'reading', share: 0 }
      const map = await computeMap(current, this.#deps, signal, (progress) => {
        this.#current(kb)
        entry.progress = progress
      })
      await this.#keep(this.#current(kb), map)
      entry.failure = null
      entry.failureCount = 0
    } catch (error) {
      // If the knowledge base was dropped, that is not a failure.
      if (this.#names().has(fileOf(kb)) && !signal.aborted) {
        entry.failure = 'The map could not be computed. The server log says why'
        entry.failureCount += 1
        onFailure(error)
      }
    } finally {
      entry.progress = null
      entry.nextMs = nowMs() + pauseMs(nowMs() - startMs, entry.failureCount)
    }
  }

  /** Returns the current state. @throws Gone if it was dropped or has other vectors */
  #current(kb: KnowledgeBase): KnowledgeBase {
    const { knowledgeBases } = this.#deps.snapshot()
    const current = knowledgeBases.find(({ id }) => id === kb.id)
    if (current?.vectorsNumber === kb.vectorsNumber) return current
    this.#entries.delete(fileOf(kb))
    throw new Gone()
  }

  async #keep(kb: KnowledgeBase, map: ChunkMap): Promise<void> {
    const { files } = this.#deps
    this.#maps.set(fileOf(kb), map)
    // Without the file, the map is computed again after a restart. An empty map replaces one that
    // contains words of deleted texts.
    await files.write(fileOf(kb), bytesOfMap(map, kb)).catch(() => {})
    const names = this.#names()
    for (const name of this.#entries.keys()) {
      if (names.has(name)) continue
      this.#entries.delete(name)
      this.#maps.delete(name)
    }
    // The knowledge base may have been dropped during the write.
    await files.keepOnly(names).catch(() => {})
  }

  #names(): ReadonlySet<string> {
    return new Set(this.#deps.snapshot().knowledgeBases.map(fileOf))
  }
}

/** @param tookMs how long the last one took */
function pauseMs(tookMs: number, failureCount: number): number {
  const least = Math.max(PAUSE_MS_MIN, PAUSE_FACTOR * tookMs)
  if (failureCount < 2) return least
  return Math.max(least, Math.min(FAILED_PAUSE_MS_MAX, least * 2 ** (failureCount - 1)))
}

/** Thrown if the knowledge base was dropped or has other vectors. */
class Gone extends Error {}

// Stores a map in a file, because computing it takes seconds.

/** Identifies the knowledge base, because a later one may have the same id. */
interface Owner {
  readonly createdAt: string
}

type Header = Pick<ChunkMap, 'version' | 'revision' | 'chunkCount' | 'seconds' | 'regions'> &
  Owner & { readonly format: string; readonly pointCount: number }

/** Must change with the format of the file, and with the way maps are computed. */
const MAP_FORMAT = 'eider map 2'

function bytesOfMap(map: ChunkMap, { createdAt }: Owner): Uint8Array {
  const { keys, x, y, regionOf, ...rest } = map
  const header: Header = { format: MAP_FORMAT, createdAt, ...rest, pointCount: keys.length }
  return checkedBytes(header, [keys, x, y, regionOf])
}

/** Null if the bytes are incomplete, or not a map of this knowledge base. */
function mapOfBytes(bytes: Uint8Array, owner: Owner): ChunkMap | null {
  return ofCheckedBytes(bytes, (header: Header, next) => {
    const { format, createdAt, pointCount, ...rest } = header
    if (format !== MAP_FORMAT || createdAt !== owner.createdAt) return null
    const keys = new BigInt64Array(next(pointCount * 8))
    const x = new Uint16Array(next(pointCount * 2))
    const y = new Uint16Array(next(pointCount * 2))
    return { ...rest, keys, x, y, regionOf: new Uint16Array(next(pointCount * 2)) }
  })
}
