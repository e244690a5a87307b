/** Asks every question of a collection in one mode over HTTP, and rates what comes back. */
import type { EiderClient } from '../../scripts/eider-client.ts'
import { type MeanMetrics, meanMetrics, metricsOf } from '../../src/evaluation/retrieval-metrics.ts'
import { percentile } from '../load.ts'
import type { JudgedQuestion } from './beir-collection.ts'
import type { SearchMode } from './search-mode.ts'

export const KNOWLEDGE_BASE = 'collection'

/** Documents from the front that recall looks at, and nDCG and the reciprocal rank. */
const DEEP = 100
const NEAR = 10

/** Documents have several chunks: so many chunks hold a hundred documents. */
export const CHUNKS_PER_QUESTION = 500

export interface MeasuredMode {
  readonly near: MeanMetrics
  readonly deep: MeanMetrics
  /** Of one statement, at the median. */
  readonly p50Ms: number
}

/** @throws Error with the server's message where it refuses the mode */
export async function measuredMode(
  client: EiderClient,
  mode: SearchMode,
  questions: readonly JudgedQuestion[],
): Promise<MeasuredMode> {
  const answers: Answer[] = []
  for (const question of questions) answers.push(await answerTo(client, mode, question))
  const rated = (k: number) => {
    return meanMetrics(answers.map(({ ids, judgments }) => metricsOf(ids, judgments, k)))
  }
  const times = answers.map(({ tookMs }) => tookMs).toSorted((first, second) => first - second)
  return { near: rated(NEAR), deep: rated(DEEP), p50Ms: percentile(times, 0.5) }
}

interface Answer {
  /** Of documents, by their best chunk; a document comes again with its next one. */
  readonly ids: readonly string[]
  readonly judgments: ReadonlyMap<string, number>
  readonly tookMs: number
}

async function answerTo(
  client: EiderClient,
  { condition }: SearchMode,
  { text, judgments }: JudgedQuestion,
): Promise<Answer> {
  const where = `content = :question${condition}`
  const query = `SELECT id FROM ${KNOWLEDGE_BASE} WHERE ${where} LIMIT ${CHUNKS_PER_QUESTION}`
  const askedAt = performance.now()
  const answer = await client.request('POST', '/sql/query', { query, params: { question: text } })
  const tookMs = performance.now() - askedAt
  // The shape is the contract's; a server that breaks it is seen by the checks below.
  const { type, data, error_message } = answer as Record<string, unknown>
  if (type === 'error') throw new Error(String(error_message))
  if (!Array.isArray(data)) throw new Error('no table came')
  return { ids: data.map((row) => String(row[0])), judgments, tookMs }
}
