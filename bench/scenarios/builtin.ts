import { createKnowledgeBase, fill } from '../filling.ts'
import { latencyMeasures, runLoad } from '../load.ts'
import { sampleTexts } from '../sample-texts.ts'
import { type Bench, type Measure, PROJECT, type Scenario, withServer } from '../scenario.ts'
import { searchMeasures } from './search.ts'

/** Short texts, as the built-in model embeds them on the way. */
const CHUNKS = { quick: 500, normal: 2000, full: 10_000 }
const QUESTIONS = { quick: 5, normal: 20, full: 40 }
const AGENT = `${PROJECT}/agents/reader`

export const builtin: Scenario = {
  name: 'builtin',
  title: 'Without any key: search and agent with the built-in models (chunks of 20 words)',
  run: async (size) => {
    const texts = await sampleTexts()
    const documents = CHUNKS[size]
    return withServer({}, async (bench) => {
      const filling = { knowledgeBase: 'passages', documents, wordsPerDocument: 20 }
      await createKnowledgeBase(bench, filling)
      await fill(bench, filling, texts)
      const found = await searchMeasures(bench, documents, texts)
      const questions = Array.from({ length: QUESTIONS[size] }, (_, index) => {
        return `What is said about ${texts.text(index, 6)}?`
      })
      return [...found, ...(await agentMeasures(bench, questions))]
    })
  },
}

async function agentMeasures(
  { client }: Bench,
  questions: readonly string[],
): Promise<readonly Measure[]> {
  await client.request('POST', `${PROJECT}/agents`, {
    agent: {
      name: 'reader',
      model: { provider: 'builtin' },
      data: { knowledge_bases: ['mindsdb.passages'] },
    },
  })
  const load = { clients: 1, requestsMax: questions.length, durationMs: 60_000 }
  const asked = await runLoad(load, async (index) => {
    const events: string[] = []
    for await (const event of client.ask(AGENT, questions[index] ?? '')) {
      if (event.kind === 'error') throw new Error(`The agent failed: ${event.content}`)
      events.push(event.kind)
    }
    if (!events.includes('output')) throw new Error(`No output among ${events.join(', ')}`)
  })
  return latencyMeasures('agent, question to end', asked)
}
