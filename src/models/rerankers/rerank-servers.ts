import { member } from '../provider-answer.ts'
import type { ShownTexts } from './rerank-prompts.ts'

export interface RerankServer {
  /** null without a public address. */
  readonly publicUrl: string | null
  /** Inserted before `/rerank` if the configured address has no path. */
  readonly pathPrefix: string
  readonly needsModelName: boolean
  readonly passagesPerCallMax: number
  /** Whether scores are always from 0 to 1; otherwise they may be raw. */
  readonly givesUnitScores: boolean
  body(texts: ShownTexts, modelName: string): Readonly<Record<string, unknown>>
}

type RerankProvider = 'cohere' | 'jina' | 'vllm' | 'tei' | 'rerank'

/**
 * Cohere's API version 2 (docs.cohere.com/reference/rerank), Jina's (api.jina.ai/docs), vLLM's,
 * which supports both, Hugging Face's text-embeddings-inference, and `rerank` for any other server
 * with the body that the first three share (llama.cpp, Infinity, LocalAI, Xinference).
 */
export const RERANK_SERVERS: Readonly<Record<RerankProvider, RerankServer>> = {
  cohere: {
    publicUrl: 'https://api.cohere.com',
    pathPrefix: '/v2',
    givesUnitScores: true,
    needsModelName: true,
    // Cohere recommends 1,000 at most.
    passagesPerCallMax: 500,
    body: documentsBody,
  },
  jina: {
    publicUrl: 'https://api.jina.ai',
    pathPrefix: '/v1',
    givesUnitScores: true,
    needsModelName: true,
    passagesPerCallMax: 500,
    // By default, the server would also return the passages.
    body: (texts, modelName) => ({ ...documentsBody(texts, modelName), return_documents: false }),
  },
  vllm: {
    publicUrl: null,
    pathPrefix: '/v1',
    givesUnitScores: false,
    needsModelName: true,
    passagesPerCallMax: 500,
    body: documentsBody,
  },
  tei: {
    publicUrl: null,
    pathPrefix: '',
    givesUnitScores: true,
    needsModelName: false,
    // A server started with default options refuses more.
    passagesPerCallMax: 32,
    body: ({ queryText, passages }) => {
      return { query: queryText, texts: passages, raw_scores: false, truncate: true }
    },
  },
  rerank: {
    publicUrl: null,
    pathPrefix: '/v1',
    givesUnitScores: false,
    needsModelName: false,
    passagesPerCallMax: 500,
    body: documentsBody,
  },
}

function documentsBody({ queryText, passages }: ShownTexts, modelName: string) {
  const model = modelName === '' ? {} : { model: modelName }
  return { ...model, query: queryText, documents: passages, top_n: passages.length }
}

/** Accepts a server, a server with a prefix (`/v1`, `/cohere/v2`), or the complete address. */
export function rerankUrl(url: string, { pathPrefix }: RerankServer): string {
  const { origin, pathname } = new URL(url)
  const path = pathname.replace(/\/+$/, '')
  if (path.endsWith('/rerank')) return `${origin}${path}`
  return `${origin}${path === '' ? pathPrefix : path}/rerank`
}

/** In passage order, from `results`, `data` or a list. @throws Error naming the mismatch */
export function scoresFrom(answer: unknown, passageCount: number): readonly number[] {
  const items = [answer, member(answer, 'results'), member(answer, 'data')].find(Array.isArray)
  if (items === undefined) throw new Error('the answer has no list "results"')
  if (items.length !== passageCount) {
    throw new Error(`${items.length} scores came back for ${passageCount} passages`)
  }
  const scores = new Map<number, number>()
  for (const [position, item] of items.entries()) {
    const index = member(item, 'index')
    const isIndex = typeof index === 'number' && Number.isInteger(index)
    if (!isIndex || index < 0 || index >= passageCount || scores.has(index)) {
      throw new Error(`the index of score ${position + 1} is wrong`)
    }
    const score = member(item, 'relevance_score') ?? member(item, 'score')
    if (typeof score !== 'number' || !Number.isFinite(score)) {
      throw new Error(`score ${position + 1} is not a finite number`)
    }
    scores.set(index, score)
  }
  return Array.from({ length: passageCount }, (_, index) => scores.get(index) ?? 0)
}

export function isInUnitRange(scores: readonly number[]): boolean {
  return scores.every((score) => score >= 0 && score <= 1)
}

/** The logistic function. It turns a cross-encoder's raw score into a probability. */
export function sigmoid(score: number): number {
  return 1 / (1 + Math.exp(-score))
}
