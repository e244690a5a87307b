/**
 * The layout of the memory shared by all threads. `kernel/vector-scan.ts` depends on it.
 *
 * ```
 * one slot per scan:    input f32 · fine codes i16 · coarse codes, a row's codes i8 · row list i32 · search parameters
 *                       · distances, keys, lowers f64 · candidates
 * extents, in blocks:   identities (key f64, added u32, removed u32) · bounds (scale, lost, lost by heads f32)
 *                       · heads, then tails: halves of codes, 4 bits × stride each · floats f32 × stride, if present
 * ```
 */

export const PAGE_BYTES = 65_536

/** The first page stays unused, so that no address is 0. */
const FIRST_SLOT = PAGE_BYTES
/** Bytes per row for its identity, which starts with its key. */
export const IDENTITY_BYTES = 16
/** Bytes per row for its bounds, which start with its scale. */
export const BOUND_BYTES = 12
/** Upper f64, lower f64, key f64. */
export const CANDIDATE_BYTES = 24
export const CANDIDATES_MAX = 8192
export const ROW_LIST_MAX = 4096
const SEARCH_BYTES = 64
/** Numbers per extent in the parts of a task: address, capacity, from, to. */
export const PART_WORDS = 4

/** Slot 0 belongs to the calling thread. All parts are aligned to 16 bytes. */
export function slotLayout(index: number): {
  readonly input: number
  readonly fineCodes: number
  readonly coarseCodes: number
  readonly rowCodes: number
  readonly rowList: number
  /** The address of the parameters of a search that is joined with others. */
  readonly search: number
  readonly distances: number
  readonly keys: number
  readonly lowers: number
  readonly candidates: number
  readonly end: number
} {
  const { dimensionsMax, neighboursMax } = VECTOR_LIMITS
  const neighbourBytes = neighboursMax * 8
  const input = FIRST_SLOT + index * slotBytes()
  const fineCodes = input + dimensionsMax * 4
  const coarseCodes = fineCodes + dimensionsMax * 2
  const rowCodes = coarseCodes + dimensionsMax
  const rowList = rowCodes + dimensionsMax
  const search = rowList + ROW_LIST_MAX * 4
  const distances = search + SEARCH_BYTES
  const keys = distances + neighbourBytes
  const lowers = keys + neighbourBytes
  const candidates = lowers + neighbourBytes
  const end = input + slotBytes()
  const neighbours = { distances, keys, lowers, candidates }
  return { input, fineCodes, coarseCodes, rowCodes, rowList, search, ...neighbours, end }
}

function slotBytes(): number {
  const { dimensionsMax, neighboursMax } = VECTOR_LIMITS
  const found = neighboursMax * 8 * 3 + CANDIDATES_MAX * CANDIDATE_BYTES
  return wholePages(dimensionsMax * 8 + ROW_LIST_MAX * 4 + SEARCH_BYTES + found)
}

function wholePages(bytes: number): number {
  return Math.ceil(bytes / PAGE_BYTES) * PAGE_BYTES
}

export interface RowShape {
  /** Codes per row: the dimensions, padded to a multiple of 32. */
  readonly stride: number
  readonly holdsFloats: boolean
}

export function rowShape(dimensions: number, holdsFloats: boolean): RowShape {
  return { stride: Math.ceil(dimensions / 32) * 32, holdsFloats }
}

export function rowBytes({ stride, holdsFloats }: RowShape): number {
  return IDENTITY_BYTES + BOUND_BYTES + stride * (holdsFloats ? 5 : 1)
}

/** Contiguous rows of one index. */
export interface Extent {
  readonly address: number
  /** A multiple of 8, so that codes and floats are aligned. */
  readonly capacity: number
}

export function extentLayout(
  { address, capacity }: Extent,
  stride: number,
): {
  readonly identities: number
  readonly bounds: number
  readonly heads: number
  readonly tails: number
  readonly floats: number
} {
  const bounds = address + IDENTITY_BYTES * capacity
  const heads = bounds + BOUND_BYTES * capacity
  const tails = heads + (stride / 2) * capacity
  const floats = tails + (stride / 2) * capacity
  return { identities: address, bounds, heads, tails, floats }
}

/** Limits of vector search in memory. Beyond them, the database does an exact scan. */
export const VECTOR_LIMITS = {
  dimensionsMax: 4096,
  neighboursMax: 4096,
  /** The range of 32-bit addresses. */
  memoryBytesMax: 4 * 1024 ** 3,
  threadsMax: 64,
  /** The most searches waiting for a thread. */
  queueMax: 1024,
  /** Scanned by the calling thread in up to 0.5 ms, less than handing it to another. */
  inlineBytesMax: 8 * 1024 ** 2,
  /** Idle threads share a search in parts of at least this many bytes of codes. */
  partBytesMin: 8 * 1024 ** 2,
  /** How many searches one thread runs together. */
  batchMax: 4,
  /** Read by all searches of a batch in turn; fits in a core's cache. */
  sliceBytes: 192 * 1024,
  /** Products of two codes between two checks for cancellation, which take about 1 ms. */
  sliceProducts: 16 * 1024 ** 2,
  /** How often to try a search when threads crash. */
  attemptsMax: 2,
  /** How many vectors to read at a time if memory holds only codes. */
  fetchRows: 1024,
} as const
