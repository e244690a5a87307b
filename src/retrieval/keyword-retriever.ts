import { chunkTables, type TableIds } from '../domain/chunk-tables.ts'
import type { KeywordHit, KeywordSearch } from '../domain/keyword-search.ts'
import type { KnowledgeBase } from '../domain/knowledge-base.ts'
import type { PrefilterSql, RunLimits } from '../domain/ports.ts'
import type { ColumnReader } from '../domain/retrieval-ports.ts'
import type { ScoredKey } from './keywords/best-scores.ts'
import { ascendingKeys, commonKeys, keywordHits } from './keywords/keyword-hits.ts'
import { type FoundTerms, PostingLists } from './keywords/posting-lists.ts'
import type { Prefilter } from './prefilter.ts'

/** More chunks that are equally good are left to the database; so many can be checked against conditions, or measured. */
const BEST_MAX = 16_384

export interface WordedSearch {
  readonly knowledgeBase: KnowledgeBase
  readonly words: KeywordSearch
  readonly revision: number
  readonly limits: RunLimits
  /** The chunks among which to search; null: all. */
  readonly among: Among | null
  /** Whether a transaction that begins now still sees that revision. */
  isCurrent(): boolean
}

/** Chunks that conditions keep. */
export interface Among {
  /** null: they are many, and checked instead. */
  readonly keys: BigInt64Array | null
  /** Those of some chunks that the conditions keep. */
  keptOf(keys: readonly bigint[]): Promise<ReadonlySet<bigint>>
}

/** Finds the chunks with the best words, from lists in memory. */
export class KeywordRetriever {
  readonly #lists: PostingLists
  readonly #prefilter: Prefilter

  constructor(reader: ColumnReader, prefilter: Prefilter) {
    this.#lists = new PostingLists(reader)
    this.#prefilter = prefilter
  }

  /** A write was committed. @param removedKeys null: nobody looked */
  written(ids: Pick<TableIds, 'id'>, revision: number, removedKeys: BigInt64Array | null): void {
    this.#lists.written(ids, revision, removedKeys)
  }

  /**
   * @returns null where the lists are too long, or too many chunks equally good
   * @throws AppError as `SqlEngine.run` does
   */
  async best(search: WordedSearch, signal: AbortSignal): Promise<readonly KeywordHit[] | null> {
    const { knowledgeBase: ids, words, among } = search
    if (words.terms.length === 0) return []
    const terms = await this.#lists.of({ ...search, ids, terms: words.terms }, signal)
    if (terms === null) return null
    const allowed = await this.#allowed(search, signal)
    const best =
      among !== null && among.keys === null
        ? await this.#checked(terms, { ...search, allowed, among })
        : keywordHits({ ...terms, count: words.count, allowed })
    if (best === null || best.length > BEST_MAX) return null
    return best.map(({ key, score }) => ({ key: BigInt(key), score }))
  }

  /** Of those that the conditions keep, and that hold the phrases; null: all. */
  async #allowed(search: WordedSearch, signal: AbortSignal): Promise<Uint32Array | null> {
    const listed = search.among?.keys ?? null
    const kept = listed === null ? null : ascendingKeys(listed)
    if (search.words.phrases.length === 0) return kept
    const phrased = { ...search, kept: phrasedKeys(search.knowledgeBase, search.words) }
    const holding = ascendingKeys(await this.#prefilter.all(phrased, signal))
    return kept === null ? holding : commonKeys(kept, holding)
  }

  /** Looks at more and more of the best until enough of them are kept. */
  async #checked(
    terms: FoundTerms,
    { words: { count }, among, allowed }: WordedSearch & CheckedAmong,
  ): Promise<readonly ScoredKey[] | null> {
    for (let wanted = 4 * count + 16; wanted <= BEST_MAX; wanted *= 4) {
      const best = keywordHits({ ...terms, count: wanted, allowed })
      if (best.length > BEST_MAX) return null
      const kept = await among.keptOf(best.map(({ key }) => BigInt(key)))
      const passing = best.filter(({ key }) => kept.has(BigInt(key)))
      const least = passing[count - 1]?.score
      const isAll = best.length < wanted
      // What is equal to the last of the best was looked at as well.
      if (isAll || least !== undefined) {
        return passing.filter(({ score }) => least === undefined || score >= least)
      }
    }
    return null
  }
}

interface CheckedAmong {
  readonly among: Among
  readonly allowed: Uint32Array | null
}

/** A SELECT of the keys of the chunks that hold a term and all phrases. */
function phrasedKeys(kb: KnowledgeBase, { terms, phrases }: KeywordSearch): PrefilterSql {
  const { chunks, postings, recentPostings } = chunkTables(kb)
  const sql = `SELECT chunk_key AS __chunk_key
    FROM (SELECT chunk_key, lower(chunk_content) AS content FROM ${chunks} WHERE chunk_key IN
      (SELECT chunk_key FROM (SELECT term, chunk_key FROM ${postings}
        UNION ALL SELECT term, chunk_key FROM ${recentPostings})
        WHERE term IN (SELECT unnest($terms::BIGINT[]))))
    WHERE list_bool_and(list_transform($phrases::VARCHAR[], phrase -> contains(content, lower(phrase))))`
  return { sql, values: { terms, phrases }, isCacheable: true }
}
