/**
 * Stores the codes of rows in two halves, in AssemblyScript. For 32 codes of 8 bits, each with 128
 * added, 16 bytes hold the upper four bits and 16 bytes elsewhere the lower four. A first look thus
 * reads half of the memory (C. Aguerrebere et al., "Similarity search in the blink of an eye with
 * compressed indices", 2023: two levels of locally adaptive quantization). In each byte, the lower
 * bits belong to the first 16 codes and the upper bits to the others.
 */

const SIGN: i8 = <i8>0x80

/** For the row written last: the error of its codes, and of their upper halves alone. */
export let lostLength: f64 = 0
export let headsLostLength: f64 = 0

/** @param scale the value of one code step; the largest number becomes 127 */
export function writeCodes(
  from: usize,
  stride: usize,
  scale: f32,
  heads: usize,
  tails: usize,
): void {
  const perCode = f32x4.splat(<f32>1 / scale)
  const size = f32x4.splat(scale)
  let lost = f32x4.splat(0)
  let headsLost = f32x4.splat(0)
  for (let i: usize = 0; i < stride; i += 4) {
    const x = v128.load(from + i * 4)
    const code = rounded(x, perCode)
    lost = f32x4.add(lost, squaredRest(x, code, size))
    headsLost = f32x4.add(headsLost, squaredRest(x, saidByHead(code), size))
  }
  for (let i: usize = 0; i < stride; i += 32) {
    const front = sixteenOf(from + i * 4, perCode)
    const back = sixteenOf(from + i * 4 + 64, perCode)
    v128.store(heads + (i >> 1), headsOf(front, back))
    v128.store(tails + (i >> 1), tailsOf(front, back))
  }
  lostLength = lengthOf(lost)
  headsLostLength = lengthOf(headsLost)
}

/** Writes the codes in sequence, with 8 bits each. */
export function copyCodes(heads: usize, tails: usize, stride: usize, to: usize): void {
  for (let i: usize = 0; i < stride; i += 32) {
    const upper = v128.load(heads + (i >> 1))
    const lower = v128.load(tails + (i >> 1))
    v128.store(to + i, frontOf(upper, lower))
    v128.store(to + i, backOf(upper, lower), 16)
  }
}

// @ts-ignore: a decorator of AssemblyScript
@inline
function sixteenOf(from: usize, perCode: v128): v128 {
  const a = i32x4.trunc_sat_f32x4_s(rounded(v128.load(from), perCode))
  const b = i32x4.trunc_sat_f32x4_s(rounded(v128.load(from, 16), perCode))
  const c = i32x4.trunc_sat_f32x4_s(rounded(v128.load(from, 32), perCode))
  const d = i32x4.trunc_sat_f32x4_s(rounded(v128.load(from, 48), perCode))
  return i8x16.narrow_i16x8_s(i16x8.narrow_i32x4_s(a, b), i16x8.narrow_i32x4_s(c, d))
}

/**
 * Rounds half to even. The result exceeds 127 at most by a rounding error, which the conversion
 * removes.
 */
// @ts-ignore: a decorator of AssemblyScript
@inline
function rounded(x: v128, perCode: v128): v128 {
  return f32x4.nearest(f32x4.mul(x, perCode))
}

/** The upper half of a code covers 16 codes and stands for their middle. */
// @ts-ignore: a decorator of AssemblyScript
@inline
function saidByHead(code: v128): v128 {
  const sixteenths = f32x4.floor(f32x4.mul(code, f32x4.splat(0.0625)))
  return f32x4.add(f32x4.mul(sixteenths, f32x4.splat(16)), f32x4.splat(7.5))
}

// @ts-ignore: a decorator of AssemblyScript
@inline
function squaredRest(x: v128, code: v128, scale: v128): v128 {
  const rest = f32x4.sub(x, f32x4.mul(code, scale))
  return f32x4.mul(rest, rest)
}

function lengthOf(squares: v128): f64 {
  const front = <f64>f32x4.extract_lane(squares, 0) + <f64>f32x4.extract_lane(squares, 1)
  const back = <f64>f32x4.extract_lane(squares, 2) + <f64>f32x4.extract_lane(squares, 3)
  return Math.sqrt(front + back)
}

// @ts-ignore: a decorator of AssemblyScript
@inline
function headsOf(front: v128, back: v128): v128 {
  const upper = v128.and(unsigned(back), i8x16.splat(<i8>0xf0))
  return v128.or(upperBits(unsigned(front)), upper)
}

// @ts-ignore: a decorator of AssemblyScript
@inline
function tailsOf(front: v128, back: v128): v128 {
  const upper = i16x8.shl(lowerBits(unsigned(back)), 4)
  return v128.or(lowerBits(unsigned(front)), upper)
}

/** The first 16 of 32 codes. */
// @ts-ignore: a decorator of AssemblyScript
@inline
export function frontOf(heads: v128, tails: v128): v128 {
  return unsigned(v128.or(i16x8.shl(lowerBits(heads), 4), lowerBits(tails)))
}

/** The other 16 codes. */
// @ts-ignore: a decorator of AssemblyScript
@inline
export function backOf(heads: v128, tails: v128): v128 {
  return unsigned(v128.or(v128.and(heads, i8x16.splat(<i8>0xf0)), upperBits(tails)))
}

// @ts-ignore: a decorator of AssemblyScript
@inline
export function lowerBits(bytes: v128): v128 {
  return v128.and(bytes, i8x16.splat(15))
}

// @ts-ignore: a decorator of AssemblyScript
@inline
export function upperBits(bytes: v128): v128 {
  return lowerBits(i16x8.shr_u(bytes, 4))
}

/** Adds 128 to each, or subtracts it. */
// @ts-ignore: a decorator of AssemblyScript
@inline
function unsigned(codes: v128): v128 {
  return v128.xor(codes, i8x16.splat(SIGN))
}
