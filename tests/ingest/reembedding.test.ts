import { afterEach, expect, test } from 'bun:test'
import { AppError } from '../../src/core/errors.ts'
import { Reembedding } from '../../src/ingest/pipeline/reembed.ts'
import type { Store } from '../../src/store/store.ts'
import { FakeModels } from '../support/fake-models.ts'
import { current, documentOf, draftOf, openMemoryStore, rowsOf } from '../support/store-fixture.ts'

const OLD = { provider: 'openai', modelName: 'old-3', options: {} }
const NEXT = { provider: 'openai', modelName: 'new-5', options: {} }

/** Pauses that end when the test says so. */
class Pauses {
  readonly asked: number[] = []
  #next = Promise.withResolvers<void>()
  #pause = Promise.withResolvers<void>()

  readonly sleep = async (ms: number, signal: AbortSignal): Promise<void> => {
    this.asked.push(ms)
    this.#pause = Promise.withResolvers<void>()
    signal.addEventListener('abort', () => this.#pause.resolve(), { once: true })
    this.#next.resolve()
    this.#next = Promise.withResolvers<void>()
    await this.#pause.promise
  }

  /** Resolves when the next pause begins. */
  began(): Promise<void> {
    return this.#next.promise
  }

  end(): void {
    this.#pause.resolve()
  }
}

interface Fixture {
  readonly store: Store
  readonly models: FakeModels
  readonly pauses: Pauses
  readonly failures: unknown[]
  readonly reembedding: Reembedding
}

const opened: Fixture[] = []
afterEach(async () => {
  for (const { reembedding, store } of opened.splice(0)) {
    await reembedding.close()
    await store.close()
  }
})

/** A knowledge base with this many chunks that will get another model. */
async function fixtureOf(chunkCount: number): Promise<Fixture> {
  const store = await openMemoryStore()
  const models = new FakeModels()
  const pauses = new Pauses()
  const failures: unknown[] = []
  const reembedding = new Reembedding({
    store: store.reembeddingStore,
    embedders: models.registry(),
    snapshot: () => store.catalog.snapshot(),
    sleep: pauses.sleep,
    onFailure: (error) => failures.push(error),
  })
  const fixture = { store, models, pauses, failures, reembedding }
  opened.push(fixture)
  await store.catalog.createKnowledgeBase({ ...draftOf('kb'), embeddingModel: OLD })
  const texts = Array.from({ length: chunkCount }, (_, index) => `text ${index}`)
  await store.chunks.replaceDocuments(current(store), [documentOf({ id: 'd', texts })])
  await store.catalog.alterKnowledgeBase(current(store), {
    reembedding: { model: NEXT, dimensions: 5 },
  })
  return fixture
}

test('a failure is shown, and retried after pauses of up to five minutes', async () => {
  const { store, models, pauses, reembedding } = await fixtureOf(10)
  models.failing.set('new-5', new AppError('provider_failed', 'it is ill'))
  let began = pauses.began()
  reembedding.start()
  for (let attempt = 1; attempt <= 11; attempt += 1) {
    await began
    expect(reembedding.progressOf(current(store))).toEqual({
      doneCount: 0,
      chunkCount: 10,
      error: 'it is ill',
    })
    if (attempt === 11) models.failing.clear()
    began = pauses.began()
    pauses.end()
  }
  await reembedding.settled()
  const seconds = pauses.asked.map((ms) => ms / 1000)
  expect(seconds).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300])
  expect(current(store)).toMatchObject({ embeddingModel: NEXT, nextEmbeddingModel: null })
  expect(reembedding.progressOf(current(store))).toBeNull()
})

test('a refusal is shown and tried again too, and what is done before it stays', async () => {
  const { store, models, pauses, reembedding } = await fixtureOf(450)
  const held = models.hold('new-5', 2)
  reembedding.start()
  await held.reached
  models.failing.set('new-5', new AppError('provider_refused', 'the key is wrong'))
  const began = pauses.began()
  held.letGo()
  await began
  expect(reembedding.progressOf(current(store))).toEqual({
    doneCount: 400,
    chunkCount: 450,
    error: 'the key is wrong',
  })
  models.failing.clear()
  pauses.end()
  await reembedding.settled()
  expect(models.asked.get('new-5')).toHaveLength(450)
  expect(current(store).dimensions).toBe(5)
})

test('a model whose vectors change their length in between is refused with both numbers', async () => {
  const { store, models, pauses, reembedding } = await fixtureOf(450)
  const held = models.hold('new-5', 1)
  reembedding.start()
  await held.reached
  models.lengths.set('new-5', 7)
  const began = pauses.began()
  held.letGo()
  await began
  const error = 'Dimensions do not match: the model gives 7, and gave 5 before'
  expect(reembedding.progressOf(current(store))).toEqual({ doneCount: 200, chunkCount: 450, error })
  expect(current(store)).toMatchObject({ embeddingModel: OLD, dimensions: 3 })
})

test('an unexpected failure shows nothing of itself and is logged', async () => {
  const { store, models, pauses, failures, reembedding } = await fixtureOf(3)
  const secret = new Error('secret detail')
  models.crashing.set('new-5', secret)
  const began = pauses.began()
  reembedding.start()
  await began
  expect(reembedding.progressOf(current(store))?.error).toBe('Internal error')
  expect(failures).toEqual([secret])
})

test('closing ends a model that never answers, and a pause', async () => {
  const { models, reembedding } = await fixtureOf(3)
  const held = models.hold('new-5')
  reembedding.start()
  await held.reached
  await reembedding.close()

  const pausing = await fixtureOf(3)
  pausing.models.failing.set('new-5', new AppError('provider_failed', 'it is ill'))
  const began = pausing.pauses.began()
  pausing.reembedding.start()
  await began
  await pausing.reembedding.close()
  pausing.reembedding.wake(current(pausing.store))
  await pausing.reembedding.settled()
  expect(current(pausing.store).nextEmbeddingModel).toEqual(NEXT)
})

test('a cancelled change ends its running call of the model', async () => {
  const { store, models, reembedding } = await fixtureOf(3)
  const held = models.hold('new-5')
  reembedding.start()
  await held.reached
  const kb = await store.catalog.alterKnowledgeBase(current(store), { reembedding: null })
  reembedding.wake(kb)
  await reembedding.settled()
  expect(models.asked.has('new-5')).toBe(false)
  expect(current(store)).toMatchObject({ embeddingModel: OLD, nextEmbeddingModel: null })
})

test('chunks that are gone leave no vector behind, and those that came have one', async () => {
  const { store, models, reembedding } = await fixtureOf(250)
  const held = models.hold('new-5', 1)
  reembedding.start()
  await held.reached
  const texts = ['text 0', 'text 249', 'text 300']
  await store.chunks.replaceDocuments(current(store), [documentOf({ id: 'd', texts })])
  held.letGo()
  await reembedding.settled()
  const { projectId, id } = current(store)
  const pairs = await rowsOf(
    store,
    `SELECT chunk_content, len(vector) FROM project_${projectId}.kb_${id}_chunks
      FULL JOIN project_${projectId}.kb_${id}_vectors_1 USING (chunk_key) ORDER BY chunk_key`,
  )
  expect(pairs.map((row) => [...row])).toEqual(texts.map((text) => [text, 5]))
})

test('vectors of a model that is no longer the next one are not stored', async () => {
  const { store } = await fixtureOf(3)
  const before = current(store)
  const { chunks } = await store.reembeddingStore.missing(before, { afterKey: 0n, limit: 10 })
  const vector = Float32Array.from([1, 0, 0, 0, 0])
  const vectors = chunks.map(({ chunkKey }) => ({ chunkKey, vector }))
  await store.catalog.alterKnowledgeBase(before, {
    reembedding: { model: { ...NEXT, modelName: 'third-5' }, dimensions: 5 },
  })
  expect(await store.reembeddingStore.append(before, vectors)).toBe(false)
  expect(await store.reembeddingStore.switchOver(before)).toEqual({ kind: 'missing', count: 3 })
  expect(await store.reembeddingStore.append(current(store), vectors)).toBe(true)
  expect(await store.reembeddingStore.switchOver(before)).toEqual({ kind: 'switched' })
  expect(await store.reembeddingStore.switchOver(current(store))).toEqual({ kind: 'settled' })
  const again = { reembedding: { model: NEXT, dimensions: 5 } }
  await expect(store.catalog.alterKnowledgeBase(before, again)).rejects.toThrow('just taken over')
})
