import { createKnowledgeBase, fill } from '../filling.ts'
import { percentile } from '../load.ts'
import { startPings } from '../pings.ts'
import { sampleTexts } from '../sample-texts.ts'
import { type Bench, type Measure, type Scenario, withServer } from '../scenario.ts'
import { startStubProvider, stubEmbeddingModel } from '../stub-provider.ts'

const IDLE_MS = 2000

/** How long a ping waits during an insert shows how long the server's event loop was blocked. */
export const responsiveness: Scenario = {
  name: 'responsiveness',
  title: 'GET /api/util/ping every 5 ms, seen by another process',
  run: async (size) => {
    const texts = await sampleTexts()
    const stub = await startStubProvider()
    const stubbed = {
      knowledgeBase: 'stubbed',
      embeddingModel: stubEmbeddingModel(stub),
      documents: size === 'quick' ? 2000 : 10_000,
      wordsPerDocument: 100,
    }
    const builtin = {
      knowledgeBase: 'builtin',
      documents: size === 'quick' ? 100 : 500,
      wordsPerDocument: 100,
    }
    try {
      return await withServer({}, async (bench) => {
        await createKnowledgeBase(bench, stubbed)
        await createKnowledgeBase(bench, builtin)
        return [
          ...(await pings(bench, 'at rest', () => Bun.sleep(IDLE_MS))),
          ...(await pings(bench, 'inserting, stub', () => fill(bench, stubbed, texts))),
          ...(await pings(bench, 'inserting, built-in', () => fill(bench, builtin, texts))),
        ]
      })
    } finally {
      stub.stop()
    }
  },
}

async function pings(
  { server }: Bench,
  what: string,
  work: () => Promise<unknown>,
): Promise<readonly Measure[]> {
  const ticker = await startPings(`${server.baseUrl}/api/util/ping`)
  try {
    await work()
    const latenciesMs = await ticker.stop()
    return [
      { what: `${what}, p50`, value: percentile(latenciesMs, 0.5), unit: 'ms' },
      { what: `${what}, p99`, value: percentile(latenciesMs, 0.99), unit: 'ms' },
      { what: `${what}, longest`, value: latenciesMs.at(-1) ?? Number.NaN, unit: 'ms' },
    ]
  } finally {
    await ticker.end()
  }
}
