import { expect, test } from 'bun:test'
import { openKernel } from '../../src/retrieval/kernel/open-kernel.ts'
import { ExactIndex } from '../../src/retrieval/vectors/exact-index.ts'
import {
  areOfSameRows,
  type ResultOf,
  runTask,
  type ScanResult,
  type ScanTask,
  scanStepsTogether,
  type ThreadTask,
} from '../../src/retrieval/vectors/scan.ts'
import { VectorMemory } from '../../src/retrieval/vectors/vector-memory.ts'
import {
  clusteredUnits,
  exactNearest,
  seededRandom,
  type Table,
  wholeTable,
} from './sample-vectors.ts'
import { ALL_BY_THREADS, callingThread } from './scan-runners.ts'

const signal = new AbortController().signal
/** More chunks than fit in the candidates. */
const ROWS = 9001

interface Waiting {
  readonly task: ScanTask
  readonly found: PromiseWithResolvers<ScanResult>
}

/** Makes scans wait until they are done together. */
function collected(memory: VectorMemory) {
  const kernels = [1, 2, 3, 4].map((slot) => openKernel(memory.memory, slot))
  const waiting: Waiting[] = []
  let doneTogether = 0
  const run = async <T extends ThreadTask>(task: T) => {
    if (task.kind !== 'scan') throw new Error('only scans are collected')
    const found = Promise.withResolvers<ScanResult>()
    waiting.push({ task, found })
    // The result of a scan.
    return (await found.promise) as ResultOf<T>
  }
  const doAll = () => {
    const jobs = waiting.splice(0)
    const scans = jobs.flatMap(({ task }, index) => {
      const kernel = kernels[index]
      return kernel === undefined ? [] : [{ kernel, task }]
    })
    const [first] = scans
    if (first === undefined) return
    if (first.kernel.joinLook() === 0 || !scans.every((one) => areOfSameRows(first, one))) {
      for (const { task, found } of jobs) found.resolve(runTask(memory.kernel, task))
      return
    }
    doneTogether += jobs.length
    const steps = scanStepsTogether(scans)
    let step = steps.next()
    while (!step.done) step = steps.next()
    for (const [index, { found }] of jobs.entries()) {
      const result = step.value[index]
      if (result === undefined) found.reject(new Error('a scan has no result'))
      else found.resolve(result)
    }
  }
  return { run, doAll, doneTogether: () => doneTogether }
}

test.each([
  [32, true],
  [32, false],
  [160, true],
  [416, false],
])(
  'joined scans find what each finds alone (%i numbers, floats: %p)',
  async (dimensions, holds) => {
    const memory = new VectorMemory({
      bytesMax: 96 * 1024 ** 2,
      threadCount: 1,
      sharing: { ...ALL_BY_THREADS, partBytesMin: 2 ** 40 },
    })
    const random = seededRandom(dimensions)
    const next = clusteredUnits({ dimensions, clusterCount: 50, spread: 0.5 }, random)
    const rowCount = dimensions === 32 ? ROWS : 2001
    let table: Table = new Map(Array.from({ length: rowCount }, (_, key) => [BigInt(key), next()]))
    const { run, doAll, doneTogether } = collected(memory)
    const index = new ExactIndex({
      ...{ memory, pool: { ...callingThread(memory), run }, dimensions },
      ...(holds ? {} : { fetchVectors: async () => table }),
    })
    index.apply(wholeTable(table, 1))
    for (let round = 0; round < 12; round++) {
      const searches: Promise<void>[] = []
      for (let one = 0; one < 1 + (round % 4); one++) {
        const seen = table
        const queryVector = next()
        const k = [1, 10, 300, 1500][(round + one) % 4] ?? 1
        // The rows that the last scan sees are removed before the next one.
        const found = index.search({ queryVector, k: k }, signal)
        searches.push(
          found.then((near) => {
            expect(near).toEqual([...exactNearest(seen, queryVector, k)])
          }),
        )
        if (holds) {
          const removed = [...table.keys()].filter(() => random() < 0.01)
          table = new Map([...table].filter(([key]) => !removed.includes(key)))
          index.apply({ removedKeys: BigInt64Array.from(removed), revision: 2 })
        }
      }
      doAll()
      await Promise.all(searches)
    }
    if (memory.looksTogether) expect(doneTogether()).toBe(30)
    index.close()
  },
)
