import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test'
import type { HnswDatabase } from '../../src/store/hnsw/hnsw-database.ts'
import { DIMENSIONS, HnswFixture, openDatabase } from './hnsw-fixture.ts'

let database: HnswDatabase
let fixture: HnswFixture
beforeAll(async () => {
  database = await openDatabase()
})
afterAll(() => database.close())
beforeEach(() => {
  fixture = new HnswFixture(database)
})
afterEach(() => fixture.index.close())

function tableNames(): Promise<readonly unknown[]> {
  return database.lease(async (connection) => {
    const reader = await connection.runAndReadAll('SELECT table_name FROM duckdb_tables()')
    return reader.getRows().flat()
  })
}

function keysOf(from: number, to: number): readonly number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index)
}

test("the graph's results are nearly those of comparing all vectors", async () => {
  await fixture.load(fixture.batch(1, 800), fixture.batch(801, 400))
  expect(await fixture.index.plan(fixture.vector(), 10)).toContain('HNSW_INDEX_SCAN')
  expect(fixture.index.state).toBe('ready')
  expect(fixture.index.count).toBe(1200)
  // Each vector is stored twice, and has a place in the graph.
  const { bytes } = fixture.index
  expect(bytes / 1200).toBeGreaterThan(2 * DIMENSIONS * 4 + 2 * 16 * 4)
  expect(bytes / 1200).toBeLessThan(2 * DIMENSIONS * 4 + 4 * 16 * 4)
  expect(await fixture.recall()).toBeGreaterThan(0.9)
})

test('distances are cosine distances, the nearest first', async () => {
  await fixture.load(fixture.batch(1, 300))
  const vector = fixture.vectors.get(42) ?? new Float32Array()
  const found = await fixture.search(vector, 3)
  expect(found?.[0]?.key).toBe(42n)
  expect(found?.[0]?.distance).toBeCloseTo(0, 5)
  const distances = found?.map(({ distance }) => distance) ?? []
  expect(distances).toEqual([...distances].sort((one, other) => one - other))
})

test('new vectors are found at once, and after they came into the graph', async () => {
  await fixture.load(fixture.batch(1, 300))
  fixture.add(1001, 200)
  expect(fixture.index.waitingCount).toBe(200)
  expect(await fixture.recall()).toBeGreaterThan(0.9)
  await fixture.index.settled()
  expect(fixture.index.waitingCount).toBe(0)
  expect(await fixture.recall()).toBeGreaterThan(0.9)
})

test('a key with another vector is found by it alone', async () => {
  await fixture.load(fixture.batch(1, 300))
  const old = fixture.vectors.get(5) ?? new Float32Array()
  fixture.add(5, 1)
  const next = fixture.vectors.get(5) ?? new Float32Array()
  expect((await fixture.search(old, 5))?.some(({ key }) => key === 5n)).toBe(false)
  expect((await fixture.search(next, 1))?.[0]?.key).toBe(5n)
  await fixture.index.settled()
  expect((await fixture.search(next, 1))?.[0]?.key).toBe(5n)
  expect(fixture.index.count).toBe(300)
})

test('after removals a search still gives as many as it should', async () => {
  await fixture.load(fixture.batch(1, 600))
  fixture.remove(keysOf(1, 80))
  // They are too few for another graph.
  expect(await fixture.recall()).toBeGreaterThan(0.9)
  expect(fixture.index.count).toBe(520)
})

test('a graph with many removed vectors says so, and still finds the others', async () => {
  await fixture.load(fixture.batch(1, 600))
  expect(fixture.index.isWorn).toBe(false)
  fixture.remove(keysOf(1, 300))
  fixture.remove(keysOf(400, 450))
  fixture.add(1, 50)
  expect(fixture.index.isWorn).toBe(true)
  await fixture.index.settled()
  expect(await fixture.recall(true)).toBeGreaterThan(0.9)
  expect(await tableNames()).toHaveLength(1)
})

test('nearly all and then all vectors can go, and others come', async () => {
  await fixture.load(fixture.batch(1, 400))
  fixture.remove(keysOf(1, 397))
  await fixture.index.settled()
  expect(await fixture.recall(true)).toBe(1)
  fixture.remove(keysOf(398, 400))
  expect(await fixture.search(fixture.vector(), 10)).toEqual([])
  await fixture.index.settled()
  fixture.add(9001, 20)
  await fixture.index.settled()
  expect(await fixture.recall()).toBe(1)
})

test.each([0, 3])('%i vectors are an index as well', async (count) => {
  await fixture.load(fixture.batch(1, count))
  expect(fixture.index.state).toBe('ready')
  expect(await fixture.search(fixture.vector(), 10)).toHaveLength(count)
})

test('more neighbours than there are vectors are all of them', async () => {
  await fixture.load(fixture.batch(1, 150))
  expect(await fixture.search(fixture.vector(), 1000)).toHaveLength(150)
  expect(await fixture.search(fixture.vector(), 0)).toEqual([])
})

test('changes made during the load are kept', async () => {
  const first = fixture.batch(1, 300)
  const second = fixture.batch(301, 300)
  async function* batches() {
    yield first
    // One row of the second batch, which has not been read yet, and one of the first, which has.
    fixture.remove([350, 7])
    fixture.add(351, 1)
    yield second
  }
  const next = fixture.index.load(batches(), 1)
  expect(fixture.index.state).toBe('building')
  expect(await fixture.search(fixture.vector(), 10)).toBeNull()
  await next
  expect(fixture.index.count).toBe(598)
  const vector = fixture.vectors.get(351) ?? new Float32Array()
  expect((await fixture.search(vector, 1))?.[0]?.key).toBe(351n)
  expect(await fixture.recall()).toBeGreaterThan(0.9)
})

test('a build that is ended half-way leaves nothing', async () => {
  const hanging = Promise.withResolvers<never>()
  const begun = Promise.withResolvers<void>()
  const batch = fixture.batch(1, 500)
  async function* batches() {
    yield batch
    begun.resolve()
    yield hanging.promise
  }
  const loading = fixture.index.load(batches(), 1)
  const failure = loading.catch((error: unknown) => error)
  await begun.promise
  await fixture.index.close()
  expect(await failure).toMatchObject({ code: 'shutting_down' })
  expect(await tableNames()).toEqual([])
  expect(() => fixture.add(1, 1)).toThrow('released')
})

test('closing while vectors are added and searched for leaves nothing', async () => {
  await fixture.load(fixture.batch(1, 200))
  fixture.add(1001, 400)
  const searches = [1, 2, 3].map(() => fixture.search(fixture.vector(), 5))
  await fixture.index.close()
  for (const found of await Promise.all(searches)) expect([5, undefined]).toContain(found?.length)
  expect(await tableNames()).toEqual([])
})

test('a build whose source fails says so, and every search is left to others', async () => {
  const batch = fixture.batch(1, 10)
  async function* batches() {
    yield batch
    throw new Error('no more')
  }
  await expect(fixture.index.load(batches(), 1)).rejects.toThrow('no more')
  expect(fixture.index.state).toBe('failed')
  expect(await fixture.search(fixture.vector(), 10)).toBeNull()
})

test('a query vector of another length is refused with both numbers', async () => {
  await fixture.load(fixture.batch(1, 10))
  const search = fixture.search(new Float32Array(8), 10)
  await expect(search).rejects.toThrow('the index has 32, the query vector 8')
  const change = { keys: new BigInt64Array(1), vectors: new Float32Array(8), revision: 9 }
  expect(() => fixture.index.apply(change)).toThrow('1 keys and 8 numbers')
})

test('searches beyond the limit are not answered by the graph; the others are', async () => {
  await fixture.load(fixture.batch(1, 300))
  const searches = Array.from({ length: 40 }, () => fixture.search(fixture.vector(), 10))
  const found = await Promise.all(searches)
  expect(found.filter((one) => one?.length === 10).length).toBeGreaterThanOrEqual(4)
  expect(found.every((one) => one === null || one.length === 10)).toBe(true)
})

test('searches, removals and new vectors at the same time do no harm', async () => {
  await fixture.load(fixture.batch(1, 500))
  const clients = Array.from({ length: 4 }, async () => {
    for (let question = 0; question < 40; question++) {
      const found = await fixture.search(fixture.vector(), 10)
      expect(found?.length ?? 10).toBe(10)
    }
  })
  for (let change = 0; change < 20; change++) {
    fixture.add(1000 + 20 * change, 20)
    fixture.remove(keysOf(20 * change + 1, 20 * change + 15))
    await Bun.sleep(0)
  }
  await Promise.all(clients)
  await fixture.index.settled()
  expect(fixture.index.count).toBe(600)
  expect(await fixture.recall()).toBeGreaterThan(0.9)
})

test('many new vectors are compared exactly until the graph contains them', async () => {
  await fixture.load(fixture.batch(1, 100))
  const count = 2000
  const keys = BigInt64Array.from({ length: count }, (_, index) => BigInt(index + 1000))
  const vectors = new Float32Array(count * DIMENSIONS)
  for (let index = 0; index < count; index++) vectors[index * DIMENSIONS] = 1
  fixture.index.apply({ keys, vectors, revision: 2 })
  expect(await fixture.search(fixture.vector(), 10)).toBeNull()
})
