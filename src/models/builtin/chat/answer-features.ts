/** What tells whether the best of some passages answers a question. */
import type { Passage } from './answer-unit.ts'
import type { QuestionTerms } from './question-terms.ts'
import type { FeaturedUnit, Features } from './unit-features.ts'

export interface ScoredUnit extends FeaturedUnit {
  readonly score: number
}

/** `rest…` are means over the other documents found: how similar a base is to itself. */
export const JUDGE_FEATURES = [
  'bias',
  'relevance',
  'restRelevance',
  'relevanceGap',
  'vector',
  'restVector',
  'vectorGap',
  'score',
  'margin',
  'share',
  'held',
  'nearby',
  'pairs',
  'grams',
  'names',
  'passageNames',
  'missing',
  'passageMissing',
  'passageHeld',
  'passagePairs',
  'kindHeld',
  'kindMissing',
  'mostHeld',
  'mostNearby',
  'mostGrams',
  'mostPassageHeld',
  'termCount',
  'isLatin',
  'isOther',
] as const

export type JudgeFeature = (typeof JUDGE_FEATURES)[number]

const MARGIN_MAX = 3
const TERMS_MAX = 12

/** In the order of `JUDGE_FEATURES`. @param scored the best first, at least one */
export function judgedFeatures(
  scored: readonly ScoredUnit[],
  terms: QuestionTerms,
  passages: readonly Passage[],
): readonly number[] {
  const [best] = scored
  if (best === undefined) return []
  const { features } = best
  const rival = scored.find(({ unit }) => {
    return unit.passage.documentId !== best.unit.passage.documentId
  })
  const relevances = perDocument(passages, ({ relevance }) => relevance)
  const vectors = perDocument(passages, ({ cosine }) => cosine ?? 0)
  const most = (name: keyof Features) => Math.max(...scored.map((one) => one.features[name]))
  const values: Readonly<Record<JudgeFeature, number>> = {
    bias: 1,
    relevance: relevances.best,
    restRelevance: relevances.rest,
    relevanceGap: relevances.gap,
    vector: vectors.best,
    restVector: vectors.rest,
    vectorGap: vectors.gap,
    score: best.score / 10,
    margin: rival === undefined ? 1 : Math.min(1, (best.score - rival.score) / MARGIN_MAX),
    share: 1 / scored.reduce((sum, { score }) => sum + Math.exp(score - best.score), 0),
    held: features.held,
    nearby: features.nearby,
    pairs: features.pairs,
    grams: features.grams,
    names: features.names,
    passageNames: features.passageNames,
    missing: features.missing,
    passageMissing: features.passageMissing,
    passageHeld: features.passageHeld,
    passagePairs: features.passagePairs,
    kindHeld: Number(features.kind > 0),
    kindMissing: Number(features.kind < 0),
    mostHeld: most('held'),
    mostNearby: most('nearby'),
    mostGrams: most('grams'),
    mostPassageHeld: most('passageHeld'),
    termCount: Math.min(1, terms.count / TERMS_MAX),
    isLatin: Number(terms.kind === 'latin'),
    isOther: Number(terms.kind === 'other'),
  }
  return JUDGE_FEATURES.map((name) => values[name])
}

/** A document's best passage counts. */
function perDocument(passages: readonly Passage[], read: (passage: Passage) => number) {
  const byDocument = new Map<string, number>()
  for (const passage of passages) {
    const { documentId } = passage
    byDocument.set(documentId, Math.max(byDocument.get(documentId) ?? 0, read(passage)))
  }
  const [best = 0, ...others] = [...byDocument.values()].sort((a, b) => b - a)
  const rest = others.reduce((sum, value) => sum + value, 0) / Math.max(1, others.length)
  return { best, rest, gap: best - (others[0] ?? 0) }
}
