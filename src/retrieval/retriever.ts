import type { TableIds } from '../domain/chunk-tables.ts'
import type { KeywordHit, KeywordSearch } from '../domain/hybrid-search.ts'
import type { NearestChunk, NearestFound, NearestSearch } from '../domain/ports.ts'
import type { ColumnReader, CommittedWrite } from '../domain/retrieval-ports.ts'
import { KeywordRetriever, type Prefiltered } from './keyword-retriever.ts'
import { Prefilter, type PrefilterSelect } from './prefilter.ts'
import type { VectorCache } from './vector-cache.ts'
import type { ExactIndex } from './vectors/exact-index.ts'
import { float32Margin, topKWithMargin } from './vectors/top-k-with-margin.ts'

/** What is nearly as near as the last may be nearer in DuckDB's arithmetic. */
const MORE_OF_ACCELERATOR = 4

/** A cache as a transaction sees its table that begins while it is current. */
export interface CacheSnapshot {
  readonly cache: VectorCache
  readonly index: ExactIndex
  readonly revision: number
  isCurrent(): boolean
}

interface PrefilteredSelect extends Prefiltered {
  readonly select: PrefilterSelect
}

interface PrefilteredSearch extends NearestSearch {
  /** null: all chunks. */
  readonly prefiltered: PrefilteredSelect | null
}

/** Searches in the caches of the vectors, and for the words beside them. */
export class Retriever {
  readonly #prefilter: Prefilter
  readonly #keywords: KeywordRetriever

  constructor(reader: ColumnReader) {
    this.#prefilter = new Prefilter(reader)
    this.#keywords = new KeywordRetriever(reader, this.#prefilter)
  }

  /** A write was committed. */
  committed({ id }: Pick<TableIds, 'id'>, { revision, changed }: CommittedWrite): void {
    const removedKeys = changed === null ? null : (changed.removedKeys ?? new BigInt64Array())
    this.#keywords.committed({ id }, revision, removedKeys)
  }

  /**
   * @returns null where more chunks than can be given are equally near, or there are too many with the words
   * @throws AppError as `NearestChunks.nearest` does
   */
  async search(
    snapshot: CacheSnapshot,
    search: NearestSearch,
    signal: AbortSignal,
  ): Promise<NearestFound | null> {
    const { words } = search
    const prefiltered = await this.#prefiltered(snapshot, search, signal)
    if (words !== undefined)
      return this.#hybrid(snapshot, { ...search, words, prefiltered }, signal)
    const neighbours = await this.#nearest(snapshot, { ...search, prefiltered }, signal)
    return neighbours && { neighbours, isCurrent: snapshot.isCurrent }
  }

  async #hybrid(
    snapshot: CacheSnapshot,
    search: PrefilteredSearch & { readonly words: KeywordSearch },
    signal: AbortSignal,
  ): Promise<NearestFound | null> {
    const { queryVector, words } = search
    const keywordSearch = this.#keywords.best({ ...snapshot, ...search }, signal)
    const vectorSearch = async () => {
      // Only where words may be enough do the vectors wait for them.
      const isEnough = words.enoughCount !== null && areEnough(await keywordSearch, words)
      return isEnough ? [] : this.#nearest(snapshot, search, signal)
    }
    const [best, neighbours] = await Promise.all([keywordSearch, vectorSearch()])
    if (best === null || neighbours === null) return null
    const distancesOf = async (keys: readonly bigint[], stop: AbortSignal) => {
      try {
        return await snapshot.cache.distancesOf(keys, queryVector, stop)
      } catch (error) {
        stop.throwIfAborted()
        // A cache that is let go meanwhile is not a failure of the search.
        if (snapshot.isCurrent()) throw error
        return []
      }
    }
    return { neighbours, words: { best, distancesOf }, isCurrent: snapshot.isCurrent }
  }

  /** The chunks that the conditions keep; null: there are no conditions. */
  async #prefiltered(
    snapshot: CacheSnapshot,
    { prefilter, limits }: NearestSearch,
    signal: AbortSignal,
  ): Promise<PrefilteredSelect | null> {
    if (prefilter === null) return null
    const select = { ...snapshot, prefilter, limits }
    return {
      select,
      keys: await this.#prefilter.fewKeys(select, snapshot.index.count, signal),
      passing: (keys) => this.#prefilter.passing(keys, select, signal),
    }
  }

  /** With all that DuckDB, which rounds otherwise, could find nearer than the last of them. */
  async #nearest(
    { cache, index }: CacheSnapshot,
    search: PrefilteredSearch,
    signal: AbortSignal,
  ): Promise<readonly NearestChunk[] | null> {
    const { queryVector, count: k, prefiltered } = search
    const nearest = { queryVector, k, margin: float32Margin(queryVector.length) }
    const unfiltered = async () => {
      const near = await cache.accelerator?.search(
        { queryVector, k: k + MORE_OF_ACCELERATOR },
        signal,
      )
      return near ?? topKWithMargin(index, nearest, signal)
    }
    const near =
      prefiltered === null
        ? await unfiltered()
        : await this.#prefilter.nearest(
            { ...prefiltered.select, index, ...nearest },
            prefiltered.keys,
            signal,
          )
    return near && cache.withDistances(queryVector, near, signal)
  }
}

/** Whether so many are better than what adds nothing to a relevance; null: there is no use in more. */
function areEnough(best: readonly KeywordHit[] | null, words: KeywordSearch): boolean {
  if (best === null) return true
  const least = best.length < words.count ? 0 : (best.at(-1)?.score ?? 0)
  const { enoughCount } = words
  return enoughCount === 0 || (best[(enoughCount ?? 0) - 1]?.score ?? 0) > least
}
