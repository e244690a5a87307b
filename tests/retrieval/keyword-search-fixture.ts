import { chunkTables } from '../../src/core/domain/document.ts'
import type { KeywordSearch, PhraseHits } from '../../src/core/domain/hybrid-search.ts'
import type { KnowledgeBase } from '../../src/core/domain/knowledge-base.ts'
import type { PrefilterSql } from '../../src/core/domain/ports/engine-ports.ts'
import { queryTerms } from '../../src/core/text/phrases.ts'
import { BOUND } from '../../src/sql/search/plan-inputs.ts'
import { keywordScoresSql } from '../../src/sql/subquery/hybrid-rows.ts'
import type { SearchableStore } from '../support/searchable-store.ts'
import { rowsOf } from '../support/store-fixture.ts'

export const LIMITS = { timeoutMs: 10_000 }
export const QUERY_VECTOR = Float32Array.from([1, 0, 0])

export interface KeywordQuery {
  readonly text: string
  readonly phrases?: PhraseHits | null
  readonly count?: number
  /** A condition on the chunks. */
  readonly where?: string
}

interface Base {
  readonly store: SearchableStore
  readonly kb: KnowledgeBase
}

export function keywordSearchOf({
  text,
  phrases = null,
  count = 100,
}: KeywordQuery): KeywordSearch {
  return { terms: queryTerms(text, 'english'), phrases, count, enoughCount: null, fusion: 'convex' }
}

/** Returns what the caches in memory answer. */
export async function searchMemory({ store, kb }: Base, query: KeywordQuery) {
  const search = {
    knowledgeBase: kb,
    queryVector: QUERY_VECTOR,
    count: 10,
    prefilter: prefilterOf(kb, query.where),
    limits: LIMITS,
    keywordSearch: keywordSearchOf(query),
  }
  return store.vectorCaches.nearest(search, new AbortController().signal)
}

function prefilterOf(kb: KnowledgeBase, where: string | undefined): PrefilterSql | null {
  if (where === undefined) return null
  const { chunks } = chunkTables(kb)
  return {
    sql: `SELECT chunk_key AS __chunk_key FROM ${chunks} WHERE ${where}`,
    values: {},
    isCacheable: true,
    condition: null,
  }
}

/** Returns keys and scores from memory, the best first. */
export async function scoresFromMemory(base: Base, query: KeywordQuery) {
  const hits = (await searchMemory(base, query))?.keywordHits
  return hits?.best.map(({ key, score }) => [key, score.toFixed(8)])
}

/** Returns the same from a statement on the tables. */
export async function scoresFromTables({ store, kb }: Base, query: KeywordQuery) {
  const { text, phrases = null, count = 100, where = 'true' } = query
  const { keys, counts } = queryTerms(text, 'english')
  const { chunks } = chunkTables(kb)
  const rows = await rowsOf(
    store,
    `SELECT chunk_key::VARCHAR, score FROM (${keywordScoresSql(kb, 0)})
      WHERE chunk_key IN (SELECT chunk_key FROM ${chunks} WHERE ${where})
      ORDER BY score DESC, chunk_key`,
    {
      [BOUND.termKeys(0)]: keys,
      [BOUND.termCounts(0)]: counts,
      [BOUND.phraseKeys(0)]: phrases?.keys ?? [],
      [BOUND.phraseBonuses(0)]: phrases?.bonuses ?? [],
      [BOUND.phraseBound(0)]: phrases?.bound ?? 0,
      [BOUND.isPhraseFilter(0)]: phrases?.isFilter ?? false,
    },
  )
  const all = rows.map(([key, score]) => ({ key: BigInt(String(key)), score: Number(score) }))
  const least = all[count - 1]?.score ?? 0
  return all.filter(({ score }) => score >= least).map(({ key, score }) => [key, score.toFixed(8)])
}
