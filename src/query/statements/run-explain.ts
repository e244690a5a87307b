import { PART_CHUNKS } from '../../core/domain/hybrid-search.ts'
import { fullName } from '../../core/domain/names.ts'
import { type ResultValue, type RowStream, rowsOf } from '../../core/domain/query-result.ts'
import type { StatementOf } from '../../sql/dialect/parse-statement.ts'
import { BOUND } from '../../sql/search/plan-inputs.ts'
import type { HybridSearch } from '../../sql/search/ranking.ts'
import type { BoundValues } from '../select/bind-plan.ts'
import { AMONG_FILTERED, findCandidates } from '../select/find-candidates.ts'
import type { PlannedReranking, SelectPlan } from '../select/plan-cache.ts'
import { type QueryDeps, runLimits, withoutModelCalls } from '../select/query-deps.ts'
import { type BoundSelect, withBoundSelect } from '../select/run-select.ts'
import { describedReads } from '../select/source-reads.ts'
import type { Outcome, StatementRequest } from '../select/statement-request.ts'

/**
 * Returns DuckDB's plan (`explain_key`, `explain_value`) of the SELECT as it runs, with searches,
 * views and agents as subqueries. Before it comes a row `source` for each SELECT sent to a remote
 * database, and a row `search` for each search, which says how its chunks are found and why.
 */
export async function runExplainStatement(
  { statement, db, params }: StatementRequest<StatementOf<'explain'>>,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<Outcome> {
  const { isAnalyzed } = statement
  const request = { sql: statement.select, database: db, params, isDescribed: !isAnalyzed }
  const planDeps = isAnalyzed ? deps : withoutModelCalls(deps)
  return withBoundSelect(request, planDeps, signal, async (bound) => {
    return { rows: await explained(bound, isAnalyzed, deps, signal) }
  })
}

async function explained(
  { plan, statement: scan, binding }: BoundSelect,
  isAnalyzed: boolean,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<RowStream> {
  const overCandidates =
    plan.candidates && (await findCandidates(plan.candidates, scan.values, binding))
  const select = overCandidates?.statement() ?? scan
  const explaining = { ...select, sql: `EXPLAIN ${isAnalyzed ? 'ANALYZE ' : ''}${select.sql}` }
  const explained = await deps.engine.run(explaining, runLimits(deps), signal)
  const found = { isFound: overCandidates !== null, values: scan.values }
  const choices = choicesOf(plan, found, deps).map((choice) => ['search', choice])
  const leftOut = (overCandidates?.searches ?? []).flatMap(({ found }) => found.warnings ?? [])
  const notes = leftOut.map((one) => ['search', one])
  const sent = describedReads(plan, binding).map((read) => ['source', read])
  const first = [...sent, ...choices, ...notes]
  if (first.length === 0) return explained
  // A plan is one row, so the rows fit in memory.
  const rows: (readonly ResultValue[])[] = first
  for await (const batch of explained.batches) rows.push(...batch)
  const { columns } = explained
  return { ...rowsOf([], rows), columns, ready: rows }
}

/** Memory answers either all searches of a statement or none. */
const MUST_SCAN = 'another search must, or too many chunks have the same words'

interface Found {
  readonly isFound: boolean
  readonly values: BoundValues
}

function choicesOf(
  plan: SelectPlan,
  { isFound, values }: Found,
  deps: QueryDeps,
): readonly string[] {
  const searches = (plan.candidates?.requests ?? []).map(
    ({ knowledgeBase: kb, count, prefilter, hybrid, textIndex }) => {
      const { kind, detail } = deps.nearest.access(kb, prefilter !== null)
      const search = `${fullName(kb)}, ${methodOf(hybrid, [textIndex], values)}`
      if (kind === 'scan') return `${search}: ${SCAN}, because ${detail}`
      if (!isFound) return `${search}: ${SCAN}, because ${MUST_SCAN}`
      const among = prefilter === null ? '' : AMONG_FILTERED
      const words = hybrid === null ? '' : `, and the best${wordsCount(hybrid)} by their words`
      return `${search}: the nearest ${count} of ${detail}${words}${among}`
    },
  )
  const scans = plan.scans.map(({ knowledgeBase: kb, reason, hybrid, textIndexes }) => {
    return `${fullName(kb)}, ${methodOf(hybrid, textIndexes, values)}: ${SCAN}, because ${reason}`
  })
  const rerankings = plan.rerankings.flatMap((one) => rerankingChoices(one, plan, values, deps))
  return [...searches, ...scans, ...rerankings]
}

const SCAN = 'the database measures every vector'

/** Convex fusion fetches more of both kinds until no other chunk can be among the first. */
function wordsCount({ fusion }: HybridSearch): string {
  return fusion === 'convex' ? '' : ` ${PART_CHUNKS}`
}

/** Describes what chunks are ranked by, and the weights. */
function methodOf(
  hybrid: HybridSearch | null,
  textIndexes: readonly number[],
  values: BoundValues,
): string {
  if (hybrid === null) return 'by meaning'
  const alphas = textIndexes.map((index) => hybrid.alpha ?? values[BOUND.alpha(index)])
  // The candidates of a reranking are bound only when it runs.
  const known = alphas.filter((alpha) => typeof alpha === 'number')
  const weights = known.length === 0 ? 'by the text' : [...new Set(known)].join(', ')
  const feedback = feedbackOf(hybrid, textIndexes, values)
  return `by meaning and keywords (${hybrid.fusion}, weight of meaning ${weights}${feedback})`
}

function feedbackOf(
  { hasFeedback }: HybridSearch,
  textIndexes: readonly number[],
  values: BoundValues,
): string {
  if (!hasFeedback) return ''
  const bound = textIndexes.map((index) => values[BOUND.isFedBack(index)])
  if (bound.includes(true)) return ', with feedback'
  return bound.includes(undefined) ? ', feedback by the text' : ''
}

/** A reranked search finds its candidates with a separate SELECT. */
function rerankingChoices(
  { candidates, knowledgeBase: kb, rerankedCount }: PlannedReranking,
  { innerPlans }: SelectPlan,
  values: BoundValues,
  deps: QueryDeps,
): readonly string[] {
  const inner = innerPlans.get(candidates)
  const { provider = '' } = kb.rerankingModel ?? {}
  const choice = `${fullName(kb)}: ${provider} reranks the best ${rerankedCount}`
  const searches = inner === undefined ? [] : choicesOf(inner, { isFound: true, values }, deps)
  return [...searches, choice]
}
