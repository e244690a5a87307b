import { createKnowledgeBase, type Filling, fill } from '../filling.ts'
import { sampleTexts } from '../sample-texts.ts'
import { type Measure, residentMb, type Scenario, withServer } from '../scenario.ts'
import { cpuMsOf } from '../server-cpu.ts'
import { startStubProvider, stubEmbeddingModel } from '../stub-provider.ts'

const DOCUMENTS = {
  quick: { builtin: 100, stub: 4000 },
  normal: { builtin: 600, stub: 20_000 },
  full: { builtin: 2000, stub: 100_000 },
}

export const insert: Scenario = {
  name: 'insert',
  title: 'PUT rows: chunked, embedded, indexed and on disk (chunks of 100 words)',
  run: async (size) => {
    const texts = await sampleTexts()
    const stub = await startStubProvider()
    try {
      return await withServer({}, async (bench) => {
        const measure = async (what: string, filling: Filling): Promise<readonly Measure[]> => {
          await createKnowledgeBase(bench, filling)
          const { pid } = bench.server
          const cpuBefore = cpuMsOf(pid)
          const elapsedMs = await fill(bench, filling, texts)
          const cpuMs = (cpuMsOf(pid) - cpuBefore) / filling.documents
          const value = filling.documents / (elapsedMs / 1000)
          const label = `${what}, ${filling.documents} chunks`
          return [
            { what: label, value, unit: 'per second' },
            { what: `${label}: CPU`, value: cpuMs, unit: 'ms per chunk' },
          ]
        }
        const { builtin, stub: stubbed } = DOCUMENTS[size]
        return [
          ...(await measure('built-in model', {
            knowledgeBase: 'builtin',
            documents: builtin,
            wordsPerDocument: 100,
          })),
          ...(await measure('a model that costs nothing', {
            knowledgeBase: 'stubbed',
            embeddingModel: stubEmbeddingModel(stub),
            documents: stubbed,
            wordsPerDocument: 100,
          })),
          { what: 'resident memory after it', value: residentMb(bench.server.pid), unit: 'MB' },
        ]
      })
    } finally {
      stub.stop()
    }
  },
}
