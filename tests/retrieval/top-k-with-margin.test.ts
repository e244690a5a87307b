import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { float32Margin, topKWithMargin } from '../../src/retrieval/prefilter.ts'
import { ExactIndex } from '../../src/retrieval/vectors/exact-index.ts'
import { VectorMemory } from '../../src/retrieval/vectors/vector-memory.ts'
import { exactNearest, randomUnit, seededRandom, unit, wholeTable } from './sample-vectors.ts'
import { NO_THREADS } from './scan-runners.ts'

const signal = new AbortController().signal

describe('nearest within a margin', () => {
  const index = new ExactIndex({
    memory: new VectorMemory({ bytesMax: 64 * 1024 ** 2, threadCount: 1 }),
    pool: NO_THREADS,
    dimensions: 2,
  })
  const table = new Map<bigint, Float32Array>()
  for (let key = 0; key < 100; key++) table.set(BigInt(key), unit([100, key]))
  // Three equal distances, and then more equal ones than an index returns.
  for (let key = 100; key < 102; key++) table.set(BigInt(key), unit([100, 9]))
  for (let key = 200; key < 4400; key++) table.set(BigInt(key), unit([-1, 0]))
  index.apply(wholeTable(table, 1))
  const queryVector = unit([1, 0])

  test.each([
    [0, 0, 0],
    [5, 0, 5],
    [10, 0, 12],
    [11, 0, 12],
    [12, 0, 12],
    [1, 1, 102],
    [102, 1, 102],
  ])('k %p and margin %p are %p rows', async (k, margin, count) => {
    const found = await topKWithMargin(index, { queryVector, k, margin }, signal)
    expect(found).toEqual([...exactNearest(table, queryVector, count)])
  })

  test.each([-1, 0.5, Number.NaN])('refuses %p neighbours', async (k) => {
    const refused = topKWithMargin(index, { queryVector, k, margin: 1 }, signal)
    await expect(refused).rejects.toMatchObject({ code: 'sql_invalid_search' })
  })

  test('says when there are too many', async () => {
    const search = { queryVector, k: 103, margin: 0 }
    expect(await topKWithMargin(index, search, signal)).toBeNull()
    expect(await topKWithMargin(index, { ...search, k: 4097 }, signal)).toBeNull()
  })

  test('the margin for float32 covers sums in float32', () => {
    fc.assert(
      fc.property(fc.integer(), fc.constantFrom(1, 2, 384, 1536), (seed, dimensions) => {
        const random = seededRandom(seed)
        const [one, other] = [randomUnit(dimensions, random), randomUnit(dimensions, random)]
        const sum = one.reduce((total, part, at) => {
          return Math.fround(total + Math.fround(part * (other[at] ?? 0)))
        }, 0)
        const [exact] = exactNearest(new Map([[1n, other]]), one, 1)
        const difference = Math.abs(Math.fround(1 - sum) - (exact?.distance ?? Number.NaN))
        expect(difference).toBeLessThanOrEqual(float32Margin(dimensions) / 2)
      }),
    )
  })
})
