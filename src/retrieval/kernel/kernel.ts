import { CANDIDATE_BYTES, type Extent, type RowShape } from './memory-layout.ts'

/** `kernel/vector-scan.ts` implements these. Rows are numbered within the opened extent. */
export interface KernelOperations {
  openIndex(stride: number, holdsFloats: number): void
  openExtent(address: number, capacity: number): void
  /** Stores the input vector. Returns 0 without storing it if its length is not 1. */
  storeRow(row: number, key: number, addedAt: number): number
  removeRow(row: number, removedAt: number): void
  /** Starts a search near the input vector, among the rows as they were at `seenAt`. */
  begin(k: number, seenAt: number, farthest: number): void
  /** Returns the row reached. If that is less than `to`, the candidates must be taken out first. */
  scanRange(from: number, to: number): number
  scanRows(from: number, to: number): number
  /** Under the bounds known so far. Returns the scan's address, or 0 if there is none. */
  joinLook(): number
  /** The next looks serve `count` joined scans at these addresses. */
  beginLook(one: number, two: number, three: number, four: number, count: number): void
  /** For each joined scan, adds the rows in [from, to) that it cannot rule out to its row list. */
  look(from: number, to: number): void
  /** The number of rows on a scan's list after a pass. */
  openCount(): number
  /**
   * Completes a scan for the listed rows at [from, to). Returns how far it got, like `scanRange`.
   */
  settleRows(from: number, to: number): number
  /** The number of `distances` and `keys` if there are floats, otherwise of candidates. */
  finish(): number
  dropCandidates(): void
  /** Writes the codes of a row to `rowCodes`. */
  readCodes(row: number): void
  openCentroids(boundsAt: number, codesAt: number, count: number): void
  /** Each row in the row list becomes the number of its nearest centroid; of ties, the first. */
  assignRows(rowCount: number): void
}

/** A possible neighbour, with bounds on its inner product. */
export interface Candidate {
  readonly key: number
  readonly upper: number
  readonly lower: number
}

/** One thread's kernel, over memory that all threads share. */
export interface Kernel extends KernelOperations {
  /** The vector to store or search for, padded with zeros to the stride. */
  readonly input: Float32Array
  readonly rowCodes: Int8Array
  readonly rowList: Int32Array
  readonly distances: Float64Array
  readonly keys: Float64Array
  /** `upper, lower, key` of each candidate, if memory does not hold the floats. */
  readonly candidates: Float64Array
}

/** Sets the shape and position of the rows in the next calls. */
export function openExtent(kernel: KernelOperations, shape: RowShape, extent: Extent): void {
  kernel.openIndex(shape.stride, shape.holdsFloats ? 1 : 0)
  kernel.openExtent(extent.address, extent.capacity)
}

/** Returns a copy of the first `count` candidates. */
export function candidatesOf(kernel: Kernel, count: number): readonly Candidate[] {
  const words = CANDIDATE_BYTES / 8
  return Array.from({ length: count }, (_, index) => {
    const [upper = 0, lower = 0, key = 0] = kernel.candidates.subarray(index * words)
    return { upper, lower, key }
  })
}
