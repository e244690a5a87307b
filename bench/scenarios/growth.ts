import { eiderClient } from '../../scripts/eider-client.ts'
import { whileRunning } from '../../scripts/server-process.ts'
import { createKnowledgeBase, fillMore } from '../filling.ts'
import { folderMb, heldMb } from '../peers/process-memory.ts'
import { type SampleTexts, sampleTexts } from '../sample-texts.ts'
import { type Bench, type Measure, type Scenario, startMeasured, withFolder } from '../scenario.ts'
import {
  chunksLabel,
  keywordSearch,
  oneRowInserts,
  PASSAGES,
  type Searched,
  vectorSearch,
  WORDS,
} from '../searches.ts'
import { type StubProvider, startStubProvider, stubEmbeddingModel } from '../stub-provider.ts'

const STEPS: Readonly<Record<'quick' | 'normal' | 'full', readonly number[]>> = {
  quick: [1000, 4000],
  normal: [1000, 10_000, 100_000],
  full: [1000, 10_000, 100_000, 1_000_000],
}

/** Measures a folder that grows, to see what stays flat and what does not. */
export const growth: Scenario = {
  name: 'growth',
  title:
    'One knowledge base that grows: search, insert, start, memory and disk (chunks of 100 words)',
  run: async (size) => {
    const texts = await sampleTexts()
    const stub = await startStubProvider()
    try {
      return await withFolder(async (dataDirectory) => {
        const idleMb = await running(dataDirectory, async (bench) => {
          await createKnowledgeBase(bench, fillingOf(stub, 0))
          return heldMb(bench.server.pid)
        })
        const measures: Measure[] = []
        let from = 0
        for (const chunks of STEPS[size]) {
          const step = {
            dataDirectory,
            texts,
            stub,
            from,
            chunks,
            idleMb,
            seconds: size === 'quick' ? 1 : 5,
          }
          measures.push(...(await grown(step)))
          from = chunks
        }
        return measures
      })
    } finally {
      stub.stop()
    }
  },
}

interface Step {
  readonly dataDirectory: string
  readonly texts: SampleTexts
  readonly stub: StubProvider
  readonly from: number
  readonly chunks: number
  readonly idleMb: number
  readonly seconds: number
}

async function grown(step: Step): Promise<readonly Measure[]> {
  const { dataDirectory, texts, stub, from, chunks, idleMb, seconds } = step
  const label = chunksLabel(chunks)
  const fillMs = await running(dataDirectory, (bench) => {
    return fillMore(bench, fillingOf(stub, chunks), { texts, from })
  })
  return running(dataDirectory, async (bench, startMs) => {
    const searched: Searched = { bench, texts, label, seconds }
    const firstMs = startMs + (await searchMs(bench, 'a first search'))
    const secondMs = await searchMs(bench, 'a second search')
    const nearest = await vectorSearch(searched, { clients: 1 })
    const crowd = await vectorSearch(searched, { clients: 8 })
    const words = await keywordSearch(searched)
    const memoryMb = (await heldMb(bench.server.pid)) - idleMb
    const diskMb = await folderMb(dataDirectory)
    const insert = await oneRowInserts(searched)
    const rate = (chunks - from) / (fillMs / 1000)
    return [
      nearest,
      crowd,
      words,
      insert,
      { what: `${label}: inserted 2 000 at a time`, value: rate, unit: 'per second' },
      { what: `${label}: ready after start`, value: startMs, unit: 'ms' },
      { what: `${label}: start to first search`, value: firstMs, unit: 'ms' },
      { what: `${label}: second search`, value: secondMs, unit: 'ms' },
      { what: `${label}: memory above idle`, value: memoryMb, unit: 'MB' },
      { what: `${label}: disk`, value: diskMb, unit: 'MB' },
    ]
  })
}

async function searchMs({ client }: Bench, text: string): Promise<number> {
  const sentAt = performance.now()
  await client.sql(`SELECT id FROM ${PASSAGES} WHERE content = '${text}' LIMIT 10`)
  return performance.now() - sentAt
}

function fillingOf(stub: StubProvider, documents: number) {
  const embeddingModel = stubEmbeddingModel(stub)
  return { knowledgeBase: PASSAGES, embeddingModel, documents, wordsPerDocument: WORDS }
}

async function running<T>(
  dataDirectory: string,
  work: (bench: Bench, startMs: number) => Promise<T>,
): Promise<T> {
  const server = await startMeasured({ dataDirectory })
  return whileRunning(server, () => {
    return work({ client: eiderClient(server.baseUrl), server }, server.startMs)
  })
}
