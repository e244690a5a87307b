/** A server with 1 000 documents of 100 words and an agent with the stub: one tool call, then "Done". */
import { createKnowledgeBase, fill } from './filling.ts'
import { sampleTexts } from './sample-texts.ts'
import { type Bench, type Measure, PROJECT, withServer } from './scenario.ts'
import { startStubProvider, stubChatModel, stubEmbeddingModel } from './stub-provider.ts'

const QUESTION = "SELECT id, chunk_content FROM passages WHERE content = 'a search' LIMIT 5"
const DOCUMENTS = 1000

export interface ScriptedAgent extends Bench {
  /** Asks one question and checks the stream. @returns the milliseconds until its first event */
  ask(): Promise<number>
}

/** @param latencyMs the latency of each turn of the model */
export async function withScriptedAgent(
  latencyMs: number,
  measure: (agent: ScriptedAgent) => Promise<readonly Measure[]>,
): Promise<readonly Measure[]> {
  const texts = await sampleTexts()
  const stub = await startStubProvider()
  try {
    return await withServer({}, async (bench) => {
      const filling = {
        knowledgeBase: 'passages',
        embeddingModel: stubEmbeddingModel(stub),
        documents: DOCUMENTS,
        wordsPerDocument: 100,
      }
      await createKnowledgeBase(bench, filling)
      await fill(bench, filling, texts)
      const data = { knowledge_bases: ['mindsdb.passages'] }
      const agent = { name: 'scripted', model: stubChatModel(stub, latencyMs), data }
      await bench.client.request('POST', `${PROJECT}/agents`, { agent })
      return await measure({ ...bench, ask: () => ask(bench) })
    })
  } finally {
    stub.stop()
  }
}

async function ask({ client }: Bench): Promise<number> {
  const sentMs = performance.now()
  let firstMs = Number.NaN
  const kinds: string[] = []
  for await (const event of client.ask(`${PROJECT}/agents/scripted`, QUESTION)) {
    if (event.kind === 'error') throw new Error(`The agent failed: ${event.content}`)
    if (kinds.length === 0) firstMs = performance.now() - sentMs
    kinds.push(event.kind)
  }
  const found = kinds.join(' ')
  if (found !== 'start actions steps output end') throw new Error(`Unexpected stream: ${found}`)
  return firstMs
}
