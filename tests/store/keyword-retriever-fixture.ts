import { queryTermKeys } from '../../src/analysis/query-terms.ts'
import { chunkTables } from '../../src/domain/chunk-tables.ts'
import type { KeywordSearch } from '../../src/domain/hybrid-search.ts'
import type { KnowledgeBase } from '../../src/domain/knowledge-base.ts'
import type { PrefilterSql } from '../../src/domain/ports.ts'
import { keywordsParameter, phrasesParameter } from '../../src/sql/search/plan-inputs.ts'
import { keywordScoresSql } from '../../src/sql/subquery/hybrid-rows.ts'
import type { SearchableStore } from '../support/searchable-store.ts'
import { rowsOf } from './store-fixture.ts'

export const LIMITS = { timeoutMs: 10_000 }
export const QUERY_VECTOR = Float32Array.from([1, 0, 0])

export interface Asked {
  readonly text: string
  readonly phrases?: readonly string[]
  readonly count?: number
  /** A condition over the chunks. */
  readonly where?: string
}

interface Base {
  readonly store: SearchableStore
  readonly kb: KnowledgeBase
}

export function wordsOf({ text, phrases = [], count = 100 }: Asked): KeywordSearch {
  return { terms: queryTermKeys(text, 'english'), phrases, count, enoughCount: null }
}

export async function found({ store, kb }: Base, asked: Asked) {
  const search = {
    knowledgeBase: kb,
    queryVector: QUERY_VECTOR,
    count: 10,
    prefilter: keptBy(kb, asked.where),
    limits: LIMITS,
    words: wordsOf(asked),
  }
  return store.vectorCaches.nearest(search, new AbortController().signal)
}

function keptBy(kb: KnowledgeBase, where: string | undefined): PrefilterSql | null {
  if (where === undefined) return null
  const { chunks } = chunkTables(kb)
  return {
    sql: `SELECT chunk_key AS __chunk_key FROM ${chunks} WHERE ${where}`,
    values: {},
    isCacheable: true,
  }
}

/** Keys and scores from memory, the best first. */
export async function remembered(base: Base, asked: Asked) {
  const words = (await found(base, asked))?.words
  return words?.best.map(({ key, score }) => [key, score.toFixed(8)])
}

/** The same from the statement that reads the tables. */
export async function read({ store, kb }: Base, asked: Asked) {
  const { text, phrases = [], count = 100, where = 'true' } = asked
  const { chunks } = chunkTables(kb)
  const rows = await rowsOf(
    store,
    `SELECT chunk_key::VARCHAR, score FROM (${keywordScoresSql(kb, 0)})
      WHERE chunk_key IN (SELECT chunk_key FROM ${chunks} WHERE ${where})
      ORDER BY score DESC, chunk_key`,
    {
      [keywordsParameter(0)]: queryTermKeys(text, 'english'),
      [phrasesParameter(0)]: ['', ...phrases],
    },
  )
  const all = rows.map(([key, score]) => ({ key: BigInt(String(key)), score: Number(score) }))
  const least = all[count - 1]?.score ?? 0
  return all.filter(({ score }) => score >= least).map(({ key, score }) => [key, score.toFixed(8)])
}
