import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { IvfAccelerator, type ListFile } from '../../src/retrieval/ivf/ivf-accelerator.ts'
import { bytesOfLists, listsOfBytes } from '../../src/retrieval/ivf/ivf-index.ts'
import type { ExactIndex } from '../../src/retrieval/vectors/exact-index.ts'
import { clusteredTable, DIMENSIONS, newIndex, recallOf } from './list-fixture.ts'
import { exactNearest, randomUnit, seededRandom, type Table, wholeTable } from './sample-vectors.ts'

const signal = new AbortController().signal
const COUNT = 3000

class MemoryFile implements ListFile {
  bytes: Uint8Array | null = null
  writes = 0

  async read(): Promise<Uint8Array | null> {
    return this.bytes
  }

  async write(bytes: Uint8Array): Promise<void> {
    this.bytes = bytes
    this.writes += 1
  }
}

/** Opens an index with lists for the table, and counts the tasks that this took. */
async function opened(table: Table, file: ListFile, options: Record<string, number> = {}) {
  let tasks = 0
  const { index, memory } = newIndex(table, { onTask: () => (tasks += 1) })
  const lists = new IvfAccelerator(index, options, file)
  await lists.settled()
  const close = async () => {
    await lists.close()
    index.close()
    expect(memory.usedBytes).toBe(0)
  }
  return { index, lists, close, tasks: () => tasks }
}

async function foundBy(lists: IvfAccelerator, table: Table) {
  const queryVectors = [...table.values()].filter((_, at) => at % 100 === 0)
  return Promise.all(
    queryVectors.map((queryVector) => lists.search({ queryVector, k: 10 }, signal)),
  )
}

test('saved lists are loaded instead of trained, and give the same results', async () => {
  const table = clusteredTable(COUNT)
  const file = new MemoryFile()
  const first = await opened(table, file)
  expect(first.lists.report().state).toBe('ready')
  expect([first.tasks() > 0, file.writes]).toEqual([true, 1])
  const found = await foundBy(first.lists, table)
  const report = first.lists.report()
  await first.close()
  const second = await opened(table, file)
  expect(second.tasks()).toBe(0)
  expect(second.lists.report()).toEqual(report)
  expect(await foundBy(second.lists, table)).toEqual(found)
  expect(file.writes).toBe(1)
  await second.close()
})

test('chunks added since the lists were saved are found, and removed ones are not', async () => {
  const table = clusteredTable(COUNT)
  const file = new MemoryFile()
  await (await opened(table, file)).close()
  for (let key = 0; key < 300; key++) table.delete(BigInt(key))
  const others = [...clusteredTable(200, 7).values()]
  for (const [at, vector] of others.entries()) table.set(BigInt(COUNT + at), vector)
  const { lists, tasks, close } = await opened(table, file)
  expect([tasks(), lists.report().state]).toEqual([0, 'ready'])
  for (const [at, queryVector] of others.entries()) {
    const found = await lists.search({ queryVector, k: 10 }, signal)
    const [nearest] = exactNearest(table, queryVector, 1)
    expect(found?.[0]).toEqual(nearest ?? { key: BigInt(COUNT + at), distance: 0 })
    for (const { key } of found ?? []) expect(table.has(key)).toBe(true)
  }
  await close()
})

test('lists that have grown are saved again', async () => {
  const table = clusteredTable(COUNT)
  const file = new MemoryFile()
  const { index, lists, close } = await opened(table, file)
  const more = [...clusteredTable(600, 9).values()]
  const added = new Map(more.map((vector, at) => [BigInt(COUNT + at), vector]))
  apply(index, lists, added, 2)
  await lists.settled()
  expect(file.writes).toBe(2)
  await close()
})

function apply(index: ExactIndex, lists: IvfAccelerator, added: Table, revision: number): void {
  const change = wholeTable(added, revision)
  index.apply(change)
  lists.apply(change)
}

test.each([
  ['of other vectors with the same keys', clusteredTable(COUNT, 3), {}],
  ['asked for otherwise', clusteredTable(COUNT), { nlist: 20 }],
  ['of a tenth of the vectors', clusteredTable(COUNT * 10), {}],
])('lists %s are retrained', async (_, table, options) => {
  const file = new MemoryFile()
  await (await opened(clusteredTable(COUNT), file)).close()
  const { tasks, close } = await opened(table, file, options)
  // The result that lists are not worthwhile for this few vectors is stored as well.
  expect(tasks()).toBeGreaterThan(0)
  expect(file.writes).toBe(2)
  await close()
})

test('lists of a later state than the vectors are retrained', async () => {
  const table = clusteredTable(COUNT)
  const file = new MemoryFile()
  await (await opened(table, file)).close()
  const saved = file.bytes && listsOfBytes(file.bytes)
  if (saved === null) throw new Error('nothing was kept')
  file.bytes = bytesOfLists({ ...saved, revision: saved.revision + 1 })
  const { tasks, close } = await opened(table, file)
  expect(tasks()).toBeGreaterThan(0)
  await close()
})

test('damaged bytes are never lists', async () => {
  const file = new MemoryFile()
  await (await opened(clusteredTable(1200), file)).close()
  const whole = file.bytes ?? new Uint8Array()
  expect(listsOfBytes(whole)).not.toBeNull()
  fc.assert(
    fc.property(fc.nat(whole.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
      const other = whole.slice()
      other[at] = (other[at] ?? 0) ^ change
      expect(listsOfBytes(other)).toBeNull()
      expect(listsOfBytes(whole.slice(0, at))).toBeNull()
      expect(listsOfBytes(Buffer.concat([whole, whole.subarray(0, at + 1)]))).toBeNull()
    }),
    { numRuns: 50 },
  )
})

test('a file that cannot be read or written only causes another training', async () => {
  const table = clusteredTable(COUNT)
  const broken: ListFile = {
    read: () => Promise.reject(new Error('no such disk')),
    write: () => Promise.reject(new Error('no such disk')),
  }
  const { index, lists, close } = await opened(table, broken)
  expect(lists.report().state).toBe('ready')
  expect(await recallOf(index, table, 10)).toBe(1)
  await close()
})

test('the result that lists are not worthwhile is saved too', async () => {
  // Without clusters, too many lists would have to be read.
  const random = seededRandom(11)
  const vectors = Array.from({ length: 1500 }, () => randomUnit(DIMENSIONS, random))
  const table = new Map(vectors.map((vector, key) => [BigInt(key), vector]))
  const file = new MemoryFile()
  const first = await opened(table, file)
  expect([first.lists.report().state, file.writes]).toEqual(['exact', 1])
  await first.close()
  const second = await opened(table, file)
  expect([second.tasks(), second.lists.report().state, file.writes]).toEqual([0, 'exact', 1])
  await second.close()
})
