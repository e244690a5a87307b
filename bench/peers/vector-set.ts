/** The vectors that all peers get: unit vectors in clusters, held-out queries, and the true nearest. */
import { exists, mkdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { clusteredVectors } from './clustered-vectors.ts'
import { type NearestTable, nearestTables } from './true-nearest.ts'

export interface VectorSet extends MadeVectors {
  /** Holds `rows.f32` and `queries.f32`: little-endian float32, one vector after the other. */
  readonly folder: string
}

export interface MadeVectors {
  readonly rowCount: number
  /** One after the other. */
  readonly rows: Float32Array
  readonly queries: readonly Float32Array[]
  /** By how many of the 1000 buckets a filter keeps. */
  readonly truth: Readonly<Record<Keep, NearestTable>>
}

export const DIMENSIONS = 384
export const K = 10
/** Row i is in bucket i % 1000, which its cluster does not depend on. */
export const BUCKETS = 1000
/** Buckets that a filter `bucket < keep` lets through: all, 10 %, 1 % and 0.1 % of the rows. */
export const KEEPS = [1000, 100, 10, 1] as const
export type Keep = (typeof KEEPS)[number]

const QUERIES = 500
const SEED = 1
/** Raised when the vectors or the truth change, so that no older folder is read. */
const VERSION = 1

/** Made once per size, and read again from `folder` afterwards. */
export async function vectorSet(folder: string, rowCount: number): Promise<VectorSet> {
  const own = join(folder, `set-${VERSION}-${rowCount}`)
  if (!(await exists(join(own, 'truth.json')))) await writeSet(own, rowCount)
  const rows = await floats(join(own, 'rows.f32'))
  const queries = slices(await floats(join(own, 'queries.f32')))
  // Written by `writeSet` in this shape.
  const truth = (await Bun.file(join(own, 'truth.json')).json()) as VectorSet['truth']
  return { folder: own, rowCount, rows, queries, truth }
}

/** Some 0.3 s for each billion of products: rows × queries × dimensions. */
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
  // The last of the three: a folder that was left half-way is made again.
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
