/** The built-in agent on twenty knowledge bases that contain the same IDs. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Citation } from '../../src/core/domain/agents/completion-event.ts'
import { AppError } from '../../src/core/errors.ts'
import { createTestApp, type TestApp, wordEmbedders } from '../support/test-app.ts'

const PROJECT = '/api/projects/mindsdb'
const COUNT = 20
const EMPTY = 4
const BROKEN = 9
const THINGS =
  'anvil bellows chisel drill easel funnel gimlet hammer iron jigsaw kettle lathe mallet nozzle oven plane quill rasp saw tongs'.split(
    ' ',
  )
const manualOf = (thing: string) => `The ${thing} belongs to the workshop. Oil the ${thing} weekly.`

let isDown = false
let t: TestApp
beforeAll(async () => {
  t = await createTestApp({
    embedders: {
      ...wordEmbedders,
      embedder: (model, queryMs) => {
        const { embed } = wordEmbedders.embedder(model, queryMs)
        return {
          embed: async (texts, signal) => {
            const isBroken = isDown && model.provider === 'openai'
            if (isBroken) throw new AppError('provider_failed', 'The embedding model is down')
            return embed(texts, signal)
          },
        }
      },
    },
  })
  for (const [index, thing] of THINGS.entries()) {
    const embedding_model = { provider: 'openai', model_name: 'm', api_key: 'k' }
    const record = { name: `kb${index}`, ...(index === BROKEN ? { embedding_model } : {}) }
    await t.send('POST', `${PROJECT}/knowledge_bases`, { knowledge_base: record })
    if (index === EMPTY) continue
    const rows = [{ id: 'manual', content: manualOf(thing) }]
    await t.send('PUT', `${PROJECT}/knowledge_bases/kb${index}`, { knowledge_base: { rows } })
  }
  const names = Array.from({ length: COUNT }, (_, index) => `mindsdb.kb${index}`)
  await t.send('POST', `${PROJECT}/agents`, {
    agent: { name: 'smith', data: { knowledge_bases: names } },
  })
})
afterAll(() => t.close())

interface Answer {
  readonly content: string
  readonly citations: readonly Citation[]
}

async function asked(question: string): Promise<Answer> {
  const messages = [{ question, answer: '' }]
  const { body } = await t.send('POST', `${PROJECT}/agents/smith/completions`, { messages })
  return (body as { readonly message: Answer }).message
}

describe('the answer is found in whichever of them has it', () => {
  test.each([0, 7, 13, 19])('in number %i', async (index) => {
    const thing = THINGS[index] ?? ''
    const { content, citations } = await asked(`How often do I oil the ${thing}?`)
    expect(content).toStartWith('This is what I found in 20 knowledge bases:')
    expect(citations.map((one) => one.knowledge_base)).toContain(`mindsdb.kb${index}`)
    for (const { knowledge_base, document_id, text, start, end } of citations) {
      // All documents have the same ID, so only the right one has the text at this position.
      const manual = manualOf(THINGS[Number(/\d+$/.exec(knowledge_base)?.[0])] ?? '')
      expect([document_id, manual.slice(start ?? -1, end ?? -1)]).toEqual(['manual', text])
    }
  })
})

test('what none of them holds is not found', async () => {
  const { content, citations } = await asked('Which moons does Jupiter have?')
  expect(content).toStartWith('I found nothing relevant to this question in 20 knowledge bases')
  expect(citations).toEqual([])
})

test('one that cannot be searched does not hide the others', async () => {
  isDown = true
  const { content, citations } = await asked('How often do I oil the saw?')
  isDown = false
  expect(content).toStartWith('This is what I found in 19 knowledge bases:')
  expect(content).toContain('Searching mindsdb.kb9 failed: ')
  expect(content).toContain('The embedding model is down')
  expect(citations.map((one) => one.knowledge_base)).toContain('mindsdb.kb18')
})
