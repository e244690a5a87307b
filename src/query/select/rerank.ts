import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import type { ResultValue } from '../../core/domain/query-result.ts'
import { AppError } from '../../core/errors.ts'
import { isObject } from '../../core/json.ts'
import { BOUND, type PlannedText } from '../../sql/search/plan-inputs.ts'
import type { ParameterValues } from '../sessions.ts'
import { type BoundValues, bindPlan } from './bind-plan.ts'
import type { PlannedReranking, SelectPlan } from './plan-cache.ts'
import type { RunContext } from './query-deps.ts'
import { runPlan } from './run-plan.ts'

/** The candidates of a plan's rerankings in their new order, with the judgments. */
export interface Reranked {
  /**
   * Bound lists of keys, relevances and distances, and how likely the candidates answer their text.
   */
  readonly values: BoundValues
  /** Warnings about rerankers that failed, so that their searches keep the original order. */
  readonly warnings: readonly string[]
  /** Whether there was a reranking, and all of them succeeded. */
  readonly isReranked: boolean
  readonly isFromMemory: boolean
}

/** @throws AppError if the candidates' SELECT fails, but not if a reranker fails */
export async function rerank(plan: SelectPlan, context: RunContext): Promise<Reranked> {
  const all = await Promise.all(plan.rerankings.map((request) => reranked(request, plan, context)))
  const orders = all.filter(({ isReranked }) => isReranked !== null)
  return {
    values: Object.assign({}, ...all.map(({ values }) => values)),
    warnings: [...new Set(all.flatMap(({ warnings }) => warnings))],
    isReranked: orders.length > 0 && orders.every(({ isReranked }) => isReranked === true),
    isFromMemory: all.some(({ isFromMemory }) => isFromMemory),
  }
}

interface Candidate {
  readonly key: bigint
  readonly content: string
  readonly relevance: number
  readonly distance: number | null
  readonly documentId: string
  readonly heading: string
}

async function reranked(
  request: PlannedReranking,
  { innerPlans }: SelectPlan,
  context: RunContext,
) {
  const plan = innerPlans.get(request.candidates)
  if (plan === undefined) throw new Error('the candidates of a reranking must be planned')
  const inner = { ...context, options: null, isShown: false }
  const bound = await bindPlan(plan, inner)
  const { rows, isFromMemory } = await runPlan(plan, bound, inner)
  const candidates = (await Array.fromAsync(rows.batches)).flat().map(candidateOf)
  const { rerankingIndex } = request
  if (request.rerankedCount === null) {
    const score = await judged(candidates, request, context)
    const values = { [BOUND.answerable(rerankingIndex)]: score }
    // The candidates were judged and keep their order.
    return { values, warnings: rows.warnings ?? [], isReranked: null, isFromMemory }
  }
  const { ranked, ...outcome } = await scored(candidates, request, context)
  const values = {
    [BOUND.rerankedKeys(rerankingIndex)]: ranked.map(({ key }) => key),
    [BOUND.rerankedRelevances(rerankingIndex)]: ranked.map(({ relevance }) => relevance),
    [BOUND.rerankedDistances(rerankingIndex)]: ranked.map(({ distance }) => distance),
  }
  const warnings = [...(rows.warnings ?? []), ...outcome.warnings]
  return { ...outcome, warnings, values, isFromMemory }
}

function candidateOf(row: readonly ResultValue[]): Candidate {
  const [key, content, relevance, distance, id = '', metadata = null] = row
  return {
    key: BigInt(String(key)),
    content: typeof content === 'string' ? content : '',
    relevance: Number(relevance),
    distance: typeof distance === 'number' ? distance : null,
    documentId: String(id),
    heading: isObject(metadata) && typeof metadata.heading === 'string' ? metadata.heading : '',
  }
}

/** Null for a vector, because there is no question to judge by. */
async function judged(
  candidates: readonly Candidate[],
  { texts }: PlannedReranking,
  { deps, params }: RunContext,
): Promise<number | null> {
  const question = queryTextOf(texts, params)
  if (question === null) return null
  const passages = candidates.map(({ content: text, distance, ...candidate }) => {
    return { ...candidate, text, ...(distance === null ? {} : { cosine: 1 - distance }) }
  })
  return (await deps.judgeAnswerability(question, passages)).score
}

async function scored(
  candidates: readonly Candidate[],
  request: PlannedReranking,
  { deps, signal, timer, params }: RunContext,
) {
  const unchanged = { ranked: candidates, warnings: [], isReranked: false }
  const model = request.knowledgeBase.rerankingModel
  const queryText = queryTextOf(request.texts, params)
  // A reranker needs a text, not a vector.
  if (model === null || queryText === null) return unchanged
  if (candidates.length === 0) return { ...unchanged, isReranked: true }
  const first = candidates.slice(0, request.rerankedCount ?? 0)
  try {
    const passages = first.map(({ content }) => content)
    const reranker = deps.rerankers.reranker(model)
    const scores = await timer.time('rerank', () => reranker.rerank(queryText, passages, signal))
    signal.throwIfAborted()
    if (scores.length !== first.length) {
      const found = `${scores.length} scores for ${first.length} passages`
      throw new AppError('provider_failed', `the reranker gave ${found}`)
    }
    const ranked = withScores(candidates, scores, request.knowledgeBase)
    return { ranked, warnings: [], isReranked: true }
  } catch (error) {
    signal.throwIfAborted()
    if (!(error instanceof AppError)) throw error
    const who = `${model.provider}${model.modelName === '' ? '' : ` (${model.modelName})`}`
    const what = `${request.knowledgeBase.name} was searched without reranking by ${who}`
    return { ...unchanged, warnings: [`${what}: ${error.message}`] }
  }
}

/** Null if one of the values is not a text. */
function queryTextOf(texts: readonly PlannedText[], params: ParameterValues): string | null {
  const values = texts.map((text) => {
    if (text.kind === 'constant') return text.text
    return text.kind === 'parameter' ? params.get(text.name) : undefined
  })
  const strings = values.filter((value) => typeof value === 'string')
  return strings.length === 0 || strings.length < values.length ? null : strings.join('\n')
}

/** As relevances. Unscored ones follow, or are left out by a threshold or count. */
function withScores(
  candidates: readonly Candidate[],
  scores: readonly number[],
  { rerankingModel }: KnowledgeBase,
): readonly Candidate[] {
  const judged = candidates.slice(0, scores.length).map((candidate, index) => {
    return { ...candidate, relevance: scores[index] ?? 0 }
  })
  const { filtering_threshold: threshold, num_docs_to_keep: most } = rerankingModel?.options ?? {}
  if (typeof threshold === 'number' || typeof most === 'number') {
    return judged
      .filter(({ relevance }) => typeof threshold !== 'number' || relevance >= threshold)
      .toSorted((one, other) => other.relevance - one.relevance)
      .slice(0, typeof most === 'number' ? most : judged.length)
  }
  const least = Math.min(1, ...scores)
  const others = candidates.slice(scores.length).map((candidate) => {
    return { ...candidate, relevance: Math.min(candidate.relevance, least) }
  })
  return [...judged, ...others]
}
