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

import {
  isFarther,
  pushNumber,
  pushPair,
  replaceLowest,
  replaceTop,
  sortPairs,
} from './nearest-heap'
import { assignTo, compareWith } from './nearest-lists'

// Of a row's identity: key f64, version u64 (added at | removed at << 32).
const IDENTITY_BYTES: usize = 16
const VERSION: usize = 8
// Of a row's bound: scale f32, lost f32.
const BOUND_BYTES: usize = 8
const LOST: usize = 4

/** Removed at this: not removed. */
const NEVER: u64 = 0xffffffff

// Of a candidate: upper f64, lower f64, then the addresses of identity and floats, or else its key.
const CANDIDATE_BYTES: usize = 24
const LOWER: usize = 8
const WHERE: usize = 16

/** How far from 1 the squared length of a stored vector may be. */
const LENGTH_TOLERANCE: f64 = 0.001
/** |x| of any stored vector, at most. */
const LENGTH_MAX: f64 = 1.001
/** More than float32 arithmetic loses in the sum of 4096 squares, and in their parts. */
const LOST_FACTOR: f64 = 1.0001
const LOST_MARGIN: f64 = 0.000001
/** More than float64 arithmetic loses in sums of 4096 products. */
const ARITHMETIC_SLACK: f64 = 0.000000001
/** Partial sums of products stay within an i32. */
const SUM_MAX: f64 = 2147000000.0
const QUERY_CODE_MAX: f64 = 32767.0

let stride: usize = 0
let holdsFloats: bool = false
let identities: usize = 0
let bounds: usize = 0
let codes: usize = 0
let floats: usize = 0

let input: usize = 0
let queryCodes: usize = 0
let rowList: usize = 0
let distances: usize = 0
let keys: usize = 0
/** Lower bounds of inner products: the k largest. */
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

/** @param rowStride codes per row: the dimensions, filled up with zeros to a multiple of 16 */
export function openIndex(rowStride: i32, withFloats: i32): void {
  stride = rowStride
  holdsFloats = withFloats != 0
}

/** Rows are counted from 0 within the extent that was opened last. */
export function openExtent(address: usize, capacity: i32): void {
  identities = address
  bounds = identities + IDENTITY_BYTES * <usize>capacity
  codes = bounds + BOUND_BYTES * <usize>capacity
  floats = codes + stride * <usize>capacity
}

/** The first rows of an extent are centroids; its index has been opened. */
export function openCentroids(address: usize, capacity: i32, count: i32): void {
  const at = address + IDENTITY_BYTES * <usize>capacity
  compareWith(at, at + BOUND_BYTES * <usize>capacity, stride, count)
}

/** Puts for each row at [0, rowCount) of the row list the number of its nearest centroid there. */
export function assignRows(rowCount: i32): void {
  assignTo(rowList, rowCount, codes, candidates)
}

/** Where this thread has its scratch memory. */
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
function identityOf(row: i32): usize {
  return identities + <usize>row * IDENTITY_BYTES
}

// @ts-ignore: a decorator of AssemblyScript
@inline
function boundOf(row: i32): usize {
  return bounds + <usize>row * BOUND_BYTES
}

// @ts-ignore: a decorator of AssemblyScript
@inline
function codesOf(row: i32): usize {
  return codes + <usize>row * stride
}

// @ts-ignore: a decorator of AssemblyScript
@inline
function floatsOf(row: i32): usize {
  return floats + <usize>row * stride * 4
}

/** Stores the vector in the input as `row`; 0, and nothing, where it is not of unit length. */
export function storeRow(row: i32, key: f64, addedAt: u32): i32 {
  // Every comparison is false for NaN.
  if (!(Math.abs(dotF64(input, input) - 1) <= LENGTH_TOLERANCE)) return 0
  const identity = identityOf(row)
  // First of all: whoever still searches must not take the new vector for the old one.
  atomic.store<u64>(identity, <u64>addedAt | (NEVER << 32), VERSION)
  store<f64>(identity, key)
  quantise(row)
  if (holdsFloats) memory.copy(floatsOf(row), input, stride * 4)
  return 1
}

function quantise(row: i32): void {
  const target = codesOf(row)
  const scale = largest() / 127
  const perCode = f32x4.splat(<f32>1 / scale)
  let squares = f32x4.splat(0)
  for (let i: usize = 0; i < stride; i += 16) {
    const from = input + i * 4
    const a = rounded(v128.load(from), perCode)
    const b = rounded(v128.load(from, 16), perCode)
    const c = rounded(v128.load(from, 32), perCode)
    const d = rounded(v128.load(from, 48), perCode)
    const front = i16x8.narrow_i32x4_s(i32x4.trunc_sat_f32x4_s(a), i32x4.trunc_sat_f32x4_s(b))
    const back = i16x8.narrow_i32x4_s(i32x4.trunc_sat_f32x4_s(c), i32x4.trunc_sat_f32x4_s(d))
    v128.store(target + i, i8x16.narrow_i16x8_s(front, back))
    const size = f32x4.splat(scale)
    squares = f32x4.add(squares, squaredRest(v128.load(from), a, size))
    squares = f32x4.add(squares, squaredRest(v128.load(from, 16), b, size))
    squares = f32x4.add(squares, squaredRest(v128.load(from, 32), c, size))
    squares = f32x4.add(squares, squaredRest(v128.load(from, 48), d, size))
  }
  const front = <f64>f32x4.extract_lane(squares, 0) + <f64>f32x4.extract_lane(squares, 1)
  const back = <f64>f32x4.extract_lane(squares, 2) + <f64>f32x4.extract_lane(squares, 3)
  const bound = boundOf(row)
  store<f32>(bound, scale)
  store<f32>(bound, <f32>(Math.sqrt(front + back) * LOST_FACTOR + LOST_MARGIN), LOST)
}

/** Half to even; at most 127 and a rounding error, which the conversion takes away. */
// @ts-ignore: a decorator of AssemblyScript
@inline
function rounded(x: v128, perCode: v128): v128 {
  return f32x4.nearest(f32x4.mul(x, perCode))
}

// @ts-ignore: a decorator of AssemblyScript
@inline
function squaredRest(x: v128, code: v128, scale: v128): v128 {
  const rest = f32x4.sub(x, f32x4.mul(code, scale))
  return f32x4.mul(rest, rest)
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
  const identity = identityOf(row)
  const addedAt = atomic.load<u64>(identity, VERSION) & NEVER
  atomic.store<u64>(identity, addedAt | (<u64>removedAt << 32), VERSION)
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
  for (let row = from; row < to; row++) {
    if (!isSettled(row)) return row
  }
  return to
}

/** The same for the rows at [from, to) of the row list. */
export function scanRows(from: i32, to: i32): i32 {
  for (let i = from; i < to; i++) {
    if (!isSettled(load<i32>(rowList + (<usize>i << 2)))) return i
  }
  return to
}

/** True once the row is out of the question or among the candidates. */
// @ts-ignore: a decorator of AssemblyScript
@inline
function isSettled(row: i32): bool {
  const bound = boundOf(row)
  const estimate = <f64>dotCodes(codesOf(row)) * <f64>load<f32>(bound) * queryScale
  const lost = <f64>load<f32>(bound, LOST) + slack
  if (estimate + lost < threshold) return true
  return isTaken(row, estimate, lost)
}

// @ts-ignore: a decorator of AssemblyScript
@inline
function dotCodes(first: usize): i32 {
  let even = i32x4.splat(0)
  let odd = i32x4.splat(0)
  const end = first + stride
  let query = queryCodes
  for (let at = first; at < end; at += 16) {
    even = i32x4.add(even, i32x4.dot_i16x8_s(v128.load_ext<i8>(at), v128.load(query)))
    odd = i32x4.add(odd, i32x4.dot_i16x8_s(v128.load_ext<i8>(at, 8), v128.load(query, 16)))
    query += 32
  }
  const sum = i32x4.add(even, odd)
  const front = i32x4.extract_lane(sum, 0) + i32x4.extract_lane(sum, 1)
  return front + i32x4.extract_lane(sum, 2) + i32x4.extract_lane(sum, 3)
}

function offerLower(lower: f64): void {
  if (lowerCount < wanted) {
    pushNumber(lowers, lowerCount, lower)
    lowerCount++
  } else if (lower > load<f64>(lowers)) {
    replaceLowest(lowers, lowerCount, lower)
  }
  if (lowerCount == wanted) raise(load<f64>(lowers))
}

/** False where there is no room: then nothing has happened. */
function isTaken(row: i32, estimate: f64, lost: f64): bool {
  const identity = identityOf(row)
  const version = atomic.load<u64>(identity, VERSION)
  if ((version & NEVER) > snapshot || version >> 32 <= snapshot) return true
  if (candidateCount == candidatesMax) {
    settle()
    if (candidateCount == candidatesMax) return false
  }
  const at = candidates + <usize>candidateCount * CANDIDATE_BYTES
  store<f64>(at, estimate + lost)
  store<f64>(at, estimate - lost, LOWER)
  if (holdsFloats) {
    store<u32>(at, <u32>identity, WHERE)
    store<u32>(at, <u32>floatsOf(row), WHERE + 4)
  } else {
    store<f64>(at, load<f64>(identity), WHERE)
  }
  candidateCount++
  offerLower(estimate - lost)
  return true
}

/** With floats: measures all candidates. Without: drops those that are out of the question. */
function settle(): void {
  let kept = 0
  for (let i = 0; i < candidateCount; i++) {
    const at = candidates + <usize>i * CANDIDATE_BYTES
    if (load<f64>(at) < threshold) continue
    if (holdsFloats) {
      measure(load<u32>(at, WHERE), load<u32>(at, WHERE + 4))
    } else {
      memory.copy(candidates + <usize>kept * CANDIDATE_BYTES, at, CANDIDATE_BYTES)
      kept++
    }
  }
  candidateCount = kept
}

function measure(identity: usize, vector: usize): void {
  const distance = Math.min(2, Math.max(0, 1 - dotF64(input, vector)))
  const key = load<f64>(identity)
  if (foundCount < wanted) {
    pushPair(distances, keys, foundCount, distance, key)
    foundCount++
  } else if (isFarther(load<f64>(distances), load<f64>(keys), distance, key)) {
    replaceTop(distances, keys, foundCount, distance, key)
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

/**
 * With floats: measures what is left and sorts, the nearest first; returns how many were found.
 * Without: returns how many candidates are left, in no order.
 */
export function finish(): i32 {
  settle()
  if (!holdsFloats) return candidateCount
  sortPairs(distances, keys, foundCount)
  return foundCount
}

/** The caller has copied the candidates: `finish` said how many there were, or they were full. */
export function dropCandidates(): void {
  candidateCount = 0
}
