import { describe, expect, test } from 'bun:test'
import { ExactIndex } from '../../src/retrieval/vectors/exact-index.ts'
import { runTask, type ScanRunner } from '../../src/retrieval/vectors/scan.ts'
import { VectorMemory } from '../../src/retrieval/vectors/vector-memory.ts'
import { exactNearest, randomUnit, seededRandom, wholeTable } from './sample-vectors.ts'
import { ALL_BY_THREADS, NO_THREADS } from './scan-runners.ts'

const signal = new AbortController().signal

describe('a search that takes its time', () => {
  const dimensions = 4096
  const memory = new VectorMemory({
    bytesMax: 64 * 1024 ** 2,
    threadCount: 1,
    sharing: ALL_BY_THREADS,
  })
  const vectors = Array.from({ length: 300 }, (_, seed) => {
    return randomUnit(dimensions, seededRandom(seed))
  })
  const table = new Map(vectors.map((vector, key) => [BigInt(key), vector]))
  const queryVector = randomUnit(dimensions, seededRandom(999))

  /** A thread that scans on command. */
  function slowThread() {
    const told = Promise.withResolvers<void>()
    const runner: ScanRunner = {
      ...NO_THREADS,
      idleCount: 1,
      run: async (task) => {
        await told.promise
        return runTask(memory.kernel, task)
      },
    }
    return { runner, scanNow: told.resolve }
  }

  test('sees the rows as they were when it began', async () => {
    const { runner, scanNow } = slowThread()
    const index = new ExactIndex({ memory, pool: runner, dimensions })
    index.apply(wholeTable(table, 1))
    const before = exactNearest(table, queryVector, 10)
    const search = index.search({ queryVector, k: 10 }, signal)
    const removedKeys = BigInt64Array.from(before, ({ key }) => key)
    index.apply({ removedKeys, revision: 2 })
    // Their rows must not be reused while they may be read.
    const added = new Map(Array.from({ length: 20 }, (_, at) => [BigInt(1000 + at), queryVector]))
    index.apply(wholeTable(added, 3))
    scanNow()
    expect(await search).toEqual([...before])
    const after = new Map([...table, ...added])
    for (const key of removedKeys) after.delete(key)
    const found = await index.search({ queryVector, k: 30 }, signal)
    expect(found).toEqual([...exactNearest(after, queryVector, 30)])
    index.close()
  })

  test('does not see new rows that reuse old ones meanwhile', async () => {
    const { runner, scanNow } = slowThread()
    const index = new ExactIndex({ memory, pool: runner, dimensions })
    index.apply(wholeTable(table, 1))
    index.apply({ removedKeys: BigInt64Array.from([0n, 1n, 2n, 3n, 4n]), revision: 2 })
    const search = index.search({ queryVector, k: 10 }, signal)
    const added = new Map([1000n, 1001n, 1002n].map((key) => [key, queryVector]))
    index.apply(wholeTable(added, 3))
    expect(index.emptyRowCount).toBe(2)
    scanNow()
    const before = new Map([...table].filter(([key]) => key > 4n))
    expect(await search).toEqual([...exactNearest(before, queryVector, 10)])
    index.close()
  })

  test('ends when the index is closed', async () => {
    const index = new ExactIndex({
      memory,
      dimensions,
      pool: {
        ...NO_THREADS,
        idleCount: 1,
        run: (_, stopped) =>
          new Promise((_, reject) => {
            stopped?.addEventListener('abort', () => reject(stopped.reason))
          }),
      },
    })
    index.apply(wholeTable(table, 1))
    const search = index.search({ queryVector, k: 1 }, signal)
    index.close()
    await expect(search).rejects.toMatchObject({ code: 'shutting_down' })
  })
})
