/** Creates and fills knowledge bases for the scenarios over HTTP, with one chunk per document. */
import { handOver } from './compared-checkouts.ts'
import type { SampleTexts } from './sample-texts.ts'
import { type Bench, PROJECT } from './scenario.ts'

export interface Filling {
  readonly knowledgeBase: string
  /** By default the built-in model. */
  readonly embeddingModel?: Readonly<Record<string, unknown>>
  readonly documents: number
  /** With fewer than about 150 words, a document is one chunk of at most 1000 characters. */
  readonly wordsPerDocument: number
}

/** The number of documents per insert, about 2 MB of JSON at 100 words each. */
const ROWS_PER_INSERT = 2000

export async function createKnowledgeBase({ client }: Bench, filling: Filling): Promise<void> {
  const model = filling.embeddingModel
  await client.request('POST', `${PROJECT}/knowledge_bases`, {
    knowledge_base: {
      name: filling.knowledgeBase,
      content_columns: ['content'],
      metadata_columns: ['part'],
      id_column: 'id',
      ...(model === undefined ? {} : { embedding_model: model }),
    },
  })
}

/** @returns the milliseconds from the first insert to the last answer */
export async function fill(bench: Bench, filling: Filling, texts: SampleTexts): Promise<number> {
  const elapsedMs = await fillMore(bench, filling, { texts, from: 0 })
  await checkCount(bench, filling)
  return elapsedMs
}

/** Adds documents, starting with this one. */
export async function fillMore(
  bench: Bench,
  filling: Filling,
  { texts, from: first }: { readonly texts: SampleTexts; readonly from: number },
): Promise<number> {
  const path = `${PROJECT}/knowledge_bases/${filling.knowledgeBase}`
  let elapsedMs = 0
  for (let from = first; from < filling.documents; from += ROWS_PER_INSERT) {
    const count = Math.min(ROWS_PER_INSERT, filling.documents - from)
    const rows = Array.from({ length: count }, (_, at) => {
      const index = from + at
      const content = texts.text(index, filling.wordsPerDocument)
      return { id: `document-${index}`, part: index % 10, content }
    })
    const sentAt = performance.now()
    await bench.client.request('PUT', path, { knowledge_base: { rows } })
    elapsedMs += performance.now() - sentAt
    await handOver()
  }
  return elapsedMs
}

/** With missing chunks, the rate would be wrong. */
async function checkCount({ client }: Bench, filling: Filling): Promise<void> {
  const sql = `SELECT count(*) FROM ${filling.knowledgeBase}`
  const stored = Number((await client.sql(sql)).rows[0]?.[0])
  if (stored === filling.documents) return
  throw new Error(`${filling.documents} chunks were inserted and ${stored} are stored`)
}
