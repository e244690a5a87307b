/**
 * Finds the centroid nearest to a row, in AssemblyScript. Both are 8-bit codes with a scale. A
 * row's own scale does not affect which centroid is nearest.
 */

import { sumsOf } from './query-codes'
import { backOf, frontOf } from './row-codes'

// A row's bounds start with its scale (f32).
const BOUND_BYTES: usize = 12

/** The addresses of the centroids, and their number. */
let bounds: usize = 0
let codes: usize = 0
let stride: usize = 0
let count: i32 = 0

export function compareWith(boundsAt: usize, codesAt: usize, rowStride: usize, all: i32): void {
  bounds = boundsAt
  codes = codesAt
  stride = rowStride
  count = all
}

/**
 * Replaces each of the `rowCount` rows in the list by the number of its nearest centroid. Of
 * equally near ones, the first.
 * @param heads the address of the upper halves of the codes of row 0
 * @param tails the address of the lower halves
 * @param scratch memory for four rows of 16-bit codes
 */
export function assignTo(
  rowList: usize,
  rowCount: i32,
  heads: usize,
  tails: usize,
  scratch: usize,
): void {
  for (let from = 0; from < rowCount; from += 4) {
    const here = rowList + (<usize>from << 2)
    const most = min(4, rowCount - from)
    for (let i = 0; i < 4; i++) {
      // At the end, the last row fills the missing places.
      const row = load<i32>(here + (<usize>min(i, most - 1) << 2))
      const at = <usize>row * (stride >> 1)
      widen(heads + at, tails + at, scratch + (<usize>i << 4))
    }
    const lists = nearestOfFour(scratch)
    store<i32>(here, i32x4.extract_lane(lists, 0))
    if (most > 1) store<i32>(here, i32x4.extract_lane(lists, 1), 4)
    if (most > 2) store<i32>(here, i32x4.extract_lane(lists, 2), 8)
    if (most > 3) store<i32>(here, i32x4.extract_lane(lists, 3), 12)
  }
}

/** Writes eight codes as 16 bytes, then those of the other three rows, and so on. */
function widen(heads: usize, tails: usize, to: usize): void {
  for (let i: usize = 0; i < stride; i += 32) {
    const upper = v128.load(heads + (i >> 1))
    const lower = v128.load(tails + (i >> 1))
    const front = frontOf(upper, lower)
    const back = backOf(upper, lower)
    v128.store(to + i * 8, i16x8.extend_low_i8x16_s(front))
    v128.store(to + i * 8, i16x8.extend_high_i8x16_s(front), 64)
    v128.store(to + i * 8, i16x8.extend_low_i8x16_s(back), 128)
    v128.store(to + i * 8, i16x8.extend_high_i8x16_s(back), 192)
  }
}

/** Handles four rows and two centroids at once, so that a row's codes are loaded once for both. */
function nearestOfFour(rows: usize): v128 {
  let bests = f32x4.splat(-Infinity)
  let lists = i32x4.splat(0)
  for (let list = 0; list < count; list += 2) {
    const first = codes + <usize>list * stride
    // If the number is odd, the last centroid is compared twice.
    const apart = list + 1 < count ? stride : 0
    let a = i32x4.splat(0)
    let b = i32x4.splat(0)
    let c = i32x4.splat(0)
    let d = i32x4.splat(0)
    let e = i32x4.splat(0)
    let f = i32x4.splat(0)
    let g = i32x4.splat(0)
    let h = i32x4.splat(0)
    let at = rows
    for (let code = first; code < first + stride; code += 8) {
      const one = v128.load_ext<i8>(code)
      const other = v128.load_ext<i8>(code + apart)
      a = i32x4.add(a, i32x4.dot_i16x8_s(v128.load(at), one))
      e = i32x4.add(e, i32x4.dot_i16x8_s(v128.load(at), other))
      b = i32x4.add(b, i32x4.dot_i16x8_s(v128.load(at, 16), one))
      f = i32x4.add(f, i32x4.dot_i16x8_s(v128.load(at, 16), other))
      c = i32x4.add(c, i32x4.dot_i16x8_s(v128.load(at, 32), one))
      g = i32x4.add(g, i32x4.dot_i16x8_s(v128.load(at, 32), other))
      d = i32x4.add(d, i32x4.dot_i16x8_s(v128.load(at, 48), one))
      h = i32x4.add(h, i32x4.dot_i16x8_s(v128.load(at, 48), other))
      at += 64
    }
    let near = nearness(sumsOf(a, b, c, d), list)
    let isNearer = f32x4.gt(near, bests)
    bests = v128.bitselect(near, bests, isNearer)
    lists = v128.bitselect(i32x4.splat(list), lists, isNearer)
    if (apart == 0) break
    near = nearness(sumsOf(e, f, g, h), list + 1)
    isNearer = f32x4.gt(near, bests)
    bests = v128.bitselect(near, bests, isNearer)
    lists = v128.bitselect(i32x4.splat(list + 1), lists, isNearer)
  }
  return lists
}

// @ts-ignore: a decorator of AssemblyScript
@inline
function nearness(products: v128, list: i32): v128 {
  const scale = load<f32>(bounds + <usize>list * BOUND_BYTES)
  return f32x4.mul(f32x4.convert_i32x4_s(products), f32x4.splat(scale))
}
