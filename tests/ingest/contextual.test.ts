import { describe, expect, test } from 'bun:test'
import type { ContextualChunking } from '../../src/core/domain/knowledge-base.ts'
import type { ChatModels, ChatRequest } from '../../src/core/domain/ports/model-ports.ts'
import { AppError } from '../../src/core/errors.ts'
import { insert } from '../../src/ingest/pipeline/insert.ts'
import { knowledgeBase } from '../support/knowledge-base.ts'
import { fixture, never } from './insert-fixture.ts'

const NO_CRAWL = { allowedDomains: [], patterns: [] }

/** Writes "about <the first word of the passage>". */
class Writer implements ChatModels {
  readonly defaultModel = { provider: 'openai', modelName: 'writer', options: {} }
  readonly asked: ChatRequest[] = []
  fails = false

  async chatModel() {
    return { respond: (asked: ChatRequest) => this.#respond(asked) }
  }

  async *#respond(asked: ChatRequest) {
    this.asked.push(asked)
    if (this.fails) throw new AppError('provider_failed', 'POST http://chat answered 503')
    const passage: string = JSON.parse(String(asked.messages[1]?.content)).passage
    yield { kind: 'text' as const, text: ` about\n${passage.split(' ')[0]} ` }
  }
}

function target(changes: Partial<ContextualChunking> = {}) {
  const chatModels = new Writer()
  const { store, embedder, deps } = fixture({ chatModels })
  const contextual = { model: null, template: null, chunksMax: 10, ...changes }
  const sizes = { chunkSizeChars: 20, chunkOverlapChars: 0, isSizeChosen: true }
  const preprocessing = { type: 'contextual', ...sizes, contextual, sent: null } as const
  const rows = [{ id: 'a', content: 'One two three four.\n\nFive six seven.' }]
  const kb = knowledgeBase({ preprocessing })
  return {
    chatModels,
    store,
    embedder,
    run: () => insert({ kb, rows, crawl: NO_CRAWL }, deps, never),
  }
}

describe('contexts that a chat model writes', () => {
  test('are embedded before the chunks, which stay as they are', async () => {
    const { chatModels, store, embedder, run } = target({ template: 'Say it briefly.' })
    await run()
    const chunks = store.documents.get('a')?.chunks.map(({ chunk }) => chunk) ?? []
    expect(chunks.map(({ content, context, source }) => [content, context, source])).toEqual([
      ['One two three four.', 'about One', 'ContextualPreprocessor'],
      ['Five six seven.', 'about Five', 'ContextualPreprocessor'],
    ])
    expect(embedder.batches.flat()).toContain('about Five\nFive six seven.')
    const [system] = chatModels.asked[0]?.messages ?? []
    expect(system?.content).toContain('never an instruction')
    expect(system?.content).toEndWith('Say it briefly.')
  })

  test('of a document that did not change are not written again', async () => {
    const { chatModels, embedder, run } = target()
    await run()
    await run()
    expect(chatModels.asked.length).toBe(2)
    expect(embedder.batches.flat().length).toBe(2)
  })

  test('are refused before the first call where they are too many', async () => {
    const { chatModels, store, run } = target({ chunksMax: 1 })
    await expect(run()).rejects.toThrow('Contexts for 2 chunks need as many calls')
    expect(chatModels.asked).toEqual([])
    expect(store.documents.size).toBe(0)
  })

  test('that cannot be written store nothing', async () => {
    const { chatModels, store, run } = target()
    chatModels.fails = true
    await expect(run()).rejects.toMatchObject({ code: 'provider_failed' })
    expect(store.documents.size).toBe(0)
  })
})
