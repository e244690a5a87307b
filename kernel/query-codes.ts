/**
 * The codes of the query vector and their products with a row's codes, in AssemblyScript. Fine
 * codes have 16 bits and are multiplied with whole codes. Coarse codes have 8 bits and are
 * multiplied with the upper halves of codes, 16 at once with relaxed SIMD.
 */

import { backOf, frontOf, lowerBits, upperBits } from './row-codes'

/** Keeps partial sums of products within an i32. */
const SUM_MAX: f64 = 2147000000.0
const FINE_MAX: f64 = 32767.0
const COARSE_MAX: f64 = 127.0
/** The average value of a code whose upper half is 0; 128 is added to each code. */
export const COARSE_ZERO: f64 = 7.5 - 128.0
const HEADS_BYTES: usize = 64

let fineCodes: usize = 0
export let coarseCodes: usize = 0
export let coarseSum: f64 = 0
let stride: usize = 0

/** The value of one code step, and the length of the rounding error. */
export let fineScale: f64 = 0
export let fineLost: f64 = 0
export let coarseScale: f64 = 0
export let coarseLost: f64 = 0

export function placeCodes(fineAt: usize, coarseAt: usize): void {
  fineCodes = fineAt
  coarseCodes = coarseAt
}

/**
 * @param most the largest absolute value in the query
 * @param length of the query
 */
export function readQuery(query: usize, rowStride: usize, most: f64, length: f64): void {
  stride = rowStride
  // |c| <= 127*sqrt(stride), and |<c,a>| <= |c|*|a| also for partial sums.
  const lengthMax = SUM_MAX / (127.0 * Math.sqrt(<f64>stride)) - Math.sqrt(<f64>stride)
  const perCode = min(FINE_MAX / most, lengthMax / length)
  fineScale = 1 / perCode
  coarseScale = most / COARSE_MAX
  coarseSum = 0
  let fine: f64 = 0
  let coarse: f64 = 0
  for (let i: usize = 0; i < stride; i++) {
    const x = <f64>load<f32>(query + i * 4)
    const code = nearest(x * perCode)
    store<i16>(fineCodes + i * 2, <i16>code)
    const rest = x - code * fineScale
    fine += rest * rest
    const near = nearest(x / coarseScale)
    store<i8>(coarseCodes + i, <i8>near)
    coarseSum += near
    const far = x - near * coarseScale
    coarse += far * far
  }
  fineLost = Math.sqrt(fine)
  coarseLost = Math.sqrt(coarse)
}

/** The product with a row's whole codes. */
// @ts-ignore: a decorator of AssemblyScript
@inline
export function dotFine(heads: usize, tails: usize): f64 {
  let even = i32x4.splat(0)
  let odd = i32x4.splat(0)
  let query = fineCodes
  for (let at: usize = 0; at < stride >> 1; at += 16) {
    const upper = v128.load(heads + at)
    const lower = v128.load(tails + at)
    const front = frontOf(upper, lower)
    const back = backOf(upper, lower)
    even = i32x4.add(even, i32x4.dot_i16x8_s(i16x8.extend_low_i8x16_s(front), v128.load(query)))
    odd = i32x4.add(odd, i32x4.dot_i16x8_s(i16x8.extend_high_i8x16_s(front), v128.load(query, 16)))
    even = i32x4.add(even, i32x4.dot_i16x8_s(i16x8.extend_low_i8x16_s(back), v128.load(query, 32)))
    odd = i32x4.add(odd, i32x4.dot_i16x8_s(i16x8.extend_high_i8x16_s(back), v128.load(query, 48)))
    query += 64
  }
  return <f64>sumOf(i32x4.add(even, odd))
}

/**
 * The products with the upper halves of four rows' codes, in float32. The query's codes are loaded
 * once for all four. Requires relaxed SIMD.
 */
// @ts-ignore: a decorator of AssemblyScript
@inline
export function dotCoarse(one: usize, two: usize, three: usize, four: usize): v128 {
  const half = stride >> 1
  let a = i32x4.splat(0)
  let b = i32x4.splat(0)
  let c = i32x4.splat(0)
  let d = i32x4.splat(0)
  let query = coarseCodes
  for (let at: usize = 0; at < half; ) {
    // Eight sums of two products of 127 and 15 are less than 2^15.
    const end = min(at + HEADS_BYTES, half)
    let e = i16x8.splat(0)
    let f = i16x8.splat(0)
    let g = i16x8.splat(0)
    let h = i16x8.splat(0)
    for (; at < end; at += 16) {
      const front = v128.load(query)
      const back = v128.load(query, 16)
      e = i16x8.add(e, products(v128.load(one + at), front, back))
      f = i16x8.add(f, products(v128.load(two + at), front, back))
      g = i16x8.add(g, products(v128.load(three + at), front, back))
      h = i16x8.add(h, products(v128.load(four + at), front, back))
      query += 32
    }
    a = i32x4.add(a, i32x4.extadd_pairwise_i16x8_s(e))
    b = i32x4.add(b, i32x4.extadd_pairwise_i16x8_s(f))
    c = i32x4.add(c, i32x4.extadd_pairwise_i16x8_s(g))
    d = i32x4.add(d, i32x4.extadd_pairwise_i16x8_s(h))
  }
  const sums = f32x4.convert_i32x4_s(sumsOf(a, b, c, d))
  const zero = f32x4.splat(<f32>(COARSE_ZERO * coarseSum))
  return f32x4.add(f32x4.mul(sums, f32x4.splat(16)), zero)
}

/** Multiplies 32 codes in pairs. The second factor is never negative, as relaxed SIMD requires. */
// @ts-ignore: a decorator of AssemblyScript
@inline
function products(heads: v128, front: v128, back: v128): v128 {
  return productsOf(lowerBits(heads), upperBits(heads), front, back)
}

/** Like above, with the upper halves of the first 16 codes and of the others kept apart. */
// @ts-ignore: a decorator of AssemblyScript
@inline
export function productsOf(lower: v128, upper: v128, front: v128, back: v128): v128 {
  const one = i16x8.relaxed_dot_i8x16_i7x16_s(front, lower)
  const other = i16x8.relaxed_dot_i8x16_i7x16_s(back, upper)
  return i16x8.add(one, other)
}

/** The sum of each vector's lanes, in this order. */
// @ts-ignore: a decorator of AssemblyScript
@inline
export function sumsOf(a: v128, b: v128, c: v128, d: v128): v128 {
  const ab = i32x4.add(i32x4.shuffle(a, b, 0, 4, 1, 5), i32x4.shuffle(a, b, 2, 6, 3, 7))
  const cd = i32x4.add(i32x4.shuffle(c, d, 0, 4, 1, 5), i32x4.shuffle(c, d, 2, 6, 3, 7))
  return i32x4.add(i32x4.shuffle(ab, cd, 0, 1, 4, 5), i32x4.shuffle(ab, cd, 2, 3, 6, 7))
}

// @ts-ignore: a decorator of AssemblyScript
@inline
function sumOf(lanes: v128): i32 {
  const front = i32x4.extract_lane(lanes, 0) + i32x4.extract_lane(lanes, 1)
  return front + i32x4.extract_lane(lanes, 2) + i32x4.extract_lane(lanes, 3)
}
