import type { ColumnCondition } from '../core/domain/column-condition.ts'
import type { TableIds } from '../core/domain/document.ts'
import type { KeywordSearch } from '../core/domain/hybrid-search.ts'
import type {
  ColumnReader,
  CommittedWrite,
  RowReader,
} from '../core/domain/ports/retrieval-ports.ts'
import type {
  DocumentRequest,
  FeedbackSource,
  KeywordHits,
  NearestChunk,
  NearestFound,
  NearestSearch,
} from '../core/domain/ports/search-ports.ts'
import type { KeptChunks } from './chunk-values.ts'
import { FilterValues } from './filter-values.ts'
import { KeywordRetriever } from './keyword-retriever.ts'
import { float32Margin, Prefilter, type PrefilteredChunks, topKWithMargin } from './prefilter.ts'
import type { VectorCache } from './vector-cache.ts'
import type { ExactIndex } from './vectors/exact-index.ts'

const IS_DOCUMENT: ColumnCondition = {
  kind: '=',
  column: { name: 'document_id', kind: 'hash' },
  value: { parameter: 'id' },
}

/** DuckDB rounds differently, so the accelerator returns a few more. */
const MORE_OF_ACCELERATOR = 4

/** The state of a cache for a transaction that starts while it is current. */
export interface CacheSnapshot {
  readonly cache: VectorCache
  readonly index: ExactIndex
  readonly revision: number
  isCurrent(): boolean
}

/** null: its vectors are not in memory. */
export async function snapshotOf(cache: VectorCache | null): Promise<CacheSnapshot | null> {
  await cache?.settled()
  const index = cache?.index ?? null
  if (cache === null || index === null) return null
  return { cache, index, revision: index.revision, isCurrent: cache.watch() }
}

interface RequestedSearch extends NearestSearch {
  /** null: all chunks. */
  readonly prefiltered: PrefilteredChunks | null
}

/** Searches in the caches of the vectors, and in the keyword index. */
export class Retriever {
  readonly #prefilter: Prefilter
  readonly #filterValues: FilterValues
  readonly #keywords: KeywordRetriever

  constructor(reader: ColumnReader & RowReader) {
    this.#filterValues = new FilterValues(reader)
    this.#prefilter = new Prefilter(reader)
    this.#keywords = new KeywordRetriever(reader)
  }

  /** A write was committed. */
  committed({ id }: Pick<TableIds, 'id'>, write: CommittedWrite): void {
    this.#filterValues.committed({ id }, write)
    const { revision, changed, hasOtherTerms } = write
    const isUnknown = changed === null || hasOtherTerms === true
    const removedKeys = isUnknown ? null : (changed.removedKeys ?? new BigInt64Array())
    this.#keywords.committed({ id }, revision, removedKeys)
  }

  /** The chunks of a knowledge base are gone, or replaced. */
  forget(id: number): void {
    this.#filterValues.forget(id)
  }

  /** See `KnownChunks`. */
  async keysOfDocument(
    { index, revision, isCurrent }: CacheSnapshot,
    { knowledgeBase, id, limits }: DocumentRequest,
    signal: AbortSignal,
  ): Promise<BigInt64Array | null> {
    const prefilter = { sql: '', values: { id }, isCacheable: true, condition: IS_DOCUMENT }
    const state = { chunkCount: index.count, revision, isCurrent }
    const search = { knowledgeBase, prefilter, limits, ...state }
    const kept = await this.#filterValues.kept(search, signal)
    return kept === null ? null : kept.keys()
  }

  /**
   * @returns null if more chunks than allowed are equally near, or too many have the terms
   * @throws AppError as `NearestChunks.nearest` does
   */
  async search(
    snapshot: CacheSnapshot,
    search: NearestSearch,
    signal: AbortSignal,
  ): Promise<NearestFound | null> {
    const { keywordSearch } = search
    const prefiltered = await this.#prefiltered(snapshot, search, signal)
    if (keywordSearch !== undefined) {
      return this.#hybrid(snapshot, { ...search, keywordSearch, prefiltered }, signal)
    }
    const neighbours = await this.#nearest(snapshot, { ...search, prefiltered }, signal)
    return neighbours && { neighbours, isCurrent: snapshot.isCurrent }
  }

  async #hybrid(
    snapshot: CacheSnapshot,
    search: RequestedSearch & { readonly keywordSearch: KeywordSearch },
    signal: AbortSignal,
  ): Promise<NearestFound | null> {
    const { queryVector, keywordSearch } = search
    const scoredHits = this.#keywords.search({ ...snapshot, ...search }, signal)
    const nearest = async () => {
      // The vectors wait for the keyword hits only if these may be enough.
      const mayBeEnough = keywordSearch.enoughCount !== null
      const isEnough = mayBeEnough && areEnough(await scoredHits, keywordSearch)
      return isEnough ? [] : this.#nearest(snapshot, search, signal)
    }
    const [hits, neighbours] = await Promise.all([scoredHits, nearest()])
    if (hits === null || neighbours === null) return null
    const { cache, isCurrent } = snapshot
    const hitsBy = (vector: Float32Array) => ({
      ...hits,
      distancesOf: (keys: readonly bigint[], stop: AbortSignal) => {
        return whileCurrent(snapshot, stop, [], () => cache.distancesOf(keys, vector, stop))
      },
    })
    const feedback: FeedbackSource = {
      vectorsOf: (keys, stop) => {
        return whileCurrent(snapshot, stop, new Map(), () => cache.vectorsOf(keys, stop))
      },
      searchBy: (vector, stop) => {
        return whileCurrent(
          snapshot,
          stop,
          { neighbours: [], keywordHits: hitsBy(vector) },
          async () => {
            const near = await this.#nearest(snapshot, { ...search, queryVector: vector }, stop)
            if (near === null) return null
            const known = new Set(near.map(({ key }) => key))
            const others = neighbours.map(({ key }) => key).filter((key) => !known.has(key))
            const measured = await cache.distancesOf(others, vector, stop)
            return { neighbours: [...near, ...measured], keywordHits: hitsBy(vector) }
          },
        )
      },
    }
    return { neighbours, keywordHits: hitsBy(queryVector), feedback, isCurrent }
  }

  /** The chunks that the conditions keep; null: no conditions. */
  async #prefiltered(
    snapshot: CacheSnapshot,
    { knowledgeBase, prefilter, limits }: NearestSearch,
    signal: AbortSignal,
  ): Promise<PrefilteredChunks | null> {
    if (prefilter === null) return null
    const chunkCount = snapshot.index.count
    const filtered = { ...snapshot, knowledgeBase, prefilter, limits, chunkCount }
    let kept: Promise<KeptChunks | null> | null = null
    const request = {
      ...filtered,
      kept: () => {
        kept ??= this.#filterValues.kept(filtered, signal)
        return kept
      },
    }
    return {
      request,
      keys: await this.#prefilter.fewKeys(request, chunkCount, signal),
      passing: (keys) => this.#prefilter.passing(keys, request, signal),
    }
  }

  /** As measured by DuckDB, which rounds differently: the nearest, and those equally near as the last. */
  async #nearest(
    { cache, index }: CacheSnapshot,
    search: RequestedSearch,
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
            { ...prefiltered.request, index, ...nearest },
            prefiltered.keys,
            signal,
          )
    const measured = near && (await cache.withDistances(queryVector, near, signal))
    const last = measured?.[k - 1]
    return last === undefined
      ? measured
      : (measured?.filter((one) => one.distance <= last.distance) ?? null)
  }
}

/** Results of a cache released meanwhile are outdated, but not a failure of the search. */
async function whileCurrent<T>(
  { isCurrent }: CacheSnapshot,
  signal: AbortSignal,
  outdated: T,
  find: () => Promise<T>,
): Promise<T> {
  try {
    return await find()
  } catch (error) {
    signal.throwIfAborted()
    if (isCurrent()) throw error
    return outdated
  }
}

/** Whether `enoughCount` hits beat a score that adds nothing to a relevance. */
function areEnough(hits: Pick<KeywordHits, 'best'> | null, search: KeywordSearch): boolean {
  // Without hits, the database does the whole search.
  if (hits === null) return true
  const { best } = hits
  const { enoughCount, fusion, count } = search
  const isAnyScoreGood = fusion === 'convex' || best.length < count
  const least = isAnyScoreGood ? 0 : (best.at(-1)?.score ?? 0)
  return enoughCount === 0 || (best[(enoughCount ?? 0) - 1]?.score ?? 0) > least
}
