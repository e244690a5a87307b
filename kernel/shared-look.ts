/**
 * The first look of up to four searches at the same rows, in AssemblyScript. The upper halves of a
 * row's codes are loaded and unpacked once for all of them. Each search then settles the rows that
 * remain open by itself.
 */

import {
  COARSE_ZERO,
  coarseCodes,
  coarseScale,
  coarseSum,
  productsOf,
  sumsOf,
} from './query-codes'
import { lowerBits, upperBits } from './row-codes'

// The parameters of a search: addresses (u32), numbers (f32), then how many rows on its list are
// open.
const CODES: usize = 0
const ROWS: usize = 4
const SCALE: usize = 8
const REACH: usize = 12
const SLACK: usize = 16
const ZERO: usize = 20
const THRESHOLD: usize = 24
const OPEN: usize = 28

const SCALE_BYTES: usize = 12
const HEADS_LOST: usize = 8
const HEADS_BYTES: usize = 64

export function sayOfSearch(at: usize, rowList: usize, reach: f64, slack: f64, least: f64): void {
  store<u32>(at, <u32>coarseCodes, CODES)
  store<u32>(at, <u32>rowList, ROWS)
  store<f32>(at, <f32>coarseScale, SCALE)
  store<f32>(at, <f32>reach, REACH)
  store<f32>(at, <f32>slack, SLACK)
  store<f32>(at, <f32>(COARSE_ZERO * coarseSum), ZERO)
  store<f32>(at, <f32>least, THRESHOLD)
}

export function openAfter(search: usize): i32 {
  return load<i32>(search, OPEN)
}

// @ts-ignore: a decorator of AssemblyScript
@inline
function numbersOf(one: usize, two: usize, three: usize, four: usize, offset: usize): v128 {
  const a = f32x4.splat(load<f32>(one + offset))
  const b = f32x4.replace_lane(a, 1, load<f32>(two + offset))
  const c = f32x4.replace_lane(b, 2, load<f32>(three + offset))
  return f32x4.replace_lane(c, 3, load<f32>(four + offset))
}

let searchOne: usize = 0
let searchTwo: usize = 0
let searchThree: usize = 0
let searchFour: usize = 0

/** Sets the searches, by the addresses of their parameters. */
export function lookFor(one: usize, two: usize, three: usize, four: usize): void {
  searchOne = one
  searchTwo = two
  searchThree = three
  searchFour = four
}

/**
 * For each search, lists those of the rows [from, to) that it cannot rule out.
 * @param count of the searches; the other arguments are ignored
 */
export function lookAt(heads: usize, bounds: usize, stride: usize, from: i32, to: i32, count: i32): void {
  const half = stride >> 1
  const one = <usize>load<u32>(searchOne, CODES)
  const two = <usize>load<u32>(searchTwo, CODES)
  const three = <usize>load<u32>(searchThree, CODES)
  const four = <usize>load<u32>(searchFour, CODES)
  const scales = numbersOf(searchOne, searchTwo, searchThree, searchFour, SCALE)
  const reaches = numbersOf(searchOne, searchTwo, searchThree, searchFour, REACH)
  const slacks = numbersOf(searchOne, searchTwo, searchThree, searchFour, SLACK)
  const zeros = numbersOf(searchOne, searchTwo, searchThree, searchFour, ZERO)
  const least = numbersOf(searchOne, searchTwo, searchThree, searchFour, THRESHOLD)
  store<i32>(searchOne, 0, OPEN)
  store<i32>(searchTwo, 0, OPEN)
  store<i32>(searchThree, 0, OPEN)
  store<i32>(searchFour, 0, OPEN)
  const asked = (1 << count) - 1
  for (let row = from; row < to; row += 2) {
    // If the number is odd, the last row is examined twice.
    const next = min(row + 1, to - 1)
    const first = heads + <usize>row * half
    const second = heads + <usize>next * half
    let a = i32x4.splat(0)
    let b = i32x4.splat(0)
    let c = i32x4.splat(0)
    let d = i32x4.splat(0)
    let e = i32x4.splat(0)
    let f = i32x4.splat(0)
    let g = i32x4.splat(0)
    let h = i32x4.splat(0)
    for (let at: usize = 0; at < half; ) {
      // Eight sums of two products of 127 and 15 are less than 2^15.
      const end = min(at + HEADS_BYTES, half)
      let p = i16x8.splat(0)
      let q = i16x8.splat(0)
      let r = i16x8.splat(0)
      let s = i16x8.splat(0)
      let t = i16x8.splat(0)
      let u = i16x8.splat(0)
      let v = i16x8.splat(0)
      let w = i16x8.splat(0)
      for (; at < end; at += 16) {
        const x = v128.load(first + at)
        const y = v128.load(second + at)
        const xl = lowerBits(x)
        const xu = upperBits(x)
        const yl = lowerBits(y)
        const yu = upperBits(y)
        const query = at << 1
        let front = v128.load(one + query)
        let back = v128.load(one + query, 16)
        p = i16x8.add(p, productsOf(xl, xu, front, back))
        t = i16x8.add(t, productsOf(yl, yu, front, back))
        front = v128.load(two + query)
        back = v128.load(two + query, 16)
        q = i16x8.add(q, productsOf(xl, xu, front, back))
        u = i16x8.add(u, productsOf(yl, yu, front, back))
        front = v128.load(three + query)
        back = v128.load(three + query, 16)
        r = i16x8.add(r, productsOf(xl, xu, front, back))
        v = i16x8.add(v, productsOf(yl, yu, front, back))
        front = v128.load(four + query)
        back = v128.load(four + query, 16)
        s = i16x8.add(s, productsOf(xl, xu, front, back))
        w = i16x8.add(w, productsOf(yl, yu, front, back))
      }
      a = i32x4.add(a, i32x4.extadd_pairwise_i16x8_s(p))
      b = i32x4.add(b, i32x4.extadd_pairwise_i16x8_s(q))
      c = i32x4.add(c, i32x4.extadd_pairwise_i16x8_s(r))
      d = i32x4.add(d, i32x4.extadd_pairwise_i16x8_s(s))
      e = i32x4.add(e, i32x4.extadd_pairwise_i16x8_s(t))
      f = i32x4.add(f, i32x4.extadd_pairwise_i16x8_s(u))
      g = i32x4.add(g, i32x4.extadd_pairwise_i16x8_s(v))
      h = i32x4.add(h, i32x4.extadd_pairwise_i16x8_s(w))
    }
    let boundAt = bounds + <usize>row * SCALE_BYTES
    let sums = f32x4.mul(f32x4.convert_i32x4_s(sumsOf(a, b, c, d)), f32x4.splat(16))
    let estimates = f32x4.mul(f32x4.add(sums, zeros), f32x4.mul(scales, v128.load32_splat(boundAt)))
    let slack = f32x4.mul(reaches, v128.load32_splat(boundAt, HEADS_LOST))
    let upper = f32x4.add(estimates, f32x4.add(slack, slacks))
    let open = i32x4.bitmask(f32x4.ge(upper, least)) & asked
    if (open != 0) list(row, open)
    if (next == row) break
    boundAt += SCALE_BYTES
    sums = f32x4.mul(f32x4.convert_i32x4_s(sumsOf(e, f, g, h)), f32x4.splat(16))
    estimates = f32x4.mul(f32x4.add(sums, zeros), f32x4.mul(scales, v128.load32_splat(boundAt)))
    slack = f32x4.mul(reaches, v128.load32_splat(boundAt, HEADS_LOST))
    upper = f32x4.add(estimates, f32x4.add(slack, slacks))
    open = i32x4.bitmask(f32x4.ge(upper, least)) & asked
    if (open != 0) list(next, open)
  }
}

function list(row: i32, open: i32): void {
  if (open & 1) append(searchOne, row)
  if (open & 2) append(searchTwo, row)
  if (open & 4) append(searchThree, row)
  if (open & 8) append(searchFour, row)
}

function append(search: usize, row: i32): void {
  const count = load<i32>(search, OPEN)
  store<i32>(<usize>load<u32>(search, ROWS) + (<usize>count << 2), row)
  store<i32>(search, count + 1, OPEN)
}
