import type { KnowledgeBase } from '../../domain/knowledge-base.ts'
import type { BoundValue, RerankerRegistry } from '../../domain/ports.ts'
import type { ResultValue } from '../../domain/query-result.ts'
import { AppError } from '../../errors.ts'
import type { PlannedText, RerankRequest } from '../../sql/search/plan-inputs.ts'
import {
  rerankedDistancesParameter,
  rerankedKeysParameter,
  rerankedRelevancesParameter,
} from '../../sql/subquery/reranked-rows.ts'
import type { Binding } from './binding.ts'
import { boundValues } from './bound-values.ts'
import type { SelectPlan } from './plan-cache.ts'
import { runCandidates } from './run-candidates.ts'
import { limitsOf } from './run-limits.ts'

export interface RerankedValues {
  readonly values: Readonly<Record<string, BoundValue>>
  /** Of rerankers that failed: their searches have the order that they had before. */
  readonly warnings: readonly string[]
}

/**
 * Finds the candidates of each reranking of a plan and has them scored: the bound lists of their keys, relevances and
 * distances.
 * @throws AppError as the SELECT of the candidates fails; never for a reranker's failure
 */
export async function rerankedValues(plan: SelectPlan, binding: Binding): Promise<RerankedValues> {
  const found = await Promise.all(plan.rerankings.map((one) => reranked(one, plan, binding)))
  return {
    values: Object.assign({}, ...found.map(({ values }) => values)),
    warnings: [...new Set(found.flatMap(({ warnings }) => warnings))],
  }
}

/** To see a plan nobody needs to be asked. */
export const NO_RERANKERS: RerankerRegistry = {
  providers: [],
  reranker: () => ({ rerank: async (_text, passages) => passages.map(() => 0) }),
}

interface Candidate {
  readonly key: bigint
  readonly content: string
  readonly relevance: number
  readonly distance: number | null
}

async function reranked(
  request: RerankRequest,
  plan: SelectPlan,
  binding: Binding,
): Promise<RerankedValues> {
  const { number } = request
  const candidates = await candidatesOf(request, plan, binding)
  const { ranked, warnings } = await scored(candidates, request, binding)
  return {
    values: {
      [rerankedKeysParameter(number)]: ranked.map(({ key }) => key),
      [rerankedRelevancesParameter(number)]: ranked.map(({ relevance }) => relevance),
      [rerankedDistancesParameter(number)]: ranked.map(({ distance }) => distance),
    },
    warnings,
  }
}

async function candidatesOf(
  { candidates: select }: RerankRequest,
  { values: plans }: SelectPlan,
  binding: Binding,
): Promise<readonly Candidate[]> {
  const plan = plans.get(select)
  if (plan === undefined) throw new Error('the candidates of a reranking must be planned')
  const { deps, signal } = binding
  const values = await boundValues(plan, { ...binding, options: null })
  const near = plan.candidates
  const rows =
    (near && (await runCandidates(near, values, { deps, signal }))) ??
    (await deps.engine.run({ sql: plan.sql, values }, limitsOf(deps), signal))
  const candidates: Candidate[] = []
  for await (const batch of rows.batches) candidates.push(...batch.map(candidateOf))
  return candidates
}

function candidateOf([key, content, relevance, distance]: readonly ResultValue[]): Candidate {
  return {
    key: BigInt(String(key)),
    content: typeof content === 'string' ? content : '',
    relevance: Number(relevance),
    distance: typeof distance === 'number' ? distance : null,
  }
}

interface Scored {
  readonly ranked: readonly Candidate[]
  readonly warnings: readonly string[]
}

async function scored(
  candidates: readonly Candidate[],
  request: RerankRequest,
  { deps, signal, params }: Binding,
): Promise<Scored> {
  const unchanged = { ranked: candidates, warnings: [] }
  const model = request.knowledgeBase.rerankingModel
  const queryText = queryTextOf(request.texts, params)
  // A query that is a vector says nothing that could be read.
  if (model === null || queryText === null || candidates.length === 0) return unchanged
  const judged = candidates.slice(0, request.rerankedCount)
  try {
    const passages = judged.map(({ content }) => content)
    const scores = await deps.rerankers.reranker(model).rerank(queryText, passages, signal)
    signal.throwIfAborted()
    if (scores.length !== judged.length) {
      const found = `${scores.length} scores for ${judged.length} passages`
      throw new AppError('provider_failed', `the reranker gave ${found}`)
    }
    return { ranked: withScores(candidates, scores, request.knowledgeBase), warnings: [] }
  } catch (error) {
    signal.throwIfAborted()
    if (!(error instanceof AppError)) throw error
    const who = `${model.provider}${model.modelName === '' ? '' : ` (${model.modelName})`}`
    const what = `${request.knowledgeBase.name} was searched without reranking by ${who}`
    return { ...unchanged, warnings: [`${what}: ${error.message}`] }
  }
}

/** null where one of the texts is none. */
function queryTextOf(texts: readonly PlannedText[], params: Binding['params']): string | null {
  const found = texts.map((of) => {
    if (of.kind === 'constant') return of.text
    return of.kind === 'parameter' ? params.get(of.name) : undefined
  })
  const given = found.filter((text) => typeof text === 'string')
  return given.length === 0 || given.length < found.length ? null : given.join('\n')
}

/**
 * The scores as relevances. Candidates that were not scored come after those that were: none of them is more relevant
 * than the least of those. With `filtering_threshold` or `num_docs_to_keep` only what was scored can stay.
 */
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
