import { ALL, untilInMemory, withFilledVectors } from '../filled-vectors.ts'
import { loadMeasure, runLoad } from '../load.ts'
import { madeVectors } from '../peers/vector-set.ts'
import type { Measure, Scenario } from '../scenario.ts'

const CHUNKS = { quick: 10_000, normal: 100_000, full: 100_000 }
const QUERIES = 50
const SEARCHES = 100
const WARM_UP = 10
const FILTERS = [
  [ALL, 'all'],
  [100, '10 %'],
  [10, '1 %'],
  [1, '0.1 %'],
] as const

export const filters: Scenario = {
  name: 'filters',
  title: 'The nearest 10 of the chunks that a condition keeps, each answer compared with the truth',
  run: async (size) => {
    const vectors = madeVectors(CHUNKS[size], QUERIES)
    return withFilledVectors(vectors, vectors.rowCount, async (filled) => {
      await untilInMemory(filled)
      const measures: Measure[] = []
      for (const [keep, words] of FILTERS) {
        for (let at = 0; at < WARM_UP; at += 1) await filled.checkedSearch(at, keep)
        const load = { clients: 1, requestsMax: SEARCHES, durationMs: 10_000, pid: filled.pid }
        const result = await runLoad(load, (at) => filled.checkedSearch(at, keep))
        const at = `${vectors.rowCount.toLocaleString('en')} chunks`
        measures.push(loadMeasure(`${at}, ${words} kept`, result))
      }
      return measures
    })
  },
}
