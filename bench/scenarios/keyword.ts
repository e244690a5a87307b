import { createKnowledgeBase, fill } from '../filling.ts'
import { type LoadResult, loadMeasure, runLoad } from '../load.ts'
import { type SampleTexts, sampleTexts } from '../sample-texts.ts'
import { type Bench, type Measure, PROJECT, type Scenario, withServer } from '../scenario.ts'
import { startStubProvider, stubEmbeddingModel } from '../stub-provider.ts'

const DOCUMENTS = { quick: 2000, normal: 100_000, full: 100_000 }
const WORDS = 100
const TERMS = 3
const SEARCHES = 100
const NEW_DOCUMENTS = 1000
/** Query texts and new documents start after the texts of the documents. */
const FIRST_QUERY_INDEX = 10_000_000
const FIRST_NEW_INDEX = 20_000_000

export const keyword: Scenario = {
  name: 'keyword',
  title: `The best 10 by ${TERMS} words alone (BM25), and what an insert of ${NEW_DOCUMENTS} takes`,
  run: async (size) => {
    const texts = await sampleTexts()
    const stub = await startStubProvider()
    const filling = {
      knowledgeBase: 'passages',
      embeddingModel: stubEmbeddingModel(stub),
      documents: DOCUMENTS[size],
      wordsPerDocument: WORDS,
    }
    try {
      return await withServer({}, async (bench) => {
        await createKnowledgeBase(bench, filling)
        await fill(bench, filling, texts)
        await keywordLoad(bench, texts, FIRST_QUERY_INDEX)
        const searches = await keywordLoad(bench, texts, FIRST_QUERY_INDEX + SEARCHES)
        const insertMs = await insertMsOf(bench, texts)
        const after = await keywordLoad(bench, texts, FIRST_QUERY_INDEX + 2 * SEARCHES)
        const at = `${filling.documents.toLocaleString('en')} documents of ${WORDS} words`
        const measures: readonly Measure[] = [
          loadMeasure(`${at}, ${TERMS} terms`, searches),
          { what: `insert of ${NEW_DOCUMENTS}, with vectors`, value: insertMs, unit: 'ms' },
          loadMeasure('right after it', after),
        ]
        return measures
      })
    } finally {
      stub.stop()
    }
  },
}

function keywordLoad(
  { client, server }: Bench,
  texts: SampleTexts,
  first: number,
): Promise<LoadResult> {
  const load = { clients: 1, requestsMax: SEARCHES, durationMs: 10_000, pid: server.pid }
  return runLoad(load, async (at) => {
    const text = texts.text(first + at, TERMS).replaceAll("'", '')
    const { rows } = await client.sql(`SELECT id, relevance FROM passages
      WHERE content = '${text}' AND hybrid_search_alpha = 0 LIMIT 10`)
    if (rows.length !== 10) throw new Error(`A search found ${rows.length} rows instead of 10`)
  })
}

async function insertMsOf({ client }: Bench, texts: SampleTexts): Promise<number> {
  const rows = Array.from({ length: NEW_DOCUMENTS }, (_, at) => {
    const content = texts.text(FIRST_NEW_INDEX + at, WORDS)
    return { id: `new-${at}`, part: at % 10, content }
  })
  const sentAt = performance.now()
  await client.request('PUT', `${PROJECT}/knowledge_bases/passages`, { knowledge_base: { rows } })
  return performance.now() - sentAt
}
