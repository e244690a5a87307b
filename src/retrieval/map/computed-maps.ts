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

/** For all maps in memory; others are read again from their files. */
const MAPS_BYTES_MAX = 32 * 1024 ** 2
const POINT_BYTES = 14
/** Between two maps of one knowledge base, so that it is not mapped all the time while it is filled. */
const PAUSE_MS_MIN = 3_000
const PAUSE_FACTOR = 4
/** Each further failure doubles the pause up to this, so that repeated failures cost little. */
const FAILED_PAUSE_MS_MAX = 600_000

export interface ComputedMapsDeps extends ComputeMapDeps {
  readonly files: DerivedFiles
  snapshot(): CatalogSnapshot
  /** Called with the failure; the page shows it. */
  readonly onFailure: (error: unknown) => void
}

interface Entry {
  /** null: none is being computed. */
  progress: MapProgress | null
  failure: string | null
  /** Since the last success. */
  failureCount: number
  /** The earliest start of the next one, by `nowMs`. */
  nextMs: number
}

/**
 * Maps of knowledge bases: computed in the background when first viewed, one at a time, and kept in files, which
 * are derived and not backed up.
 */
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
    // One computed meanwhile is newer.
    const known = this.#maps.get(name)
    if (known !== undefined) return known
    if (map !== null) this.#maps.set(name, map)
    return map
  }

  /** Resolves when nothing is being computed. */
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
      // A dropped table is not a failure.
      if (this.#names().has(fileOf(kb)) && !signal.aborted) {
        entry.failure = 'The map could not be computed. The log of the server says why'
        entry.failureCount += 1
        onFailure(error)
      }
    } finally {
      entry.progress = null
      entry.nextMs = nowMs() + pauseMs(nowMs() - startMs, entry.failureCount)
    }
  }

  /** In its current state. @throws Gone if it was deleted, or has other vectors */
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
    // Without a file it is computed again after a restart. An empty one replaces the words of deleted texts.
    await files.write(fileOf(kb), bytesOfMap(map, kb)).catch(() => {})
    const names = this.#names()
    for (const name of this.#entries.keys()) {
      if (names.has(name)) continue
      this.#entries.delete(name)
      this.#maps.delete(name)
    }
    // It may have gone during the write.
    await files.keepOnly(names).catch(() => {})
  }

  #names(): ReadonlySet<string> {
    return new Set(this.#deps.snapshot().knowledgeBases.map(fileOf))
  }
}

/** @param tookMs of the last one */
function pauseMs(tookMs: number, failureCount: number): number {
  const least = Math.max(PAUSE_MS_MIN, PAUSE_FACTOR * tookMs)
  if (failureCount < 2) return least
  return Math.max(least, Math.min(FAILED_PAUSE_MS_MAX, least * 2 ** (failureCount - 1)))
}

/** The knowledge base is gone, or has other vectors. */
class Gone extends Error {}

// A map as the bytes of a file, kept across restarts because computing it takes seconds.

/** The knowledge base: a later one may have the same id. */
interface Owner {
  readonly createdAt: string
}

type Header = Pick<ChunkMap, 'version' | 'revision' | 'chunkCount' | 'seconds' | 'regions'> &
  Owner & { readonly format: string; readonly pointCount: number }

/** Changes with the meaning of the bytes, or the way maps are made. */
const MAP_FORMAT = 'eider map 2'
const LENGTH_BYTES = 8
const CHECK_BYTES = 8

function bytesOfMap(map: ChunkMap, { createdAt }: Owner): Uint8Array {
  const { keys, x, y, regionOf, ...rest } = map
  const header: Header = { format: MAP_FORMAT, createdAt, ...rest, pointCount: keys.length }
  const text = new TextEncoder().encode(JSON.stringify(header))
  const parts = [new Float64Array([text.length]), text, keys, x, y, regionOf].map(
    ({ buffer, byteOffset, byteLength }) => new Uint8Array(buffer, byteOffset, byteLength),
  )
  return Buffer.concat([...parts, new Uint8Array(new BigUint64Array([checkOf(parts)]).buffer)])
}

/** null: other bytes, incomplete ones, or those of another knowledge base. */
function mapOfBytes(bytes: Uint8Array, owner: Owner): ChunkMap | null {
  try {
    // A Buffer's slices would be views.
    return readMap(new Uint8Array(bytes), owner)
  } catch {
    return null
  }
}

function readMap(bytes: Uint8Array, { createdAt }: Owner): ChunkMap | null {
  const content = bytes.subarray(0, bytes.length - CHECK_BYTES)
  const [check] = new BigUint64Array(bytes.slice(content.length).buffer)
  if (check !== checkOf([content])) return null
  const [length = 0] = new Float64Array(bytes.slice(0, LENGTH_BYTES).buffer)
  const text = bytes.subarray(LENGTH_BYTES, LENGTH_BYTES + length)
  // Whole bytes with this format are ours.
  const header = JSON.parse(new TextDecoder().decode(text)) as Header
  if (header.format !== MAP_FORMAT || header.createdAt !== createdAt) return null
  const { format: _, createdAt: __, pointCount, ...rest } = header
  let at = LENGTH_BYTES + length
  const next = (size: number) => {
    const part = content.slice(at, at + size)
    at += size
    return part.buffer
  }
  const keys = new BigInt64Array(next(pointCount * 8))
  const x = new Uint16Array(next(pointCount * 2))
  const y = new Uint16Array(next(pointCount * 2))
  return { ...rest, keys, x, y, regionOf: new Uint16Array(next(pointCount * 2)) }
}

/** The parts one after the other have the check of the whole. */
function checkOf(parts: readonly Uint8Array[]): bigint {
  const hasher = new Bun.CryptoHasher('sha256')
  for (const part of parts) hasher.update(part)
  return hasher.digest().readBigUInt64BE()
}
