/**
 * Binds a plan's parameters: values from the client, vectors and keywords of search texts, and
 * agents' answers.
 */

import type { Agent } from '../../core/domain/agents/agent.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import type { BoundValue } from '../../core/domain/ports/engine-ports.ts'
import type { AgentAnswer, AgentAnswers } from '../../core/domain/ports/model-ports.ts'
import { AppError, dimensionMismatch } from '../../core/errors.ts'
import { isObject, parsedJson } from '../../core/json.ts'
import { withDeadline } from '../../core/runtime/cancellation.ts'
import { mapConcurrent } from '../../core/runtime/serial-queue.ts'
import { parameterOf } from '../../sql/guard/placeholders.ts'
import { BOUND, type PlannedText, type SearchInput } from '../../sql/search/plan-inputs.ts'
import { distinctWords } from '../../sql/search/ranking.ts'
import { checkedThreshold } from '../../sql/search/search-predicates.ts'
import { overriddenAgent } from '../definitions/define-agent.ts'
import { liveTableOf, rowsJson } from '../information-schema/schema-table.ts'
import type { ParameterValues } from '../sessions.ts'
import { type BoundKeywords, bindKeywords } from './bind-keywords.ts'
import type { SelectPlan } from './plan-cache.ts'
import { type QueryDeps, type RunContext, runLimits } from './query-deps.ts'

/** The most distinct texts of a column to search for. */
const COLUMN_TEXTS_MAX = 1000

/** The most values in a statement's parameters, including those in lists. */
const BOUND_VALUES_MAX = 20_000

/** The longest search text. Models read much less. */
const SEARCH_TEXT_CHARS_MAX = 200_000

const LATE_MS = 100

export interface BoundPlan {
  readonly values: BoundValues
  /** Keywords valid for one state of the knowledge bases. */
  readonly keywords: BoundKeywords
  /** Warnings about fetched rows. */
  readonly warnings?: readonly string[]
}

/** @throws AppError `invalid_request`, `sql_invalid_search`; errors of embedder and agents */
export async function bindPlan(plan: SelectPlan, context: RunContext): Promise<BoundPlan> {
  const { params, options, deps, signal } = context
  const values: Record<string, BoundValue> = {}
  const room = { left: BOUND_VALUES_MAX }
  for (const name of plan.parameters) {
    const given = parameterOf(name)
    if (params.has(given)) values[name] = boundValue(given, params.get(given), room)
  }
  for (const name of plan.thresholds) {
    if (params.get(name) !== null) checkedThreshold(params.get(name))
  }
  for (const bound of await allSearchValues(plan, context)) Object.assign(values, bound)
  for (const { agentIndex, agent, fields, questions } of plan.agents) {
    const texts: string[] = []
    for (const question of questions) texts.push(...(await plannedTexts(question, plan, context)))
    const changedAgent = options === null ? agent : overriddenAgent(agent, options, deps)
    const answers = await askAgent({ agent: changedAgent, fields }, texts, deps.agents, signal)
    values[BOUND.answers(agentIndex)] = answers
  }
  const live = await liveValues(plan, context)
  Object.assign(values, live.values)
  // Bound last, because they are valid only until the next write.
  const keywords = await bindKeywords(plan, context)
  Object.assign(values, keywords.values)
  const needed = Object.entries(values).filter(([name]) => plan.parameters.has(name))
  return { values: Object.fromEntries(needed), keywords, warnings: live.warnings }
}

/** Fetches the rows of tables that are not stored. */
async function liveValues({ parameters }: SelectPlan, { deps, signal }: RunContext) {
  const wanted = [...parameters].flatMap((parameter) => {
    const table = liveTableOf(parameterOf(parameter))
    return table === undefined ? [] : [{ parameter, table }]
  })
  const fetched = await Promise.all(
    wanted.map(async ({ parameter, table }) => {
      const { rows, warnings = [] } = await deps.live.rows(table, deps.catalog.snapshot(), signal)
      return { value: [parameter, rowsJson(rows)] as const, warnings }
    }),
  )
  return {
    values: Object.fromEntries(fetched.map(({ value }) => value)),
    warnings: [...new Set(fetched.flatMap(({ warnings }) => warnings))],
  }
}

export type BoundValues = Readonly<Record<string, BoundValue>>

/** @param room how many more are allowed; DuckDB binds one by one, on the main thread */
function boundValue(name: string, value: unknown, room: { left: number }): BoundValue {
  room.left -= 1
  if (room.left < 0) {
    const message = `The parameters of a statement hold at most ${BOUND_VALUES_MAX} values`
    throw new AppError('invalid_request', `${message}; put more into a table`)
  }
  if (value === null || typeof value === 'boolean' || typeof value === 'number') return value
  if (typeof value === 'string') return value.toWellFormed()
  if (Array.isArray(value)) return value.map((item) => boundValue(name, item, room))
  const message = `Parameter ${name} must be a string, a number, true, false, null or a list of these`
  throw new AppError('invalid_request', message)
}

/** Returns the texts to search for: one, or the distinct values of a column. */
async function plannedTexts(
  text: PlannedText,
  plan: SelectPlan,
  context: RunContext,
): Promise<readonly string[]> {
  if (text.kind === 'constant') return [text.text]
  if (text.kind === 'parameter') {
    const value = context.params.get(text.name)
    if (value === null || value === undefined) return []
    return (Array.isArray(value) ? value : [value]).map(String)
  }
  const columnPlan = plan.innerPlans.get(text.select)
  if (columnPlan === undefined) throw new Error('the values of a column must be planned')
  return correlatedValues(columnPlan, context)
}

async function correlatedValues(plan: SelectPlan, context: RunContext): Promise<readonly string[]> {
  const { deps, signal, timer } = context
  const { values } = await bindPlan(plan, { ...context, options: null })
  const limits = runLimits(deps)
  const { batches } = await timer.time('rows', () => {
    return deps.engine.run({ sql: plan.sql, values }, limits, signal)
  })
  const texts = new Set<string>()
  for await (const rows of batches) {
    for (const [value = null] of rows) {
      if (value !== null) texts.add(typeof value === 'string' ? value : JSON.stringify(value))
    }
    if (texts.size > COLUMN_TEXTS_MAX) {
      const message = `A column that is searched for has at most ${COLUMN_TEXTS_MAX} distinct texts`
      throw new AppError('sql_invalid_search', `${message}; narrow the table it comes from`)
    }
  }
  return [...texts]
}

/** If there are several knowledge bases, an error names those that cannot be searched. */
async function allSearchValues(
  plan: SelectPlan,
  context: RunContext,
): Promise<readonly BoundValues[]> {
  const searches = plan.searches.map((search) => searchValues(search, plan, context))
  const kbs = plan.searches.map(({ knowledgeBase: kb }) => `${kb.projectName}.${kb.name}`)
  if (new Set(kbs).size < 2) return Promise.all(searches)
  const settled = await Promise.allSettled(searches)
  context.signal.throwIfAborted()
  const failures = settled.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))
  const [error] = failures
  if (failures.length === 0) return Promise.all(searches)
  if (!(error instanceof AppError)) throw error
  const failed = new Set(kbs.filter((_, index) => settled[index]?.status === 'rejected'))
  const { code, title, excerpt, retryAfterSeconds } = error
  throw new AppError(code, `${error.message} (searching ${[...failed].join(', ')})`, {
    cause: error,
    title,
    excerpt,
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  })
}

async function searchValues(
  search: SearchInput,
  plan: SelectPlan,
  context: RunContext,
): Promise<BoundValues> {
  if (search.text.kind === 'column') return lateralVectors(search, plan, context)
  const vector = BOUND.vector(search.textIndex)
  const words = BOUND.words(search.textIndex)
  const given = givenVector(search.text, context.params)
  if (given !== undefined) {
    return { [vector]: checkedVector(given, search.knowledgeBase), [words]: [] }
  }
  const text = searchText(search.text, context.params)
  const values: Record<string, BoundValue> = {}
  if (plan.parameters.has(words)) values[words] = distinctWords(text)
  if (plan.parameters.has(vector)) {
    const [embedded] = await unitVectors([text], search.knowledgeBase, context)
    if (embedded === undefined) throw new Error('embedder returned no vector for one text')
    values[vector] = embedded
  }
  return values
}

/** A list of numbers in `content = :q` is a vector of a client that embeds itself. */
function givenVector(text: PlannedText, params: ParameterValues): Float32Array | undefined {
  const value = text.kind === 'parameter' ? params.get(text.name) : undefined
  if (!Array.isArray(value) || !value.every((item) => typeof item === 'number')) return undefined
  return value.length === 0 ? undefined : new Float32Array(value)
}

/** @throws AppError `dimension_mismatch`, `sql_invalid_search` */
function checkedVector(vector: Float32Array, kb: KnowledgeBase): Float32Array {
  const length = vectorLength(vector)
  if (length > 0 && Number.isFinite(length)) return unitVector(vector, kb)
  const message = 'A query vector has finite numbers that are not all zero'
  throw new AppError('sql_invalid_search', message)
}

async function lateralVectors(
  { textIndex, text, knowledgeBase }: SearchInput,
  plan: SelectPlan,
  context: RunContext,
): Promise<BoundValues> {
  const needsVectors = plan.parameters.has(BOUND.vectors(textIndex))
  if (!needsVectors && !plan.parameters.has(BOUND.texts(textIndex))) return {}
  const texts = (await plannedTexts(text, plan, context)).filter((value) => value.trim() !== '')
  const isEmbedded = needsVectors && texts.length > 0
  const vectors = isEmbedded ? await unitVectors(texts, knowledgeBase, context) : []
  return { [BOUND.texts(textIndex)]: texts, [BOUND.vectors(textIndex)]: vectors }
}

function searchText(
  planned: Exclude<PlannedText, { kind: 'column' }>,
  params: ParameterValues,
): string {
  const text = planned.kind === 'constant' ? planned.text : params.get(planned.name)
  if (typeof text === 'string' && text.length > SEARCH_TEXT_CHARS_MAX) {
    const message = `content is searched for a text of at most ${SEARCH_TEXT_CHARS_MAX} characters`
    throw new AppError('sql_invalid_search', `${message}; this one has ${text.length}`)
  }
  if (typeof text === 'string' && text.trim() !== '') return text.toWellFormed()
  const isEmpty = typeof text === 'string' || (Array.isArray(text) && text.length === 0)
  const message = isEmpty
    ? 'content is searched for a text, and this one is empty'
    : `content is searched for a text or a list of numbers, and this parameter is ${boundKind(text)}`
  throw new AppError('sql_invalid_search', message)
}

function boundKind(value: unknown): string {
  if (value === null || value === undefined) return 'null'
  if (Array.isArray(value)) return 'a list of other values: each text is a parameter of its own'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

/** Returns the texts' vectors, scaled to length 1 like stored ones. */
async function unitVectors(
  texts: readonly string[],
  kb: KnowledgeBase,
  { deps, signal, timer }: RunContext,
): Promise<readonly Float32Array[]> {
  const leftMs = Math.max(1, deps.queryMs - (deps.spentMs ?? 0))
  const embedder = deps.embedders.embedder(kb.embeddingModel, leftMs)
  // A provider that is late says so itself.
  const limits = { timeoutMs: leftMs + LATE_MS, signal, timeoutError: () => lateTexts(deps) }
  const vectors = await timer.time('embed', () => {
    return withDeadline(limits, (ended) => embedder.embed(texts, ended))
  })
  return vectors.map((vector) => unitVector(vector, kb))
}

function lateTexts({ queryMs }: Pick<QueryDeps, 'queryMs'>): AppError {
  const what = 'The search texts were not embedded within the time limit of the statement'
  return new AppError('timeout', `${what}, ${queryMs} ms (EIDER_QUERY_MS)`)
}

function unitVector(vector: Float32Array, kb: KnowledgeBase): Float32Array {
  if (vector.length !== kb.dimensions) {
    throw dimensionMismatch(`the query has ${vector.length}, ${kb.name} holds ${kb.dimensions}`)
  }
  const length = vectorLength(vector)
  if (!(length > 0 && Number.isFinite(length))) {
    throw new AppError('provider_failed', 'The embedding model gave no usable vector for this text')
  }
  return vector.map((value) => value / length)
}

/** Computed in float64, where the square of a float32 cannot overflow. */
function vectorLength(vector: Float32Array): number {
  let squares = 0
  for (let index = 0; index < vector.length; index += 1) squares += (vector[index] ?? 0) ** 2
  return Math.sqrt(squares)
}

const AGENT_QUESTIONS_MAX = 100
/** The most questions of one statement to ask at once. */
const QUESTIONS_AT_ONCE = 4

/**
 * Asks the agent in a FROM each distinct question once, and returns its answers as rows of JSON
 * text, in the order of the questions. `SELECT product, total FROM agent …` requests answers with
 * these fields.
 * @throws AppError if a question fails; `sql_invalid_search` for too many questions
 */
async function askAgent(
  { agent, fields }: { readonly agent: Agent; readonly fields: readonly string[] },
  texts: readonly string[],
  agents: AgentAnswers,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const questions = [...new Set(texts)].filter((text) => text.trim() !== '')
  if (questions.length > AGENT_QUESTIONS_MAX) {
    const limit = `A statement asks agent ${agent.name} at most ${AGENT_QUESTIONS_MAX} questions`
    const message = `${limit}, found ${questions.length}; narrow the table they come from`
    throw new AppError('sql_invalid_search', message)
  }
  const bounds = { concurrencyMax: QUESTIONS_AT_ONCE, signal }
  const answers = await mapConcurrent(questions, bounds, async (question, lane) => {
    const answer = await agents.ask(agent, questionWithFields(question, fields), lane)
    return answerRows(question, answer, fields)
  })
  return answers.flat()
}

function answerRows(
  question: string,
  { content, traceId, citations }: AgentAnswer,
  fields: readonly string[],
): readonly string[] {
  return answerFields(content, fields).map((object) => {
    return JSON.stringify({ ...object, answer: content, question, trace_id: traceId, citations })
  })
}

function questionWithFields(question: string, fields: readonly string[]): string {
  if (fields.length === 0) return question
  const names = fields.map((field) => JSON.stringify(field)).join(', ')
  const form = `Answer with a JSON array of objects with the keys ${names}, and nothing else.`
  return `${question}\n\n${form}`
}

/** With lower-case keys, or a row without fields. Maybe in a fence or a sentence. */
function answerFields(
  answer: string,
  fields: readonly string[],
): readonly Readonly<Record<string, unknown>>[] {
  if (fields.length === 0) return [{}]
  const json = jsonIn(answer)
  const objects = (Array.isArray(json) ? json : [json]).filter(isObject)
  if (objects.length === 0) return [{}]
  return objects.map((object) => {
    const entries = Object.entries(object).map(([key, value]) => [key.toLowerCase(), value])
    return Object.fromEntries(entries)
  })
}

function jsonIn(answer: string): unknown {
  for (const [open, close] of [
    ['[', ']'],
    ['{', '}'],
  ] as const) {
    const start = answer.indexOf(open)
    const end = answer.lastIndexOf(close)
    if (start === -1 || end < start) continue
    const value = parsedJson(answer.slice(start, end + 1))
    if (value !== undefined) return value
  }
  return undefined
}
