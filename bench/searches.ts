/** The kinds of searches and inserts that scenarios run on `passages`, with 100 words per chunk. */

import { createKnowledgeBase, type Filling, fill } from './filling.ts'
import { type HttpLoad, httpMeasure } from './http-load.ts'
import type { Measure } from './measure.ts'
import { type SampleTexts, seededRandom } from './sample-texts.ts'
import { type Bench, PROJECT } from './scenario.ts'
import { STUB_DIMENSIONS } from './stub-provider.ts'

export const PASSAGES = 'passages'
export const WORDS = 100
/** Query texts and new documents start after the texts of the documents. */
const FIRST_QUERY_INDEX = 10_000_000
const FIRST_NEW_INDEX = 20_000_000
const VECTORS = 200
const TEXTS = 5_000
const QUERY_WORDS = 6
const KEYWORDS = 3

export interface Searched {
  readonly bench: Bench
  readonly texts: SampleTexts
  /** The size of the knowledge base as named in the rows. */
  readonly label: string
  readonly seconds: number
}

export async function filledPassages(
  bench: Bench,
  texts: SampleTexts,
  { documents, model }: { readonly documents: number; readonly model?: Record<string, unknown> },
): Promise<number> {
  const filling: Filling = {
    knowledgeBase: PASSAGES,
    documents,
    wordsPerDocument: WORDS,
    ...(model === undefined ? {} : { embeddingModel: model }),
  }
  await createKnowledgeBase(bench, filling)
  return fill(bench, filling, texts)
}

/** Finds the nearest ten of a given vector, to measure the server's own time. */
export function vectorSearch(
  searched: Searched,
  { clients, filter = '' }: { readonly clients: number; readonly filter?: string },
): Promise<Measure> {
  const query = `SELECT id, chunk_content, relevance FROM ${PASSAGES} WHERE content = :q ${filter} LIMIT 10`
  const bodies = Array.from({ length: VECTORS }, (_, index) => {
    return JSON.stringify({ query, params: { q: unitVector(FIRST_QUERY_INDEX + index) } })
  })
  const kept = filter === '' ? '' : `, ${filter.replace(/^AND /, '')}`
  return searches(searched, { what: `nearest 10${kept}`, bodies, clients })
}

/** Alternates between all kinds: a given vector, the nearest of a text, hybrid, and by words. */
export function searchBodies(texts: SampleTexts): readonly string[] {
  const select = (condition: string) => {
    return `SELECT id, chunk_content, relevance FROM ${PASSAGES} WHERE ${condition} LIMIT 10`
  }
  return Array.from({ length: TEXTS }, (_, index) => {
    const text = (words: number) => {
      return texts.text(FIRST_QUERY_INDEX + index, words).replaceAll("'", '')
    }
    if (index % 4 === 0) {
      const params = { q: unitVector(FIRST_QUERY_INDEX + index) }
      return JSON.stringify({ query: select('content = :q'), params })
    }
    const query = [
      select(`content = '${text(QUERY_WORDS)}'`),
      select(`content = '${text(QUERY_WORDS)}' AND hybrid_search = true`),
      select(`content = '${text(KEYWORDS)}' AND hybrid_search_alpha = 0`),
    ][(index % 4) - 1]
    return JSON.stringify({ query })
  })
}

/** Each text is new. @param condition of the statement, such as the weight of the vectors */
export function textSearch(
  searched: Searched,
  kind: { readonly what: string; readonly condition: string; readonly words?: number },
): Promise<Measure> {
  const { what, condition, words = QUERY_WORDS } = kind
  const bodies = Array.from({ length: TEXTS }, (_, index) => {
    const text = searched.texts.text(FIRST_QUERY_INDEX + index, words).replaceAll("'", '')
    const query = `SELECT id, chunk_content, relevance FROM ${PASSAGES} WHERE content = '${text}' ${condition} LIMIT 10`
    return JSON.stringify({ query })
  })
  return searches(searched, { what, bodies, clients: 1 })
}

export function keywordSearch(searched: Searched): Promise<Measure> {
  const what = `best 10 by ${KEYWORDS} words`
  return textSearch(searched, { what, condition: 'AND hybrid_search_alpha = 0', words: KEYWORDS })
}

async function searches(
  { bench: { client, server }, label, seconds }: Searched,
  { what, bodies, clients }: { what: string; bodies: readonly string[]; clients: number },
): Promise<Measure> {
  const load: HttpLoad = {
    baseUrl: server.baseUrl,
    pid: server.pid,
    method: 'POST',
    path: '/sql/query',
    bodies,
    clients,
    seconds,
    check: async (body) => {
      const answer = await client.request('POST', '/sql/query', JSON.parse(body))
      // The contract defines this form, and a failed statement has no data.
      const { data, error_message } = answer as Record<string, unknown>
      if (Array.isArray(data) && data.length === 10) return
      throw new Error(`${what} did not find ten rows: ${error_message ?? JSON.stringify(data)}`)
    },
  }
  for (const body of bodies.slice(-WARM_UP)) await load.check(body)
  return httpMeasure(`${label}: ${what}, ${clientsText(clients)}`, load)
}

const WARM_UP = 20

/** One client inserts one new row after the other. */
export function oneRowInserts({ bench, texts, label, seconds }: Searched): Promise<Measure> {
  const bodies = Array.from({ length: TEXTS }, (_, index) => {
    const content = texts.text(FIRST_NEW_INDEX + index, WORDS)
    const rows = [{ id: `new-${label}-${index}`, part: index % 10, content }]
    return JSON.stringify({ knowledge_base: { rows } })
  })
  const path = `${PROJECT}/knowledge_bases/${PASSAGES}`
  return httpMeasure(`${label}: insert of one row`, {
    baseUrl: bench.server.baseUrl,
    pid: bench.server.pid,
    method: 'PUT',
    path,
    bodies,
    clients: 1,
    seconds,
    check: async (body) => {
      await bench.client.request('PUT', path, JSON.parse(body))
    },
  })
}

export function chunksLabel(chunks: number): string {
  return `${chunks.toLocaleString('en')} chunks`
}

function clientsText(clients: number): string {
  return clients === 1 ? 'one client' : `${clients} clients`
}

function unitVector(seed: number): readonly number[] {
  const random = seededRandom(seed)
  const vector = Array.from({ length: STUB_DIMENSIONS }, () => random() - 0.5)
  const length = Math.hypot(...vector)
  return vector.map((value) => Math.fround(value / length))
}
