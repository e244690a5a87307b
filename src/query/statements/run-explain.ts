import { PART_CHUNKS } from '../../core/domain/hybrid-search.ts'
import { fullName } from '../../core/domain/names.ts'
import {
  type QueryResult,
  type ResultValue,
  type RowStream,
  rowsOf,
} from '../../core/domain/query-result.ts'
import { isObject } from '../../core/json.ts'
import type { ExplainStatement } from '../../sql/dialect/parse-statement.ts'
import { BOUND } from '../../sql/search/plan-inputs.ts'
import type { HybridSearch } from '../../sql/search/ranking.ts'
import type { BoundValues } from '../select/bind-plan.ts'
import { AMONG_FILTERED, findCandidates } from '../select/find-candidates.ts'
import type { PlannedReranking, SelectPlan } from '../select/plan-cache.ts'
import { type QueryDeps, runLimits, withoutModelCalls } from '../select/query-deps.ts'
import { type BoundSelect, withBoundSelect } from '../select/run-select.ts'
import { describedReads } from '../select/source-reads.ts'
import type { StatementRequest } from '../select/statement-request.ts'

/**
 * Returns DuckDB's plan (`explain_key`, `explain_value`) of the SELECT as it runs, with searches,
 * views and agents as subqueries. Before it comes a row `source` for each SELECT sent to a remote
 * database, and a row `search` for each search, which says how its chunks are found and why. In
 * JSON format the plan is a tree.
 */
export async function runExplainStatement(
  { statement, db, params }: StatementRequest<ExplainStatement>,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<QueryResult> {
  const { isAnalyzed, format } = statement
  const request = { sql: statement.select, database: db, params, isDescribed: !isAnalyzed }
  const planDeps = isAnalyzed ? deps : withoutModelCalls(deps)
  // A plan is a single row, which is already in memory.
  return withBoundSelect(request, planDeps, signal, async (bound) => {
    const rows = await explained(bound, { isAnalyzed, format }, deps, signal)
    return { kind: 'table', rows, context: { db } }
  })
}

async function explained(
  { plan, statement: scan, binding }: BoundSelect,
  { isAnalyzed, format }: Pick<ExplainStatement, 'isAnalyzed' | 'format'>,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<RowStream> {
  const overCandidates =
    plan.candidates && (await findCandidates(plan.candidates, scan.values, binding))
  const select = overCandidates?.statement() ?? scan
  const explain = `EXPLAIN (${isAnalyzed ? 'ANALYZE, ' : ''}FORMAT ${format})`
  const explaining = { ...select, sql: `${explain} ${select.sql}` }
  const rows = await deps.engine.run(explaining, runLimits(deps), signal)
  const found = { isFound: overCandidates !== null, values: scan.values }
  const choices = choicesOf(plan, found, deps).map((choice) => ['search', choice])
  const leftOut = (overCandidates?.searches ?? []).flatMap(({ found }) => found.warnings ?? [])
  const notes = leftOut.map((one) => ['search', one])
  const sent = describedReads(plan, binding).map((read) => ['source', read])
  return withFirstRows(format === 'json' ? await asTree(rows) : rows, [
    ...sent,
    ...choices,
    ...notes,
  ])
}

/** Returns the row with the plan as a tree in one uniform shape. */
async function asTree({ columns, batches, ready }: RowStream): Promise<RowStream> {
  const read: (readonly ResultValue[])[] = [...(ready ?? [])]
  if (ready === undefined) for await (const batch of batches) read.push(...batch)
  const rows = read.map(([key = null, text]) => [key, JSON.stringify(planTree(String(text)))])
  return rowsOf(
    columns.map(({ name }) => name),
    rows,
  )
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

function withFirstRows(rows: RowStream, first: readonly ResultValue[][]): RowStream {
  if (first.length === 0) return rows
  const { batches, ready, columns } = rows
  const all = { columns, batches: batchesAfter(first, batches) }
  return ready === undefined ? all : { ...all, ready: [...first, ...ready] }
}

function batchesAfter(
  first: readonly ResultValue[][],
  batches: RowStream['batches'],
): RowStream['batches'] {
  return {
    [Symbol.asyncIterator]: () => {
      const others = batches[Symbol.asyncIterator]()
      let isFirst = true
      return {
        next: async () => {
          if (!isFirst) return others.next()
          isFirst = false
          return { done: false, value: first }
        },
        return: async () => (await others.return?.()) ?? { done: true, value: undefined },
      }
    },
  }
}

/** Converts DuckDB's plan in JSON, which has two shapes, to one kind of tree. No I/O. */

interface PlanNode {
  /** DuckDB's name of the operator, for example `HASH_GROUP_BY`. */
  readonly operator: string
  /** DuckDB's details about it, for example `Filters` or `Order By`. */
  readonly details: Readonly<Record<string, string | readonly string[]>>
  readonly estimated_rows: number | null
  /** Null if the statement did not run. */
  readonly rows: number | null
  readonly rows_scanned: number | null
  /** The time of this operator alone, over all threads. */
  readonly seconds: number | null
  readonly children: readonly PlanNode[]
}

const ESTIMATE = 'Estimated Cardinality'

/** @param json without DuckDB's copy of the statement */
function planTree(json: string): PlanNode | null {
  const parsed: unknown = JSON.parse(json)
  const [root] = Array.isArray(parsed) ? parsed : childrenOf(parsed)
  if (!isObject(root)) return null
  const node = planNode(root)
  // The operator that measures is not part of the measured plan.
  const isMeasuring = node.operator === 'EXPLAIN_ANALYZE'
  return isMeasuring ? (node.children[0] ?? null) : node
}

function planNode(given: unknown): PlanNode {
  const node = isObject(given) ? given : {}
  const info = isObject(node.extra_info) ? node.extra_info : {}
  const { [ESTIMATE]: estimate, ...others } = info
  const details = Object.entries(others).map(([name, value]) => [name, detailOf(value)] as const)
  return {
    operator: String(node.name ?? node.operator_name ?? '').trim(),
    details: Object.fromEntries(details),
    estimated_rows: numberOrNull(estimate),
    rows: numberOrNull(node.operator_cardinality),
    rows_scanned: numberOrNull(node.operator_rows_scanned),
    seconds: numberOrNull(node.operator_timing),
    children: childrenOf(node).map(planNode),
  }
}

function childrenOf(node: unknown): readonly unknown[] {
  return isObject(node) && Array.isArray(node.children) ? node.children : []
}

function detailOf(value: unknown): string | readonly string[] {
  return Array.isArray(value) ? value.map(String) : String(value)
}

function numberOrNull(value: unknown): number | null {
  return value === undefined || value === null ? null : Number(value)
}
