import { expect, test } from 'bun:test'
import { EmbeddingLoop } from '../../src/models/builtin/embedding-loop.ts'
import type { EmbeddingAnswer } from '../../src/models/builtin/embedding-protocol.ts'

/** A loop with a model whose vectors the test supplies. */
async function loopOverFake() {
  const posted: EmbeddingAnswer[] = []
  const asked: PromiseWithResolvers<Float32Array>[] = []
  const isAsked = Promise.withResolvers<void>()
  const isPosted = Promise.withResolvers<void>()
  const model = {
    parts: (text: string) => [[text.length]],
    embed: () => {
      const vector = Promise.withResolvers<Float32Array>()
      asked.push(vector)
      isAsked.resolve()
      return vector.promise
    },
  }
  const send = (answer: EmbeddingAnswer) => {
    posted.push(answer)
    isPosted.resolve()
  }
  const loop = new EmbeddingLoop(send, async () => model)
  await loop.receive({ kind: 'load', folder: 'none' })
  return { loop, posted, asked, isAsked: isAsked.promise, isPosted: isPosted.promise }
}

test('texts of a cancelled request that were not begun are never embedded', async () => {
  const { loop, posted, asked, isAsked, isPosted } = await loopOverFake()
  const chunks = Array.from({ length: 400 }, (_, index) => `chunk ${index}`)
  const working = loop.receive({ kind: 'embed', id: 1, texts: chunks, isPart: false })
  await isAsked
  await loop.receive({ kind: 'cancel', id: 1 })
  await loop.receive({ kind: 'embed', id: 2, texts: ['other'], isPart: false })
  asked[0]?.resolve(new Float32Array(384))
  while (asked.length < 2) await new Promise((resolve) => setImmediate(resolve))
  asked[1]?.resolve(new Float32Array(384))
  await isPosted
  await working
  expect(asked).toHaveLength(2)
  expect(posted).toMatchObject([{ kind: 'vectors', id: 2 }])
})
