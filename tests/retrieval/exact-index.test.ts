import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { type KernelChoice, MODULES } from '../../src/retrieval/kernel/open-kernel.ts'
import { ExactIndex } from '../../src/retrieval/vectors/exact-index.ts'
import { VectorMemory } from '../../src/retrieval/vectors/vector-memory.ts'
import { exactNearest, randomUnit, seededRandom, unit, wholeTable } from './sample-vectors.ts'
import { NO_THREADS, NONE_BY_THREADS } from './scan-runners.ts'

const MEGABYTE = 1024 ** 2
const signal = new AbortController().signal

function smallMemory(kernel: KernelChoice = 'fastest'): VectorMemory {
  return new VectorMemory({
    bytesMax: 64 * MEGABYTE,
    threadCount: 1,
    kernel,
    sharing: NONE_BY_THREADS,
  })
}

const memories = {
  fastest: smallMemory('fastest'),
  simd: smallMemory('simd'),
}

function bigKeys(keys: readonly number[]): BigInt64Array {
  return BigInt64Array.from(keys, BigInt)
}

/** The history of an index: batches with duplicate vectors, removals, and rows that return. */
const histories = fc.record({
  seed: fc.integer(),
  dimensions: fc.constantFrom(1, 2, 3, 15, 16, 17, 33, 100, 384),
  batches: fc.array(
    fc.record({
      keys: fc.uniqueArray(fc.integer({ min: -300, max: 600 }), { maxLength: 60 }),
      removed: fc.array(fc.integer({ min: -300, max: 600 }), { maxLength: 40 }),
    }),
    { maxLength: 5 },
  ),
  k: fc.integer({ min: 0, max: 30 }),
  isFiltered: fc.boolean(),
  /** If one number is large, codes are imprecise for the others. */
  largest: fc.constantFrom(1, 30, 1000),
})

describe.each(['fastest', 'simd'] as const)('the %s kernel', (kernel) => {
  test.each([true, false])(
    'finds what the plain scan finds (floats in memory: %p)',
    async (holdsFloats) => {
      await fc.assert(
        fc.asyncProperty(
          histories,
          async ({ seed, dimensions, batches, k, isFiltered, largest }) => {
            const random = seededRandom(seed)
            const table = new Map<bigint, Float32Array>()
            const index = new ExactIndex({
              memory: memories[kernel],
              pool: NO_THREADS,
              dimensions,
              ...(holdsFloats ? {} : { fetchVectors: async () => table }),
            })
            // Few different vectors, so that many are equally near.
            const some = Array.from({ length: 40 }, () => {
              const [first = 1, ...others] = randomUnit(dimensions, random)
              return unit([first * largest, ...others])
            })
            const any = () => some[Math.floor(random() * some.length)] ?? new Float32Array()
            for (const [revision, { keys, removed }] of batches.entries()) {
              for (const key of removed) table.delete(BigInt(key))
              const added = new Map(keys.map((key) => [BigInt(key), any()]))
              for (const [key, vector] of added) table.set(key, vector)
              index.apply({ removedKeys: bigKeys(removed), ...wholeTable(added, revision) })
            }
            const queryVector = random() < 0.5 ? any() : randomUnit(dimensions, random)
            const allowed = [...table.keys(), 7777n].filter(() => random() < 0.3)
            const visible = new Map(
              [...table].filter(([key]) => !isFiltered || allowed.includes(key)),
            )
            const found = await index.search(
              {
                queryVector,
                k,
                // The vectors come in random order, some of them twice.
                ...(isFiltered
                  ? { allowedKeys: BigInt64Array.from([...allowed.toReversed(), ...allowed]) }
                  : {}),
              },
              signal,
            )
            expect(found).toEqual([...exactNearest(visible, queryVector, k)])
            expect(index.count).toBe(table.size)
            index.close()
          },
        ),
        { numRuns: 60 },
      )
      expect(memories[kernel].usedBytes).toBe(0)
    },
  )

  test('is right when each row is nearer than the one before', async () => {
    const table = new Map<bigint, Float32Array>()
    for (let key = 0; key < 9000; key++) {
      const angle = (Math.PI * (9000 - key)) / 9000
      table.set(BigInt(key), unit([Math.cos(angle), Math.sin(angle), 0.001]))
    }
    const queryVector = unit([1, 0, 0])
    for (const fetchVectors of [undefined, async () => table]) {
      const index = new ExactIndex({
        memory: memories[kernel],
        pool: NO_THREADS,
        dimensions: 3,
        ...(fetchVectors === undefined ? {} : { fetchVectors }),
      })
      index.apply(wholeTable(table, 1))
      for (const k of [1, 100, 4096]) {
        const found = await index.search({ queryVector, k }, signal)
        expect(found).toEqual([...exactNearest(table, queryVector, k)])
      }
      index.close()
    }
  })

  test('finds the smallest keys among more equal vectors than it has places for', async () => {
    const vector = unit([1, 2, 3])
    const keys = Array.from({ length: 20_000 }, (_, index) => BigInt(20_000 - index))
    const table = new Map(keys.map((key) => [key, vector]))
    const index = new ExactIndex({ memory: memories[kernel], pool: NO_THREADS, dimensions: 3 })
    index.apply(wholeTable(table, 1))
    const found = await index.search({ queryVector: vector, k: 5 }, signal)
    expect(found.map(({ key }) => key)).toEqual([1n, 2n, 3n, 4n, 5n])
    index.close()
  })
})

test('both kernels leave the same bytes', () => {
  const vectors = Array.from({ length: 50 }, (_, seed) => randomUnit(100, seededRandom(seed)))
  const [one, other] = [smallMemory('fastest'), smallMemory('simd')].map((memory) => {
    const index = new ExactIndex({ memory, pool: NO_THREADS, dimensions: 100 })
    const table = new Map(vectors.map((vector, key) => [BigInt(key), vector]))
    index.apply(wholeTable(table, 1))
    index.apply({ removedKeys: bigKeys([3, 5]), revision: 2 })
    const block = memory.memory.buffer.byteLength - 16 * MEGABYTE
    return Buffer.from(new Uint8Array(memory.memory.buffer, block, index.bytes)).toString('base64')
  })
  expect(one === other).toBe(true)
  // Checks that the test compared something.
  expect(Buffer.from(one ?? '', 'base64').some((byte) => byte !== 0)).toBe(true)
})

describe('an index', () => {
  const memory = smallMemory()
  const newIndex = (dimensions: number) => new ExactIndex({ memory, pool: NO_THREADS, dimensions })

  test('is empty at first and takes the revision of each change', async () => {
    const index = newIndex(3)
    expect(await index.search({ queryVector: unit([1, 1, 1]), k: 10 }, signal)).toEqual([])
    expect([index.count, index.revision]).toEqual([0, 0])
    index.apply({ revision: 41 })
    expect([index.count, index.revision]).toEqual([0, 41])
    index.close()
  })

  test('gives k neighbours, none for 0, all when there are fewer', async () => {
    const index = newIndex(2)
    index.apply(wholeTable(new Map([1n, 2n, 3n].map((key) => [key, unit([Number(key), 1])])), 1))
    const counts = [0, 1, 2, 3, 4, 1e9].map(async (k) => {
      return (await index.search({ queryVector: unit([1, 1]), k }, signal)).length
    })
    expect(await Promise.all(counts)).toEqual([0, 1, 2, 3, 3, 3])
    const none = new BigInt64Array()
    const search = { queryVector: unit([1, 1]), k: 3, allowedKeys: none }
    expect(await index.search(search, signal)).toEqual([])
    index.close()
  })

  test.each([
    ['a negative k', -1],
    ['half a neighbour', 1.5],
    ['no number', Number.NaN],
  ])('refuses %s', async (_, k) => {
    const index = newIndex(2)
    const refused = index.search({ queryVector: unit([1, 1]), k }, signal)
    await expect(refused).rejects.toMatchObject({ code: 'sql_invalid_search' })
    index.close()
  })

  test('refuses more neighbours than it can hold', async () => {
    const index = newIndex(1)
    const keys = Array.from({ length: 4097 }, (_, key) => BigInt(key))
    index.apply(wholeTable(new Map(keys.map((key) => [key, unit([1])])), 1))
    const refused = index.search({ queryVector: unit([1]), k: 4097 }, signal)
    await expect(refused).rejects.toMatchObject({ code: 'sql_invalid_search' })
    expect(await index.search({ queryVector: unit([1]), k: 4096 }, signal)).toHaveLength(4096)
    index.close()
  })

  test.each([
    ['zero', [0, 0, 0], 'sql_invalid_search'],
    ['not a number', [1, Number.NaN, 0], 'sql_invalid_search'],
    ['infinite', [1, Number.POSITIVE_INFINITY, 0], 'sql_invalid_search'],
    ['too short', [1, 0], 'dimension_mismatch'],
    ['too long', [1, 0, 0, 0], 'dimension_mismatch'],
    ['nothing', [], 'dimension_mismatch'],
  ])('refuses a query vector that is %s', async (_, parts, code) => {
    const index = newIndex(3)
    index.apply(wholeTable(new Map([[1n, unit([1, 1, 1])]]), 1))
    const refused = index.search({ queryVector: Float32Array.from(parts), k: 1 }, signal)
    await expect(refused).rejects.toMatchObject({ code })
    index.close()
  })

  test('takes query vectors of any length, the largest and the smallest floats too', async () => {
    const index = newIndex(3)
    const table = new Map([1n, 2n, 3n].map((key) => [key, unit([Number(key), 1, 0])]))
    index.apply(wholeTable(table, 1))
    for (const size of [3e38, 1, 1e-40]) {
      const queryVector = Float32Array.from([size, size, 0])
      const [nearest] = await index.search({ queryVector, k: 1 }, signal)
      expect(nearest?.key).toBe(1n)
      expect(nearest?.distance).toBeLessThan(1e-6)
    }
    index.close()
  })

  test('gives distances from 0 to 2, never beyond', async () => {
    const index = newIndex(384)
    const vector = randomUnit(384, seededRandom(5))
    const opposite = vector.map((part) => -part)
    index.apply(
      wholeTable(new Map([1n, 2n].map((key) => [key, key === 1n ? vector : opposite])), 1),
    )
    const found = await index.search({ queryVector: vector, k: 2 }, signal)
    expect(found.map(({ key }) => key)).toEqual([1n, 2n])
    const [near, far] = found.map(({ distance }) => distance)
    expect(near).toBeWithin(0, 1e-6)
    expect(far).toBeWithin(2 - 1e-6, 2.000001)
    expect(far).toBeLessThanOrEqual(2)
    index.close()
  })

  test('applies a change completely or not at all', async () => {
    const index = newIndex(3)
    const table = new Map([1n, 2n, 3n].map((key) => [key, unit([Number(key), 1, 0])]))
    index.apply(wholeTable(table, 1))
    const longer = Float32Array.from([2, 0, 0])
    const zero = Float32Array.from([0, 0, 0])
    const broken = Float32Array.from([1, Number.NaN, 0])
    for (const vector of [longer, zero, broken]) {
      const added = new Map([
        [4n, unit([1, 1, 1])],
        [5n, vector],
        [6n, unit([1, 1, 1])],
      ])
      const change = { removedKeys: bigKeys([1, 2]), ...wholeTable(added, 2) }
      expect(() => index.apply(change)).toThrow(expect.objectContaining({ code: 'internal' }))
    }
    const odd = { keys: bigKeys([7]), vectors: new Float32Array(2), revision: 2 }
    expect(() => index.apply(odd)).toThrow(expect.objectContaining({ code: 'dimension_mismatch' }))
    expect([index.count, index.revision]).toEqual([3, 1])
    const queryVector = unit([1, 1, 1])
    const found = await index.search({ queryVector, k: 10 }, signal)
    expect(found).toEqual([...exactNearest(table, queryVector, 10)])
    index.close()
  })

  test('finds the current rows for the same list of keys, at each state', async () => {
    const index = newIndex(4)
    const random = seededRandom(9)
    const table = new Map<bigint, Float32Array>()
    const allowedKeys = bigKeys(Array.from({ length: 60 }, () => Math.floor(random() * 100)))
    for (let revision = 1; revision < 30; revision++) {
      const removed = [...table.keys()].filter(() => random() < 0.3)
      for (const key of removed) table.delete(key)
      const keys = Array.from({ length: 100 }, (_, key) => BigInt(key))
      const some = keys.filter(() => random() < 0.3)
      const added = new Map(some.map((key) => [key, randomUnit(4, random)]))
      for (const [key, vector] of added) table.set(key, vector)
      index.apply({ removedKeys: BigInt64Array.from(removed), ...wholeTable(added, revision) })
      const allowed = new Map([...table].filter(([key]) => allowedKeys.includes(key)))
      for (let count = 0; count < 2; count++) {
        const queryVector = randomUnit(4, random)
        const found = await index.search({ queryVector, k: 5, allowedKeys }, signal)
        expect(found).toEqual([...exactNearest(allowed, queryVector, 5)])
      }
    }
    index.close()
  })

  test('forgets keys once, however often they are removed, and unknown ones never', () => {
    const index = newIndex(1)
    index.apply(wholeTable(new Map([1n, 2n].map((key) => [key, unit([1])])), 1))
    index.apply({ removedKeys: bigKeys([1, 1, 99, -5]), revision: 2 })
    index.apply({ removedKeys: bigKeys([1]), revision: 3 })
    expect([index.count, index.emptyRowCount, index.revision]).toEqual([1, 1, 3])
    index.close()
  })

  test('uses the rows of removed keys again', () => {
    const index = newIndex(16)
    const vector = randomUnit(16, seededRandom(1))
    for (let round = 0; round < 50; round++) {
      const keys = Array.from({ length: 100 }, (_, key) => BigInt(round * 100 + key))
      const removedKeys = BigInt64Array.from(keys, (key) => key - 100n)
      const added = new Map(keys.map((key) => [key, vector]))
      index.apply({ removedKeys, ...wholeTable(added, round) })
    }
    expect([index.count, index.emptyRowCount]).toEqual([100, 100])
    index.close()
  })

  test.each([0, 4097, 1.5, Number.NaN])('is not made for %p dimensions', (dimensions) => {
    const made = () => newIndex(dimensions)
    expect(made).toThrow(expect.objectContaining({ code: 'dimension_mismatch' }))
  })

  test('refuses keys that are not safe integers', () => {
    const index = newIndex(1)
    const keys = BigInt64Array.from([2n ** 60n])
    expect(() => index.apply({ keys, vectors: unit([1]), revision: 1 })).toThrow('too large')
    index.close()
  })

  test('takes the largest safe keys, and negative ones', async () => {
    const index = newIndex(1)
    const keys = [-(2n ** 53n) + 1n, -1n, 2n ** 32n, 2n ** 53n - 1n]
    index.apply(wholeTable(new Map(keys.map((key) => [key, unit([1])])), 1))
    const found = await index.search({ queryVector: unit([1]), k: 4 }, signal)
    expect(found.map(({ key }) => key)).toEqual(keys)
    index.close()
  })

  test('does not search for a caller who has left', async () => {
    const index = newIndex(1)
    const reason = new Error('left')
    const search = index.search({ queryVector: unit([1]), k: 1 }, AbortSignal.abort(reason))
    await expect(search).rejects.toBe(reason)
    index.close()
  })

  test('a closed one refuses everything', async () => {
    const index = newIndex(1)
    index.close()
    const refused = expect.objectContaining({ code: 'shutting_down' })
    expect(() => index.apply({ revision: 1 })).toThrow(refused)
    const search = index.search({ queryVector: unit([1]), k: 1 }, signal)
    await expect(search).rejects.toMatchObject({ code: 'shutting_down' })
  })

  test('that does not fit into memory changes nothing, and others go on', () => {
    const tight = new VectorMemory({ bytesMax: 16 * MEGABYTE, threadCount: 1 })
    const index = new ExactIndex({ memory: tight, pool: NO_THREADS, dimensions: 1024 })
    const vector = randomUnit(1024, seededRandom(1))
    const batch = (from: number, count: number) => {
      const keys = Array.from({ length: count }, (_, key) => BigInt(from + key))
      return wholeTable(new Map(keys.map((key) => [key, vector])), from)
    }
    index.apply(batch(0, 100))
    const full = expect.objectContaining({ code: 'out_of_memory' })
    expect(() => index.apply(batch(100, 4000))).toThrow(full)
    expect([index.count, index.revision]).toEqual([100, 0])
    index.apply(batch(100, 1000))
    expect(index.count).toBe(1100)
    index.close()
    expect(tight.usedBytes).toBe(0)
  })
})

test('the engine knows both kernels', () => {
  const [relaxed = '', simd = ''] = MODULES.fastest
  for (const base64 of [relaxed, simd]) {
    expect(WebAssembly.validate(Buffer.from(base64, 'base64'))).toBe(true)
  }
  expect(relaxed).not.toBe(simd)
})

test('an index of codes reports a vector that is missing in its table', async () => {
  const index = new ExactIndex({
    memory: memories.fastest,
    pool: NO_THREADS,
    dimensions: 2,
    fetchVectors: async () => new Map(),
  })
  index.apply(wholeTable(new Map([[1n, unit([1, 1])]]), 1))
  const search = index.search({ queryVector: unit([1, 0]), k: 1 }, signal)
  await expect(search).rejects.toMatchObject({ code: 'internal' })
  index.close()
})
