import { createKnowledgeBase, fill } from '../filling.ts'
import { type LoadResult, latencyMeasures, rateMeasure, runLoad } from '../load.ts'
import { type SampleTexts, sampleTexts } from '../sample-texts.ts'
import { type Bench, type Measure, type Scenario, withServer } from '../scenario.ts'
import { startStubProvider, stubEmbeddingModel } from '../stub-provider.ts'

const CHUNKS: Readonly<Record<'quick' | 'normal' | 'full', readonly number[]>> = {
  quick: [2000],
  normal: [10_000, 100_000],
  full: [10_000, 100_000],
}
const QUERY_WORDS = 6
const WARM_UP_REQUESTS = 20
/** Query texts lie beyond the texts of the documents. */
const FIRST_QUERY_INDEX = 10_000_000

export const search: Scenario = {
  name: 'search',
  title: 'SELECT … WHERE content = … LIMIT 10, each text new; the query is embedded by a stub',
  run: async (size) => {
    const texts = await sampleTexts()
    const stub = await startStubProvider()
    try {
      const measures: Measure[] = []
      for (const documents of CHUNKS[size]) {
        const filling = {
          knowledgeBase: 'passages',
          embeddingModel: stubEmbeddingModel(stub),
          documents,
          wordsPerDocument: 30,
        }
        measures.push(
          ...(await withServer({}, async (bench) => {
            await createKnowledgeBase(bench, filling)
            await fill(bench, filling, texts)
            return searchMeasures(bench, documents, texts)
          })),
        )
      }
      return measures
    } finally {
      stub.stop()
    }
  },
}

/** Searches in `passages`: alone, with a filter, and with eight clients. */
export async function searchMeasures(
  { client }: Bench,
  chunks: number,
  texts: SampleTexts,
): Promise<readonly Measure[]> {
  let next = FIRST_QUERY_INDEX
  const query = (filter: string) => {
    next += 1
    const text = texts.text(next, QUERY_WORDS).replaceAll("'", '')
    return client.sql(`SELECT id, relevance FROM passages
      WHERE content = '${text}' ${filter} LIMIT 10`)
  }
  const load = async (clients: number, filter = ''): Promise<LoadResult> => {
    const requestsMax = clients * 100
    return runLoad({ clients, requestsMax, durationMs: 20_000 }, async () => {
      const { rows } = await query(filter)
      if (rows.length !== 10) throw new Error(`A search found ${rows.length} rows instead of 10`)
    })
  }
  for (let count = 0; count < WARM_UP_REQUESTS; count += 1) await query('')
  const alone = await load(1)
  const filtered = await load(1, 'AND part = 3')
  const crowd = await load(8)
  const at = `${chunks.toLocaleString('en')} chunks`
  return [
    ...latencyMeasures(`${at}, one client`, alone),
    ...latencyMeasures(`${at}, with a filter`, filtered),
    ...latencyMeasures(`${at}, eight clients`, crowd),
    rateMeasure(`${at}, eight clients`, crowd),
  ]
}
