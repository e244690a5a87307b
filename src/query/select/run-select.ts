import type { AllowedData } from '../../domain/agent.ts'
import { requireProject } from '../../domain/catalog-snapshot.ts'
import type { BoundSql } from '../../domain/ports.ts'
import type { RowStream } from '../../domain/query-result.ts'
import { AppError } from '../../errors.ts'
import type { Options } from '../../sql/dialect/statement-reader.ts'
import {
  type ParameterizedStatement,
  parameterizeSearchLiterals,
} from '../../sql/lexer/search-literals.ts'
import { writtenName } from '../../sql/lexer/variable-names.ts'
import type { NameScope } from '../../sql/relation.ts'
import type { QueryDeps } from '../query-deps.ts'
import { boundValues } from './bound-values.ts'
import { FILES_DATABASE, nameScope } from './name-scope.ts'
import { pivotedSql } from './pivot-request.ts'
import type { SelectPlan } from './plan-cache.ts'
import { planSelect } from './plan-select.ts'
import { requestValues } from './request-values.ts'
import { rerankedValues } from './reranked-values.ts'
import { runCandidates } from './run-candidates.ts'
import { limitsOf } from './run-limits.ts'
import { withPlace } from './unknown-column.ts'
import { withReplan } from './with-replan.ts'

/** Values of `:name` parameters as they came in JSON. */
export type Parameters = Readonly<Record<string, unknown>>

export interface SelectRequest {
  readonly sql: string
  /** The project of names without a qualifier. */
  readonly database: string
  readonly params: Parameters
  /** `USING …` at the end of the statement: they change the agents that it asks. */
  readonly options?: Options | null
  /** Set for a caller who may read only this. */
  readonly allowed?: AllowedData
  /** Set for a SELECT of ours that names the keys of chunks. */
  readonly readsChunkKeys?: boolean
}

/**
 * Runs one SELECT and streams its rows: planned, its texts embedded, its agents asked, its values bound.
 * @throws AppError with a code of the `sql_…` group, `provider_failed` when a text cannot be embedded, `timeout`
 */
export async function runSelect(
  request: SelectRequest,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<RowStream> {
  return withPlace(request.sql, deps.catalog.snapshot(), () => {
    return withReplan(deps, async () => {
      const { plan, statement, warnings } = await prepareSelect(request, deps, signal)
      const found =
        plan.candidates === null
          ? null
          : await runCandidates(plan.candidates, statement.values, { deps, signal })
      const rows = found ?? (await deps.engine.run(statement, limitsOf(deps), signal))
      return withWrittenNames(warnings.length === 0 ? rows : { ...rows, warnings })
    })
  })
}

/** DuckDB names a column without a name of its own by its expression: with variables as they were written. */
function withWrittenNames(rows: RowStream): RowStream {
  const columns = rows.columns.map((column) => ({ ...column, name: writtenName(column.name) }))
  return { ...rows, columns }
}

export interface PreparedSelect {
  readonly plan: SelectPlan
  readonly statement: BoundSql
  readonly warnings: readonly string[]
}

/** All of a SELECT but running it: for those who run it as a part of something else (CREATE TABLE, EXPLAIN). */
export async function prepareSelect(
  asked: SelectRequest,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<PreparedSelect> {
  const sql = await pivotedSql(asked.sql, (values) => {
    return runSelect({ ...asked, sql: values, options: null }, deps, signal)
  })
  const request = { ...asked, sql }
  const { plan, texts } = await planOf(request, deps)
  const { options = null } = request
  if (options !== null && plan.agents.length === 0) {
    throw new AppError(
      'sql_not_supported',
      'USING at the end of a SELECT is for agents in its FROM',
    )
  }
  const params = requestValues({
    params: new Map<string, unknown>([...Object.entries(request.params), ...texts]),
    variables: request.allowed === undefined ? deps.variables : null,
    database: request.database,
  })
  for (const name of plan.written) {
    if (!params.has(name)) {
      throw new AppError('sql_missing_parameter', `Parameter is not set: ${name}`)
    }
  }
  const binding = { deps, signal, params, options }
  const values = await boundValues(plan, binding)
  if (plan.rerankings.length === 0) {
    return { plan, statement: { sql: plan.sql, values, isShort: plan.isShort }, warnings: [] }
  }
  const reranked = await rerankedValues(plan, binding)
  const statement = {
    sql: plan.sql,
    values: { ...values, ...reranked.values },
    isShort: plan.isShort,
  }
  return { plan, statement, warnings: reranked.warnings }
}

interface PlannedSelect {
  readonly plan: SelectPlan
  /** The searched texts that were taken out of the statement, by the name of their parameter. */
  readonly texts: ReadonlyMap<string, string>
}

async function planOf(request: SelectRequest, deps: QueryDeps): Promise<PlannedSelect> {
  const snapshot = deps.catalog.snapshot()
  const { sql, database, allowed, readsChunkKeys = false } = request
  if (database.toLowerCase() !== FILES_DATABASE) requireProject(snapshot, database)
  const scope = { ...nameScope(snapshot, database, allowed), readsChunkKeys }
  // Neither is a plan for other callers.
  if (allowed !== undefined || readsChunkKeys)
    return written(await planSelect(sql, scope, deps.engine))
  const lifted = parameterizeSearchLiterals(sql)
  const statement = `${database}\0${lifted.sql}`
  const known = deps.plans.get(statement, snapshot)
  if (known !== undefined) return { plan: known, texts: lifted.texts }
  const plan = await planLifted(lifted, scope, deps)
  // Planned as it was written, its errors name the right places and every other `content` is a column like any.
  if (plan === undefined) return written(await planSelect(sql, scope, deps.engine))
  deps.plans.set(statement, snapshot, plan)
  return { plan, texts: lifted.texts }
}

function written(plan: SelectPlan): PlannedSelect {
  return { plan, texts: new Map() }
}

/** The plan, where each lifted text has become a search. */
async function planLifted(
  lifted: ParameterizedStatement,
  scope: NameScope,
  deps: QueryDeps,
): Promise<SelectPlan | undefined> {
  try {
    const plan = await planSelect(lifted.sql, scope, deps.engine)
    const isAllSearched = [...lifted.texts.keys()].every((name) => !plan.parameters.has(name))
    return isAllSearched ? plan : undefined
  } catch (error) {
    if (lifted.texts.size > 0) return undefined
    throw error
  }
}
