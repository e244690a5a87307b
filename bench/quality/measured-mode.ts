/**
 * Runs every question of a collection as a search in one mode over HTTP, and measures the results.
 */
import type { EiderClient } from '../../scripts/eider-client.ts'
import { metricsOf, type RetrievalMetrics } from '../../src/query/evaluate/measures.ts'
import { percentile } from '../load.ts'
import { PROJECT } from '../scenario.ts'
import type { JudgedQuestion } from './beir-collection.ts'
import type { SearchMode } from './search-mode.ts'

export const KNOWLEDGE_BASE = 'collection'
const SEARCH_PATH = `${PROJECT}/knowledge_bases/${KNOWLEDGE_BASE}/search`

/** The number of first documents that count for recall, nDCG and the reciprocal rank. */
export const DEEP = 100
const NEAR = 10

export interface MeasuredMode {
  readonly near: RetrievalMetrics
  readonly deep: RetrievalMetrics
  /** The median time of one search. */
  readonly p50Ms: number
}

/** @throws Error with the server's message if it refuses the mode */
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

/** Over the questions with a relevant document. */
function meanMetrics(questions: readonly (RetrievalMetrics | null)[]): RetrievalMetrics {
  const counted = questions.filter((metrics) => metrics !== null)
  const mean = (name: keyof RetrievalMetrics) => {
    const sum = counted.reduce((total, metrics) => total + metrics[name], 0)
    return sum / Math.max(1, counted.length)
  }
  return {
    ndcg: mean('ndcg'),
    recall: mean('recall'),
    precision: mean('precision'),
    reciprocalRank: mean('reciprocalRank'),
    averagePrecision: mean('averagePrecision'),
  }
}

interface Answer {
  /** The IDs of documents, ranked by their best chunk. */
  readonly ids: readonly string[]
  readonly judgments: ReadonlyMap<string, number>
  readonly tookMs: number
}

async function answerTo(
  client: EiderClient,
  { fields }: SearchMode,
  { text, judgments }: JudgedQuestion,
): Promise<Answer> {
  const body = { query: text, ...fields, k: DEEP, per_document: true, columns: [] }
  const askedAt = performance.now()
  const answer = await client.request('POST', SEARCH_PATH, body)
  const tookMs = performance.now() - askedAt
  // The contract defines this form, and the check below detects a server that breaks it.
  const { results } = answer as { readonly results?: readonly { readonly id: string }[] }
  if (!Array.isArray(results)) throw new Error('no results came')
  return { ids: results.map(({ id }) => String(id)), judgments, tookMs }
}
