import type { Measure } from '../measure.ts'
import { sampleTexts } from '../sample-texts.ts'
import { type Scenario, withServer } from '../scenario.ts'
import {
  chunksLabel,
  filledPassages,
  keywordSearch,
  type Searched,
  textSearch,
  vectorSearch,
} from '../searches.ts'
import { startStubProvider, stubEmbeddingModel } from '../stub-provider.ts'

const CHUNKS: Readonly<Record<'quick' | 'normal' | 'full', readonly number[]>> = {
  quick: [2000],
  normal: [1000, 10_000, 100_000],
  full: [1000, 10_000, 100_000],
}

export const search: Scenario = {
  name: 'search',
  title: 'SELECT … WHERE content = … LIMIT 10 over chunks of 100 words',
  run: async (size) => {
    const texts = await sampleTexts()
    const stub = await startStubProvider()
    try {
      const measures: Measure[] = []
      for (const documents of CHUNKS[size]) {
        measures.push(
          ...(await withServer({}, async (bench) => {
            await filledPassages(bench, texts, { documents, model: stubEmbeddingModel(stub) })
            const seconds = size === 'quick' ? 1 : 5
            return searchMeasures({ bench, texts, label: chunksLabel(documents), seconds })
          })),
        )
      }
      return measures
    } finally {
      stub.stop()
    }
  },
}

/** Measures searches in `passages`: alone, with a filter, with eight clients, and by words. */
export async function searchMeasures(searched: Searched): Promise<readonly Measure[]> {
  return [
    await vectorSearch(searched, { clients: 1 }),
    await vectorSearch(searched, { clients: 8 }),
    await vectorSearch(searched, { clients: 1, filter: 'AND part = 3' }),
    await textSearch(searched, { what: 'nearest 10 of a text', condition: '' }),
    await textSearch(searched, { what: 'hybrid', condition: 'AND hybrid_search_alpha = 0.5' }),
    await keywordSearch(searched),
  ]
}
