import { expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { EmbedderRegistry } from '../../src/core/domain/ports/model-ports.ts'
import { createTestApp, wordEmbedders } from '../support/test-app.ts'

/** Notes the provider of each text to embed. */
function noted(providers: string[]): EmbedderRegistry {
  return {
    ...wordEmbedders,
    embedder: (ref) => ({
      embed: (texts, signal) => {
        providers.push(ref.provider)
        return wordEmbedders.embedder(ref).embed(texts, signal)
      },
    }),
  }
}

test('after a start, the built-in model is loaded before a client searches; others are not called', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'eider-warm-'))
  const first = await createTestApp({ directory })
  const remote = `embedding_model = {"provider": "openai", "model_name": "m", "api_key": "k"}`
  for (const statement of [
    'CREATE KNOWLEDGE_BASE own',
    "INSERT INTO own (content) VALUES ('green tea')",
    `CREATE KNOWLEDGE_BASE other USING ${remote}`,
    "INSERT INTO other (content) VALUES ('black tea')",
  ]) {
    const { text } = await first.send('POST', '/api/sql/query', { query: statement })
    expect(text).not.toContain('error')
  }
  await first.close()

  const providers: string[] = []
  const second = await createTestApp({ directory, embedders: noted(providers) })
  second.app.start()
  // The other one was written last, so it had its turn before.
  while (providers.length === 0) await Bun.sleep(5)
  expect(providers).toEqual(['builtin'])
  await second.close()
  await rm(directory, { recursive: true })
})
