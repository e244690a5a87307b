/**
 * The scan of a vector index, in AssemblyScript. `scripts/build-kernel.ts` compiles it.
 *
 * A vector x (float32, |x| near 1) is stored with 8-bit codes c, a scale s, and the length of the
 * rounding error, e = |x - s*c|. For a query y held in 16-bit codes a with scale t, and
 * f = |y - t*a|, the Cauchy-Schwarz inequality gives
 *
 *     | <x,y> - s*t*<c,a> |  <=  e*|y| + |x|*f
 *
 * so the codes alone show which rows cannot be among the nearest k. All others are measured with
 * their floats, so the result equals that of an exact scan. For most rows the upper halves of their
 * codes are enough, with a larger e. These are stored separately, so that only half of the memory
 * is read.
 *
 * The offsets are those of `src/retrieval/kernel/memory-layout.ts`, passed to `configure`. Each
 * thread has its own instance; all threads share the rows.
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
import {
  coarseLost,
  coarseScale,
  dotCoarse,
  dotFine,
  fineLost,
  fineScale,
  placeCodes,
  readQuery,
} from './query-codes'
import { copyCodes, headsLostLength, lostLength, writeCodes } from './row-codes'
import { lookAt, lookFor, openAfter, sayOfSearch } from './shared-look'

// A row's identity: key f64, version u64 (added at | removed at << 32).
const IDENTITY_BYTES: usize = 16
const VERSION: usize = 8
// A row's bounds: scale f32, error f32, error of the upper halves of its codes f32.
const BOUND_BYTES: usize = 12
const LOST: usize = 4
const HEADS_LOST: usize = 8

/** The "removed at" of a row that was not removed. */
const NEVER: u64 = 0xffffffff

// A candidate: upper f64, lower f64, then the addresses of identity and floats, or else its key.
const CANDIDATE_BYTES: usize = 24
const LOWER: usize = 8
const WHERE: usize = 16

/** How far the squared length of a stored vector may differ from 1. */
const LENGTH_TOLERANCE: f64 = 0.001
/** The largest |x| of a stored vector. */
const LENGTH_MAX: f64 = 1.001
/** More than the float32 rounding error in a sum of 4096 squares and in the squares. */
const LOST_FACTOR: f64 = 1.0001
const LOST_MARGIN: f64 = 0.000001
/** More than the float64 rounding error in sums of 4096 products. */
const ARITHMETIC_SLACK: f64 = 0.000000001
/**
 * More than the float32 rounding error in an estimate from the upper halves of codes. Its terms are
 * at most 240 times a row's scale, which is at most 1/127, times |y| times the square root of the
 * stride, and it is rounded five times.
 */
const FLOAT32_SLACK: f64 = 0.000001

let stride: usize = 0
let holdsFloats: bool = false
let identities: usize = 0
let bounds: usize = 0
let heads: usize = 0
let tails: usize = 0
let floats: usize = 0

let input: usize = 0
let rowCodes: usize = 0
let rowList: usize = 0
let search: usize = 0
let distances: usize = 0
let keys: usize = 0
/** The k largest lower bounds of inner products. */
let lowers: usize = 0
let candidates: usize = 0
let candidatesMax: i32 = 0

let lookCount: i32 = 0
let wanted: i32 = 0
let snapshot: u64 = 0
/** |x|*f, plus the rounding error. */
let fineSlack: f64 = 0
let coarseSlack: f64 = 0
let coarseReach: f64 = 0
let foundCount: i32 = 0
let lowerCount: i32 = 0
let candidateCount: i32 = 0
/** No row with a smaller inner product can be among the nearest. */
let threshold: f64 = -Infinity

/** @param rowStride codes per row: the dimensions, padded with zeros to a multiple of 32 */
export function openIndex(rowStride: i32, withFloats: i32): void {
  stride = rowStride
  holdsFloats = withFloats != 0
}

/** Rows are numbered from 0 within the extent opened last. */
export function openExtent(address: usize, capacity: i32): void {
  identities = address
  bounds = identities + IDENTITY_BYTES * <usize>capacity
  heads = bounds + BOUND_BYTES * <usize>capacity
  tails = heads + (stride >> 1) * <usize>capacity
  floats = tails + (stride >> 1) * <usize>capacity
}

/** Sets the bounds and the codes of the centroids, after their index was opened. */
export function openCentroids(boundsAt: usize, codesAt: usize, count: i32): void {
  compareWith(boundsAt, codesAt, stride, count)
}

/** Replaces each row at [0, rowCount) in the row list by the number of its nearest centroid. */
export function assignRows(rowCount: i32): void {
  assignTo(rowList, rowCount, heads, tails, candidates)
}

/** Sets the scratch memory of this thread. */
export function configureSlot(
  inputAt: usize,
  fineCodesAt: usize,
  coarseCodesAt: usize,
  rowCodesAt: usize,
  rowListAt: usize,
  searchAt: usize,
  distancesAt: usize,
  keysAt: usize,
  lowersAt: usize,
  candidatesAt: usize,
  candidateLimit: i32,
): void {
  input = inputAt
  placeCodes(fineCodesAt, coarseCodesAt)
  rowCodes = rowCodesAt
  rowList = rowListAt
  search = searchAt
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
function headsAt(row: i32): usize {
  return heads + <usize>row * (stride >> 1)
}

// @ts-ignore: a decorator of AssemblyScript
@inline
function tailsAt(row: i32): usize {
  return tails + <usize>row * (stride >> 1)
}

// @ts-ignore: a decorator of AssemblyScript
@inline
function floatsOf(row: i32): usize {
  return floats + <usize>row * stride * 4
}

/** Stores the input vector as `row`. Returns 0 without storing it if its length is not 1. */
export function storeRow(row: i32, key: f64, addedAt: u32): i32 {
  // Every comparison with NaN is false.
  if (!(Math.abs(dotF64(input, input) - 1) <= LENGTH_TOLERANCE)) return 0
  const identity = identityOf(row)
  // Written first, so that a running search does not take the new vector for the old one.
  atomic.store<u64>(identity, <u64>addedAt | (NEVER << 32), VERSION)
  store<f64>(identity, key)
  quantise(row)
  if (holdsFloats) memory.copy(floatsOf(row), input, stride * 4)
  return 1
}

function quantise(row: i32): void {
  const scale = largest() / 127
  writeCodes(input, stride, scale, headsAt(row), tailsAt(row))
  const bound = boundOf(row)
  store<f32>(bound, scale)
  store<f32>(bound, <f32>(lostLength * LOST_FACTOR + LOST_MARGIN), LOST)
  store<f32>(bound, <f32>(headsLostLength * LOST_FACTOR + LOST_MARGIN), HEADS_LOST)
}

/** The largest absolute value in the input. */
function largest(): f32 {
  let most = f32x4.splat(0)
  for (let i: usize = 0; i < stride; i += 4) {
    most = f32x4.max(most, f32x4.abs(v128.load(input + i * 4)))
  }
  const one = max(f32x4.extract_lane(most, 0), f32x4.extract_lane(most, 1))
  return max(one, max(f32x4.extract_lane(most, 2), f32x4.extract_lane(most, 3)))
}

/** Writes the codes of a row to the slot's row codes. */
export function readCodes(row: i32): void {
  copyCodes(headsAt(row), tailsAt(row), stride, rowCodes)
}

/** Searches that start at `removedAt` or later do not see the row. */
export function removeRow(row: i32, removedAt: u32): void {
  const identity = identityOf(row)
  const addedAt = atomic.load<u64>(identity, VERSION) & NEVER
  atomic.store<u64>(identity, addedAt | (<u64>removedAt << 32), VERSION)
}

/**
 * Starts a search for the `k` vectors nearest to the input, among the rows as they were at
 * `seenAt`. Vectors farther away than `farthest` are ignored.
 */
export function begin(k: i32, seenAt: u32, farthest: f64): void {
  wanted = k
  snapshot = <u64>seenAt
  foundCount = 0
  lowerCount = 0
  candidateCount = 0
  threshold = -Infinity
  raise(1 - farthest - ARITHMETIC_SLACK)
  const length = Math.sqrt(dotF64(input, input))
  readQuery(input, stride, <f64>largest(), length)
  fineSlack = fineLost * LENGTH_MAX + ARITHMETIC_SLACK
  // The largest |t*a|. Coarse codes lose too much to be left out.
  coarseReach = length + coarseLost
  const rounding = FLOAT32_SLACK * coarseReach * (1 + Math.sqrt(<f64>stride))
  coarseSlack = coarseLost * LENGTH_MAX + rounding
}

/** Clamped to [-1, 1]: distances beyond are all 0 or all 2, and the key decides. */
function raise(product: f64): void {
  if (product > -1) threshold = Math.max(threshold, Math.min(product, 1))
}

/**
 * Examines the rows [from, to). Returns how far it got: `to`, or less if the candidates are full
 * and must be taken out first, which happens only without floats.
 */
export function scanRange(from: i32, to: i32): i32 {
  let row = from
  if (ASC_FEATURE_RELAXED_SIMD) {
    for (; row + 4 <= to; row += 4) {
      for (let open = openOf(row, row + 1, row + 2, row + 3); open != 0; open &= open - 1) {
        const one = row + ctz(open)
        if (!isSettled(one)) return one
      }
    }
  }
  for (; row < to; row++) {
    if (!isSettled(row)) return row
  }
  return to
}

/** The same for the rows at [from, to) of the row list. */
export function scanRows(from: i32, to: i32): i32 {
  let i = from
  if (ASC_FEATURE_RELAXED_SIMD) {
    for (; i + 4 <= to; i += 4) {
      const at = rowList + (<usize>i << 2)
      let open = openOf(load<i32>(at), load<i32>(at, 4), load<i32>(at, 8), load<i32>(at, 12))
      for (; open != 0; open &= open - 1) {
        const one = i + ctz(open)
        if (!isSettled(load<i32>(rowList + (<usize>one << 2)))) return one
      }
    }
  }
  for (; i < to; i++) {
    if (!isSettled(load<i32>(rowList + (<usize>i << 2)))) return i
  }
  return to
}

/**
 * Writes this search's parameters and current bounds for a joint look. Returns their address; 0 if
 * a joint look is not possible.
 */
export function joinLook(): usize {
  if (!ASC_FEATURE_RELAXED_SIMD) return 0
  sayOfSearch(search, rowList, coarseReach, coarseSlack, threshold)
  return search
}

/**
 * Sets the searches for the next looks, by the addresses of their parameters: `count` of them, and
 * others that are ignored.
 */
export function beginLook(one: usize, two: usize, three: usize, four: usize, count: i32): void {
  lookFor(one, two, three, four)
  lookCount = count
}

/**
 * For each search, lists those of the rows [from, to) that it cannot rule out. There must be room
 * for all.
 */
export function look(from: i32, to: i32): void {
  if (ASC_FEATURE_RELAXED_SIMD) lookAt(heads, bounds, stride, from, to, lookCount)
}

/** The number of rows on the row list after a look. */
export function openCount(): i32 {
  return openAfter(search)
}

/**
 * Examines the rows [from, to) of the row list more closely. Returns how far it got, like
 * `scanRange`.
 */
export function settleRows(from: i32, to: i32): i32 {
  for (let i = from; i < to; i++) {
    if (!isSettled(load<i32>(rowList + (<usize>i << 2)))) return i
  }
  return to
}

/** A bit for each of four rows that the upper halves of its codes do not rule out. */
// @ts-ignore: a decorator of AssemblyScript
@inline
function openOf(one: i32, two: i32, three: i32, four: i32): i32 {
  const products = dotCoarse(headsAt(one), headsAt(two), headsAt(three), headsAt(four))
  // Each row's scale, error, and error of the upper halves. The next value is not used.
  const a = v128.load(boundOf(one))
  const b = v128.load(boundOf(two))
  const c = v128.load(boundOf(three))
  const d = v128.load(boundOf(four))
  const ab = i32x4.shuffle(a, b, 0, 4, 2, 6)
  const cd = i32x4.shuffle(c, d, 0, 4, 2, 6)
  const scales = i32x4.shuffle(ab, cd, 0, 1, 4, 5)
  const lost = i32x4.shuffle(ab, cd, 2, 3, 6, 7)
  const estimates = f32x4.mul(products, f32x4.mul(scales, f32x4.splat(<f32>coarseScale)))
  const slack = f32x4.mul(lost, f32x4.splat(<f32>coarseReach))
  const upper = f32x4.add(estimates, f32x4.add(slack, f32x4.splat(<f32>coarseSlack)))
  return i32x4.bitmask(f32x4.ge(upper, f32x4.splat(<f32>threshold)))
}

/** True if the row was ruled out or is among the candidates. */
// @ts-ignore: a decorator of AssemblyScript
@inline
function isSettled(row: i32): bool {
  const bound = boundOf(row)
  const scale = <f64>load<f32>(bound)
  const estimate = dotFine(headsAt(row), tailsAt(row)) * scale * fineScale
  const lost = <f64>load<f32>(bound, LOST) + fineSlack
  if (estimate + lost < threshold) return true
  return isTaken(row, estimate, lost)
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

/** False if there is no room; nothing has changed then. */
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

/** With floats, measures all candidates. Without, drops those that cannot be among the nearest. */
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

/** Adds in float64 and in this order, so the result does not depend on the thread. */
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
 * With floats, measures the remaining candidates, sorts them nearest first, and returns how many
 * there are. Without, returns the number of candidates, which are not sorted.
 */
export function finish(): i32 {
  settle()
  if (!holdsFloats) return candidateCount
  sortPairs(distances, keys, foundCount)
  return foundCount
}

/** Call after copying the candidates, when they were full or `finish` has returned their number. */
export function dropCandidates(): void {
  candidateCount = 0
}
