import { loadMeasure, runLoad } from '../load.ts'
import { sampleTexts } from '../sample-texts.ts'
import { type Bench, type Measure, PROJECT, type Scenario, withServer } from '../scenario.ts'
import { chunksLabel, filledPassages, textSearch } from '../searches.ts'

const CHUNKS = { quick: 200, normal: 2000, full: 10_000 }
const QUESTIONS = { quick: 5, normal: 20, full: 40 }
const AGENT = `${PROJECT}/agents/reader`

export const builtin: Scenario = {
  name: 'builtin',
  title: 'Without any key: search and agent with the built-in models (chunks of 100 words)',
  run: async (size) => {
    const texts = await sampleTexts()
    const documents = CHUNKS[size]
    return withServer({}, async (bench) => {
      await filledPassages(bench, texts, { documents })
      const seconds = size === 'quick' ? 1 : 5
      const searched = { bench, texts, label: chunksLabel(documents), seconds }
      const found = [
        await textSearch(searched, { what: 'nearest 10, embedded by us', condition: '' }),
        await textSearch(searched, {
          what: 'hybrid, embedded by us',
          condition: 'AND hybrid_search_alpha = 0.5',
        }),
      ]
      const questions = Array.from({ length: QUESTIONS[size] }, (_, index) => {
        return `What is said about ${texts.text(index, 6)}?`
      })
      return [...found, ...(await agentMeasures(bench, questions))]
    })
  },
}

async function agentMeasures(
  { client, server }: Bench,
  questions: readonly string[],
): Promise<readonly Measure[]> {
  await client.request('POST', `${PROJECT}/agents`, {
    agent: {
      name: 'reader',
      model: { provider: 'builtin' },
      data: { knowledge_bases: ['mindsdb.passages'] },
    },
  })
  const load = { clients: 1, requestsMax: questions.length, durationMs: 60_000, pid: server.pid }
  const asked = await runLoad(load, async (index) => {
    const events: string[] = []
    for await (const event of client.ask(AGENT, questions[index] ?? '')) {
      if (event.kind === 'error') throw new Error(`The agent failed: ${event.content}`)
      events.push(event.kind)
    }
    if (!events.includes('output')) throw new Error(`No output among ${events.join(', ')}`)
  })
  return [loadMeasure('agent, question to end', asked)]
}
