import { CANDIDATE_BYTES, type Extent, type RowShape } from './memory-layout.ts'

/** The operations of the scan, see `kernel/vector-scan.ts`. Rows are counted within the last opened extent. */
export interface KernelOperations {
  openIndex(stride: number, holdsFloats: number): void
  openExtent(address: number, capacity: number): void
  /** Stores the input; 0 if it is not of unit length, and nothing is stored. */
  storeRow(row: number, key: number, addedAt: number): number
  removeRow(row: number, removedAt: number): void
  /** Begins a search near the input, among the rows as they were at `seenAt`. */
  begin(k: number, seenAt: number, farthest: number): void
  /** How far it came: less than `to` when the candidates must be taken out first. */
  scanRange(from: number, to: number): number
  scanRows(from: number, to: number): number
  /** Joins a scan with others, with the bounds known so far. Returns its address, 0 if the scan does not exist. */
  joinLook(): number
  /** The next looks are those of four that have joined, by their addresses: `count`, and any to fill up. */
  beginLook(one: number, two: number, three: number, four: number, count: number): void
  /** Puts on the row list of each of them which of [from, to) it can not rule out. */
  look(from: number, to: number): void
  /** Rows on its list after a pass. */
  openCount(): number
  /** The rest of a scan, for rows of the list at [from, to). Returns how far it came, as `scanRange` does. */
  settleRows(from: number, to: number): number
  /** With floats the number of `distances` and `keys`, without that of candidates. */
  finish(): number
  dropCandidates(): void
  /** Puts the codes of a row at `rowCodes`. */
  readCodes(row: number): void
  /** The bounds of centroids of the index opened last, and their codes, one after the other. */
  openCentroids(boundsAt: number, codesAt: number, count: number): void
  /**
   * Puts for each row at [0, rowCount) of the row list the number of its nearest centroid there, of
   * equally near ones the first.
   */
  assignRows(rowCount: number): void
}

/** A possible neighbour with known bounds of the inner product. */
export interface Candidate {
  readonly key: number
  readonly upper: number
  readonly lower: number
}

/** One thread's scan over the memory that all threads share. */
export interface Kernel extends KernelOperations {
  /** A vector to be stored or searched for goes here, filled up with zeros to the stride. */
  readonly input: Float32Array
  readonly rowCodes: Int8Array
  readonly rowList: Int32Array
  readonly distances: Float64Array
  readonly keys: Float64Array
  /** `upper, lower, key` of each candidate, when no floats are held. */
  readonly candidates: Float64Array
}

/** Sets the shape and position of the following rows. */
export function openExtent(kernel: KernelOperations, shape: RowShape, extent: Extent): void {
  kernel.openIndex(shape.stride, shape.holdsFloats ? 1 : 0)
  kernel.openExtent(extent.address, extent.capacity)
}

/** The first `count` candidates, copied. */
export function candidatesOf(kernel: Kernel, count: number): readonly Candidate[] {
  const words = CANDIDATE_BYTES / 8
  return Array.from({ length: count }, (_, index) => {
    const [upper = 0, lower = 0, key = 0] = kernel.candidates.subarray(index * words)
    return { upper, lower, key }
  })
}
