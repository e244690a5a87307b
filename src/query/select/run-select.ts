import { type CatalogSnapshot, requireDatabase } from '../../core/domain/access/catalog-snapshot.ts'
import type { AllowedData } from '../../core/domain/agents/agent.ts'
import { keywordWarningOf } from '../../core/domain/knowledge-base.ts'
import { FILES_DATABASE, nameKey } from '../../core/domain/names.ts'
import type { BoundSql } from '../../core/domain/ports/engine-ports.ts'
import type { RowStream } from '../../core/domain/query-result.ts'
import { AppError, ERRORS } from '../../core/errors.ts'
import { asWritten } from '../../core/text/shown-statement.ts'
import { hasPivot, pivotColumns, withPivotValues } from '../../sql/dialect/pivot-values.ts'
import type { Options } from '../../sql/dialect/statement-reader.ts'
import { checkStatementSize } from '../../sql/guard/statement-limits.ts'
import {
  type ParameterizedStatement,
  parameterizeSearchLiterals,
} from '../../sql/lexer/statement-shape.ts'
import type { Token } from '../../sql/lexer/tokens.ts'
import { BOUND } from '../../sql/search/plan-inputs.ts'
import { requestValues } from '../sessions.ts'
import type { BoundKeywords } from './bind-keywords.ts'
import { bindPlan } from './bind-plan.ts'
import { nativeNamed } from './name-scope.ts'
import type { SelectPlan } from './plan-cache.ts'
import { hasChanged, isStillDescribed, planDescribed } from './plan-described.ts'
import type { PlannedRequest } from './planning-protocol.ts'
import {
  type QueryDeps,
  type RunContext,
  StageTimer,
  type StageTimes,
  spentSince,
} from './query-deps.ts'
import { rerank } from './rerank.ts'
import { runPlan } from './run-plan.ts'
import {
  planWithoutRows,
  readsOf,
  refreshCopies,
  requireCopies,
  rowsUntilOver,
  SourceRows,
} from './source-reads.ts'
import { withColumnHint, withQuotesHint } from './statement-errors.ts'

/** Values of `:name` parameters as in the JSON request. */
export type Parameters = Readonly<Record<string, unknown>>

export interface SelectRequest extends PlannedRequest {
  /** The statement's standard tokens. They are used if `sql` is the same text. */
  readonly cut?: { readonly sql: string; readonly tokens: readonly Token[] }
  readonly params: Parameters
  /** `USING …` at the end of the statement: options for the agents that it asks. */
  readonly options?: Options | null
  /** Set if the caller needs only JSON values. `typedBatches` may then be missing. */
  readonly isShown?: boolean
  /** Set if only the columns are wanted. Remote tables are then empty. */
  readonly isDescribed?: boolean
}

export interface SelectRows extends RowStream {
  readonly plan: SelectPlan
  readonly isFromMemory: boolean
  readonly isReranked: boolean
  readonly times: StageTimes
}

/** @throws AppError with a `sql_…` code, `provider_failed`, `timeout` */
export async function runSelect(
  request: SelectRequest,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<SelectRows> {
  return withAttempts(request, deps, signal, async (prepared) => {
    const bound = await bind(prepared, request)
    return runBound(bound).catch(async (error: unknown) => {
      await bound.release()
      throw error
    })
  })
}

async function runBound(bound: BoundSelect): Promise<SelectRows> {
  const { plan, statement, context, isReranked } = bound
  const run = await runPlan(plan, { ...bound, values: statement.values }, context)
  const rows = plan.reads.length === 0 ? run.rows : rowsUntilOver(run.rows, bound.release)
  const warnings = [...bound.warnings, ...(run.rows.warnings ?? [])]
  return {
    ...rows,
    // DuckDB names an unnamed column after its expression, where a variable appears as one of
    // Eider's parameters.
    columns: rows.columns.map((column) => ({ ...column, name: asWritten(column.name) })),
    ...(warnings.length === 0 ? {} : { warnings }),
    plan,
    isFromMemory: run.isFromMemory || bound.isFromMemory,
    isReranked,
    times: context.timer.times,
  }
}

const PLANNINGS_MAX = 3

/**
 * Plans and binds a SELECT and runs `work` with it. Repeats this if a table in it was dropped or
 * replaced in the meantime. A name that no longer exists then fails like one that never existed.
 */
export async function withBoundSelect<T>(
  request: SelectRequest,
  deps: QueryDeps,
  signal: AbortSignal,
  use: (bound: BoundSelect) => Promise<T>,
): Promise<T> {
  return withAttempts(request, deps, signal, async (prepared) => {
    if (request.isDescribed !== true) requireCopies(prepared.plan)
    const bound = await bind(prepared, request)
    try {
      return await use(bound)
    } finally {
      await bound.release()
    }
  })
}

/** Remote tables can change at any time. If one has, it is described again, once. */
async function withAttempts<T>(
  request: SelectRequest,
  deps: QueryDeps,
  signal: AbortSignal,
  work: (prepared: PreparedSelect) => Promise<T>,
): Promise<T> {
  let isAskedAgain = false
  for (let attempt = 1; ; attempt += 1) {
    const snapshot = deps.catalog.snapshot()
    let plan: SelectPlan | null = null
    try {
      const prepared = await prepare(request, deps, signal)
      plan = prepared.plan
      return await work(prepared)
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      const isUnknownName = error.code === 'sql_unknown_name'
      if (plan !== null && !isAskedAgain && (isUnknownName || error.code === 'source_failed')) {
        isAskedAgain = true
        if (await hasChanged(plan, snapshot, deps.sources, signal)) continue
      }
      if (error.code === 'sql_syntax') {
        throw withQuotesHint(error, request.sql, visibleTo(request.allowed, snapshot))
      }
      if (!isUnknownName) throw error
      const isStale = deps.catalog.snapshot().version !== snapshot.version
      if (!isStale || attempt >= PLANNINGS_MAX) {
        throw withColumnHint(error, request.sql, visibleTo(request.allowed, snapshot))
      }
    }
  }
}

/** Shows column names only for relations that the caller may read. */
function visibleTo(allowed: AllowedData | undefined, snapshot: CatalogSnapshot): CatalogSnapshot {
  if (allowed === undefined) return snapshot
  const tables = new Set(allowed.tables.map(nameKey))
  const isVisible = (name: string) => tables.has(nameKey(name))
  return {
    ...snapshot,
    knowledgeBases: allowed.knowledgeBases,
    files: snapshot.files
      .filter(({ name }) => isVisible(`${FILES_DATABASE}.${name}`))
      // Each further sheet is a table that the caller may not read.
      .map((file) => ({ ...file, sheets: [] })),
    views: snapshot.views.filter(({ projectName, name }) => isVisible(`${projectName}.${name}`)),
    tables: snapshot.tables.filter(({ projectName, name }) => isVisible(`${projectName}.${name}`)),
  }
}

export interface BoundSelect {
  readonly plan: SelectPlan
  /** The statement without candidates, with all its values. */
  readonly statement: BoundSql
  readonly keywords: BoundKeywords
  readonly warnings: readonly string[]
  readonly isReranked: boolean
  readonly isFromMemory: boolean
  readonly context: RunContext
  /** Frees the fetched remote rows. Call it when the statement has ended. */
  release(): Promise<void>
}

interface PreparedSelect {
  readonly plan: SelectPlan
  readonly context: RunContext
}

async function prepare(
  request: SelectRequest,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<PreparedSelect> {
  checkStatementSize(request.sql, deps.statementBytesMax)
  const startMs = deps.nowMs()
  const timer = new StageTimer(deps.nowMs)
  const named = { ...request, sql: nativeNamed(request.sql, deps.catalog.snapshot()) }
  const sql = await withPivotsResolved(named, deps, signal)
  const find = () => cachedPlan({ ...request, sql }, timer, deps, signal)
  const known = await find()
  const { plan, texts } = (await refreshCopies(known.plan, deps)) ? await find() : known
  const { options = null, database, isShown = false } = request
  if (options !== null && plan.agents.length === 0) {
    const message = 'USING at the end of a SELECT is for agents in its FROM'
    throw new AppError('sql_not_supported', message)
  }
  const variables = request.allowed === undefined ? deps.variables : null
  const given = new Map<string, unknown>([...Object.entries(request.params), ...texts])
  const params = requestValues(given, variables, database)
  for (const name of plan.parameterNames) {
    if (!params.has(name)) {
      throw new AppError('sql_missing_parameter', `Parameter is not set: ${name}`)
    }
  }
  const own = { deps: spentSince(startMs, deps), signal, timer }
  return { plan, context: { ...own, params, options, isShown } }
}

/** Fetches remote rows, then binds the plan over them. */
async function bind(
  { plan, context }: PreparedSelect,
  { isDescribed = false }: SelectRequest,
): Promise<BoundSelect> {
  if (readsOf(plan).length === 0) return bindHere(plan, context)
  if (isDescribed) return bindHere(planWithoutRows(plan), context)
  const startMs = context.deps.nowMs()
  const rows = await SourceRows.stage(plan, context)
  try {
    const deps = spentSince(startMs, context.deps)
    const bound = await bindHere(rows.planWith(plan), { ...context, deps })
    return { ...bound, release: () => rows.release() }
  } catch (error) {
    await rows.release()
    throw error
  }
}

async function bindHere(plan: SelectPlan, given: RunContext): Promise<BoundSelect> {
  const startMs = given.deps.nowMs()
  const bound = await bindPlan(plan, given)
  // An agent's answer has a limit of its own.
  const deps = plan.agents.length > 0 ? given.deps : spentSince(startMs, given.deps)
  const context = { ...given, deps }
  const reranked = plan.rerankings.length === 0 ? null : await rerank(plan, context)
  const values = reranked === null ? bound.values : { ...bound.values, ...reranked.values }
  return {
    plan,
    statement: { sql: plan.sql, values, isShort: plan.isShort },
    keywords: bound.keywords,
    warnings: [...keywordWarnings(plan), ...(reranked?.warnings ?? []), ...(bound.warnings ?? [])],
    isReranked: reranked?.isReranked ?? false,
    isFromMemory: reranked?.isFromMemory ?? false,
    context,
    release: async () => {},
  }
}

/** Returns warnings about keyword indexes that are being updated. */
function keywordWarnings({ searches, parameters, rerankings, innerPlans }: SelectPlan): string[] {
  const own = searches.flatMap(({ textIndex, knowledgeBase }) => {
    if (!knowledgeBase.hasOlderTerms || !parameters.has(BOUND.termKeys(textIndex))) return []
    return keywordWarningOf(knowledgeBase) ?? []
  })
  const inner = rerankings.flatMap(({ candidates }) => innerPlans.get(candidates) ?? [])
  return [...new Set([...own, ...inner.flatMap(keywordWarnings)])]
}

/** Longer statements do not share a plan, because their plans are not cached. */
const SHARED_CHARS_MAX = 10_000

/** Uses a cached plan if the same statement was planned before with any search texts. */
async function cachedPlan(
  request: SelectRequest,
  timer: StageTimer,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<{
  readonly plan: SelectPlan
  /** The search texts taken out of the statement, by parameter name. */
  readonly texts: ReadonlyMap<string, string>
}> {
  const snapshot = deps.activity.shownIn(deps.catalog.snapshot())
  const { sql, database, search, allowed, cut, readsChunkKeys = false, isPrinted, given } = request
  requireDatabase(snapshot, database)
  const planText = (text: string) => {
    const planned = { sql: text, database, search, allowed, readsChunkKeys, isPrinted, given }
    return timer.time('plan', () => planDescribed(planned, snapshot, deps, signal))
  }
  const planAsWritten = async () => ({ plan: await planText(sql), texts: new Map() })
  const isOwn = readsChunkKeys || Object.keys(given ?? {}).length > 0
  if (isOwn || sql.length > SHARED_CHARS_MAX) return planAsWritten()
  const tokens = cut?.sql === sql ? cut.tokens : undefined
  const parameterized = parameterizeSearchLiterals(sql, tokens)
  const { texts } = parameterized
  const scope = planScope(request)
  const statement = scope + parameterized.sql
  const find = async () => {
    const known = deps.plans.get(statement, snapshot)
    if (known === undefined) return undefined
    const isGood = await isStillDescribed(known, snapshot, deps.sources, signal)
    return isGood ? { plan: known, texts } : undefined
  }
  const plan = async () => {
    const known = texts.size === 0 ? tokens : undefined
    const sharing = { sql: parameterized.sql, tokens: known, scope, versions: snapshot }
    const planned = await deps.sharedPlans.plan(sharing, (text) => {
      return planIfAllSearched({ sql: text, texts }, planText)
    })
    // Plan the statement as written: its errors then have the right positions, and `content` may be
    // an ordinary column.
    if (planned === undefined) return planAsWritten()
    if (planned.isNew) deps.plans.set(statement, snapshot, planned.plan)
    return { plan: planned.plan, texts }
  }
  return deps.plans.planned(statement, snapshot, { find, plan }, signal)
}

/** What a plan depends on besides the catalog and the text, such as the caller's rights. */
function planScope({ database, search, allowed, isPrinted }: SelectRequest): string {
  const narrowed = allowed && [allowed.knowledgeBases.map(({ id }) => id), allowed.tables]
  return `${database}\0${isPrinted === true}\0${JSON.stringify(search ?? null)}\0${JSON.stringify(narrowed ?? null)}\0`
}

/** Undefined if a literal that became a parameter is not part of a search. */
async function planIfAllSearched(
  { sql, texts }: ParameterizedStatement,
  planText: (sql: string) => Promise<SelectPlan>,
): Promise<SelectPlan | undefined> {
  try {
    const planned = await planText(sql)
    const isAllSearched = [...texts.keys()].every((name) => !planned.parameters.has(name))
    return isAllSearched ? planned : undefined
  } catch (error) {
    const isOfText = error instanceof AppError && ERRORS[error.code].status < 499
    if (texts.size > 0 && isOfText) return undefined
    throw error
  }
}

const PIVOT_VALUES_MAX = 1000

/** Fills in the values of PIVOTs that do not list them. */
async function withPivotsResolved(
  request: SelectRequest,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<string> {
  const { sql } = request
  if (!hasPivot(sql)) return sql
  const columns = pivotColumns(sql)
  const values: (readonly string[])[] = []
  for (const { select } of columns) {
    const rows = await runSelect({ ...request, sql: select, options: null }, deps, signal)
    values.push(await pivotValues(rows))
  }
  return withPivotValues(sql, columns, values)
}

async function pivotValues({ batches }: RowStream): Promise<readonly string[]> {
  const values: string[] = []
  for await (const rows of batches) {
    for (const [value = null] of rows) if (value !== null) values.push(String(value))
    if (values.length > PIVOT_VALUES_MAX) {
      const message = `PIVOT makes at most ${PIVOT_VALUES_MAX} columns; name the values: ON column IN (…)`
      throw new AppError('sql_failed', message)
    }
  }
  if (values.length > 0) return values
  throw new AppError('sql_failed', 'PIVOT found no value to make columns of')
}
