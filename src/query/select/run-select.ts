import { type CatalogSnapshot, requireDatabase } from '../../core/domain/access/catalog-snapshot.ts'
import type { AllowedData } from '../../core/domain/agents/agent.ts'
import { keywordWarningOf } from '../../core/domain/knowledge-base.ts'
import { FILES_DATABASE, nameKey } from '../../core/domain/names.ts'
import type { BoundSql } from '../../core/domain/ports/engine-ports.ts'
import type { RowStream } from '../../core/domain/query-result.ts'
import { AppError, ERRORS } from '../../core/errors.ts'
import { hasPivot, pivotColumns, withPivotValues } from '../../sql/dialect/pivot-values.ts'
import type { Options } from '../../sql/dialect/statement-reader.ts'
import { checkStatementSize } from '../../sql/guard/statement-limits.ts'
import {
  type ParameterizedStatement,
  parameterizeSearchLiterals,
} from '../../sql/lexer/statement-shape.ts'
import type { Token } from '../../sql/lexer/tokens.ts'
import { displayedName } from '../../sql/lexer/variable-names.ts'
import { BOUND, type GivenSearch } from '../../sql/search/plan-inputs.ts'
import { requestValues } from '../sessions.ts'
import type { BoundKeywords } from './bind-keywords.ts'
import { type Binding, bindPlan } from './bind-plan.ts'
import { nativeNamed } from './name-scope.ts'
import type { SelectPlan } from './plan-cache.ts'
import { hasChanged, isStillDescribed, planDescribed } from './plan-described.ts'
import type { GivenRows } from './planning-protocol.ts'
import { type QueryDeps, type RunContext, StageTimer, type StageTimes } from './query-deps.ts'
import { rerank } from './rerank.ts'
import { runPlan } from './run-plan.ts'
import {
  directRows,
  planWithoutRows,
  readsOf,
  refreshCopies,
  requireCopies,
  rowsUntilOver,
  SourceRows,
} from './source-reads.ts'
import { withColumnHint } from './statement-errors.ts'

/** Values of `:name` parameters as in the JSON. */
export type Parameters = Readonly<Record<string, unknown>>

export interface SelectRequest {
  readonly sql: string
  /** A statement and its tokens, as they are read in the standard way: of use where `sql` is that statement. */
  readonly cut?: { readonly sql: string; readonly tokens: readonly Token[] }
  /** The project of names without a qualifier. */
  readonly database: string
  readonly params: Parameters
  /** A search of the knowledge base in the FROM; unset: its WHERE holds the search, if there is one. */
  readonly search?: GivenSearch
  /** `USING …` at the end of the statement: changes to the agents it asks. */
  readonly options?: Options | null
  /** Set for a caller who may read only this. */
  readonly allowed?: AllowedData
  /** Set by a caller that wants no more of the values than answers show: `typedBatches` may then be missing. */
  readonly isShown?: boolean
  /** Set by callers that read `encoded`: the rows then come from the engine, with its types. */
  readonly isEncoded?: boolean
  /** Set by a caller that wants the statement's description, not its rows: remote tables are empty then. */
  readonly isDescribed?: boolean
  /** Set for a SELECT of Eider that names the keys of chunks. */
  readonly readsChunkKeys?: boolean
  /** Set by callers that parse the text of the planned statement. */
  readonly isPrinted?: boolean
  readonly given?: GivenRows
}

/** The rows of a SELECT, and how it ran. */
export interface SelectRows extends RowStream {
  readonly plan: SelectPlan
  /** Whether vectors in memory gave the nearest chunks. */
  readonly isFromMemory: boolean
  /** Whether a reranker gave the order. */
  readonly isReranked: boolean
  readonly times: StageTimes
}

/**
 * Runs one SELECT and streams its rows: planned, its search texts embedded, its agents asked, its values bound.
 * @throws AppError with a code of the `sql_…` group, `provider_failed` when a text cannot be embedded, `timeout`
 */
export async function runSelect(
  request: SelectRequest,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<SelectRows> {
  return withAttempts(request, deps, signal, async (planned) => {
    const prepared = await prepare(request, deps, signal)
    const { plan } = prepared
    planned(plan)
    const { times } = prepared.binding.timer
    // Straight from the source, they have only JSON's types.
    const direct = request.isEncoded === true ? null : await directRows(plan, prepared.binding)
    if (direct !== null) return { ...direct, plan, isFromMemory: false, isReranked: false, times }
    const bound = await bind(prepared, request)
    return runBound(bound, request).catch(async (error: unknown) => {
      await bound.release()
      throw error
    })
  })
}

async function runBound(bound: BoundSelect, { isShown }: SelectRequest): Promise<SelectRows> {
  const { plan, statement, warnings, binding, isReranked } = bound
  const values = { values: statement.values, keywords: bound.keywords }
  const run = await runPlan(plan, values, { ...binding, isShown: isShown === true })
  const rows = plan.reads.length === 0 ? run.rows : rowsUntilOver(run.rows, bound.release)
  return {
    ...rows,
    // DuckDB names an unnamed column after its expression, where a variable appears as one of Eider's parameters.
    columns: rows.columns.map((column) => ({ ...column, name: displayedName(column.name) })),
    ...(warnings.length === 0 ? {} : { warnings }),
    plan,
    isFromMemory: run.isFromMemory || bound.isFromMemory,
    isReranked,
    times: binding.timer.times,
  }
}

const PLANNINGS_MAX = 3

/**
 * Plans and binds a SELECT and runs `work` with it; again if a table it names was dropped or replaced meanwhile. A name that
 * is gone then fails like one that never existed.
 */
export async function withBoundSelect<T>(
  request: SelectRequest,
  deps: QueryDeps,
  signal: AbortSignal,
  use: (bound: BoundSelect) => Promise<T>,
): Promise<T> {
  return withAttempts(request, deps, signal, async (planned) => {
    const prepared = await prepare(request, deps, signal)
    planned(prepared.plan)
    if (request.isDescribed !== true) requireCopies(prepared.plan)
    const bound = await bind(prepared, request)
    try {
      return await use(bound)
    } finally {
      await bound.release()
    }
  })
}

/** Remote tables change without notice: if so, they are described again, once. */
async function withAttempts<T>(
  request: SelectRequest,
  deps: QueryDeps,
  signal: AbortSignal,
  work: (planned: (plan: SelectPlan) => void) => Promise<T>,
): Promise<T> {
  let isAskedAgain = false
  for (let attempt = 1; ; attempt += 1) {
    const snapshot = deps.catalog.snapshot()
    let plan: SelectPlan | null = null
    try {
      return await work((made) => {
        plan = made
      })
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      const isUnknownName = error.code === 'sql_unknown_name'
      if (plan !== null && !isAskedAgain && (isUnknownName || error.code === 'source_failed')) {
        isAskedAgain = true
        if (await hasChanged(plan, snapshot, deps.sources, signal)) continue
      }
      if (!isUnknownName) throw error
      const isStale = deps.catalog.snapshot().version !== snapshot.version
      if (!isStale || attempt >= PLANNINGS_MAX) {
        throw withColumnHint(error, request.sql, visibleTo(request.allowed, snapshot))
      }
    }
  }
}

/** Column names are revealed only from relations that the caller may read. */
function visibleTo(allowed: AllowedData | undefined, snapshot: CatalogSnapshot): CatalogSnapshot {
  if (allowed === undefined) return snapshot
  const tables = new Set(allowed.tables.map(nameKey))
  const isVisible = (name: string) => tables.has(nameKey(name))
  return {
    ...snapshot,
    knowledgeBases: allowed.knowledgeBases,
    files: snapshot.files.filter(({ name }) => isVisible(`${FILES_DATABASE}.${name}`)),
    views: snapshot.views.filter(({ projectName, name }) => isVisible(`${projectName}.${name}`)),
    tables: snapshot.tables.filter(({ projectName, name }) => isVisible(`${projectName}.${name}`)),
  }
}

export interface BoundSelect {
  readonly plan: SelectPlan
  /** The statement that scans, with all its values. */
  readonly statement: BoundSql
  readonly keywords: BoundKeywords
  readonly warnings: readonly string[]
  readonly isReranked: boolean
  /** Whether vectors in memory gave the reranked chunks. */
  readonly isFromMemory: boolean
  readonly binding: Binding
  /** Call it when the statement is over: releases the fetched remote rows. */
  release(): Promise<void>
}

/** A plan and the values of its parameters. */
interface PreparedSelect {
  readonly plan: SelectPlan
  readonly binding: Binding
}

/** Plans a SELECT and binds its values, for callers that run it as part of something else, such as EXPLAIN. */
export async function planAndBind(
  request: SelectRequest,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<BoundSelect> {
  const prepared = await prepare(request, deps, signal)
  requireCopies(prepared.plan)
  return bind(prepared, request)
}

async function prepare(
  request: SelectRequest,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<PreparedSelect> {
  checkStatementSize(request.sql, deps.statementBytesMax)
  const timer = new StageTimer(deps.nowMs)
  const named = { ...request, sql: nativeNamed(request.sql, deps.catalog.snapshot()) }
  const sql = await withPivotsResolved(named, deps, signal)
  const find = () => cachedPlan({ ...request, sql }, { deps, signal, timer })
  const known = await find()
  const { plan, texts } = (await refreshCopies(known.plan, deps)) ? await find() : known
  const { options = null, database } = request
  if (options !== null && plan.agents.length === 0) {
    throw new AppError(
      'sql_not_supported',
      'USING at the end of a SELECT is for agents in its FROM',
    )
  }
  const variables = request.allowed === undefined ? deps.variables : null
  const given = new Map<string, unknown>([...Object.entries(request.params), ...texts])
  const params = requestValues(given, variables, database)
  for (const name of plan.parameterNames) {
    if (!params.has(name)) {
      throw new AppError('sql_missing_parameter', `Parameter is not set: ${name}`)
    }
  }
  return { plan, binding: { deps, signal, timer, params, options } }
}

/** Fetches remote rows, then binds the plan over them. */
async function bind(
  { plan, binding }: PreparedSelect,
  { isDescribed = false }: SelectRequest,
): Promise<BoundSelect> {
  if (readsOf(plan).length === 0) return bindHere(plan, binding)
  if (isDescribed) return bindHere(planWithoutRows(plan), binding)
  const { deps } = binding
  const startMs = deps.nowMs()
  const rows = await SourceRows.stage(plan, binding)
  try {
    const spent = { ...deps, spentMs: (deps.spentMs ?? 0) + deps.nowMs() - startMs }
    const bound = await bindHere(rows.planWith(plan), { ...binding, deps: spent })
    return { ...bound, release: () => rows.release() }
  } catch (error) {
    await rows.release()
    throw error
  }
}

async function bindHere(plan: SelectPlan, binding: Binding): Promise<BoundSelect> {
  const bound = await bindPlan(plan, binding)
  const reranked = plan.rerankings.length === 0 ? null : await rerank(plan, binding)
  const values = reranked === null ? bound.values : { ...bound.values, ...reranked.values }
  return {
    plan,
    statement: { sql: plan.sql, values, isShort: plan.isShort },
    keywords: bound.keywords,
    warnings: [...keywordWarnings(plan), ...(reranked?.warnings ?? []), ...(bound.warnings ?? [])],
    isReranked: reranked?.isReranked ?? false,
    isFromMemory: reranked?.isFromMemory ?? false,
    binding,
    release: async () => {},
  }
}

/** For keyword indexes being updated. */
function keywordWarnings({ searches, parameters, rerankings, innerPlans }: SelectPlan): string[] {
  const own = searches.flatMap(({ textIndex, knowledgeBase }) => {
    if (!knowledgeBase.hasOlderTerms || !parameters.has(BOUND.termKeys(textIndex))) return []
    return keywordWarningOf(knowledgeBase) ?? []
  })
  const inner = rerankings.flatMap(({ candidates }) => innerPlans.get(candidates) ?? [])
  return [...new Set([...own, ...inner.flatMap(keywordWarnings)])]
}

/** A longer statement is not made to share a plan with others: it would not be kept. */
const SHARED_CHARS_MAX = 10_000

/** From the cache if the same statement was planned before, with any search texts. */
async function cachedPlan(
  request: SelectRequest,
  { deps, signal, timer }: RunContext,
): Promise<{
  readonly plan: SelectPlan
  /** The search texts that were taken out of the statement, by the name of their parameter. */
  readonly texts: ReadonlyMap<string, string>
}> {
  const snapshot = deps.activity.shownIn(deps.catalog.snapshot())
  const { sql, database, search = null, allowed, cut, readsChunkKeys = false, given = {} } = request
  const { isPrinted = false } = request
  requireDatabase(snapshot, database)
  const planText = (text: string) => {
    const planned = { sql: text, database, search, allowed, readsChunkKeys, isPrinted, given }
    return timer.time('plan', () => planDescribed(planned, snapshot, deps, signal))
  }
  const planAsWritten = async () => ({ plan: await planText(sql), texts: new Map() })
  const isOwn = readsChunkKeys || Object.keys(given).length > 0
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
    // Planned as written, its errors name the right places and every other `content` is an ordinary column.
    if (planned === undefined) return planAsWritten()
    if (planned.isNew) deps.plans.set(statement, snapshot, planned.plan)
    return { plan: planned.plan, texts }
  }
  return deps.plans.planned(statement, snapshot, { find, plan }, signal)
}

/** The inputs of a plan besides the catalog and the text: callers with other rights get other plans. */
function planScope({ database, search, allowed, isPrinted }: SelectRequest): string {
  const narrowed = allowed && [allowed.knowledgeBases.map(({ id }) => id), allowed.tables]
  return `${database}\0${isPrinted === true}\0${JSON.stringify(search ?? null)}\0${JSON.stringify(narrowed ?? null)}\0`
}

/** undefined if a parameter for a literal did not become a search. */
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

/** The statement with the values of its PIVOTs filled in, if it leaves them open. */
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
