import {
  ARRAY,
  arrayValue,
  DuckDBArrayValue,
  type DuckDBConnection,
  DuckDBDataChunk,
  DuckDBInstance,
  type DuckDBValue,
  FLOAT,
} from '@duckdb/node-api'
import { IvfIndex } from '../../src/retrieval/ivf/ivf-index.ts'
import { ExactIndex } from '../../src/retrieval/vectors/exact-index.ts'
import { ScanPool } from '../../src/retrieval/vectors/scan-pool.ts'
import { VectorMemory } from '../../src/retrieval/vectors/vector-memory.ts'
import { type LoadResult, loadMeasure, runLoad } from '../load.ts'
import { seededRandom } from '../sample-texts.ts'
import type { BenchSize, Measure, Scenario } from '../scenario.ts'

const DIMENSIONS = 384
const CENTROIDS = 1000
/** The spread of a vector's parts around its centroid, relative to the parts of the centroid. */
const SPREAD = 0.7
const QUERIES = 200
const ROWS_PER_CHUNK = 2048
const MEMORY_BYTES = 3 * 1024 ** 3
const THREADS = 2
const COUNTS: Readonly<Record<BenchSize, readonly number[]>> = {
  quick: [2000],
  normal: [10_000, 100_000],
  full: [10_000, 100_000, 1_000_000],
}

/** Both must find the same rows, and the scenario fails only if they do not. */
export const vectorIndex: Scenario = {
  name: 'vector-index',
  isInProcess: true,
  title: `Nearest 10 of ${DIMENSIONS}-dimensional vectors in clusters: in memory, by inverted lists, and by DuckDB`,
  run: async (size) => {
    const measures: Measure[] = []
    for (const count of COUNTS[size]) measures.push(...(await measuresOf(count)))
    return measures
  },
}

interface Rivals {
  readonly index: ExactIndex
  readonly connections: readonly DuckDBConnection[]
  readonly queryVectors: readonly Float32Array[]
  readonly count: number
}

async function measuresOf(count: number): Promise<readonly Measure[]> {
  const instance = await DuckDBInstance.create(':memory:')
  const memory = new VectorMemory({ bytesMax: MEMORY_BYTES, threadCount: THREADS })
  const pool = new ScanPool(memory)
  const index = new ExactIndex({ memory, pool, dimensions: DIMENSIONS })
  try {
    const connections = await Promise.all(Array.from({ length: 8 }, () => instance.connect()))
    const [connection] = connections
    if (connection === undefined) throw new Error('no connection to DuckDB')
    const vectors = clusteredVectors(seededRandom(1))
    await fillTable(connection, vectors, count)
    const queryVectors = Array.from({ length: QUERIES }, () => vectors.next().value)
    const rivals = { index, connections, queryVectors, count }
    return [
      await fillingMeasure(connection, rivals),
      ...(await indexMeasures(rivals)),
      ...(await databaseMeasures(rivals)),
      ...(await listMeasures(rivals)),
    ]
  } finally {
    index.close()
    await pool.close()
    instance.closeSync()
  }
}

async function indexMeasures(rivals: Rivals): Promise<readonly Measure[]> {
  const { index, queryVectors, count } = rivals
  const signal = new AbortController().signal
  const search = (clients: number, allowedKeys?: BigInt64Array): Promise<LoadResult> => {
    const load = { clients, requestsMax: QUERIES * clients, durationMs: 10_000 }
    return runLoad(load, (at) => {
      const queryVector = itemAt(queryVectors, at)
      const filter = allowedKeys === undefined ? {} : { allowedKeys }
      return index.search({ queryVector, k: 10, ...filter }, signal)
    })
  }
  await search(1)
  const label = `${count} in memory`
  const alone = await search(1)
  const crowd = await search(8)
  const measures = [loadMeasure(label, alone), loadMeasure(`${label}, 8 clients`, crowd)]
  for (const [words, step] of [
    ['10 %', 10],
    ['1 %', 100],
    ['0.1 %', 1000],
  ] as const) {
    const keys = Array.from({ length: Math.floor(count / step) }, (_, at) => BigInt(at * step))
    const filtered = await search(1, BigInt64Array.from(keys))
    measures.push(loadMeasure(`${label}, ${words} of them`, filtered))
  }
  return measures
}

async function databaseMeasures(rivals: Rivals): Promise<readonly Measure[]> {
  const { index, connections, queryVectors, count } = rivals
  const signal = new AbortController().signal
  const label = `${count} by DuckDB`
  const alone = await runLoad({ clients: 1, requestsMax: 20, durationMs: 20_000 }, async (at) => {
    const queryVector = itemAt(queryVectors, at)
    const exact = await exactNearest(itemAt(connections, 0), queryVector)
    const found = await index.search({ queryVector, k: 10 }, signal)
    mustAgree(found, exact)
  })
  const crowd = await runLoad({ clients: 8, requestsMax: 40, durationMs: 20_000 }, (at) => {
    return exactNearest(itemAt(connections, at), itemAt(queryVectors, at))
  })
  return [loadMeasure(label, alone), loadMeasure(`${label}, 8 clients`, crowd)]
}

/**
 * Runs the same queries with inverted lists: how much faster they are, and how many of the nearest
 * 10 they find.
 */
async function listMeasures({ index, queryVectors, count }: Rivals): Promise<readonly Measure[]> {
  const signal = new AbortController().signal
  const listed = new IvfIndex(index)
  const report = await listed.train({ random: seededRandom(2) }, signal)
  const load = { clients: 1, requestsMax: QUERIES, durationMs: 10_000 }
  const search = (at: number) => {
    const queryVector = itemAt(queryVectors, at)
    return listed.search({ queryVector, k: 10 }, signal)
  }
  await runLoad(load, search)
  const alone = await runLoad(load, search)
  const crowd = await runLoad({ ...load, clients: 8, requestsMax: QUERIES * 8 }, search)
  let found = 0
  for (const [at, queryVector] of queryVectors.entries()) {
    const exact = await index.search({ queryVector, k: 10 }, signal)
    const near = new Set((await search(at)).map(({ key }) => key))
    found += exact.filter(({ key }) => near.has(key)).length
  }
  const lists = `${report.probeCount} of ${report.listCount} lists`
  const label = `${count} by ${lists}${report.isWorthwhile ? '' : ', too many: by scan'}`
  return [
    { what: `${label}, training`, value: report.trainedMs / 1000, unit: 's' },
    { what: `${label}, recall@10 measured by training`, value: report.recallAt10, unit: '' },
    { what: `${label}, recall@10 of these queries`, value: found / (QUERIES * 10), unit: '' },
    loadMeasure(label, alone),
    loadMeasure(`${label}, 8 clients`, crowd),
  ]
}

interface Found {
  readonly key: bigint
  readonly distance: number
}

/** DuckDB adds in float32, so a difference of 1e-5 must be allowed here. */
function mustAgree(found: readonly Found[], exact: readonly Found[]): void {
  for (const [place, { key, distance }] of exact.entries()) {
    const own = found[place]
    const isSame = own !== undefined && Math.abs(own.distance - distance) < 1e-5
    if (!isSame) throw new Error(`place ${place} is not chunk ${key} at ${distance}`)
  }
}

async function exactNearest(
  connection: DuckDBConnection,
  queryVector: Float32Array,
): Promise<readonly Found[]> {
  const reader = await connection.runAndReadAll(
    `SELECT chunk_key, 1 + array_negative_inner_product(vector, $1::FLOAT[${DIMENSIONS}]) AS distance
      FROM vectors ORDER BY distance, chunk_key LIMIT 10`,
    [arrayValue([...queryVector])],
    [ARRAY(FLOAT, DIMENSIONS)],
  )
  return reader.getRowsJS().map(([key, distance]) => {
    return { key: BigInt(String(key)), distance: Number(distance) }
  })
}

async function fillTable(
  connection: DuckDBConnection,
  vectors: Generator<Float32Array, never>,
  count: number,
): Promise<void> {
  await connection.run(
    `CREATE TABLE vectors (chunk_key BIGINT PRIMARY KEY, vector FLOAT[${DIMENSIONS}] NOT NULL)`,
  )
  const appender = await connection.createAppender('vectors')
  const types = [appender.columnType(0), appender.columnType(1)]
  for (let from = 0; from < count; from += ROWS_PER_CHUNK) {
    const rows = Math.min(ROWS_PER_CHUNK, count - from)
    const chunk = DuckDBDataChunk.create(types, rows)
    chunk.setColumns([
      Array.from({ length: rows }, (_, row) => BigInt(from + row)),
      Array.from({ length: rows }, () => arrayOf(vectors.next().value)),
    ])
    appender.appendDataChunk(chunk)
  }
  appender.closeSync()
}

/** Reads from the table into memory by chunks, and measures the index's own work separately. */
async function fillingMeasure(connection: DuckDBConnection, rivals: Rivals): Promise<Measure> {
  const startedAt = performance.now()
  const result = await connection.stream('SELECT chunk_key, vector FROM vectors')
  for await (const chunk of result) {
    const keys = BigInt64Array.from(chunk.getColumnValues(0), (key) => BigInt(String(key)))
    rivals.index.apply({ keys, vectors: floatsOf(chunk), revision: 1 })
  }
  if (rivals.index.count !== rivals.count) throw new Error('not every vector was loaded')
  const value = performance.now() - startedAt
  return { what: `${rivals.count} from DuckDB into memory`, value, unit: 'ms' }
}

/** Returns the numbers of a chunk's vectors in one piece, where the library keeps them. */
function floatsOf(chunk: DuckDBDataChunk): Float32Array {
  const column: unknown = chunk.getColumnVector(1)
  const child = partOf(column, 'childData')
  const items = partOf(child, 'items')
  if (!(items instanceof Float32Array)) throw new Error('the library keeps vectors elsewhere now')
  return items
}

function partOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}

function arrayOf(vector: Float32Array): DuckDBArrayValue {
  // The value is only read like an array. Copying it into one would take four times as long.
  return new DuckDBArrayValue(vector as unknown as readonly DuckDBValue[])
}

function* clusteredVectors(random: () => number): Generator<Float32Array, never> {
  const part = () => random() + random() + random() - 1.5
  const centroids = Array.from({ length: CENTROIDS }, () => {
    return Float32Array.from({ length: DIMENSIONS }, part)
  })
  for (;;) {
    const centroid = itemAt(centroids, Math.floor(random() * CENTROIDS))
    const vector = centroid.map((one) => one + SPREAD * part())
    const length = Math.hypot(...vector)
    yield vector.map((one) => one / length)
  }
}

/** Returns the item at `index`, starting again after the last. */
function itemAt<T>(items: readonly T[], index: number): T {
  const item = items[index % items.length]
  if (item === undefined) throw new Error('there are no items')
  return item
}
