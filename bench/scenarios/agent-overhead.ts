import { createKnowledgeBase, fill } from '../filling.ts'
import { loadMeasure, runLoad } from '../load.ts'
import { sampleTexts } from '../sample-texts.ts'
import { type Bench, PROJECT, type Scenario, withServer } from '../scenario.ts'
import {
  type StubProvider,
  startStubProvider,
  stubChatModel,
  stubEmbeddingModel,
} from '../stub-provider.ts'

const AGENT = `${PROJECT}/agents/scripted`
const QUESTION = "SELECT id, chunk_content FROM passages WHERE content = 'a search' LIMIT 5"
const DOCUMENTS = 1000

export const agentOverhead: Scenario = {
  name: 'agent-overhead',
  title: 'A question with one tool call to a model that answers at once',
  run: async (size) => {
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
        await createAgent(bench, stub)
        return await measure(bench, size === 'quick' ? 10 : 50)
      })
    } finally {
      stub.stop()
    }
  },
}

function createAgent({ client }: Bench, stub: StubProvider): Promise<unknown> {
  return client.request('POST', `${PROJECT}/agents`, {
    agent: {
      name: 'scripted',
      model: stubChatModel(stub),
      data: { knowledge_bases: ['mindsdb.passages'] },
    },
  })
}

async function measure({ client, server }: Bench, questions: number) {
  const ask = async () => {
    const kinds: string[] = []
    for await (const event of client.ask(AGENT, QUESTION)) {
      if (event.kind === 'error') throw new Error(`The agent failed: ${event.content}`)
      kinds.push(event.kind)
    }
    const found = kinds.join(' ')
    if (found !== 'start actions steps output end') throw new Error(`Unexpected stream: ${found}`)
  }
  await ask()
  const load = { clients: 1, requestsMax: questions, durationMs: 30_000, pid: server.pid }
  const alone = await runLoad(load, ask)
  const crowd = await runLoad({ ...load, clients: 8, requestsMax: questions * 4 }, ask)
  return [loadMeasure('one client', alone), loadMeasure('eight clients', crowd)]
}
