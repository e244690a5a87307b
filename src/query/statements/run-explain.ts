import { PART_CHUNKS } from '../../domain/hybrid-search.ts'
import type { AgentAnswers } from '../../domain/ports.ts'
import type { QueryResult, ResultValue, RowStream } from '../../domain/query-result.ts'
import type { ExplainStatement } from '../../sql/dialect/parse-explain.ts'
import type { RerankRequest } from '../../sql/search/plan-inputs.ts'
import type { QueryDeps } from '../query-deps.ts'
import type { SelectPlan } from '../select/plan-cache.ts'
import { NO_RERANKERS } from '../select/reranked-values.ts'
import { AMONG_KEPT, foundCandidates } from '../select/run-candidates.ts'
import { limitsOf } from '../select/run-limits.ts'
import { prepareSelect } from '../select/run-select.ts'
import type { StatementRequest } from './statement-request.ts'

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
  const quiet = statement.isAnalyzed
    ? deps
    : { ...deps, agents: NO_AGENTS, rerankers: NO_RERANKERS }
  const { plan, statement: scanning } = await prepareSelect(request, quiet, signal)
  const { candidates } = plan
  const found =
    candidates === null
      ? null
      : await foundCandidates(candidates, scanning.values, { deps, signal })
  const select = found?.statement ?? scanning
  const explain = statement.isAnalyzed ? 'EXPLAIN ANALYZE' : 'EXPLAIN'
  const explained = { ...select, sql: `${explain} ${select.sql}` }
  const rows = await deps.engine.run(explained, limitsOf(deps), signal)
  const choices = choicesOf(plan, found !== null, deps).map((choice) => ['search', choice])
  return { kind: 'table', rows: withFirstRows(rows, choices), context: { db } }
}

/** To see a plan nobody needs to be asked. */
const NO_AGENTS: AgentAnswers = {
  ask: async () => ({ content: '', traceId: '', citations: [] }),
}

/** Memory answers all searches of a statement, or none. */
const MUST_SCAN = 'another search must, or too many chunks have the same words'

function choicesOf(plan: SelectPlan, isFound: boolean, deps: QueryDeps): readonly string[] {
  const found = (plan.candidates?.requests ?? []).map(
    ({ knowledgeBase: kb, count, kept, hybrid }) => {
      const { kind, detail } = deps.nearest.access(kb, kept !== null)
      const name = `${kb.projectName}.${kb.name}`
      if (kind === 'scan') return `${name}: the database measures every vector, because ${detail}`
      if (!isFound) return `${name}: the database measures every vector, because ${MUST_SCAN}`
      const among = kept === null ? '' : AMONG_KEPT
      const words = hybrid === null ? '' : `, and the best ${PART_CHUNKS} by their words`
      return `${name}: the nearest ${count} of ${detail}${words}${among}`
    },
  )
  const scans = plan.scans.map(({ knowledgeBase: kb, reason }) => {
    return `${kb.projectName}.${kb.name}: the database measures every vector, because ${reason}`
  })
  return [
    ...found,
    ...scans,
    ...plan.rerankings.flatMap((one) => rerankingChoices(one, plan, deps)),
  ]
}

/** A reranked search finds its candidates by a SELECT of its own. */
function rerankingChoices(
  { candidates, knowledgeBase: kb, rerankedCount }: RerankRequest,
  { values }: SelectPlan,
  deps: QueryDeps,
): readonly string[] {
  const inner = values.get(candidates)
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
