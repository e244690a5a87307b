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

/** They existed before the first search. */
const ALWAYS = 0

/** The centres of lists: unit vectors in shared memory, like those of an index. */
export class Centroids {
  readonly count: number
  /** Beside their rows, as threads compare with them. */
  readonly codes: CentroidCodes
  readonly #extent: Extent
  readonly #shape: RowShape
  readonly #memory: VectorMemory
  readonly #kernel: Kernel
  readonly #block: Block

  /**
   * @param count at most `centroidsMax`
   * @throws AppError `out_of_memory`
   */
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

  /** @returns false if the vector is not of unit length; nothing has changed then */
  store(list: number, vector: Float32Array): boolean {
    this.#open()
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

  /** A copy of the vector of a list. */
  vector(list: number, dimensions: number): Float32Array {
    const { stride } = this.#shape
    const address = extentLayout(this.#extent, stride).floats + list * stride * 4
    return new Float32Array(this.#memory.memory.buffer, address, dimensions).slice()
  }

  /** The numbers of the lists with the nearest centroids, nearest first. */
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

  #open(): void {
    openExtent(this.#kernel, this.#shape, this.#extent)
  }
}

/** This many fit into one block and can all be sorted. */
export function centroidsMax(stride: number): number {
  const fitting = Math.floor(BLOCK_BYTES_MAX / centroidBytes(stride))
  return Math.min(VECTOR_LIMITS.neighboursMax, fitting - (fitting % 8))
}

/** Their rows, and a copy of their codes. */
function centroidBytes(stride: number): number {
  return rowBytes({ stride, holdsFloats: true }) + stride
}

/**
 * Finds the nearest list of each row, in the threads that scan: in tasks so short that searches get
 * their turn in between.
 * @param take gets a few rows at a time, from index `from` on, and the nearest list of each
 * @throws AppError as `ScanRunner.run`; the signal's reason
 */
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
    // The results of the other lanes are no longer useful.
    failed.abort(error)
    throw error
  }
}

/** Limits and aims of inverted lists. */
export const LIST_LIMITS = {
  /** Lists of a base of n vectors: this many times the square root of n. */
  listFactor: 2,
  /** Vectors per list for computing the centroids. */
  sampleRows: 32,
  /** Rounds of moving the centroids; after that hardly any vector changes its list. */
  roundsMax: 6,
  /** Training stops when fewer of the sample change their list. */
  movedShareMin: 0.01,
  /** Products of two codes in one task of a thread: about 5 ms. */
  taskProducts: 64 * 1024 ** 2,
  /** Vectors of the base searched for to measure the recall. */
  questions: 200,
  /** Numbers of neighbours for which the lists to be read are counted; more are searched exactly. */
  depths: [10, 32, 100],
  /** For the main thread, at a time: others wait no longer for it. */
  busyMsMax: 4,
  /** The target, so that 0.95 holds for questions that were not measured. */
  recallAim: 0.97,
  /** A share of all vectors; a row out of order takes some 7 times as long, so that more would hardly be faster. */
  scannedShareMax: 1 / 16,
  /** This share of the rows may be added after the training: lists are then half again as long. */
  growthMax: 1.5,
  /** Rows without a list, which each search also reads, until assigning them is worthwhile. */
  pendingMin: 1024,
  /** This many of them are assigned before the next check. */
  pendingMax: 8192,
  /** The share of all vectors that must be in lists of before, */
  keptShareMin: 0.6,
  /** and of a sample that must be in the list of the nearest centroid. */
  agreementMin: 0.8,
  /** Lists are saved again when the vectors have grown by this factor. */
  keptGrowth: 1.125,
} as const
