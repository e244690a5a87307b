import { ALL, untilInMemory, type VectorServer, withFilledVectors } from '../filled-vectors.ts'
import { type LoadResult, loadMeasure, percentile, runLoad } from '../load.ts'
import { insertRows } from '../peers/eider-peer.ts'
import { K, madeVectors } from '../peers/vector-set.ts'
import type { Measure, Scenario } from '../scenario.ts'

const CHUNKS = { quick: 5000, normal: 50_000, full: 100_000 }
const DURATION_MS = { quick: 2000, normal: 8000, full: 20_000 }
const QUERIES = 50
const CLIENTS = 4
const DOCUMENTS_PER_INSERT = 500
const SEARCHES_MAX = 100_000
/** More than are inserted during the run. */
const NEW_DOCUMENTS_MAX = { quick: 5000, normal: 40_000, full: 100_000 }

export const inserting: Scenario = {
  name: 'inserting',
  title: `${CLIENTS} clients search, quietly and while inserts of ${DOCUMENTS_PER_INSERT} follow each other`,
  run: async (size) => {
    const chunks = CHUNKS[size]
    const vectors = madeVectors(chunks + NEW_DOCUMENTS_MAX[size], 0)
    const queries = madeVectors(0, QUERIES).queries
    return withFilledVectors(vectors, chunks, async (filled) => {
      await untilInMemory(filled)
      const search = searchOf(filled, queries)
      const load = {
        clients: CLIENTS,
        requestsMax: SEARCHES_MAX,
        durationMs: DURATION_MS[size],
        pid: filled.pid,
      }
      await runLoad({ ...load, durationMs: 1000 }, search)
      const quiet = await runLoad(load, search)
      const inserts = new AbortController()
      const inserted = insertUntil(filled, { from: chunks, to: vectors.rowCount }, inserts.signal)
      const meanwhile = await runLoad(load, search).finally(() => inserts.abort())
      return measuresOf(quiet, meanwhile, await inserted)
    })
  },
}

function searchOf({ nearest }: VectorServer, queries: readonly Float32Array[]) {
  return async (index: number) => {
    const rows = await nearest([...(queries[index % queries.length] ?? [])], ALL)
    if (rows.length !== K) throw new Error(`A search found ${rows.length} rows instead of ${K}`)
  }
}

interface Inserted {
  readonly documents: number
  readonly elapsedMs: number
}

async function insertUntil(
  { client }: VectorServer,
  { from, to }: { readonly from: number; readonly to: number },
  signal: AbortSignal,
): Promise<Inserted> {
  const startedAt = performance.now()
  let next = from
  while (!signal.aborted && next + DOCUMENTS_PER_INSERT <= to) {
    await insertRows(client, next, next + DOCUMENTS_PER_INSERT)
    next += DOCUMENTS_PER_INSERT
  }
  return { documents: next - from, elapsedMs: performance.now() - startedAt }
}

function measuresOf(
  quiet: LoadResult,
  meanwhile: LoadResult,
  { documents, elapsedMs }: Inserted,
): readonly Measure[] {
  const ratio = percentile(meanwhile.latenciesMs, 0.99) / percentile(quiet.latenciesMs, 0.99)
  return [
    loadMeasure('quiet', quiet),
    loadMeasure('while inserting', meanwhile),
    { what: 'p99 while inserting over p99 quiet', value: ratio, unit: 'times' },
    { what: 'documents inserted', value: documents / (elapsedMs / 1000), unit: 'per second' },
  ]
}
