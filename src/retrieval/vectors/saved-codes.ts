/** Saves the codes of rows and restores them, so that a start need not read all vectors first. */
import { checkedBytes, ofCheckedBytes } from '../../core/checked-bytes.ts'
import type { Kernel } from '../kernel/kernel.ts'
import {
  BOUND_BYTES,
  type Extent,
  extentLayout,
  IDENTITY_BYTES,
  PART_WORDS,
  type RowShape,
  rowBytes,
} from '../kernel/memory-layout.ts'

/** Marks rows that were not removed. See `kernel/vector-scan.ts`. */
const NEVER = 0xffffffff

/** The layout of the arrays. A file of another format is not used. */
const FORMAT = 1

/** About the bytes of one part, which a thread restores in one step. */
const PART_BYTES = 4 * 1024 ** 2

/** The codes of all rows of an index. */
export interface SavedCodes {
  readonly state: string
  readonly count: number
  /** Null if there is none. */
  read(part: number): Promise<Uint8Array | null>
}

/** The rows per part; the last one has fewer. */
export function savedPartRows(shape: RowShape): number {
  return Math.ceil(PART_BYTES / rowBytes({ ...shape, holdsFloats: false }))
}

/** Rows of an index, as in an `AssignTask`. */
interface PlacedRows {
  readonly shape: RowShape
  readonly parts: Float64Array
  readonly rows: Int32Array
}

/** Saved codes for new rows, before the first search. */
export interface RestoreTask extends PlacedRows {
  readonly kind: 'restore'
  readonly bytes: Uint8Array
  /** The state of the knowledge base that the bytes must be of. */
  readonly state: string
  readonly addedAt: number
}

export interface RestoreResult {
  readonly kind: 'restored'
  /** null if the bytes are damaged or of another state; nothing was restored then. */
  readonly keys: Float64Array | null
}

/** Vectors for rows whose codes were restored. Searches do not read them meanwhile. */
export interface FillTask extends PlacedRows {
  readonly kind: 'fill'
  readonly vectors: Float32Array
}

export interface FillResult {
  readonly kind: 'filled'
}

interface Header {
  readonly format: number
  readonly state: string
  readonly stride: number
  readonly count: number
}

/** The codes of these rows, all of which must have a vector. */
export function bytesOfCodes(
  { buffer }: WebAssembly.Memory,
  { shape: { stride }, ...placed }: PlacedRows,
  state: string,
): Uint8Array {
  const count = placed.rows.length
  const keys = new Float64Array(count)
  const { bounds, heads, tails } = arraysFor(count, stride)
  for (const { extent, row, at, length } of runsOf(placed)) {
    const identities = identitiesAt(buffer, extent, row, length)
    for (let index = 0; index < length; index += 1)
      keys[at + index] = identities.keys[2 * index] ?? 0
    const source = codesAt(buffer, extent, { stride, row, length })
    bounds.set(source.bounds, at * BOUND_BYTES)
    heads.set(source.heads, (at * stride) / 2)
    tails.set(source.tails, (at * stride) / 2)
  }
  const header: Header = { format: FORMAT, state, stride, count }
  return checkedBytes(header, [keys, bounds, heads, tails])
}

export function restore(kernel: Kernel, task: RestoreTask): RestoreResult {
  const { bytes, state, shape, rows, addedAt } = task
  const { stride } = shape
  const count = rows.length
  const saved = ofCheckedBytes(bytes, (header: Header, next) => {
    const isSame = header.format === FORMAT && header.state === state && header.stride === stride
    if (!isSame || header.count !== count) return null
    const keys = new Float64Array(next(count * 8))
    const bounds = new Uint8Array(next(count * BOUND_BYTES))
    const [heads, tails] = [next((count * stride) / 2), next((count * stride) / 2)]
    return { keys, bounds, heads: new Uint8Array(heads), tails: new Uint8Array(tails) }
  })
  if (saved === null) return { kind: 'restored', keys: null }
  const { buffer } = kernel.memory
  for (const { extent, row, at, length } of runsOf(task)) {
    const identities = identitiesAt(buffer, extent, row, length)
    for (let index = 0; index < length; index += 1) {
      identities.keys[2 * index] = saved.keys[at + index] ?? 0
      identities.versions[4 * index + 2] = addedAt
      identities.versions[4 * index + 3] = NEVER
    }
    const target = codesAt(buffer, extent, { stride, row, length })
    target.bounds.set(saved.bounds.subarray(at * BOUND_BYTES, (at + length) * BOUND_BYTES))
    target.heads.set(saved.heads.subarray((at * stride) / 2, ((at + length) * stride) / 2))
    target.tails.set(saved.tails.subarray((at * stride) / 2, ((at + length) * stride) / 2))
  }
  return { kind: 'restored', keys: saved.keys }
}

export function fill(kernel: Kernel, task: FillTask): FillResult {
  const { vectors, shape, rows } = task
  const { buffer } = kernel.memory
  const dimensions = vectors.length / rows.length
  for (const { extent, row, at, length } of runsOf(task)) {
    const { floats } = extentLayout(extent, shape.stride)
    const target = new Float32Array(buffer, floats + row * shape.stride * 4, length * shape.stride)
    for (let index = 0; index < length; index += 1) {
      const from = (at + index) * dimensions
      const start = index * shape.stride
      target.set(vectors.subarray(from, from + dimensions), start)
      target.fill(0, start + dimensions, start + shape.stride)
    }
  }
  return { kind: 'filled' }
}

/** Of vectors in sequence, those that are chosen. */
export function chosenVectors(vectors: Float32Array, isChosen: readonly boolean[]): Float32Array {
  if (isChosen.every(Boolean)) return vectors
  const dimensions = vectors.length / isChosen.length
  return vectors.filter((_, at) => isChosen[Math.floor(at / dimensions)])
}

/** Consecutive rows of an extent, from index `at` of the list on. */
interface Run {
  readonly extent: Extent
  readonly row: number
  readonly at: number
  readonly length: number
}

function* runsOf({ parts, rows }: Omit<PlacedRows, 'shape'>): Generator<Run, void, void> {
  for (let part = 0; part < parts.length; part += PART_WORDS) {
    const [address = 0, capacity = 0, from = 0, to = 0] = parts.subarray(part)
    for (let at = from, end = from; at < to; at = end) {
      const row = rows[at] ?? 0
      while (end < to && rows[end] === row + end - at) end += 1
      yield { extent: { address, capacity }, row, at, length: end - at }
    }
  }
}

function arraysFor(count: number, stride: number) {
  return {
    bounds: new Uint8Array(count * BOUND_BYTES),
    heads: new Uint8Array((count * stride) / 2),
    tails: new Uint8Array((count * stride) / 2),
  }
}

/** The words of a row's identity: key f64, added u32, removed u32. */
function identitiesAt(buffer: ArrayBufferLike, extent: Extent, row: number, length: number) {
  const address = extent.address + row * IDENTITY_BYTES
  return {
    keys: new Float64Array(buffer, address, length * 2),
    versions: new Uint32Array(buffer, address, length * 4),
  }
}

function codesAt(
  buffer: ArrayBufferLike,
  extent: Extent,
  {
    stride,
    row,
    length,
  }: { readonly stride: number; readonly row: number; readonly length: number },
) {
  const { bounds, heads, tails } = extentLayout(extent, stride)
  const half = stride / 2
  return {
    bounds: new Uint8Array(buffer, bounds + row * BOUND_BYTES, length * BOUND_BYTES),
    heads: new Uint8Array(buffer, heads + row * half, length * half),
    tails: new Uint8Array(buffer, tails + row * half, length * half),
  }
}
