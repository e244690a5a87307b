import { type Kernel, openExtent } from '../kernel/kernel.ts'
import {
  type Extent,
  extentLayout,
  type RowShape,
  rowBytes,
  VECTOR_LIMITS,
} from '../kernel/memory-layout.ts'
import type { IndexRows } from '../vectors/exact-index.ts'
import { type CentroidCodes, runTask, sliceRows } from '../vectors/scan.ts'
import { BLOCK_BYTES_MAX, type Block, type VectorMemory } from '../vectors/vector-memory.ts'

/** A time stamp that makes rows visible to every search. */
const ALWAYS = 0

/** The centroids of lists: vectors of length 1 in shared memory, stored like those of an index. */
export class Centroids {
  readonly count: number
  /** Stored next to their rows, for the threads that compare with them. */
  readonly codes: CentroidCodes
  readonly #extent: Extent
  readonly #shape: RowShape
  readonly #memory: VectorMemory
  readonly #kernel: Kernel
  readonly #block: Block

  /** @param count at most `centroidsMax` @throws AppError `out_of_memory` */
  constructor(memory: VectorMemory, stride: number, count: number) {
    this.count = count
    this.#shape = { stride, holdsFloats: true }
    this.#memory = memory
    this.#kernel = memory.kernel
    const capacity = Math.ceil(count / 8) * 8
    this.#block = memory.allocate(capacity * centroidBytes(stride))
    this.#extent = { address: this.#block.address, capacity }
    const { bounds } = extentLayout(this.#extent, stride)
    const codesAt = this.#block.address + capacity * rowBytes(this.#shape)
    this.codes = { boundsAt: bounds, codesAt }
  }

  get bytes(): number {
    return this.#block.bytes
  }

  /** @returns false, having changed nothing, if the vector does not have length 1 */
  store(list: number, vector: Float32Array): boolean {
    openExtent(this.#kernel, this.#shape, this.#extent)
    this.#kernel.input.fill(0, vector.length, this.#shape.stride)
    this.#kernel.input.set(vector)
    if (this.#kernel.storeRow(list, list, ALWAYS) !== 1) return false
    this.#kernel.readCodes(list)
    const { stride } = this.#shape
    const at = this.codes.codesAt + list * stride
    new Int8Array(this.#memory.memory.buffer, at, stride).set(
      this.#kernel.rowCodes.subarray(0, stride),
    )
    return true
  }

  /** Returns a copy of a list's centroid. */
  vector(list: number, dimensions: number): Float32Array {
    const { stride } = this.#shape
    const address = extentLayout(this.#extent, stride).floats + list * stride * 4
    return new Float32Array(this.#memory.memory.buffer, address, dimensions).slice()
  }

  /** Returns the numbers of the lists with the nearest centroids, nearest first. */
  nearest(queryVector: Float32Array, countMax: number): readonly number[] {
    const { address, capacity } = this.#extent
    const result = runTask(this.#kernel, {
      kind: 'scan',
      shape: this.#shape,
      queryVector,
      k: Math.min(countMax, this.count),
      snapshot: ALWAYS,
      parts: Float64Array.of(address, capacity, 0, this.count),
      rows: null,
    })
    return result.kind === 'found' ? [...result.keys] : []
  }

  release(): void {
    this.#memory.release(this.#block)
  }
}

/** How many centroids fit in one block and can be sorted together. */
export function centroidsMax(stride: number): number {
  const fitting = Math.floor(BLOCK_BYTES_MAX / centroidBytes(stride))
  return Math.min(VECTOR_LIMITS.neighboursMax, fitting - (fitting % 8))
}

/** The bytes for their rows and a copy of their codes. */
function centroidBytes(stride: number): number {
  return rowBytes({ stride, holdsFloats: true }) + stride
}

/** Short tasks, so that searches run in between. @param take a few rows each, from `from` */
export async function assignRows(
  base: IndexRows,
  { rows, centroids }: { readonly rows: Int32Array; readonly centroids: Centroids },
  take: (lists: Int32Array, from: number) => void,
  signal: AbortSignal,
): Promise<void> {
  const { shape, pool } = base
  const { codes, count: listCount } = centroids
  const task = { kind: 'assign', shape, centroids: codes, listCount } as const
  const taskRows = sliceRows(task, LIST_LIMITS.taskProducts)
  const failed = new AbortController()
  const stopped = AbortSignal.any([signal, failed.signal])
  let next = 0
  const lane = async () => {
    while (next < rows.length) {
      const from = next
      next += taskRows
      const some = base.rows.listParts(rows.subarray(from, next))
      take((await pool.run({ ...task, ...some }, stopped)).lists, from)
    }
  }
  try {
    await Promise.all(Array.from({ length: Math.max(1, pool.threadCount) }, lane))
  } catch (error) {
    // The other threads' results are no longer needed.
    failed.abort(error)
    throw error
  }
}

export const LIST_LIMITS = {
  /** The number of lists for n vectors is this many times the square root of n. */
  listFactor: 2,
  /** How many vectors per list to compute the centroids from. */
  sampleRows: 32,
  /** The most rounds of training. After these, hardly any vector changes its list. */
  roundsMax: 6,
  /** Training stops when a smaller share of the sample changes its list. */
  movedShareMin: 0.01,
  /** How many products of two codes one task computes, in about 5 ms. */
  taskProducts: 64 * 1024 ** 2,
  /** How many stored vectors to use as queries to measure the recall. */
  questions: 200,
  /** With more neighbours than these, a search is exact. */
  depths: [10, 32, 100],
  /** How long to keep the main thread busy at a time. */
  busyMsMax: 4,
  /** The target in measurements, so that other queries reach 0.95. */
  recallAim: 0.97,
  /** Rows out of order take about 7 times as long. */
  scannedShareMax: 1 / 16,
  /** How much lists may grow after training before they count as too long. */
  growthMax: 1.5,
  /** Rows without a list are read by every search. Assign them to lists from this number on. */
  pendingMin: 1024,
  /** Assign this many rows before checking again. */
  pendingMax: 8192,
  /** Saved lists are used if they cover at least this share of all vectors, */
  keptShareMin: 0.6,
  /** and if at least this share of a sample is in the list with the nearest centroid. */
  agreementMin: 0.8,
  /** Save lists again when the number of vectors has grown by this factor. */
  keptGrowth: 1.125,
} as const
