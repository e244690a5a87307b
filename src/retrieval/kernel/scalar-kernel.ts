import type { KernelOperations } from './kernel.ts'
import {
  BOUND_BYTES,
  CANDIDATE_BYTES,
  CANDIDATES_MAX,
  type ExtentLayout,
  extentLayout,
  type MemoryViews,
  memoryViews,
  type SlotLayout,
} from './memory-layout.ts'

/** The constants of `kernel/vector-scan.ts`, where they are explained. */
const NEVER = 0xffffffff
const LENGTH_TOLERANCE = 0.001
const LENGTH_MAX = 1.001
const ARITHMETIC_SLACK = 0.000000001
const LOST_FACTOR = 1.0001
const LOST_MARGIN = 0.000001
const SUM_MAX = 2147000000
const QUERY_CODE_MAX = 32767
/** Scale, what is lost, and what the upper halves of codes lose, which only relaxed SIMD needs. */
const BOUND_WORDS = BOUND_BYTES / 4
/** Adding and taking away 1.5 * 2^23 (2^52) leaves a float32 (float64) rounded half to even. */
const ROUNDING_F32 = 12582912
const ROUNDING_F64 = 6755399441055744

const NOWHERE: ExtentLayout = { identities: 0, bounds: 0, heads: 0, tails: 0, floats: 0 }

/**
 * The kernel where the processor or the engine has no SIMD: the same bytes and the same neighbours,
 * a multiple of the time.
 */
export class ScalarKernel implements KernelOperations {
  readonly #memory: WebAssembly.Memory
  readonly #slot: SlotLayout
  #views: MemoryViews
  #stride = 0
  #holdsFloats = false
  #extent = NOWHERE
  #centroids = { boundsAt: 0, codesAt: 0 }
  #centroidCount = 0

  #wanted = 0
  #snapshot = 0
  #queryScale = 0
  #slack = 0
  #threshold = Number.NEGATIVE_INFINITY
  #foundCount = 0
  #candidateCount = 0
  /** The k largest lower bounds, ascending. */
  #lowers: number[] = []
  /** Of each candidate with floats: its identity's and its floats' address. */
  readonly #places: (readonly [number, number])[] = []

  constructor(memory: WebAssembly.Memory, slot: SlotLayout) {
    this.#memory = memory
    this.#slot = slot
    this.#views = memoryViews(memory.buffer)
  }

  openIndex(stride: number, holdsFloats: number): void {
    this.#stride = stride
    this.#holdsFloats = holdsFloats !== 0
  }

  openExtent(address: number, capacity: number): void {
    this.#extent = extentLayout({ address, capacity }, this.#stride)
    // Shared memory that has grown shows its new part in a new buffer only.
    const { buffer } = this.#memory
    if (buffer.byteLength !== this.#views.bytes.byteLength) this.#views = memoryViews(buffer)
  }

  storeRow(row: number, key: number, addedAt: number): number {
    const { input } = this.#slot
    if (!(Math.abs(this.#dot(input, input) - 1) <= LENGTH_TOLERANCE)) return 0
    const { words, doubles, floats } = this.#views
    const identity = this.#identityOf(row)
    Atomics.store(words, identity / 4 + 2, addedAt)
    Atomics.store(words, identity / 4 + 3, NEVER)
    doubles[identity / 8] = key
    this.#quantise(row)
    if (this.#holdsFloats) {
      floats.copyWithin(this.#floatsOf(row) / 4, input / 4, input / 4 + this.#stride)
    }
    return 1
  }

  removeRow(row: number, removedAt: number): void {
    Atomics.store(this.#views.words, this.#identityOf(row) / 4 + 3, removedAt)
  }

  begin(k: number, seenAt: number, farthest: number): void {
    this.#wanted = k
    this.#snapshot = seenAt
    this.#foundCount = 0
    this.#lowers = []
    this.dropCandidates()
    this.#threshold = Number.NEGATIVE_INFINITY
    this.#raise(1 - farthest - ARITHMETIC_SLACK)
    this.#quantiseQuery()
  }

  scanRange(from: number, to: number): number {
    for (let row = from; row < to; row++) {
      if (!this.#isSettled(row)) return row
    }
    return to
  }

  scanRows(from: number, to: number): number {
    const first = this.#slot.rowList / 4
    for (let index = from; index < to; index++) {
      if (!this.#isSettled(this.#views.integers[first + index] ?? 0)) return index
    }
    return to
  }

  /** Without SIMD there is no look together. */
  readonly joinLook = () => 0
  readonly openCount = () => 0
  readonly beginLook = noLook
  readonly look = noLook
  readonly settleRows = noLook

  finish(): number {
    this.#settle()
    return this.#holdsFloats ? this.#foundCount : this.#candidateCount
  }

  dropCandidates(): void {
    this.#candidateCount = 0
    this.#places.length = 0
  }

  readCodes(row: number): void {
    const { rowCodes } = this.#slot
    for (let index = 0; index < this.#stride; index++) {
      this.#views.codes[rowCodes + index] = this.#codeAt(row, index)
    }
  }

  openCentroids(boundsAt: number, codesAt: number, count: number): void {
    this.#centroids = { boundsAt, codesAt }
    this.#centroidCount = count
  }

  assignRows(rowCount: number): void {
    const first = this.#slot.rowList / 4
    for (let index = first; index < first + rowCount; index++) {
      const row = this.#views.integers[index] ?? 0
      this.#views.integers[index] = this.#nearestOf(row)
    }
  }

  #nearestOf(row: number): number {
    const { boundsAt, codesAt } = this.#centroids
    const { codes, floats } = this.#views
    const from = this.#slot.rowCodes
    this.readCodes(row)
    let best = Number.NEGATIVE_INFINITY
    let nearest = 0
    for (let centroid = 0; centroid < this.#centroidCount; centroid++) {
      const other = codesAt + centroid * this.#stride
      let sum = 0
      for (let index = 0; index < this.#stride; index++) {
        sum += (codes[from + index] ?? 0) * (codes[other + index] ?? 0)
      }
      const scale = floats[boundsAt / 4 + centroid * BOUND_WORDS] ?? 0
      const near = Math.fround(Math.fround(sum) * scale)
      if (near <= best) continue
      best = near
      nearest = centroid
    }
    return nearest
  }

  #identityOf(row: number): number {
    return this.#extent.identities + row * 16
  }

  #floatsOf(row: number): number {
    return this.#extent.floats + row * this.#stride * 4
  }

  #quantise(row: number): void {
    const { floats } = this.#views
    const from = this.#slot.input / 4
    const scale = Math.fround(this.#largest() / 127)
    const perCode = Math.fround(1 / scale)
    const squares = new Float32Array(4)
    const headSquares = new Float32Array(4)
    for (let index = 0; index < this.#stride; index++) {
      const x = floats[from + index] ?? 0
      const scaled = Math.fround(x * perCode)
      const code = Math.fround(Math.fround(scaled + ROUNDING_F32) - ROUNDING_F32)
      this.#storeCode(row, index, code)
      const lane = index & 3
      squares[lane] = (squares[lane] ?? 0) + squaredRest(x, code, scale)
      const said = Math.floor(code / 16) * 16 + 7.5
      headSquares[lane] = (headSquares[lane] ?? 0) + squaredRest(x, said, scale)
    }
    const bound = this.#extent.bounds / 4 + row * BOUND_WORDS
    floats[bound] = scale
    floats[bound + 1] = lengthOf(squares) * LOST_FACTOR + LOST_MARGIN
    floats[bound + 2] = lengthOf(headSquares) * LOST_FACTOR + LOST_MARGIN
  }

  /** Halves of two codes share a byte, see `kernel/row-codes.ts`. */
  #codeAt(row: number, index: number): number {
    const { bytes } = this.#views
    const { heads, tails } = this.#extent
    const at = (row * this.#stride) / 2 + halfPlace(index)
    const shift = (index & 16) / 4
    const head = ((bytes[heads + at] ?? 0) >> shift) & 15
    const tail = ((bytes[tails + at] ?? 0) >> shift) & 15
    return head * 16 + tail - 128
  }

  #storeCode(row: number, index: number, code: number): void {
    const { bytes } = this.#views
    const { heads, tails } = this.#extent
    const at = (row * this.#stride) / 2 + halfPlace(index)
    const shift = (index & 16) / 4
    const others = 240 >> shift
    // What the conversion to 8 bits takes away is taken away here as well.
    const unsigned = Math.min(code, 127) + 128
    bytes[heads + at] = ((bytes[heads + at] ?? 0) & others) | ((unsigned >> 4) << shift)
    bytes[tails + at] = ((bytes[tails + at] ?? 0) & others) | ((unsigned & 15) << shift)
  }

  #quantiseQuery(): void {
    const { floats, shorts } = this.#views
    const { input, fineCodes } = this.#slot
    const length = Math.sqrt(this.#dot(input, input))
    const lengthMax = SUM_MAX / (127 * Math.sqrt(this.#stride)) - Math.sqrt(this.#stride)
    const perCode = Math.min(QUERY_CODE_MAX / this.#largest(), lengthMax / length)
    this.#queryScale = 1 / perCode
    let lost = 0
    for (let index = 0; index < this.#stride; index++) {
      const x = floats[input / 4 + index] ?? 0
      const code = x * perCode + ROUNDING_F64 - ROUNDING_F64
      shorts[fineCodes / 2 + index] = code
      const rest = x - code * this.#queryScale
      lost += rest * rest
    }
    this.#slack = Math.sqrt(lost) * LENGTH_MAX + ARITHMETIC_SLACK
  }

  #largest(): number {
    const first = this.#slot.input / 4
    let most = 0
    for (let index = 0; index < this.#stride; index++) {
      most = Math.max(most, Math.abs(this.#views.floats[first + index] ?? 0))
    }
    return most
  }

  #raise(product: number): void {
    if (product > -1) this.#threshold = Math.max(this.#threshold, Math.min(product, 1))
  }

  #isSettled(row: number): boolean {
    const bound = this.#extent.bounds / 4 + row * BOUND_WORDS
    const scale = this.#views.floats[bound] ?? 0
    const estimate = this.#dotCodes(row) * scale * this.#queryScale
    const lost = (this.#views.floats[bound + 1] ?? 0) + this.#slack
    if (estimate + lost < this.#threshold) return true
    return this.#isTaken(row, estimate, lost)
  }

  #dotCodes(row: number): number {
    const { codes, shorts } = this.#views
    const first = this.#slot.rowCodes
    const query = this.#slot.fineCodes / 2
    this.readCodes(row)
    let sum = 0
    for (let index = 0; index < this.#stride; index++) {
      sum += (codes[first + index] ?? 0) * (shorts[query + index] ?? 0)
    }
    return sum
  }

  #isTaken(row: number, estimate: number, lost: number): boolean {
    const { words, doubles } = this.#views
    const identity = this.#identityOf(row)
    // In this order: a row that is just being replaced must not look like one that was always there.
    const removedAt = Atomics.load(words, identity / 4 + 3)
    const addedAt = Atomics.load(words, identity / 4 + 2)
    if (addedAt > this.#snapshot || removedAt <= this.#snapshot) return true
    if (this.#candidateCount === CANDIDATES_MAX) {
      this.#settle()
      if (this.#candidateCount === CANDIDATES_MAX) return false
    }
    const at = this.#candidateAt(this.#candidateCount)
    doubles.set([estimate + lost, estimate - lost, doubles[identity / 8] ?? 0], at)
    this.#places[this.#candidateCount] = [identity, this.#floatsOf(row)]
    this.#candidateCount += 1
    this.#offerLower(estimate - lost)
    return true
  }

  #candidateAt(index: number): number {
    return (this.#slot.candidates + index * CANDIDATE_BYTES) / 8
  }

  #offerLower(lower: number): void {
    const lowers = this.#lowers
    if (lowers.length === this.#wanted && lower <= (lowers[0] ?? 0)) return
    const at = firstIndex(lowers.length, (index) => (lowers[index] ?? 0) >= lower)
    lowers.splice(at, 0, lower)
    if (lowers.length > this.#wanted) lowers.shift()
    if (lowers.length === this.#wanted) this.#raise(lowers[0] ?? 0)
  }

  #settle(): void {
    const { doubles } = this.#views
    let remaining = 0
    for (let index = 0; index < this.#candidateCount; index++) {
      const at = this.#candidateAt(index)
      if ((doubles[at] ?? 0) < this.#threshold) continue
      const [identity, floats] = this.#places[index] ?? [0, 0]
      if (this.#holdsFloats) this.#measure(identity, floats)
      else doubles.copyWithin(this.#candidateAt(remaining++), at, at + CANDIDATE_BYTES / 8)
    }
    this.#candidateCount = remaining
  }

  /** Keeps the found sorted, the nearest first. */
  #measure(identity: number, vector: number): void {
    const { doubles } = this.#views
    const product = this.#dot(this.#slot.input, vector)
    const distance = Math.min(2, Math.max(0, 1 - product))
    const key = doubles[identity / 8] ?? 0
    const distances = this.#slot.distances / 8
    const keys = this.#slot.keys / 8
    const at = firstIndex(this.#foundCount, (index) => {
      const other = doubles[distances + index] ?? 0
      return other > distance || (other === distance && (doubles[keys + index] ?? 0) > key)
    })
    if (at === this.#wanted) return
    const last = Math.min(this.#foundCount, this.#wanted - 1)
    doubles.copyWithin(distances + at + 1, distances + at, distances + last)
    doubles.copyWithin(keys + at + 1, keys + at, keys + last)
    doubles[distances + at] = distance
    doubles[keys + at] = key
    this.#foundCount = last + 1
    if (this.#foundCount < this.#wanted) return
    this.#raise(1 - (doubles[distances + last] ?? 0) - ARITHMETIC_SLACK)
  }

  #dot(one: number, other: number): number {
    const { floats } = this.#views
    let [a, b, c, d] = [0, 0, 0, 0]
    for (let index = 0; index < this.#stride; index += 4) {
      const x = one / 4 + index
      const y = other / 4 + index
      a += (floats[x] ?? 0) * (floats[y] ?? 0)
      b += (floats[x + 1] ?? 0) * (floats[y + 1] ?? 0)
      c += (floats[x + 2] ?? 0) * (floats[y + 2] ?? 0)
      d += (floats[x + 3] ?? 0) * (floats[y + 3] ?? 0)
    }
    return a + c + (b + d)
  }
}

/** Of 32 codes the first 16 and the others lie in the same bytes. */
function halfPlace(index: number): number {
  return (index >> 5) * 16 + (index & 15)
}

function squaredRest(x: number, code: number, scale: number): number {
  const rest = Math.fround(x - Math.fround(code * scale))
  return Math.fround(rest * rest)
}

function lengthOf([a = 0, b = 0, c = 0, d = 0]: Float32Array): number {
  return Math.sqrt(a + b + (c + d))
}

/** The first of the indexes [0, count) at which the condition holds from there on; `count` if none. */
function firstIndex(count: number, holds: (index: number) => boolean): number {
  let low = 0
  let high = count
  while (low < high) {
    const middle = (low + high) >> 1
    if (holds(middle)) high = middle
    else low = middle + 1
  }
  return low
}

function noLook(): never {
  throw new Error('there is no look together')
}
