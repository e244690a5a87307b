import { PART_CHUNKS } from '../../domain/hybrid-search.ts'
import type { QueryResult, ResultValue, RowStream } from '../../domain/query-result.ts'
import type { ExplainStatement } from '../../sql/dialect/parse-explain.ts'
import { type QueryDeps, runLimits, withoutModelCalls } from '../query-deps.ts'
import { AMONG_FILTERED, findCandidates } from '../select/find-candidates.ts'
import type { PlannedReranking, SelectPlan } from '../select/plan-cache.ts'
import { planAndBind } from '../select/run-select.ts'
import type { StatementRequest } from '../statement-request.ts'

/**
 * DuckDB's own plan (`explain_key`, `explain_value`) of the SELECT as it runs: searches, views and agents in it are
 * sub-queries there. Before it, a row `search` for each search: how its chunks are found, and why so.
 */
export async function runExplainStatement(
  { statement, db, params }: StatementRequest<ExplainStatement>,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<QueryResult> {
  const request = { sql: statement.select, database: db, params }
  const planDeps = statement.isAnalyzed ? deps : withoutModelCalls(deps)
  const { plan, statement: scan, binding } = await planAndBind(request, planDeps, signal)
  const overCandidates =
    plan.candidates && (await findCandidates(plan.candidates, scan.values, binding))
  const select = overCandidates?.statement ?? scan
  const explain = statement.isAnalyzed ? 'EXPLAIN ANALYZE' : 'EXPLAIN'
  const explained = { ...select, sql: `${explain} ${select.sql}` }
  const rows = await deps.engine.run(explained, runLimits(deps), signal)
  const choices = choicesOf(plan, overCandidates !== null, deps).map((choice) => ['search', choice])
  return { kind: 'table', rows: withFirstRows(rows, choices), context: { db } }
}

/** Memory answers all searches of a statement, or none. */
const MUST_SCAN = 'another search must, or too many chunks have the same words'

function choicesOf(plan: SelectPlan, isFound: boolean, deps: QueryDeps): readonly string[] {
  const searches = (plan.candidates?.requests ?? []).map(
    ({ knowledgeBase: kb, count, prefilter, hybrid }) => {
      const { kind, detail } = deps.nearest.access(kb, prefilter !== null)
      const name = `${kb.projectName}.${kb.name}`
      if (kind === 'scan') return `${name}: the database measures every vector, because ${detail}`
      if (!isFound) return `${name}: the database measures every vector, because ${MUST_SCAN}`
      const among = prefilter === null ? '' : AMONG_FILTERED
      const words = hybrid === null ? '' : `, and the best ${PART_CHUNKS} by their words`
      return `${name}: the nearest ${count} of ${detail}${words}${among}`
    },
  )
  const scans = plan.scans.map(({ knowledgeBase: kb, reason }) => {
    return `${kb.projectName}.${kb.name}: the database measures every vector, because ${reason}`
  })
  return [
    ...searches,
    ...scans,
    ...plan.rerankings.flatMap((one) => rerankingChoices(one, plan, deps)),
  ]
}

/** A reranked search finds its candidates by a SELECT of its own. */
function rerankingChoices(
  { candidates, knowledgeBase: kb, rerankedCount }: PlannedReranking,
  { innerPlans }: SelectPlan,
  deps: QueryDeps,
): readonly string[] {
  const inner = innerPlans.get(candidates)
  const { provider = '' } = kb.rerankingModel ?? {}
  const choice = `${kb.projectName}.${kb.name}: ${provider} reranks the best ${rerankedCount}`
  return [...(inner === undefined ? [] : choicesOf(inner, true, deps)), choice]
}

function withFirstRows(rows: RowStream, first: readonly ResultValue[][]): RowStream {
  if (first.length === 0) return rows
  const { batches } = rows
  return {
    ...rows,
    batches: {
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
    },
  }
}
