import type { PhraseHits } from '../../src/core/domain/hybrid-search.ts'
import type { KnowledgeBase } from '../../src/core/domain/knowledge-base.ts'
import { Analyzer } from '../../src/core/text/analyzer.ts'
import { queryTerms } from '../../src/core/text/phrases.ts'
import { BOUND } from '../../src/sql/search/plan-inputs.ts'
import { keywordScoresSql } from '../../src/sql/subquery/hybrid-rows.ts'
import type { Store } from '../../src/store/store.ts'
import { rowsOf } from '../support/store-fixture.ts'

/** Returns the chunks with a keyword score for the text, as a map from `chunk_content` to score. */
export async function keywordScores(
  store: Store,
  kb: KnowledgeBase,
  search: { readonly text: string; readonly phrases?: PhraseHits | null },
): Promise<ReadonlyMap<string, number>> {
  const { text, phrases = null } = search
  const { keys, counts } = queryTerms(text, kb.language)
  const chunks = `project_${kb.projectId}.kb_${kb.id}_chunks`
  const rows = await rowsOf(
    store,
    `SELECT chunk_content, score FROM (${keywordScoresSql(kb, 0)}) JOIN ${chunks} USING (chunk_key)
      ORDER BY score DESC, chunk_content`,
    {
      [BOUND.termKeys(0)]: keys,
      [BOUND.termCounts(0)]: counts,
      [BOUND.phraseKeys(0)]: phrases?.keys ?? [],
      [BOUND.phraseBonuses(0)]: phrases?.bonuses ?? [],
      [BOUND.phraseBound(0)]: phrases?.bound ?? 0,
      [BOUND.isPhraseFilter(0)]: phrases?.isFilter ?? false,
    },
  )
  return new Map(rows.map(([content, score]) => [String(content), Number(score)]))
}

/** BM25 as in textbooks, for texts that are all distinct. */
export function plainScores(texts: readonly string[], query: string): ReadonlyMap<string, number> {
  const reader = new Analyzer('english')
  const asked = [...new Analyzer('english', 'query').terms(query)].flat().map((term) => term.text)
  const termsOf = (text: string) => [...reader.terms(text)].flat().map((term) => term.text)
  const documents = texts.map((text) => ({ text, terms: termsOf(text) }))
  const meanLength = documents.reduce((sum, { terms }) => sum + terms.length, 0) / documents.length
  const scores = new Map<string, number>()
  for (const term of asked) {
    const having = documents.filter(({ terms }) => terms.includes(term))
    const rarity = Math.log(1 + (texts.length - having.length + 0.5) / (having.length + 0.5))
    for (const { text, terms } of having) {
      const frequency = terms.filter((other) => other === term).length
      const length = 1 - 0.75 + (0.75 * terms.length) / meanLength
      const score = (rarity * frequency * 2.2) / (frequency + 1.2 * length)
      scores.set(text, (scores.get(text) ?? 0) + score)
    }
  }
  return scores
}

export function expectedOrder(scores: ReadonlyMap<string, number>): readonly [string, string][] {
  return [...scores].map(([text, score]): [string, string] => [text, score.toFixed(9)]).sort()
}
