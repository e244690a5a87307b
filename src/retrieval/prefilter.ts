import type { BoundSql, PrefilterSql, RunLimits } from '../core/domain/ports/engine-ports.ts'
import type { ColumnReader } from '../core/domain/ports/retrieval-ports.ts'
import type { NearestChunk } from '../core/domain/ports/search-ports.ts'
import { LruMap } from '../core/runtime/lru-map.ts'
import type { KeptChunks } from './chunk-values.ts'
import { VECTOR_LIMITS } from './kernel/memory-layout.ts'
import type { ExactIndex, VectorSearch } from './vectors/exact-index.ts'

interface PrefilterRequest {
  readonly prefilter: PrefilterSql
  /** Returns the answer from memory; null if the database must be asked. */
  kept(): Promise<KeptChunks | null>
  readonly limits: RunLimits
  readonly revision: number
  /** Whether a new transaction still sees that revision. */
  isCurrent(): boolean
}

/** The chunks that meet the conditions of a prefilter. */
export interface PrefilteredChunks {
  readonly request: PrefilterRequest
  /** Null if they are too many to list; `passing` then checks given chunks. */
  readonly keys: BigInt64Array | null
  /** Returns those of these chunks that meet the conditions. */
  passing(keys: readonly bigint[]): Promise<ReadonlySet<bigint>>
}

/** A search for the nearest chunks that meet the conditions of a prefilter. */
interface PrefilteredSearch extends PrefilterRequest {
  readonly index: ExactIndex
  readonly queryVector: Float32Array
  readonly k: number
  /** As in `topKWithMargin`. */
  readonly margin: number
}

/** Up to this many keys, or a quarter of all, are quick to list. */
const LIST_KEYS_MAX = 20_000

/** Eight bytes each. */
const SHORT_KEYS_MAX = 200_000

const BROAD_MAX = 1_000

/** Few matching chunks are listed and compared; of many, the nearest of all are checked. */
export class Prefilter {
  readonly #reader: ColumnReader
  /** SELECTs that returned many keys the last time. */
  readonly #broad = new LruMap<string, true>({ sizeMax: BROAD_MAX })
  readonly #cache = new PrefilterCache()

  constructor(reader: ColumnReader) {
    this.#reader = reader
  }

  /** If few, or requested before; null if there are many, which `passing` checks. */
  async fewKeys(
    request: PrefilterRequest,
    chunkCount: number,
    signal: AbortSignal,
  ): Promise<BigInt64Array | null> {
    const known = this.#cache.get(request.prefilter, request.revision)
    if (known !== undefined) return known
    const usual = Math.max(LIST_KEYS_MAX, Math.floor(chunkCount / 4))
    const canBeLong = chunkCount <= LIST_BYTES_MAX / 8
    const isAsked = canBeLong && this.#cache.isAskedAgain(request.prefilter, request.revision)
    const kept = await request.kept()
    if (kept !== null) {
      return isAsked || kept.count <= usual ? this.#remember(request, kept.keys()) : null
    }
    if (!isAsked && this.#broad.get(request.prefilter.sql) !== undefined) return null
    const keysMax = isAsked ? chunkCount : usual
    const keys = await this.#listed(request, keysMax, signal)
    if (keys === null) this.#broad.set(request.prefilter.sql, true)
    else this.#remember(request, keys)
    return keys
  }

  async allKeys(request: PrefilterRequest, signal: AbortSignal): Promise<BigInt64Array> {
    const known = this.#cache.get(request.prefilter, request.revision)
    if (known !== undefined) return known
    const kept = await request.kept()
    if (kept !== null) return this.#remember(request, kept.keys())
    const keys = await this.#listed(request, Number.MAX_SAFE_INTEGER, signal)
    if (keys === null) throw new Error('a list without a limit is complete')
    return this.#remember(request, keys)
  }

  /** @returns null if more chunks than an index returns have the same distance */
  async nearest(
    search: PrefilteredSearch,
    few: BigInt64Array | null,
    signal: AbortSignal,
  ): Promise<readonly NearestChunk[] | null> {
    if (few !== null) return topKWithMargin(search.index, { ...search, allowedKeys: few }, signal)
    const passing = await this.#nearestPassing(search, signal)
    if (passing !== null) return passing
    this.#broad.delete(search.prefilter.sql)
    const allowedKeys = await this.allKeys(search, signal)
    return topKWithMargin(search.index, { ...search, allowedKeys }, signal)
  }

  #remember({ prefilter, revision, isCurrent }: PrefilterRequest, keys: BigInt64Array) {
    if (isCurrent()) this.#cache.set(prefilter, { revision, keys })
    return keys
  }

  /** Returns all keys that meet the conditions; null if there are more than allowed. */
  async #listed(
    { prefilter, limits }: PrefilterRequest,
    keysMax: number,
    signal: AbortSignal,
  ): Promise<BigInt64Array | null> {
    const isLimited = keysMax < Number.MAX_SAFE_INTEGER
    const sql = isLimited ? `SELECT * FROM (${prefilter.sql}) LIMIT ${keysMax + 1}` : prefilter.sql
    const parts: BigInt64Array[] = []
    let count = 0
    // The rows of a short list are fetched in one step of the database instead of many.
    const isShort = keysMax <= SHORT_KEYS_MAX
    for await (const batch of this.#reader.columns(
      { ...prefilter, sql, isShort },
      limits,
      signal,
    )) {
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

  /** null if too few of the most that can be examined meet the conditions. */
  async #nearestPassing(
    search: PrefilteredSearch,
    signal: AbortSignal,
  ): Promise<readonly NearestChunk[] | null> {
    const { index, k, queryVector, margin } = search
    const { neighboursMax } = VECTOR_LIMITS
    for (let wanted = 4 * k + 16; ; wanted *= 4) {
      const near = await index.search({ queryVector, k: Math.min(wanted, neighboursMax) }, signal)
      const nearKeys = near.map(({ key }) => key)
      const passingKeys = await this.passing(nearKeys, search, signal)
      const passing = near.filter(({ key }) => passingKeys.has(key))
      const farthest = (passing[k - 1]?.distance ?? Number.POSITIVE_INFINITY) + margin
      const isAll = near.length < Math.min(wanted, neighboursMax)
      const lastDistance = near.at(-1)?.distance ?? 0
      if (isAll || farthest < lastDistance) {
        return passing.filter(({ distance }) => distance <= farthest)
      }
      if (wanted >= neighboursMax) return null
    }
  }

  /** Returns those of these chunks that meet the conditions. */
  async passing(
    keys: readonly bigint[],
    request: Pick<PrefilterRequest, 'prefilter' | 'kept' | 'limits'>,
    signal: AbortSignal,
  ): Promise<ReadonlySet<bigint>> {
    const kept = await request.kept()
    if (kept !== null) return new Set(keys.filter((key) => kept.has(key)))
    const { prefilter, limits } = request
    const sql = `SELECT __chunk_key FROM (${prefilter.sql}) WHERE __chunk_key IN ($eider_near)`
    const values = { ...prefilter.values, eider_near: keys }
    const found = new Set<bigint>()
    for await (const batch of this.#reader.columns({ sql, values }, limits, signal)) {
      for (const key of batch.keys(0)) found.add(key)
    }
    return found
  }
}

const PREFILTER_BYTES_MAX = 32 * 1024 ** 2
/** The limit per list. Longer lists are read again each time. */
const LIST_BYTES_MAX = 4 * 1024 ** 2

interface KeyList {
  readonly revision: number
  readonly keys: BigInt64Array
}

/** For example of a tenant or a language. Valid until a write to the knowledge base. */
class PrefilterCache {
  readonly #lists = new LruMap<string, KeyList>({
    sizeMax: PREFILTER_BYTES_MAX,
    sizeOf: ({ keys }, name) => name.length * 2 + keys.byteLength + 200,
  })

  /** For prefilters without a list, the revision of the last request. */
  readonly #asked = new LruMap<string, number>({ sizeMax: BROAD_MAX })

  /** Whether it was requested before at the same revision, so that a long list is worthwhile. */
  isAskedAgain(prefilter: PrefilterSql, revision: number): boolean {
    if (!prefilter.isCacheable) return false
    const name = conditionName(prefilter)
    const isAgain = this.#asked.get(name) === revision
    this.#asked.set(name, revision)
    return isAgain
  }

  get(prefilter: BoundSql, revision: number): BigInt64Array | undefined {
    const known = this.#lists.get(conditionName(prefilter))
    return known?.revision === revision ? known.keys : undefined
  }

  set(prefilter: PrefilterSql, list: KeyList): void {
    if (list.keys.byteLength > LIST_BYTES_MAX || !prefilter.isCacheable) return
    this.#lists.set(conditionName(prefilter), list)
  }
}

function conditionName({ sql, values }: BoundSql): string {
  const texts = Object.entries(values).map(([name, value]) => {
    return [name, value instanceof Float32Array ? [...value] : value]
  })
  return JSON.stringify([sql, texts], (_, value) => {
    return typeof value === 'bigint' ? `${value}n` : value
  })
}

/** Plus all at most `margin` farther than the k-th, for other rounding. null if too many. */
export async function topKWithMargin(
  index: Pick<ExactIndex, 'search'>,
  search: VectorSearch & { readonly margin: number },
  signal: AbortSignal,
): Promise<readonly NearestChunk[] | null> {
  const { neighboursMax } = VECTOR_LIMITS
  if (search.k > neighboursMax) return null
  // An invalid `k` is passed on, and refused there.
  let wanted = search.k > 0 ? Math.min(search.k + 8, neighboursMax) : search.k
  for (;;) {
    const found = await index.search({ ...search, k: wanted }, signal)
    const farthest = (found[search.k - 1]?.distance ?? Number.POSITIVE_INFINITY) + search.margin
    const count = found.findIndex(({ distance }) => distance > farthest)
    if (count !== -1) return found.slice(0, count)
    if (found.length < wanted || wanted === 0) return found
    if (wanted === neighboursMax) return null
    // If this many are that close, most of all rows may be.
    wanted = Math.min(wanted * 8, neighboursMax)
  }
}

/** Inner products of unit vectors in float32 are off by n * 2^-24, plus a little for 1 - x. */
export function float32Margin(dimensions: number): number {
  return 2 * (dimensions + 2) * 2 ** -24
}
