import type { BoundSql, NearestChunk, RunLimits } from '../domain/ports.ts'
import { nearestWithin } from '../search/vector/nearest-within.ts'
import { VECTOR_LIMITS } from '../search/vector/search-limits.ts'
import type { VectorIndex } from '../search/vector/vector-index.ts'
import type { StoredEngine } from './engine.ts'
import { RecentKeyLists } from './recent-key-lists.ts'
import { keysOf } from './vector-rows.ts'

export interface KeptSearch {
  readonly index: VectorIndex
  /** A SELECT of the keys of the chunks that the conditions keep, as `__chunk_key`. */
  readonly kept: BoundSql
  readonly limits: RunLimits
  readonly queryVector: Float32Array
  readonly k: number
  /** As in `nearestWithin`. */
  readonly margin: number
  /** Whether the index still is what a transaction sees that begins now. */
  isCurrent(): boolean
}

/** A list of so many keys, or of a quarter of all, is read quickly. */
const LIST_KEYS_MAX = 20_000

const WEAK_MAX = 1_000

/**
 * The nearest among the chunks that conditions keep. Few keys: they are listed, and only they are
 * measured. Many: the nearest of all are checked against the conditions, as most of them will pass.
 */
export class KeptKeys {
  readonly #engine: StoredEngine
  /** SELECTs that kept many keys when they were last listed. */
  readonly #weak = new Set<string>()
  readonly #recent = new RecentKeyLists()

  constructor(engine: StoredEngine) {
    this.#engine = engine
  }

  /** @returns null when more chunks than an index gives are equally near */
  async nearest(search: KeptSearch, signal: AbortSignal): Promise<readonly NearestChunk[] | null> {
    const { index, kept } = search
    const known = this.#recent.get(kept, index.revision)
    if (known !== undefined) return nearestWithin(index, { ...search, allowedKeys: known }, signal)
    if (!this.#weak.has(kept.sql)) {
      const keysMax = Math.max(LIST_KEYS_MAX, Math.floor(index.count / 4))
      const keys = await this.#listed(search, keysMax, signal)
      if (keys !== null) {
        if (search.isCurrent()) this.#recent.set(kept, { revision: index.revision, keys })
        return nearestWithin(index, { ...search, allowedKeys: keys }, signal)
      }
      this.#noteWeak(kept.sql)
    }
    const passing = await this.#passing(search, signal)
    if (passing !== null) return passing
    this.#weak.delete(kept.sql)
    const allowedKeys = await this.#listed(search, Number.MAX_SAFE_INTEGER, signal)
    if (allowedKeys === null) return null
    return nearestWithin(index, { ...search, allowedKeys }, signal)
  }

  #noteWeak(sql: string): void {
    this.#weak.add(sql)
    const [oldest] = this.#weak
    if (this.#weak.size > WEAK_MAX && oldest !== undefined) this.#weak.delete(oldest)
  }

  /** All keys that the conditions keep; null: they are more than that. */
  async #listed(
    { kept, limits }: KeptSearch,
    keysMax: number,
    signal: AbortSignal,
  ): Promise<BigInt64Array | null> {
    const isLimited = keysMax < Number.MAX_SAFE_INTEGER
    const sql = isLimited ? `SELECT * FROM (${kept.sql}) LIMIT ${keysMax + 1}` : kept.sql
    const parts: BigInt64Array[] = []
    let count = 0
    for await (const chunk of this.#engine.chunks({ ...kept, sql }, limits, signal)) {
      parts.push(keysOf(chunk).slice())
      count += chunk.rowCount
      if (count > keysMax) return null
    }
    const keys = new BigInt64Array(count)
    let at = 0
    for (const part of parts) {
      keys.set(part, at)
      at += part.length
    }
    return keys
  }

  /** Those of the nearest that the conditions keep; null: they are too few, even of the most that can be looked at. */
  async #passing(search: KeptSearch, signal: AbortSignal): Promise<readonly NearestChunk[] | null> {
    const { index, k, queryVector, margin } = search
    const { neighboursMax } = VECTOR_LIMITS
    for (let wanted = 4 * k + 16; ; wanted *= 4) {
      const near = await index.search({ queryVector, k: Math.min(wanted, neighboursMax) }, signal)
      const kept = await this.#keptOf(near, search, signal)
      const passing = near.filter(({ key }) => kept.has(key))
      const farthest = (passing[k - 1]?.distance ?? Number.POSITIVE_INFINITY) + margin
      const isAll = near.length < Math.min(wanted, neighboursMax)
      const lastDistance = near.at(-1)?.distance ?? 0
      if (isAll || farthest < lastDistance) {
        return passing.filter(({ distance }) => distance <= farthest)
      }
      if (wanted >= neighboursMax) return null
    }
  }

  async #keptOf(
    near: readonly NearestChunk[],
    { kept, limits }: KeptSearch,
    signal: AbortSignal,
  ): Promise<ReadonlySet<bigint>> {
    const sql = `SELECT __chunk_key FROM (${kept.sql})
      JOIN (SELECT unnest($eider_near::BIGINT[]) AS near_key) ON __chunk_key = near_key`
    const values = { ...kept.values, eider_near: near.map(({ key }) => key) }
    const found = new Set<bigint>()
    for await (const chunk of this.#engine.chunks({ sql, values }, limits, signal)) {
      for (const key of keysOf(chunk)) found.add(key)
    }
    return found
  }
}
