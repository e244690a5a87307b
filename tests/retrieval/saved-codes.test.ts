import { afterEach, expect, test } from 'bun:test'
import type { NearestFound } from '../../src/core/domain/ports/search-ports.ts'
import { openRetrieval } from '../../src/retrieval/open-retrieval.ts'
import type { VectorCaches } from '../../src/retrieval/vector-caches.ts'
import { databaseDistance } from '../../src/retrieval/vectors/quantized-rows.ts'
import { type FakeChunk, FakeStore } from './fake-store.ts'
import { randomUnit, seededRandom } from './sample-vectors.ts'

const { signal } = new AbortController()
const limits = { timeoutMs: 1_000 }
const random = seededRandom(11)

let store: FakeStore
let caches: VectorCaches

/** As a start of the server does. */
function start(wholeVectorsMax = 100_000): void {
  const options = { bytesMax: 256 * 1024 ** 2, wholeVectorsMax, rowBytesMax: 0, savedMin: 100 }
  caches = openRetrieval(store, options).vectorCaches
  caches.start()
}

/** Closes and starts again, with the vectors still to be read. */
async function restart(wholeVectorsMax?: number): Promise<PromiseWithResolvers<void>> {
  await caches.close()
  store.whileReading = async () => {}
  return startHeld(wholeVectorsMax)
}

function startHeld(wholeVectorsMax?: number): PromiseWithResolvers<void> {
  const held = Promise.withResolvers<void>()
  store.whileReading = () => held.promise
  store.selects.length = 0
  start(wholeVectorsMax)
  return held
}

afterEach(() => caches.close())

async function filled(count: number, dimensions = 40, wholeVectorsMax?: number): Promise<void> {
  store = new FakeStore(dimensions)
  start(wholeVectorsMax)
  store.write({ put: some(count, dimensions) })
  await caches.settled()
}

function some(count: number, dimensions = 40): readonly FakeChunk[] {
  return Array.from({ length: count }, () => ({
    vector: randomUnit(dimensions, random),
    text: 'x',
  }))
}

/** Whether searches find exactly what comparing all chunks finds. */
async function expectExact(dimensions = 40): Promise<void> {
  for (let round = 0; round < 5; round += 1) {
    const queryVector = randomUnit(dimensions, random)
    const { knowledgeBase } = store
    const search = { knowledgeBase, queryVector, count: 10, prefilter: null, limits }
    const found = await caches.nearest(search, signal)
    expect(found?.isCurrent()).toBe(true)
    const best = [...store.chunks]
      .map(([key, { vector }]) => ({ key, distance: databaseDistance(vector, queryVector) }))
      .sort((a, b) => a.distance - b.distance || Number(a.key - b.key))
    expect(first(found)).toEqual(best.slice(0, 10))
  }
}

function first(found: NearestFound | null) {
  return (found?.neighbours ?? [])
    .toSorted((a, b) => a.distance - b.distance || Number(a.key - b.key))
    .slice(0, 10)
}

/** Whether codes are searched before all vectors are read. */
async function isEarly(): Promise<boolean> {
  const { kind } = await loaded()
  return kind !== 'loading'
}

async function loaded() {
  for (let turn = 0; turn < 200; turn += 1) {
    const copy = caches.copyOf(store.knowledgeBase)
    if (copy.kind !== 'loading') return copy
    await Bun.sleep(1)
  }
  return caches.copyOf(store.knowledgeBase)
}

test.each([
  ['whole vectors', 100_000, 'whole'],
  ['codes', 0, 'codes'],
] as const)('with %s, searches are exact before and after all are read', async (_, max, kind) => {
  await filled(300, 40, max)
  store.write({ put: some(50), remove: [3n, 7n, 200n] })
  const held = await restart(max)
  expect((await loaded()).kind).toBe('codes')
  await expectExact()
  expect(store.selects).toContain('vectors')
  held.resolve()
  await caches.settled()
  expect(caches.copyOf(store.knowledgeBase).kind).toBe(kind)
  const lookups = store.selects.length
  await expectExact()
  if (kind === 'whole') expect(store.selects).toHaveLength(lookups)
})

test('many are in several files', async () => {
  await filled(2_100, 4096)
  const held = await restart()
  expect(store.files.size).toBe(3)
  expect(await isEarly()).toBe(true)
  await expectExact(4096)
  held.resolve()
  await caches.settled()
  await expectExact(4096)
  store.files.delete([...store.files.keys()][1] ?? '')
  const again = await restart()
  expect(await isEarly()).toBe(false)
  again.resolve()
  await expectExact(4096)
})

test('writes while the vectors are read are seen', async () => {
  await filled(400)
  const held = await restart()
  await loaded()
  for (let round = 0; round < 5; round += 1) {
    const remove = [...store.chunks.keys()].filter((key) => Number(key) % 9 === round).slice(0, 30)
    store.write({ put: some(20), remove })
    await expectExact()
  }
  held.resolve()
  await caches.settled()
  expect(caches.copyOf(store.knowledgeBase).kind).toBe('whole')
  await expectExact()
  store.write({ put: some(60), remove: [...store.chunks.keys()].slice(0, 60) })
  await expectExact()
})

test.each<readonly [string, () => void]>([
  ['written to since', () => store.write({ put: some(1) })],
  ['of a restored backup', () => (store.history = 'second')],
  ['whose files are gone', () => store.files.clear()],
  [
    'whose file is damaged',
    () => {
      const [bytes] = store.files.values()
      if (bytes !== undefined) bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1
    },
  ],
  [
    'whose file is cut off',
    () => {
      for (const [name, bytes] of store.files) store.files.set(name, bytes.slice(0, -9))
    },
  ],
])('the vectors of a knowledge base %s are read first', async (_, change) => {
  await filled(300)
  await caches.close()
  change()
  const held = startHeld()
  expect(await isEarly()).toBe(false)
  held.resolve()
  await caches.settled()
  await expectExact()
})

test('without a change, the files are not written again, and few vectors are not saved', async () => {
  await filled(300)
  await caches.close()
  const before = new Map(store.files)
  start()
  await caches.settled()
  await caches.close()
  expect([...store.files].every(([name, bytes]) => before.get(name) === bytes)).toBe(true)
  await filled(50)
  await caches.close()
  expect(store.files.size).toBe(0)
})

test('caches that close while the vectors are read can be opened again', async () => {
  await filled(2_100, 4096)
  const held = await restart()
  await loaded()
  const closing = caches.close()
  held.resolve()
  await closing
  start()
  await expectExact(4096)
})

test('the files of a dropped knowledge base are deleted at the next start', async () => {
  await filled(300)
  await caches.close()
  const { knowledgeBase } = store
  store.files.set(`codes-${knowledgeBase.id + 1}-0-0`, new Uint8Array(1))
  start()
  await caches.settled()
  expect([...store.files.keys()]).toEqual([`codes-${knowledgeBase.id}-0-0`])
})
