import type { ColumnCondition } from '../core/domain/column-condition.ts'
import type { TableIds } from '../core/domain/document.ts'
import { areEnoughHits, type KeywordSearch, type PhraseHits } from '../core/domain/hybrid-search.ts'
import type { KnowledgeBase } from '../core/domain/knowledge-base.ts'
import type { RunLimits } from '../core/domain/ports/engine-ports.ts'
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
import { ascendingKeys, commonKeys, keywordHits, type ScoredKey } from './keywords/keyword-hits.ts'
import { PostingLists } from './keywords/posting-lists.ts'
import {
  type PhrasePostings,
  type SearchedTerms,
  scoreBound,
  scoresOfKeys,
} from './keywords/term-scorer.ts'
import { float32Margin, Prefilter, type PrefilteredChunks, topKWithMargin } from './prefilter.ts'
import type { VectorCache } from './vector-cache.ts'
import type { ExactIndex } from './vectors/exact-index.ts'

const IS_DOCUMENT: ColumnCondition = {
  kind: '=',
  column: { name: 'document_id', kind: 'hash' },
  value: { parameter: 'id' },
}

/** Request this many more chunks of an accelerator, because DuckDB rounds distances differently. */
const MORE_OF_ACCELERATOR = 4

/** A cache's state for a transaction that starts while it is current. */
interface CacheSnapshot {
  readonly cache: VectorCache
  readonly index: ExactIndex
  readonly revision: number
  isCurrent(): boolean
}

export async function snapshotOf(cache: VectorCache | null): Promise<CacheSnapshot | null> {
  await cache?.settled()
  const index = cache?.index ?? null
  if (cache === null || index === null) return null
  return { cache, index, revision: index.revision, isCurrent: cache.watch() }
}

interface RequestedSearch extends NearestSearch {
  readonly prefiltered: PrefilteredChunks | null
}

export class Retriever {
  readonly #prefilter: Prefilter
  readonly #filterValues: FilterValues
  readonly #keywords: KeywordRetriever

  constructor(reader: ColumnReader & RowReader) {
    this.#filterValues = new FilterValues(reader)
    this.#prefilter = new Prefilter(reader)
    this.#keywords = new KeywordRetriever(reader)
  }

  /** Call after a write was committed. */
  committed({ id }: Pick<TableIds, 'id'>, write: CommittedWrite): void {
    this.#filterValues.committed({ id }, write)
    const { revision, changed, hasOtherTerms } = write
    const isUnknown = changed === null || hasOtherTerms === true
    const removedKeys = isUnknown ? null : (changed.removedKeys ?? new BigInt64Array())
    this.#keywords.committed({ id }, revision, removedKeys)
  }

  /** Call when the knowledge base's chunks were dropped or replaced. */
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

  /** @returns null if too many chunks have the same distance, or contain the terms */
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
    // Without hits, the database does the whole search.
    const areEnough = async () => {
      const hits = await scoredHits
      return hits === null || areEnoughHits(hits.best, keywordSearch)
    }
    const nearest = async () => {
      // Wait for the keyword hits before using vectors only if those hits may be enough.
      const mayBeEnough = keywordSearch.enoughCount !== null
      const isEnough = mayBeEnough && (await areEnough())
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

  /** Returns the chunks that meet the conditions; null if there are no conditions. */
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

  /** With DuckDB's distances, which are rounded differently, and all ties for the last. */
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

/** If the cache has been released, its results are outdated, but the search has not failed. */
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

/** If more chunks tie, the database searches. This many can be checked and compared here. */
const BEST_MAX = 16_384

/** The keyword part of one search, from the posting lists of one state. */
type ScoredHits = Omit<KeywordHits, 'distancesOf'>

const NO_HITS: ScoredHits = {
  best: [],
  scoreBound: 0,
  scoresOf: (keys) => keys.map(() => 0),
  bestOf: async () => [],
}

/** Finds the chunks with the best BM25 scores, from posting lists in memory. */
class KeywordRetriever {
  readonly #postings: PostingLists

  constructor(reader: ColumnReader) {
    this.#postings = new PostingLists(reader)
  }

  /** Call after a write was committed. @param removedKeys null if unknown */
  committed(ids: Pick<TableIds, 'id'>, revision: number, removedKeys: BigInt64Array | null): void {
    this.#postings.committed(ids, revision, removedKeys)
  }

  /** @returns null if the lists are too long or too many chunks tie */
  async search(
    search: {
      readonly knowledgeBase: KnowledgeBase
      readonly keywordSearch: KeywordSearch
      readonly revision: number
      readonly limits: RunLimits
      readonly prefiltered: PrefilteredChunks | null
      /** Whether a new transaction still sees that revision. */
      isCurrent(): boolean
    },
    signal: AbortSignal,
  ): Promise<ScoredHits | null> {
    const { knowledgeBase: ids, keywordSearch, prefiltered } = search
    const { keys, counts } = keywordSearch.terms
    if (keys.length === 0) return NO_HITS
    const postings = await this.#postings.postingsOf({ ...search, ids, terms: keys }, signal)
    if (postings === null) return null
    const phrases = phrasePostings(keywordSearch.phrases)
    const terms = { ...postings, counts, phrases }
    const phrased = phrases?.isFilter === true ? phrases.keys : null
    const listed = prefiltered?.keys ?? null
    const allowed = commonAllowed(listed && ascendingKeys(listed), phrased)
    const bestOf = async (count: number) => {
      if (count > BEST_MAX) return null
      const best =
        prefiltered !== null && prefiltered.keys === null
          ? await this.#checked(terms, count, prefiltered, allowed)
          : keywordHits({ ...terms, count, allowed })
      if (best === null || best.length > BEST_MAX) return null
      return best.map(({ key, score }) => ({ key: BigInt(key), score }))
    }
    const best = await bestOf(keywordSearch.count)
    const scoresOf = (some: readonly bigint[]) => scoresOfKeys(terms, some.map(Number))
    return best && { best, bestOf, scoresOf, scoreBound: scoreBound(terms) }
  }

  /** Examines more of the best chunks until enough of them meet the conditions. */
  async #checked(
    terms: SearchedTerms,
    count: number,
    prefiltered: PrefilteredChunks,
    allowed: Uint32Array | null,
  ): Promise<readonly ScoredKey[] | null> {
    for (let wanted = 4 * count + 16; wanted <= BEST_MAX; wanted *= 4) {
      const best = keywordHits({ ...terms, count: wanted, allowed })
      if (best.length > BEST_MAX) return null
      const passingKeys = await prefiltered.passing(best.map(({ key }) => BigInt(key)))
      const passing = best.filter(({ key }) => passingKeys.has(BigInt(key)))
      const least = passing[count - 1]?.score
      const isAll = best.length < wanted
      // All ties with the last of the best were examined too.
      if (isAll || least !== undefined) {
        return passing.filter(({ score }) => least === undefined || score >= least)
      }
    }
    return null
  }
}

/** Converts to ascending keys that a list can contain, with their bonuses. */
function phrasePostings(phrases: PhraseHits | null): PhrasePostings | null {
  if (phrases === null) return null
  const { bonuses, bound, isFilter } = phrases
  const keys = ascendingKeys(BigInt64Array.from(phrases.keys))
  return { keys, bonuses: Float64Array.from(bonuses), bound, isFilter }
}

function commonAllowed(one: Uint32Array | null, other: Uint32Array | null): Uint32Array | null {
  return one === null || other === null ? (one ?? other) : commonKeys(one, other)
}
