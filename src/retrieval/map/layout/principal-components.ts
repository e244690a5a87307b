/**
 * Finds the directions in which vectors differ most, by subspace iteration from random directions
 * (Halko, Martinsson and Tropp, 2011, "Finding structure with randomness"). A few thousand vectors
 * are enough.
 */

/** Values row by row. */
export interface VectorTable {
  readonly values: Float32Array
  readonly dimensions: number
}

export interface Components {
  readonly mean: Float32Array
  /** Vectors of length 1 in order of variance, largest first, or zeros if no direction is left. */
  readonly axes: Float32Array
  readonly count: number
}

const ROUNDS = 5
/** Shorter vectors are rounding errors. */
const LENGTH_MIN = 1e-6

export function principalComponents(
  sample: VectorTable,
  count: number,
  random: SeededRandom,
): Components {
  const { dimensions } = sample
  const rowCount = dimensions === 0 ? 0 : sample.values.length / dimensions
  const mean = meanOf(sample, rowCount)
  const axes = new Float32Array(count * dimensions)
  for (let at = 0; at < axes.length; at++) axes[at] = random.next() - 0.5
  let components: Components = { mean, axes, count }
  orthonormalize(components, dimensions)
  const placed = new Float32Array(rowCount * count)
  for (let round = 0; round < ROUNDS; round++) {
    projectRows(sample, components, placed)
    components = { ...components, axes: turnedAxes(sample, components, placed) }
    orthonormalize(components, dimensions)
  }
  projectRows(sample, components, placed)
  return sorted(components, placed, dimensions)
}

function meanOf({ values, dimensions }: VectorTable, rowCount: number): Float32Array {
  const sums = new Float64Array(dimensions)
  for (let row = 0; row < rowCount; row++) {
    const from = row * dimensions
    for (let at = 0; at < dimensions; at++) sums[at] = (sums[at] ?? 0) + (values[from + at] ?? 0)
  }
  return Float32Array.from(sums, (sum) => sum / Math.max(1, rowCount))
}

/** `count` numbers per row. @param placed receives them, starting at `firstRow` */
export function projectRows(
  { values, dimensions }: VectorTable,
  { mean, axes, count }: Components,
  placed: Float32Array,
  firstRow = 0,
): void {
  const rowCount = dimensions === 0 ? 0 : values.length / dimensions
  const centred = new Float32Array(dimensions)
  for (let row = 0; row < rowCount; row++) {
    const from = row * dimensions
    for (let at = 0; at < dimensions; at++) centred[at] = (values[from + at] ?? 0) - (mean[at] ?? 0)
    const to = (firstRow + row) * count
    // Four axes at a time, so that each number of the row is read once for all four.
    for (let axis = 0; axis < count; axis += 4) fourDots(centred, axes, { axis, count, to }, placed)
  }
}

function fourDots(
  centred: Float32Array,
  axes: Float32Array,
  { axis, count, to }: { readonly axis: number; readonly count: number; readonly to: number },
  placed: Float32Array,
): void {
  const size = centred.length
  const one = axis * size
  const two = Math.min(axis + 1, count - 1) * size
  const three = Math.min(axis + 2, count - 1) * size
  const four = Math.min(axis + 3, count - 1) * size
  let a = 0
  let b = 0
  let c = 0
  let d = 0
  for (let at = 0; at < size; at++) {
    const value = centred[at] ?? 0
    a += value * (axes[one + at] ?? 0)
    b += value * (axes[two + at] ?? 0)
    c += value * (axes[three + at] ?? 0)
    d += value * (axes[four + at] ?? 0)
  }
  placed[to + axis] = a
  if (axis + 1 < count) placed[to + axis + 1] = b
  if (axis + 2 < count) placed[to + axis + 2] = c
  if (axis + 3 < count) placed[to + axis + 3] = d
}

/** Multiplies the covariance matrix with each axis. */
function turnedAxes(
  { values, dimensions }: VectorTable,
  { mean, count }: Components,
  placed: Float32Array,
): Float32Array {
  const turned = new Float32Array(count * dimensions)
  const centred = new Float32Array(dimensions)
  for (let row = 0; row * count < placed.length; row++) {
    const from = row * dimensions
    for (let at = 0; at < dimensions; at++) centred[at] = (values[from + at] ?? 0) - (mean[at] ?? 0)
    for (let axis = 0; axis < count; axis++) {
      const weight = placed[row * count + axis] ?? 0
      const to = axis * dimensions
      for (let at = 0; at < dimensions; at++) {
        turned[to + at] = (turned[to + at] ?? 0) + weight * (centred[at] ?? 0)
      }
    }
  }
  return turned
}

/** Gram-Schmidt, applied twice because of rounding. */
function orthonormalize({ axes, count }: Components, dimensions: number): void {
  let longest = 0
  for (let axis = 0; axis < count; axis++) {
    const own = axes.subarray(axis * dimensions, (axis + 1) * dimensions)
    const before = Math.sqrt(dot(own, own))
    longest = Math.max(longest, before)
    for (let turn = 0; turn < 2; turn++) {
      for (let other = 0; other < axis; other++) {
        const known = axes.subarray(other * dimensions, (other + 1) * dimensions)
        const share = dot(own, known)
        for (let at = 0; at < dimensions; at++) own[at] = (own[at] ?? 0) - share * (known[at] ?? 0)
      }
    }
    const length = Math.sqrt(dot(own, own))
    const isNothing = !(length > LENGTH_MIN * longest)
    for (let at = 0; at < dimensions; at++) own[at] = isNothing ? 0 : (own[at] ?? 0) / length
  }
}

function dot(one: Float32Array, other: Float32Array): number {
  let sum = 0
  for (let at = 0; at < one.length; at++) sum += (one[at] ?? 0) * (other[at] ?? 0)
  return sum
}

/** By variance. Each axis' largest number is made positive, so equal vectors have equal axes. */
function sorted(
  { mean, axes, count }: Components,
  placed: Float32Array,
  dimensions: number,
): Components {
  const variances = new Float64Array(count)
  for (let at = 0; at < placed.length; at++) {
    variances[at % count] = (variances[at % count] ?? 0) + (placed[at] ?? 0) ** 2
  }
  const order = Array.from({ length: count }, (_, axis) => axis)
  order.sort((a, b) => (variances[b] ?? 0) - (variances[a] ?? 0) || a - b)
  const arranged = new Float32Array(axes.length)
  for (const [place, axis] of order.entries()) {
    const own = axes.slice(axis * dimensions, (axis + 1) * dimensions)
    const largest = own.reduce(
      (most, value) => (Math.abs(value) > Math.abs(most) ? value : most),
      0,
    )
    arranged.set(largest < 0 ? own.map((value) => -value) : own, place * dimensions)
  }
  return { mean, axes: arranged, count }
}

/** From 0 up to 1, by seed (Mulberry32). A class, because closures are slow in hot loops. */
export class SeededRandom {
  #state: number

  constructor(seed: number) {
    this.#state = seed | 0
  }

  /** Returns 32 random bits. */
  bits(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return (mixed ^ (mixed >>> 14)) >>> 0
  }

  next(): number {
    return this.bits() / 0x1_0000_0000
  }

  /** Returns an integer from 0 to `count - 1`. */
  below(count: number): number {
    return Math.floor(this.next() * count)
  }
}
