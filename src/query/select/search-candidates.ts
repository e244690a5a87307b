import { PART_CHUNKS } from '../../domain/hybrid-search.ts'
import type { KeywordSearch } from '../../domain/keyword-search.ts'
import type {
  BoundValue,
  KeywordHits,
  NearestChunk,
  NearestFound,
  NearestSearch,
} from '../../domain/ports.ts'
import { exactFusion, type FusionWeights, fusedHits } from '../../retrieval/fusion.ts'
import {
  alphaParameter,
  keywordsParameter,
  phrasesParameter,
  vectorParameter,
} from '../../sql/search/ranking.ts'
import {
  candidateDistancesParameter,
  candidateKeysParameter,
  candidateRelevancesParameter,
} from '../../sql/subquery/candidate-rows.ts'
import type { HybridEdit } from '../../sql/subquery/tree-edit.ts'
import type { QueryDeps } from '../query-deps.ts'
import type { CandidateRequest } from './plan-cache.ts'
import { limitsOf } from './run-limits.ts'

type Values = Readonly<Record<string, BoundValue>>

/** The chunks of one search, as lists for its statement. */
export interface SearchCandidates {
  readonly values: Values
  /** False when a chunk may have changed since. */
  isCurrent(): boolean
}

interface Running {
  readonly deps: QueryDeps
  readonly signal: AbortSignal
}

/**
 * Finds the nearest chunks of a search, or those that a hybrid search puts first.
 * @param values of the statement that would scan: parameters, vectors and words
 * @returns null where they cannot be found so
 * @throws AppError as `NearestChunks.nearest` does
 */
export async function searchCandidates(
  request: CandidateRequest,
  values: Values,
  { deps, signal }: Running,
): Promise<SearchCandidates | null> {
  const search = nearestSearch(request, values, deps)
  if (search === null) return null
  const { text, hybrid } = request
  if (hybrid === null) {
    const found = await deps.nearest.nearest(search, signal)
    if (found === null) return null
    return { values: listsOf(text, found.neighbours), isCurrent: found.isCurrent }
  }
  const weights = { alpha: alphaOf(hybrid, text, values), fusion: hybrid.fusion }
  const words = wordsOf(hybrid, text, { values, weights })
  const found = await deps.nearest.nearest({ ...search, words }, signal)
  if (found === null) return null
  const fused = await fusedLists(request, { hybrid, weights, found }, signal)
  return fused && { values: fused, isCurrent: found.isCurrent }
}

/** null without a vector: a search that was planned for another statement. */
function nearestSearch(
  { text, knowledgeBase, count, kept }: CandidateRequest,
  values: Values,
  deps: QueryDeps,
): NearestSearch | null {
  const queryVector = values[vectorParameter(text)]
  if (!(queryVector instanceof Float32Array)) return null
  const search = { knowledgeBase, queryVector, count, limits: limitsOf(deps) }
  if (kept === null) return { ...search, kept }
  const own = Object.entries(values).filter(([name]) => kept.parameters.has(name))
  const { sql, isCacheable } = kept
  return { ...search, kept: { sql, values: Object.fromEntries(own), isCacheable } }
}

function alphaOf(hybrid: HybridEdit, text: number, values: Values): number {
  const alpha = hybrid.alpha ?? values[alphaParameter(text)]
  if (typeof alpha !== 'number') throw new Error('the weight of a hybrid search must be bound')
  return alpha
}

function wordsOf(
  { firstCount }: HybridEdit,
  text: number,
  { values, weights }: { readonly values: Values; readonly weights: FusionWeights },
): KeywordSearch {
  return {
    terms: itemsOf(values[keywordsParameter(text)]).filter((key) => typeof key === 'bigint'),
    phrases: itemsOf(values[phrasesParameter(text)])
      .filter((phrase) => typeof phrase === 'string')
      .filter((phrase) => phrase !== ''),
    count: PART_CHUNKS,
    enoughCount: weights.alpha === 0 ? firstCount : null,
  }
}

function itemsOf(value: BoundValue | undefined): readonly BoundValue[] {
  return Array.isArray(value) ? value : []
}

interface FusedSearch {
  readonly hybrid: HybridEdit
  readonly weights: FusionWeights
  readonly found: NearestFound
}

/** null: nobody looked for the words. */
async function fusedLists(
  { text }: CandidateRequest,
  { hybrid, weights, found }: FusedSearch,
  signal: AbortSignal,
): Promise<Values | null> {
  if (found.words === undefined && found.isCurrent()) return null
  const { best: worded, measured } = found.words ?? NO_WORDS
  const fused = fusedHits({ neighbours: found.neighbours, worded }, weights)
  const { firstCount } = hybrid
  const first = await exactFusion(fused, { firstCount, measured: (keys) => measured(keys, signal) })
  const relevances = first.map(({ relevance }) => relevance)
  return { ...listsOf(text, first), [candidateRelevancesParameter(text)]: relevances }
}

/** What is found is old already, and will be found again. */
const NO_WORDS: KeywordHits = { best: [], measured: async () => [] }

function listsOf(text: number, chunks: readonly NearestChunk[]): Values {
  return {
    [candidateKeysParameter(text)]: chunks.map(({ key }) => key),
    [candidateDistancesParameter(text)]: chunks.map(({ distance }) => distance),
  }
}
