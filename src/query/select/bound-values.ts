/** The values of a plan's placeholders: parameters, vectors of searched texts, answers of agents. */
import type { KnowledgeBase } from '../../domain/knowledge-base.ts'
import type { BoundValue } from '../../domain/ports.ts'
import { AppError } from '../../errors.ts'
import {
  answersParameter,
  type PlannedText,
  type SearchRequest,
  textsParameter,
  vectorsParameter,
} from '../../sql/search/plan-inputs.ts'
import { termsOf, termsParameter, vectorParameter } from '../../sql/search/ranking.ts'
import { checkedThreshold } from '../../sql/search/search-predicates.ts'
import { agentAnswers } from './agent-answers.ts'
import type { Binding, Values } from './binding.ts'
import { hybridValues } from './hybrid-values.ts'
import type { SelectPlan } from './plan-cache.ts'

/** Distinct texts of a column that is searched for. */
const COLUMN_TEXTS_MAX = 1000

/** @throws AppError `invalid_request`, `sql_invalid_search`, those of the embedder, the agents and the engine */
export async function boundValues(
  plan: SelectPlan,
  binding: Binding,
): Promise<Readonly<Record<string, BoundValue>>> {
  const values: Record<string, BoundValue> = {}
  for (const name of plan.parameters) {
    if (binding.params.has(name)) values[name] = boundValue(name, binding.params.get(name))
  }
  for (const name of plan.thresholds) {
    if (binding.params.get(name) !== null) checkedThreshold(binding.params.get(name))
  }
  const searches = plan.searches.map((search) => searchValues(search, plan, binding))
  for (const found of await Promise.all(searches)) Object.assign(values, found)
  for (const request of plan.agents) {
    const questions: string[] = []
    for (const of of request.questions) questions.push(...(await textsOf(of, plan, binding)))
    values[answersParameter(request.number)] = await agentAnswers(request, questions, binding)
  }
  const needed = Object.entries(values).filter(([name]) => plan.parameters.has(name))
  return Object.fromEntries(needed)
}

/** The texts that are meant: one, or the distinct values of a column. */
async function textsOf(
  of: PlannedText,
  plan: SelectPlan,
  binding: Binding,
): Promise<readonly string[]> {
  if (of.kind === 'constant') return [of.text]
  if (of.kind === 'parameter') {
    const value = binding.params.get(of.name)
    if (value === null || value === undefined) return []
    return (Array.isArray(value) ? value : [value]).map(String)
  }
  const values = plan.values.get(of.select)
  if (values === undefined) throw new Error('the values of a column must be planned')
  return columnTexts(values, binding)
}

async function columnTexts(plan: SelectPlan, binding: Binding): Promise<readonly string[]> {
  const { deps, signal } = binding
  const values = await boundValues(plan, { ...binding, options: null })
  const limits = { timeoutMs: deps.queryMs }
  const { batches } = await deps.engine.run({ sql: plan.sql, values }, limits, signal)
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

/** The vectors and terms of a search, as far as the statement uses them. */
async function searchValues(
  search: SearchRequest,
  plan: SelectPlan,
  binding: Binding,
): Promise<Readonly<Record<string, BoundValue>>> {
  if (search.of.kind === 'column') return columnVectors(search, plan, binding)
  const vector = vectorParameter(search.text)
  const terms = termsParameter(search.text)
  const given = givenVector(search.of, binding.params)
  if (given !== undefined) {
    const values = { [vector]: checkedVector(given, search.knowledgeBase), [terms]: [] }
    return { ...values, ...hybridValues(search, plan, null) }
  }
  const text = searchText(search.of, binding.params)
  const values: Record<string, BoundValue> = { ...hybridValues(search, plan, text) }
  if (plan.parameters.has(terms)) values[terms] = termsOf(text)
  if (plan.parameters.has(vector)) {
    const [found] = await unitVectors([text], search.knowledgeBase, binding)
    if (found === undefined) throw new Error('embedder returned no vector for one text')
    values[vector] = found
  }
  return values
}

/** `content = :q` with a list of numbers: the vector itself, from a client that embeds on its own. */
function givenVector(of: PlannedText, params: Values): Float32Array | undefined {
  const value = of.kind === 'parameter' ? params.get(of.name) : undefined
  if (!Array.isArray(value) || !value.every((item) => typeof item === 'number')) return undefined
  return value.length === 0 ? undefined : new Float32Array(value)
}

/** @throws AppError `dimension_mismatch`, `sql_invalid_search` */
function checkedVector(vector: Float32Array, kb: KnowledgeBase): Float32Array {
  const length = lengthOf(vector)
  if (length > 0 && Number.isFinite(length)) return unitVector(vector, kb)
  const message = 'A query vector has finite numbers that are not all zero'
  throw new AppError('sql_invalid_search', message)
}

async function columnVectors(
  { of, text, knowledgeBase }: SearchRequest,
  plan: SelectPlan,
  binding: Binding,
): Promise<Readonly<Record<string, BoundValue>>> {
  const needsVectors = plan.parameters.has(vectorsParameter(text))
  if (!needsVectors && !plan.parameters.has(textsParameter(text))) return {}
  const texts = (await textsOf(of, plan, binding)).filter((value) => value.trim() !== '')
  const isEmbedded = needsVectors && texts.length > 0
  const vectors = isEmbedded ? await unitVectors(texts, knowledgeBase, binding) : []
  return { [textsParameter(text)]: texts, [vectorsParameter(text)]: vectors }
}

function searchText(of: Exclude<PlannedText, { kind: 'column' }>, params: Values): string {
  const text = of.kind === 'constant' ? of.text : params.get(of.name)
  if (typeof text === 'string' && text.trim() !== '') return text.toWellFormed()
  const isEmpty = typeof text === 'string' || (Array.isArray(text) && text.length === 0)
  const message = isEmpty
    ? 'content is searched for a text, and this one is empty'
    : `content is searched for a text or a list of numbers, and this parameter is ${kindOf(text)}`
  throw new AppError('sql_invalid_search', message)
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return 'null'
  if (Array.isArray(value)) return 'a list of other values: each text is a parameter of its own'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

/** The texts' vectors with unit length, as the stored ones are. */
async function unitVectors(
  texts: readonly string[],
  kb: KnowledgeBase,
  { deps, signal }: Binding,
): Promise<readonly Float32Array[]> {
  const embedder = deps.embedders.embedder(kb.embeddingModel)
  const vectors = await embedder.embed(texts, signal)
  return vectors.map((vector) => unitVector(vector, kb))
}

function unitVector(vector: Float32Array, kb: KnowledgeBase): Float32Array {
  if (vector.length !== kb.dimensions) {
    const sizes = `the query has ${vector.length}, ${kb.name} holds ${kb.dimensions}`
    throw new AppError('dimension_mismatch', `Dimensions do not match: ${sizes}`)
  }
  const length = lengthOf(vector)
  if (!(length > 0 && Number.isFinite(length))) {
    throw new AppError('provider_failed', 'The embedding model gave no usable vector for this text')
  }
  return vector.map((value) => value / length)
}

/** In float64, which no square of a float32 overflows. */
function lengthOf(vector: Float32Array): number {
  let squares = 0
  for (let index = 0; index < vector.length; index += 1) squares += (vector[index] ?? 0) ** 2
  return Math.sqrt(squares)
}

function boundValue(name: string, value: unknown): BoundValue {
  if (value === null || typeof value === 'boolean' || typeof value === 'number') return value
  if (typeof value === 'string') return value.toWellFormed()
  if (Array.isArray(value)) return value.map((item) => boundValue(name, item))
  const message = `Parameter ${name} must be a text, a number, true, false, null or a list of these`
  throw new AppError('invalid_request', message)
}
