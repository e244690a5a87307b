/** A server whose only knowledge base contains known vectors, for the scenarios of retrieval. */
import { type EiderClient, eiderClient } from '../scripts/eider-client.ts'
import { whileRunning } from '../scripts/server-process.ts'
import { fillWithVectors, KNOWLEDGE_BASE, type Nearest, nearestOf } from './peers/eider-peer.ts'
import { startStubVectors } from './peers/stub-vectors.ts'
import { BUCKETS, K, type Keep, type MadeVectors } from './peers/vector-set.ts'
import { startMeasured, withFolder } from './scenario.ts'

export interface FilledVectors extends VectorServer {
  readonly dataDirectory: string
}

export interface VectorServer {
  readonly client: EiderClient
  readonly pid: number
  /** Throws unless the k nearest are the expected ones. */
  readonly checkedSearch: (query: number, keep: Keep) => Promise<void>
  readonly nearest: Nearest
}

/** @param filledCount how many of the rows are inserted; the stub knows all of them */
export function withFilledVectors<T>(
  vectors: MadeVectors,
  filledCount: number,
  work: (filled: FilledVectors) => Promise<T>,
): Promise<T> {
  return withFolder(async (dataDirectory) => {
    const stub = startStubVectors(vectors)
    try {
      const server = await startMeasured({ dataDirectory })
      return await whileRunning(server, async () => {
        const reached = vectorServer(server, vectors)
        await fillWithVectors(reached.client, filledCount, stub.model)
        return work({ ...reached, dataDirectory })
      })
    } finally {
      stub.stop()
    }
  })
}

export function vectorServer(
  { baseUrl, pid }: { readonly baseUrl: string; readonly pid: number },
  { queries, truth }: MadeVectors,
): VectorServer {
  const client = eiderClient(baseUrl)
  const nearest = nearestOf(client)
  const checkedSearch = async (index: number, keep: Keep) => {
    const query = index % queries.length
    const rows = await nearest([...(queries[query] ?? [])], keep)
    const expected = truth[keep][query] ?? []
    const isRight = rows.length === K && expected.every((row) => rows.includes(row))
    if (!isRight) throw new Error(`query ${query} found ${rows} instead of ${expected}`)
  }
  return { client, pid, checkedSearch, nearest }
}

const IN_MEMORY_MS_MAX = 120_000
const POLL_MS = 10

/** Resolves when a search takes its chunks from the vectors in memory. */
export async function untilInMemory({ client }: Pick<VectorServer, 'client'>): Promise<void> {
  const deadline = performance.now() + IN_MEMORY_MS_MAX
  const sql = `EXPLAIN SELECT id FROM ${KNOWLEDGE_BASE} WHERE content = 'row 1' LIMIT ${K}`
  while (performance.now() < deadline) {
    const { rows } = await client.sql(sql)
    if (/\d+ vectors in memory/.test(JSON.stringify(rows))) return
    await Bun.sleep(POLL_MS)
  }
  throw new Error(`No vectors in memory after ${IN_MEMORY_MS_MAX / 1000} s`)
}

/** No filter. */
export const ALL: Keep = BUCKETS
