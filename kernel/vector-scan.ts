/**
 * The scan of a vector index, in AssemblyScript: `scripts/build-kernel.ts` compiles it, and
 * `src/search/vector/scalar-kernel.ts` says the same in plain TypeScript, operation by operation.
 *
 * A vector x (float32, |x| near 1) is stored with 8-bit codes c, a scale s and the length of what
 * rounding lost, e = |x - s*c|. For a query y held in 16-bit codes a with scale t, where
 * f = |y - t*a|, Cauchy and Schwarz give
 *
 *     | <x,y> - s*t*<c,a> |  <=  e*|y| + |x|*f
 *
 * so the codes alone tell which rows can not be among the nearest k. All others are measured with
 * their floats: the answer is that of the exact scan.
 *
 * The offsets are those of `src/search/vector/memory-layout.ts`, which `configure` hands over. One
 * instance belongs to one thread; what threads share is the rows.
 */

const ROWS_PER_BLOCK_LOG2: i32 = 8
const ROWS_PER_BLOCK: i32 = 1 << ROWS_PER_BLOCK_LOG2
const ROW_MASK: i32 = ROWS_PER_BLOCK - 1

// Of a row's facts: key f64, version u64 (added at | removed at << 32), scale f32, lost f32.
const FACT_BYTES: usize = 24
const VERSION: usize = 8
const SCALE: usize = 16
const LOST: usize = 20

/** Removed at this: not removed. */
const NEVER: u64 = 0xffffffff

const CANDIDATE_BYTES: usize = 24
/** How far from 1 the squared length of a stored vector may be. */
const LENGTH_TOLERANCE: f64 = 0.001
/** |x| of any stored vector, at most. */
const LENGTH_MAX: f64 = 1.001
/** More than float64 arithmetic loses in sums of 4096 products. */
const ARITHMETIC_SLACK: f64 = 0.000000001
/** Partial sums of products stay within an i32. */
const SUM_MAX: f64 = 2147000000.0
const QUERY_CODE_MAX: f64 = 32767.0

let stride: usize = 0
let holdsFloats: bool = false
let blocks: usize = 0
let blockBytes: usize = 0
let factsOffset: usize = 0
let floatsOffset: usize = 0

let input: usize = 0
let queryCodes: usize = 0
let rowList: usize = 0
let distances: usize = 0
let keys: usize = 0
let lowers: usize = 0
let candidates: usize = 0
let candidatesMax: i32 = 0

let wanted: i32 = 0
let snapshot: u64 = 0
let queryScale: f64 = 0
let slack: f64 = 0
let foundCount: i32 = 0
let lowerCount: i32 = 0
let candidateCount: i32 = 0
/** No row with a smaller inner product can be among the nearest. */
let threshold: f64 = -Infinity

export function configureRows(
  rowStride: i32,
  withFloats: i32,
  firstBlock: usize,
  bytesPerBlock: usize,
): void {
  stride = rowStride
  holdsFloats = withFloats != 0
  blocks = firstBlock
  blockBytes = bytesPerBlock
  factsOffset = stride * ROWS_PER_BLOCK
  floatsOffset = factsOffset + FACT_BYTES * ROWS_PER_BLOCK
}

export function configureSlot(
  inputAt: usize,
  queryCodesAt: usize,
  rowListAt: usize,
  distancesAt: usize,
  keysAt: usize,
  lowersAt: usize,
  candidatesAt: usize,
  candidateLimit: i32,
): void {
  input = inputAt
  queryCodes = queryCodesAt
  rowList = rowListAt
  distances = distancesAt
  keys = keysAt
  lowers = lowersAt
  candidates = candidatesAt
  candidatesMax = candidateLimit
}

// @ts-ignore: a decorator of AssemblyScript
@inline
function blockOf(row: i32): usize {
  return blocks + <usize>(row >> ROWS_PER_BLOCK_LOG2) * blockBytes
}

// @ts-ignore: a decorator of AssemblyScript
@inline
function codesOf(row: i32): usize {
  return blockOf(row) + <usize>(row & ROW_MASK) * stride
}

// @ts-ignore: a decorator of AssemblyScript
@inline
function factsOf(row: i32): usize {
  return blockOf(row) + factsOffset + <usize>(row & ROW_MASK) * FACT_BYTES
}

// @ts-ignore: a decorator of AssemblyScript
@inline
function floatsOf(row: i32): usize {
  return blockOf(row) + floatsOffset + <usize>(row & ROW_MASK) * stride * 4
}

/** Stores the vector in the input as `row`; 0 where it is not of unit length, and nothing is stored. */
export function storeRow(row: i32, key: f64, addedAt: u32): i32 {
  // Every comparison is false for NaN.
  if (!(Math.abs(dotF64(input, input) - 1) <= LENGTH_TOLERANCE)) return 0
  const facts = factsOf(row)
  // First of all: whoever still searches must not take the new vector for the old one.
  atomic.store<u64>(facts, <u64>addedAt | (NEVER << 32), VERSION)
  const codes = codesOf(row)
  const scale = largest() / 127
  const perCode = <f32>1 / scale
  let lost: f64 = 0
  for (let i: usize = 0; i < stride; i += 4) {
    const x = v128.load(input + i * 4)
    // Half to even; at most 127 and a rounding error, which the conversion takes away.
    const near = f32x4.nearest(f32x4.mul(x, f32x4.splat(perCode)))
    const whole = i32x4.trunc_sat_f32x4_s(near)
    const narrow = i16x8.narrow_i32x4_s(whole, whole)
    store<i32>(codes + i, i32x4.extract_lane(i8x16.narrow_i16x8_s(narrow, narrow), 0))
    lost += lostIn(x, whole, <f64>scale)
  }
  if (holdsFloats) memory.copy(floatsOf(row), input, stride * 4)
  store<f64>(facts, key)
  store<f32>(facts, scale, SCALE)
  // Upwards, so that the bound still holds for the rounded figure.
  store<f32>(facts, <f32>(Math.sqrt(lost) * 1.000001 + ARITHMETIC_SLACK), LOST)
  return 1
}

// @ts-ignore: a decorator of AssemblyScript
@inline
function lostIn(x: v128, whole: v128, scale: f64): f64 {
  const factor = f64x2.splat(scale)
  const low = f64x2.sub(
    f64x2.promote_low_f32x4(x),
    f64x2.mul(factor, f64x2.convert_low_i32x4_s(whole)),
  )
  const upperX = i64x2.shuffle(x, x, 1, 0)
  const upperWhole = i64x2.shuffle(whole, whole, 1, 0)
  const high = f64x2.sub(
    f64x2.promote_low_f32x4(upperX),
    f64x2.mul(factor, f64x2.convert_low_i32x4_s(upperWhole)),
  )
  const sum = f64x2.add(f64x2.mul(low, low), f64x2.mul(high, high))
  return f64x2.extract_lane(sum, 0) + f64x2.extract_lane(sum, 1)
}

/** Of the input's parts, without their signs. */
function largest(): f32 {
  let most = f32x4.splat(0)
  for (let i: usize = 0; i < stride; i += 4) {
    most = f32x4.max(most, f32x4.abs(v128.load(input + i * 4)))
  }
  const one = max(f32x4.extract_lane(most, 0), f32x4.extract_lane(most, 1))
  return max(one, max(f32x4.extract_lane(most, 2), f32x4.extract_lane(most, 3)))
}

/** From `removedAt` on nobody sees the row. */
export function removeRow(row: i32, removedAt: u32): void {
  const facts = factsOf(row)
  const addedAt = atomic.load<u64>(facts, VERSION) & NEVER
  atomic.store<u64>(facts, addedAt | (<u64>removedAt << 32), VERSION)
}

/**
 * Begins a search for the `k` nearest to the vector in the input, among the rows as they were at
 * `seenAt`. What lies farther than `farthest` is of no interest.
 */
export function begin(k: i32, seenAt: u32, farthest: f64): void {
  wanted = k
  snapshot = <u64>seenAt
  foundCount = 0
  lowerCount = 0
  candidateCount = 0
  threshold = -Infinity
  raise(1 - farthest - ARITHMETIC_SLACK)
  quantiseQuery()
}

function quantiseQuery(): void {
  const most = <f64>largest()
  const length = Math.sqrt(dotF64(input, input))
  // |c| <= 127*sqrt(stride), and |<c,a>| <= |c|*|a| for the parts of a sum as for the whole.
  const lengthMax = SUM_MAX / (127.0 * Math.sqrt(<f64>stride)) - Math.sqrt(<f64>stride)
  const perCode = min(QUERY_CODE_MAX / most, lengthMax / length)
  queryScale = 1 / perCode
  let lost: f64 = 0
  for (let i: usize = 0; i < stride; i++) {
    const x = <f64>load<f32>(input + i * 4)
    const code = nearest(x * perCode)
    store<i16>(queryCodes + i * 2, <i16>code)
    const rest = x - code * queryScale
    lost += rest * rest
  }
  slack = Math.sqrt(lost) * LENGTH_MAX + ARITHMETIC_SLACK
}

/** Only within [-1, 1]: distances beyond are all 0 or all 2, so that the key decides. */
function raise(product: f64): void {
  if (product > -1) threshold = Math.max(threshold, Math.min(product, 1))
}

/**
 * Looks at the rows [from, to). Returns how far it came: `to`, or less where the candidates are
 * full and must be taken out first, which happens only without floats.
 */
export function scanRange(from: i32, to: i32): i32 {
  let row = from
  while (row < to) {
    const end = min(to, (row | ROW_MASK) + 1)
    let codes = codesOf(row)
    let facts = factsOf(row)
    for (; row < end; row++) {
      if (!considered(row, facts, dotCodes(codes))) return row
      codes += stride
      facts += FACT_BYTES
    }
  }
  return to
}

/** The same for the rows at [from, to) of the row list. */
export function scanRows(from: i32, to: i32): i32 {
  for (let i = from; i < to; i++) {
    const row = load<i32>(rowList + (<usize>i << 2))
    if (!considered(row, factsOf(row), dotCodes(codesOf(row)))) return i
  }
  return to
}

// @ts-ignore: a decorator of AssemblyScript
@inline
function dotCodes(codes: usize): i32 {
  let even = i32x4.splat(0)
  let odd = i32x4.splat(0)
  const end = codes + stride
  let query = queryCodes
  for (let at = codes; at < end; at += 16) {
    even = i32x4.add(even, i32x4.dot_i16x8_s(v128.load_ext<i8>(at), v128.load(query)))
    odd = i32x4.add(odd, i32x4.dot_i16x8_s(v128.load_ext<i8>(at, 8), v128.load(query, 16)))
    query += 32
  }
  const sum = i32x4.add(even, odd)
  const front = i32x4.extract_lane(sum, 0) + i32x4.extract_lane(sum, 1)
  return front + i32x4.extract_lane(sum, 2) + i32x4.extract_lane(sum, 3)
}

// @ts-ignore: a decorator of AssemblyScript
@inline
function considered(row: i32, facts: usize, product: i32): bool {
  const estimate = <f64>product * <f64>load<f32>(facts, SCALE) * queryScale
  const lost = <f64>load<f32>(facts, LOST) + slack
  if (estimate + lost < threshold) return true
  return taken(row, facts, estimate, lost)
}

/** False where there is no room: then nothing has happened. */
function taken(row: i32, facts: usize, estimate: f64, lost: f64): bool {
  const version = atomic.load<u64>(facts, VERSION)
  if ((version & NEVER) > snapshot || version >> 32 <= snapshot) return true
  if (candidateCount == candidatesMax) {
    settle()
    if (candidateCount == candidatesMax) return false
  }
  const at = candidates + <usize>candidateCount * CANDIDATE_BYTES
  store<f64>(at, estimate + lost)
  store<f64>(at, estimate - lost, 8)
  store<i32>(at, row, 16)
  candidateCount++
  offerLower(estimate - lost)
  return true
}

/** With floats: measures all candidates. Without: drops those that are out of the question by now. */
function settle(): void {
  let kept = 0
  for (let i = 0; i < candidateCount; i++) {
    const at = candidates + <usize>i * CANDIDATE_BYTES
    if (load<f64>(at) < threshold) continue
    const row = load<i32>(at, 16)
    if (holdsFloats) {
      measure(row)
    } else {
      memory.copy(candidates + <usize>kept * CANDIDATE_BYTES, at, CANDIDATE_BYTES)
      kept++
    }
  }
  candidateCount = kept
}

function measure(row: i32): void {
  const distance = Math.min(2, Math.max(0, 1 - dotF64(input, floatsOf(row))))
  const key = load<f64>(factsOf(row))
  if (foundCount < wanted) {
    siftUp(foundCount, distance, key)
    foundCount++
  } else if (isFarther(load<f64>(distances), load<f64>(keys), distance, key)) {
    siftDown(foundCount, distance, key)
  }
  if (foundCount == wanted) raise(1 - load<f64>(distances) - ARITHMETIC_SLACK)
}

/** In float64 and in this order, whatever the thread and the part of the rows. */
function dotF64(one: usize, other: usize): f64 {
  let front = f64x2.splat(0)
  let back = f64x2.splat(0)
  for (let i: usize = 0; i < stride * 4; i += 16) {
    const a = v128.load(one + i)
    const b = v128.load(other + i)
    front = f64x2.add(front, f64x2.mul(f64x2.promote_low_f32x4(a), f64x2.promote_low_f32x4(b)))
    const c = i64x2.shuffle(a, a, 1, 0)
    const d = i64x2.shuffle(b, b, 1, 0)
    back = f64x2.add(back, f64x2.mul(f64x2.promote_low_f32x4(c), f64x2.promote_low_f32x4(d)))
  }
  const sum = f64x2.add(front, back)
  return f64x2.extract_lane(sum, 0) + f64x2.extract_lane(sum, 1)
}

/** Measures what is left and sorts. Returns how many were found: the nearest first. */
export function finish(): i32 {
  settle()
  if (!holdsFloats) return 0
  const count = foundCount
  for (let last = count - 1; last > 0; last--) {
    const distance = load<f64>(distances)
    const key = load<f64>(keys)
    siftDown(last, load<f64>(distances + (<usize>last << 3)), load<f64>(keys + (<usize>last << 3)))
    put(last, distance, key)
  }
  foundCount = 0
  return count
}

/** Without floats: how many candidates there are. The next begin or `dropCandidates` forgets them. */
export function candidatesHeld(): i32 {
  return candidateCount
}

export function dropCandidates(): void {
  candidateCount = 0
}

// The found: a heap with the farthest on top.

// @ts-ignore: a decorator of AssemblyScript
@inline
function isFarther(distance: f64, key: f64, thanDistance: f64, thanKey: f64): bool {
  return distance > thanDistance || (distance == thanDistance && key > thanKey)
}

// @ts-ignore: a decorator of AssemblyScript
@inline
function put(at: i32, distance: f64, key: f64): void {
  store<f64>(distances + (<usize>at << 3), distance)
  store<f64>(keys + (<usize>at << 3), key)
}

function siftUp(from: i32, distance: f64, key: f64): void {
  let at = from
  while (at > 0) {
    const parent = (at - 1) >> 1
    const parentDistance = load<f64>(distances + (<usize>parent << 3))
    const parentKey = load<f64>(keys + (<usize>parent << 3))
    if (!isFarther(distance, key, parentDistance, parentKey)) break
    put(at, parentDistance, parentKey)
    at = parent
  }
  put(at, distance, key)
}

/** Puts the pair in the place of the top, in a heap of `count`. */
function siftDown(count: i32, distance: f64, key: f64): void {
  let at = 0
  for (let child = 1; child < count; child = 2 * at + 1) {
    let childDistance = load<f64>(distances + (<usize>child << 3))
    let childKey = load<f64>(keys + (<usize>child << 3))
    if (child + 1 < count) {
      const rightDistance = load<f64>(distances + (<usize>child << 3), 8)
      const rightKey = load<f64>(keys + (<usize>child << 3), 8)
      if (isFarther(rightDistance, rightKey, childDistance, childKey)) {
        child++
        childDistance = rightDistance
        childKey = rightKey
      }
    }
    if (!isFarther(childDistance, childKey, distance, key)) break
    put(at, childDistance, childKey)
    at = child
  }
  put(at, distance, key)
}

// The lower bounds of inner products: a heap of the k largest with the smallest on top.

function offerLower(lower: f64): void {
  if (lowerCount < wanted) {
    let at = lowerCount
    lowerCount++
    while (at > 0) {
      const parent = (at - 1) >> 1
      const above = load<f64>(lowers + (<usize>parent << 3))
      if (above <= lower) break
      store<f64>(lowers + (<usize>at << 3), above)
      at = parent
    }
    store<f64>(lowers + (<usize>at << 3), lower)
  } else if (lower > load<f64>(lowers)) {
    replaceLowest(lower)
  }
  if (lowerCount == wanted) raise(load<f64>(lowers))
}

function replaceLowest(lower: f64): void {
  let at = 0
  for (let child = 1; child < lowerCount; child = 2 * at + 1) {
    let below = load<f64>(lowers + (<usize>child << 3))
    if (child + 1 < lowerCount) {
      const right = load<f64>(lowers + (<usize>child << 3), 8)
      if (right < below) {
        child++
        below = right
      }
    }
    if (below >= lower) break
    store<f64>(lowers + (<usize>at << 3), below)
    at = child
  }
  store<f64>(lowers + (<usize>at << 3), lower)
}
