import { whileRunning } from '../../scripts/server-process.ts'
import { ALL, untilInMemory, vectorServer } from '../filled-vectors.ts'
import { loadMeasure, runLoad } from '../load.ts'
import { fillWithVectors } from '../peers/eider-peer.ts'
import { heldMb } from '../peers/process-memory.ts'
import { startStubVectors } from '../peers/stub-vectors.ts'
import { type MadeVectors, madeVectors } from '../peers/vector-set.ts'
import { type Measure, type Scenario, startMeasured, withFolder } from '../scenario.ts'

const CHUNKS = { quick: 20_000, normal: 1_000_000, full: 1_000_000 }
const QUERIES = 20
const SEARCHES = 100
const CROWD = 8

export const million: Scenario = {
  name: 'million',
  title: 'A million chunks: filled, started again, and searched by a scan of the vectors in memory',
  onlyWhenNamed: true,
  run: async (size) => {
    const vectors = madeVectors(CHUNKS[size], QUERIES)
    const stub = startStubVectors(vectors)
    try {
      return await withFolder(async (dataDirectory) => {
        const idleMb = await filledIdleMb(vectors, stub.model, dataDirectory)
        return restartMeasures(vectors, dataDirectory, idleMb)
      })
    } finally {
      stub.stop()
    }
  },
}

/** @returns how many MB the server used before it contained anything */
async function filledIdleMb(
  vectors: MadeVectors,
  model: Readonly<Record<string, unknown>>,
  dataDirectory: string,
): Promise<number> {
  const server = await startMeasured({ dataDirectory })
  return whileRunning(server, async () => {
    const { client, pid } = vectorServer(server, vectors)
    const idleMb = await heldMb(pid)
    await fillWithVectors(client, vectors.rowCount, model)
    return idleMb
  })
}

async function restartMeasures(
  vectors: MadeVectors,
  dataDirectory: string,
  idleMb: number,
): Promise<readonly Measure[]> {
  const startedAt = performance.now()
  const server = await startMeasured({ dataDirectory })
  return whileRunning(server, async () => {
    const reached = vectorServer(server, vectors)
    await untilInMemory(reached)
    const inMemoryMs = performance.now() - startedAt
    const load = { requestsMax: SEARCHES, durationMs: 20_000, pid: reached.pid }
    const search = (at: number) => reached.checkedSearch(at, ALL)
    await runLoad({ ...load, clients: 1, requestsMax: QUERIES }, search)
    const alone = await runLoad({ ...load, clients: 1 }, search)
    const crowd = await runLoad({ ...load, clients: CROWD }, search)
    const memoryMb = (await heldMb(reached.pid)) - idleMb
    return [
      { what: `${vectors.rowCount} chunks, in memory after start`, value: inMemoryMs, unit: 'ms' },
      loadMeasure('one client', alone),
      loadMeasure('eight clients', crowd),
      { what: 'memory above idle', value: memoryMb, unit: 'MB' },
    ]
  })
}
