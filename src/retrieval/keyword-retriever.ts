import type { TableIds } from '../core/domain/document.ts'
import type { KeywordSearch, PhraseHits } from '../core/domain/hybrid-search.ts'
import type { KnowledgeBase } from '../core/domain/knowledge-base.ts'
import type { RunLimits } from '../core/domain/ports/engine-ports.ts'
import type { ColumnReader } from '../core/domain/ports/retrieval-ports.ts'
import type { KeywordHits } from '../core/domain/ports/search-ports.ts'
import { ascendingKeys, commonKeys, keywordHits, type ScoredKey } from './keywords/keyword-hits.ts'
import { PostingLists } from './keywords/posting-lists.ts'
import {
  type PhrasePostings,
  type SearchedTerms,
  scoreBound,
  scoresOfKeys,
} from './keywords/term-scorer.ts'
import type { PrefilteredChunks } from './prefilter.ts'

/** If more chunks tie, the database searches; this many can be checked against conditions, or measured. */
const BEST_MAX = 16_384

/** The keyword index's result for one search, from the posting lists of one state. */
export type ScoredHits = Omit<KeywordHits, 'distancesOf'>

const NO_HITS: ScoredHits = {
  best: [],
  scoreBound: 0,
  scoresOf: (keys) => keys.map(() => 0),
  bestOf: async () => [],
}

/** Finds the chunks with the best BM25, from posting lists in memory. */
export class KeywordRetriever {
  readonly #postings: PostingLists

  constructor(reader: ColumnReader) {
    this.#postings = new PostingLists(reader)
  }

  /** A write was committed. @param removedKeys null: unknown */
  committed(ids: Pick<TableIds, 'id'>, revision: number, removedKeys: BigInt64Array | null): void {
    this.#postings.committed(ids, revision, removedKeys)
  }

  /**
   * @returns null if the lists are too long, or too many chunks tie
   * @throws AppError as `SqlEngine.run` does
   */
  async search(
    search: {
      readonly knowledgeBase: KnowledgeBase
      readonly keywordSearch: KeywordSearch
      readonly revision: number
      readonly limits: RunLimits
      /** The chunks to search; null: all. */
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

  /** Examines more and more of the best until enough of them pass the conditions. */
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
      // Hits equal to the last of the best were examined as well.
      if (isAll || least !== undefined) {
        return passing.filter(({ score }) => least === undefined || score >= least)
      }
    }
    return null
  }
}

/** Ascending keys that a list can hold, with what each adds. */
function phrasePostings(phrases: PhraseHits | null): PhrasePostings | null {
  if (phrases === null) return null
  const { bonuses, bound, isFilter } = phrases
  const keys = ascendingKeys(BigInt64Array.from(phrases.keys))
  return { keys, bonuses: Float64Array.from(bonuses), bound, isFilter }
}

function commonAllowed(one: Uint32Array | null, other: Uint32Array | null): Uint32Array | null {
  return one === null || other === null ? (one ?? other) : commonKeys(one, other)
}
