import type { BoundSql, NearestChunk, PrefilterSql, RunLimits } from '../domain/ports.ts'
import type { ColumnReader } from '../domain/retrieval-ports.ts'
import { LruMap } from '../runtime/lru-map.ts'
import { VECTOR_LIMITS } from './kernel/vector-limits.ts'
import type { ExactIndex } from './vectors/exact-index.ts'
import { topKWithMargin } from './vectors/top-k-with-margin.ts'

/** Which chunks are meant, of one state of their knowledge base. */
export interface PrefilterSelect {
  readonly kept: PrefilterSql
  readonly limits: RunLimits
  readonly revision: number
  /** Whether a transaction that begins now still sees that revision. */
  isCurrent(): boolean
}

export interface PrefilteredSearch extends PrefilterSelect {
  readonly index: ExactIndex
  readonly queryVector: Float32Array
  readonly k: number
  /** As in `topKWithMargin`. */
  readonly margin: number
}

/** A list of so many keys, or of a quarter of all, is read quickly. */
const LIST_KEYS_MAX = 20_000

const WEAK_MAX = 1_000

/**
 * The nearest among the chunks that conditions keep. Few keys: they are listed, and only they are
 * measured. Many: the nearest of all are checked against the conditions, as most of them will pass.
 */
export class Prefilter {
  readonly #reader: ColumnReader
  /** SELECTs that kept many keys when they were last listed. */
  readonly #weak = new LruMap<string, true>({ sizeMax: WEAK_MAX })
  readonly #recent = new PrefilterCache()

  constructor(reader: ColumnReader) {
    this.#reader = reader
  }

  /** The keys where they are few; null: they are many, which `keptOf` recognises. */
  async few(
    select: PrefilterSelect,
    chunkCount: number,
    signal: AbortSignal,
  ): Promise<BigInt64Array | null> {
    const known = this.#recent.get(select.kept, select.revision)
    if (known !== undefined) return known
    if (this.#weak.get(select.kept.sql) !== undefined) return null
    const keysMax = Math.max(LIST_KEYS_MAX, Math.floor(chunkCount / 4))
    const keys = await this.#listed(select, keysMax, signal)
    if (keys === null) this.#weak.set(select.kept.sql, true)
    else this.#keep(select, keys)
    return keys
  }

  /** All keys, however many. */
  async all(select: PrefilterSelect, signal: AbortSignal): Promise<BigInt64Array> {
    const known = this.#recent.get(select.kept, select.revision)
    if (known !== undefined) return known
    const keys = await this.#listed(select, Number.MAX_SAFE_INTEGER, signal)
    if (keys === null) throw new Error('a list without a limit has no end before its own')
    this.#keep(select, keys)
    return keys
  }

  /**
   * @param few what `few` gave
   * @returns null when more chunks than an index gives are equally near
   */
  async nearest(
    search: PrefilteredSearch,
    few: BigInt64Array | null,
    signal: AbortSignal,
  ): Promise<readonly NearestChunk[] | null> {
    if (few !== null) return topKWithMargin(search.index, { ...search, allowedKeys: few }, signal)
    const passing = await this.#passing(search, signal)
    if (passing !== null) return passing
    this.#weak.delete(search.kept.sql)
    const allowedKeys = await this.all(search, signal)
    return topKWithMargin(search.index, { ...search, allowedKeys }, signal)
  }

  #keep({ kept, revision, isCurrent }: PrefilterSelect, keys: BigInt64Array): void {
    if (isCurrent()) this.#recent.set(kept, { revision, keys })
  }

  /** All keys that the conditions keep; null: they are more than that. */
  async #listed(
    { kept, limits }: PrefilterSelect,
    keysMax: number,
    signal: AbortSignal,
  ): Promise<BigInt64Array | null> {
    const isLimited = keysMax < Number.MAX_SAFE_INTEGER
    const sql = isLimited ? `SELECT * FROM (${kept.sql}) LIMIT ${keysMax + 1}` : kept.sql
    const parts: BigInt64Array[] = []
    let count = 0
    for await (const batch of this.#reader.columns({ ...kept, sql }, limits, signal)) {
      parts.push(batch.keys(0).slice())
      count += batch.rowCount
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
  async #passing(
    search: PrefilteredSearch,
    signal: AbortSignal,
  ): Promise<readonly NearestChunk[] | null> {
    const { index, k, queryVector, margin } = search
    const { neighboursMax } = VECTOR_LIMITS
    for (let wanted = 4 * k + 16; ; wanted *= 4) {
      const near = await index.search({ queryVector, k: Math.min(wanted, neighboursMax) }, signal)
      const nearKeys = near.map(({ key }) => key)
      const kept = await this.keptOf(nearKeys, search, signal)
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

  /** Those of the chunks that the conditions keep. */
  async keptOf(
    keys: readonly bigint[],
    { kept, limits }: Pick<PrefilterSelect, 'kept' | 'limits'>,
    signal: AbortSignal,
  ): Promise<ReadonlySet<bigint>> {
    const sql = `SELECT __chunk_key FROM (${kept.sql})
      JOIN (SELECT unnest($eider_near::BIGINT[]) AS near_key) ON __chunk_key = near_key`
    const values = { ...kept.values, eider_near: keys }
    const found = new Set<bigint>()
    for await (const batch of this.#reader.columns({ sql, values }, limits, signal)) {
      for (const key of batch.keys(0)) found.add(key)
    }
    return found
  }
}

const BYTES_MAX = 32 * 1024 ** 2
/** Of one list: longer ones are read again. */
const LIST_BYTES_MAX = 4 * 1024 ** 2

interface KeyList {
  readonly revision: number
  readonly keys: BigInt64Array
}

/**
 * Keys that conditions kept, for the next search with the same conditions: those of a tenant, a
 * language, a source. Good until the knowledge base is written to.
 */
export class PrefilterCache {
  readonly #lists = new LruMap<string, KeyList>({ sizeMax: BYTES_MAX, sizeOf })

  get(kept: BoundSql, revision: number): BigInt64Array | undefined {
    const known = this.#lists.get(nameOf(kept))
    return known?.revision === revision ? known.keys : undefined
  }

  set(kept: PrefilterSql, list: KeyList): void {
    if (list.keys.byteLength > LIST_BYTES_MAX || !kept.isCacheable) return
    this.#lists.set(nameOf(kept), list)
  }
}

function sizeOf({ keys }: KeyList, name: string): number {
  return name.length * 2 + keys.byteLength + 200
}

function nameOf({ sql, values }: BoundSql): string {
  const texts = Object.entries(values).map(([name, value]) => {
    return [name, value instanceof Float32Array ? [...value] : value]
  })
  return JSON.stringify([sql, texts], (_, value) => {
    return typeof value === 'bigint' ? `${value}n` : value
  })
}
