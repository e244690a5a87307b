/** The vectors for all peers: unit vectors in clusters, held-out queries, and the true nearest. */
import { exists, mkdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { clusteredVectors } from './clustered-vectors.ts'
import { type NearestTable, nearestTables } from './true-nearest.ts'

export interface VectorSet extends MadeVectors {
  /** Contains `rows.f32` and `queries.f32`: little-endian float32, one vector after the other. */
  readonly folder: string
}

export interface MadeVectors {
  readonly rowCount: number
  /** The vectors, one after the other. */
  readonly rows: Float32Array
  readonly queries: readonly Float32Array[]
  /** The truth for each filter, by how many of the 1000 buckets it keeps. */
  readonly truth: Readonly<Record<Keep, NearestTable>>
}

export const DIMENSIONS = 384
export const K = 10
/** Row i is in bucket i % 1000, which does not depend on its cluster. */
export const BUCKETS = 1000
/** How many buckets a filter `bucket < keep` lets through: all, 10 %, 1 % and 0.1 % of rows. */
export const KEEPS = [1000, 100, 10, 1] as const
export type Keep = (typeof KEEPS)[number]

const QUERIES = 500
const SEED = 1
/** Increased when the vectors or the truth change, so that older folders are not read. */
const VERSION = 1

/** Created once per size, and later read from `folder`. */
export async function vectorSet(folder: string, rowCount: number): Promise<VectorSet> {
  const own = join(folder, `set-${VERSION}-${rowCount}`)
  if (!(await exists(join(own, 'truth.json')))) await writeSet(own, rowCount)
  const rows = await floats(join(own, 'rows.f32'))
  const queries = slices(await floats(join(own, 'queries.f32')))
  // `writeSet` wrote it in this form.
  const truth = (await Bun.file(join(own, 'truth.json')).json()) as VectorSet['truth']
  return { folder: own, rowCount, rows, queries, truth }
}

/** This takes about 0.3 s for each billion products: rows × queries × dimensions. */
export function madeVectors(rowCount: number, queryCount: number): MadeVectors {
  const vectors = clusteredVectors(SEED, DIMENSIONS)
  const rows = new Float32Array(rowCount * DIMENSIONS)
  for (let row = 0; row < rowCount; row += 1) rows.set(vectors.next().value, row * DIMENSIONS)
  const queries = Array.from({ length: queryCount }, () => vectors.next().value)
  const [all = [], tenth = [], hundredth = [], thousandth = []] = nearestTables(
    { rows, queries, k: K },
    KEEPS.map((keep) => (row: number) => row % BUCKETS < keep),
  )
  const truth = { 1000: all, 100: tenth, 10: hundredth, 1: thousandth }
  return { rowCount, rows, queries, truth }
}

async function writeSet(folder: string, rowCount: number): Promise<void> {
  await mkdir(folder, { recursive: true })
  const { rows, queries, truth } = madeVectors(rowCount, QUERIES)
  const flatQueries = new Float32Array(QUERIES * DIMENSIONS)
  for (const [index, query] of queries.entries()) flatQueries.set(query, index * DIMENSIONS)
  await Bun.write(join(folder, 'rows.f32'), rows)
  await Bun.write(join(folder, 'queries.f32'), flatQueries)
  await Bun.write(join(folder, 'truth.part'), JSON.stringify(truth))
  // This file is written last, so that an incomplete folder is created again.
  await rename(join(folder, 'truth.part'), join(folder, 'truth.json'))
}

async function floats(path: string): Promise<Float32Array> {
  return new Float32Array(await Bun.file(path).arrayBuffer())
}

function slices(flat: Float32Array): readonly Float32Array[] {
  return Array.from({ length: flat.length / DIMENSIONS }, (_, index) => {
    return flat.subarray(index * DIMENSIONS, (index + 1) * DIMENSIONS)
  })
}
