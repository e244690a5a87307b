import { requireProject } from '../domain/catalog-snapshot.ts'
import type { BoundValue } from '../domain/ports.ts'
import type { RowStream } from '../domain/query-result.ts'
import { AppError } from '../errors.ts'
import { termsOf, termsParameter, vectorParameter } from '../sql/ranking.ts'
import type { NameScope } from '../sql/relation.ts'
import type { SearchRequest } from '../sql/rewrite.ts'
import { type LiftedStatement, liftSearchTexts } from '../sql/search-texts.ts'
import { type AllowedData, FILES_DATABASE, nameScope } from './name-scope.ts'
import type { SelectPlan } from './plan-cache.ts'
import { planSelect } from './plan-select.ts'
import type { QueryDeps } from './query-deps.ts'

/** Values of `:name` parameters as they came in JSON. */
export type Parameters = Readonly<Record<string, unknown>>

export interface SelectRequest {
  readonly sql: string
  /** The project of names without a qualifier. */
  readonly database: string
  readonly params: Parameters
  /** Set for a caller who may read only this. */
  readonly allowed?: AllowedData
}

/**
 * Runs one SELECT over knowledge bases and files and streams its rows: planned, its texts embedded, its values bound.
 * @throws AppError with a code of the `sql_…` group, `provider_failed` when a text cannot be embedded, `timeout`
 */
export async function runSelect(
  request: SelectRequest,
  deps: QueryDeps,
  signal: AbortSignal,
): Promise<RowStream> {
  const { plan, texts } = await planOf(request, deps)
  const params = new Map<string, unknown>([...Object.entries(request.params), ...texts])
  for (const name of plan.written) {
    if (!params.has(name)) {
      throw new AppError('sql_missing_parameter', `Parameter is not set: ${name}`)
    }
  }
  const values: Record<string, BoundValue> = {}
  for (const name of plan.parameters) {
    if (params.has(name)) values[name] = boundValue(name, params.get(name))
  }
  Object.assign(values, await searchValues(plan, params, { deps, signal }))
  const { queryMs: timeoutMs, readingMs } = deps
  const limits = { timeoutMs, ...(readingMs === undefined ? {} : { readingMs }) }
  return deps.engine.run({ sql: plan.sql, values }, limits, signal)
}

interface PlannedSelect {
  readonly plan: SelectPlan
  /** The searched texts that were taken out of the statement, by the name of their parameter. */
  readonly texts: ReadonlyMap<string, string>
}

async function planOf(request: SelectRequest, deps: QueryDeps): Promise<PlannedSelect> {
  const snapshot = deps.catalog.snapshot()
  const { sql, database, allowed } = request
  if (database.toLowerCase() !== FILES_DATABASE) requireProject(snapshot, database)
  const scope = nameScope(snapshot, database, allowed)
  if (allowed !== undefined) return written(await planSelect(sql, scope, deps.engine))
  const lifted = liftSearchTexts(sql)
  const key = `${snapshot.version}\0${database}\0${lifted.sql}`
  const known = deps.plans.get(key)
  if (known !== undefined) return { plan: known, texts: lifted.texts }
  const plan = await planLifted(lifted, scope, deps)
  // Planned as it was written, its errors name the right places and every other `content` is a column like any.
  if (plan === undefined) return written(await planSelect(sql, scope, deps.engine))
  deps.plans.set(key, plan)
  return { plan, texts: lifted.texts }
}

function written(plan: SelectPlan): PlannedSelect {
  return { plan, texts: new Map() }
}

/** The plan, where each lifted text has become a search. */
async function planLifted(
  lifted: LiftedStatement,
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

interface SearchContext {
  readonly deps: QueryDeps
  readonly signal: AbortSignal
}

/** The vectors and terms of the statement's searches, as far as the statement uses them. */
async function searchValues(
  plan: SelectPlan,
  params: ReadonlyMap<string, unknown>,
  context: SearchContext,
): Promise<Readonly<Record<string, BoundValue>>> {
  const values: Record<string, BoundValue> = {}
  await Promise.all(
    plan.searches.map(async (search) => {
      const text = searchText(search, params)
      const vector = vectorParameter(search.text)
      const terms = termsParameter(search.text)
      if (plan.parameters.has(terms)) values[terms] = termsOf(text)
      if (plan.parameters.has(vector)) values[vector] = await queryVector(text, search, context)
    }),
  )
  return values
}

function searchText(search: SearchRequest, params: ReadonlyMap<string, unknown>): string {
  const text = search.of.kind === 'constant' ? search.of.text : params.get(search.of.name)
  if (typeof text !== 'string' || text.trim() === '') {
    throw new AppError(
      'sql_invalid_search',
      'content is searched for a text, and this one is empty',
    )
  }
  return text.toWellFormed()
}

/** The text's vector with unit length, as the stored ones are. */
async function queryVector(
  text: string,
  search: SearchRequest,
  context: SearchContext,
): Promise<Float32Array> {
  const kb = search.knowledgeBase
  const embedder = context.deps.embedders.embedder(kb.embeddingModel)
  const [vector] = await embedder.embed([text], context.signal)
  if (vector === undefined) throw new Error('embedder returned no vector for one text')
  if (vector.length !== kb.dimensions) {
    const sizes = `the model gives ${vector.length}, ${kb.name} holds ${kb.dimensions}`
    throw new AppError('dimension_mismatch', `Dimensions do not match: ${sizes}`)
  }
  const length = Math.hypot(...vector)
  if (!(length > 0 && Number.isFinite(length))) {
    throw new AppError('provider_failed', 'The embedding model gave no usable vector for this text')
  }
  return vector.map((value) => value / length)
}

function boundValue(name: string, value: unknown): BoundValue {
  if (value === null || typeof value === 'boolean' || typeof value === 'number') return value
  if (typeof value === 'string') return value.toWellFormed()
  if (Array.isArray(value)) return value.map((item) => boundValue(name, item))
  const message = `Parameter ${name} must be a text, a number, true, false, null or a list of these`
  throw new AppError('invalid_request', message)
}
