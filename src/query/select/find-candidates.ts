/**
 * Finds the nearest chunks of a plan's searches in memory before its statement runs, and passes
 * them as bound lists.
 */

import {
  type KeywordSearch,
  PART_CHUNKS,
  type PhraseHits,
} from '../../core/domain/hybrid-search.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import type { BoundSql, BoundValue, SourceSelect } from '../../core/domain/ports/engine-ports.ts'
import type {
  NearestChunk,
  NearestFound,
  NearestSearch,
} from '../../core/domain/ports/search-ports.ts'
import { AppError } from '../../core/errors.ts'
import {
  bestFedBack,
  exactFusion,
  type FedBackSearch,
  type FusionWeights,
  fusedHits,
  type RankedHit,
} from '../../retrieval/fusion.ts'
import { parseTree, type TreeNode } from '../../sql/ast/select-ast.ts'
import { chunkCondition } from '../../sql/pushdown/chunk-condition.ts'
import { BOUND } from '../../sql/search/plan-inputs.ts'
import type { HybridEdit } from '../../sql/subquery/knowledge-base-subquery.ts'
import type { BoundValues } from './bind-plan.ts'
import type { CandidatePlan, CandidateRequest } from './plan-cache.ts'
import { type RunContext, runLimits } from './query-deps.ts'

/** Added to the description of a search with filters. */
export const AMONG_FILTERED = ', among the chunks that the conditions keep'

export interface FoundCandidates {
  readonly searches: readonly FoundSearch[]
  statement(): BoundSql
  /** False if a chunk may have changed since the candidates were found. */
  isCurrent(): boolean
}

/** @param values without candidates @returns null if those of a search cannot be found */
export async function findCandidates(
  plan: CandidatePlan,
  values: BoundValues,
  context: RunContext,
): Promise<FoundCandidates | null> {
  const searches = await Promise.all(
    plan.requests.map((request) => searchCandidates(request, values, context)),
  )
  const answered = searches.filter((search) => search !== null)
  if (answered.length < searches.length) return null
  return {
    searches: answered,
    statement: () => {
      const bound = Object.entries(values).filter(([name]) => plan.parameters.has(name))
      return {
        sql: plan.sql,
        values: Object.assign(Object.fromEntries(bound), ...answered.map(listsOf)),
        isShort: plan.isShort,
      }
    },
    isCurrent: () => answered.every((search) => search.found.isCurrent()),
  }
}

export interface FoundSearch {
  readonly textIndex: number
  readonly knowledgeBase: KnowledgeBase
  readonly chunks: readonly NearestChunk[]
  /** For a hybrid search; null if relevance follows from the distance. */
  readonly relevances: readonly number[] | null
  readonly found: NearestFound
}

/** Finds the nearest chunks, or the first ones after fusion; null if memory cannot answer. */
async function searchCandidates(
  request: CandidateRequest,
  values: BoundValues,
  context: RunContext,
): Promise<FoundSearch | null> {
  const { deps, signal, timer } = context
  const search = nearestSearch(request, values, context)
  if (search === null) return null
  const { textIndex, knowledgeBase, hybrid } = request
  if (hybrid === null) {
    const found = await timer.time('candidates', () => deps.nearest.nearest(search, signal))
    return found && { textIndex, knowledgeBase, chunks: found.neighbours, relevances: null, found }
  }
  const alpha = boundAlpha(hybrid, textIndex, values)
  return timer.time('candidates', async () => {
    const enoughCount = alpha === 0 ? hybrid.firstCount : null
    // One more than requested, so that there is rarely a tie with the last result.
    const hitCount = hybrid.fusion === 'convex' ? search.count + 1 : PART_CHUNKS
    const { fusion } = hybrid
    const wanted = { count: hitCount, enoughCount, fusion }
    const keywordSearch = { ...boundTerms(textIndex, values), ...wanted }
    const found = await deps.nearest.nearest({ ...search, keywordSearch }, signal)
    const fused = {
      ...hybrid,
      alpha,
      hitCount,
      nearestCount: search.count,
      queryVector: search.queryVector,
      isFedBack: hybrid.hasFeedback && values[BOUND.isFedBack(textIndex)] === true,
    }
    const chunks = found && (await rankedHits(fused, found, signal))
    if (found === null || chunks === null) return null
    const relevances = chunks.map(({ relevance }) => relevance)
    return { textIndex, knowledgeBase, chunks, relevances, found }
  })
}

/** Null if there is no vector, because another statement was planned for this search. */
function nearestSearch(
  { textIndex, knowledgeBase, count, prefilter, allowsPartial }: CandidateRequest,
  values: BoundValues,
  { deps }: RunContext,
): NearestSearch | null {
  const queryVector = values[BOUND.vector(textIndex)]
  if (!(queryVector instanceof Float32Array)) return null
  const search = { knowledgeBase, queryVector, count, allowsPartial, limits: runLimits(deps) }
  if (prefilter === null) return { ...search, prefilter: null }
  const { parameters, ...conditions } = prefilter
  const own = Object.entries(values).filter(([name]) => parameters.has(name))
  const asked = { ...conditions, values: Object.fromEntries(own) }
  const condition = async (isSpread: boolean) => {
    const tree = parseTree(await deps.engine.parse(asked.sql))
    return remoteCondition(knowledgeBase, tree, { params: asked.values, isSpread })
  }
  return { ...search, prefilter: asked, condition }
}

/** @throws AppError `sql_not_supported` if PostgreSQL might evaluate it differently */
function remoteCondition(
  kb: KnowledgeBase,
  tree: TreeNode,
  rendering: Parameters<typeof chunkCondition>[2],
): SourceSelect {
  const condition = chunkCondition(tree, kb, rendering)
  if (condition !== null) return condition
  const what = `some of its conditions may mean something else in ${kb.vectorDatabase}`
  const how = 'compare columns with values, or attach it with a copy'
  throw new AppError('sql_not_supported', `This search of ${kb.name} needs a copy: ${what}; ${how}`)
}

function boundAlpha(hybrid: HybridEdit, textIndex: number, values: BoundValues): number {
  const alpha = hybrid.alpha ?? values[BOUND.alpha(textIndex)]
  if (typeof alpha !== 'number') throw new Error('the weight of a hybrid search must be bound')
  return alpha
}

function boundTerms(
  textIndex: number,
  values: BoundValues,
): Pick<KeywordSearch, 'terms' | 'phrases'> {
  const keys = boundItems(values[BOUND.termKeys(textIndex)])
  const counts = boundItems(values[BOUND.termCounts(textIndex)])
  return {
    terms: {
      keys: keys.filter((key) => typeof key === 'bigint'),
      counts: counts.filter((count) => typeof count === 'number'),
    },
    phrases: boundPhrases(textIndex, values),
  }
}

function boundPhrases(textIndex: number, values: BoundValues): PhraseHits | null {
  const bound = values[BOUND.phraseBound(textIndex)]
  if (typeof bound !== 'number' || bound === 0) return null
  const keys = boundItems(values[BOUND.phraseKeys(textIndex)])
  const bonuses = boundItems(values[BOUND.phraseBonuses(textIndex)])
  return {
    keys: keys.filter((key) => typeof key === 'bigint'),
    bonuses: bonuses.filter((bonus) => typeof bonus === 'number'),
    bound,
    isFilter: values[BOUND.isPhraseFilter(textIndex)] === true,
  }
}

function boundItems(value: BoundValue | undefined): readonly BoundValue[] {
  return Array.isArray(value) ? value : []
}

type FusedSearch = FusionWeights &
  Pick<HybridEdit, 'firstCount'> &
  Pick<FedBackSearch, 'hitCount' | 'nearestCount' | 'queryVector' | 'isFedBack'>

/** Null if the keyword index was not searched, or there are too many candidates. */
async function rankedHits(
  { firstCount, ...search }: FusedSearch,
  { neighbours, keywordHits: hits, feedback, isCurrent }: NearestFound,
  signal: AbortSignal,
): Promise<readonly RankedHit[] | null> {
  // The results are outdated, so the search will be repeated.
  if (hits === undefined) return isCurrent() ? null : []
  if (search.fusion === 'convex') {
    if (firstCount === null) return null
    return bestFedBack({ ...search, firstCount, neighbours, hits }, feedback, signal)
  }
  const fused = fusedHits({ neighbours, keywordHits: hits.best }, search)
  const distancesOf = (keys: readonly bigint[]) => hits.distancesOf(keys, signal)
  return exactFusion(fused, { firstCount, distancesOf })
}

/** Converts the chunks to bound lists for the statement. */
function listsOf({ textIndex, chunks, relevances }: FoundSearch): BoundValues {
  return {
    [BOUND.candidateKeys(textIndex)]: chunks.map(({ key }) => key),
    [BOUND.candidateDistances(textIndex)]: chunks.map(({ distance }) => distance),
    ...(relevances === null ? {} : { [BOUND.candidateRelevances(textIndex)]: relevances }),
  }
}
