import { whileRunning } from '../../scripts/server-process.ts'
import { ALL, untilInMemory, vectorServer } from '../filled-vectors.ts'
import { fillWithVectors } from '../peers/eider-peer.ts'
import { startStubVectors } from '../peers/stub-vectors.ts'
import { type MadeVectors, madeVectors } from '../peers/vector-set.ts'
import { type Measure, type Scenario, startMeasured, withFolder } from '../scenario.ts'

const CHUNKS = { quick: 10_000, normal: 100_000, full: 100_000 }
const QUERIES = 10

export const afterKill: Scenario = {
  name: 'after-kill',
  title: 'kill -9 right after an insert is answered: from the next start to the first right answer',
  run: async (size) => {
    const vectors = madeVectors(CHUNKS[size], QUERIES)
    const stub = startStubVectors(vectors)
    try {
      return await withFolder(async (dataDirectory) => {
        await fillAndKill(vectors, stub.model, dataDirectory)
        return restartMeasures(vectors, dataDirectory)
      })
    } finally {
      stub.stop()
    }
  },
}

async function fillAndKill(
  vectors: MadeVectors,
  model: Readonly<Record<string, unknown>>,
  dataDirectory: string,
): Promise<void> {
  const server = await startMeasured({ dataDirectory })
  try {
    await fillWithVectors(vectorServer(server, vectors).client, vectors.rowCount, model)
  } finally {
    process.kill(server.pid, 'SIGKILL')
    // It did not stop cleanly, which is intended here.
    await server.stop().catch(() => undefined)
  }
}

async function restartMeasures(
  vectors: MadeVectors,
  dataDirectory: string,
): Promise<readonly Measure[]> {
  const startedAt = performance.now()
  const server = await startMeasured({ dataDirectory })
  return whileRunning(server, async () => {
    const reached = vectorServer(server, vectors)
    await reached.checkedSearch(0, ALL)
    const answeredMs = performance.now() - startedAt
    await untilInMemory(reached)
    const inMemoryMs = performance.now() - startedAt
    for (let query = 1; query < QUERIES; query += 1) await reached.checkedSearch(query, ALL)
    return [
      { what: `${vectors.rowCount} chunks, ready`, value: server.startMs, unit: 'ms' },
      { what: 'first right answer', value: answeredMs, unit: 'ms' },
      { what: 'vectors in memory', value: inMemoryMs, unit: 'ms' },
    ]
  })
}
