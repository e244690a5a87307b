/** Finds points by their place: in squares, so that a look at a few of them is enough. */
import type { MapPoints } from '../../api/maps.ts'

/** Squares on a side. */
const SQUARES = 128
const SHIFT = 9

export class PointIndex {
  readonly #points: MapPoints
  /** Points square by square. */
  readonly #sorted: Uint32Array
  /** Where each square begins in them. */
  readonly #starts: Uint32Array

  constructor(points: MapPoints) {
    this.#points = points
    this.#starts = new Uint32Array(SQUARES * SQUARES + 1)
    this.#sorted = new Uint32Array(points.count)
    for (let point = 0; point < points.count; point++) {
      const next = this.#squareOf(point) + 1
      this.#starts[next] = (this.#starts[next] ?? 0) + 1
    }
    for (let square = 0; square < SQUARES * SQUARES; square++) {
      this.#starts[square + 1] = (this.#starts[square + 1] ?? 0) + (this.#starts[square] ?? 0)
    }
    const next = this.#starts.slice()
    for (let point = 0; point < points.count; point++) {
      const square = this.#squareOf(point)
      this.#sorted[next[square] ?? 0] = point
      next[square] = (next[square] ?? 0) + 1
    }
  }

  #squareOf(point: number): number {
    const { x, y } = this.#points
    return ((y[point] ?? 0) >> SHIFT) * SQUARES + ((x[point] ?? 0) >> SHIFT)
  }

  /** The nearest within `reach`, all in units of the map; null: there is none. */
  nearest(x: number, y: number, reach: number): number | null {
    let found: number | null = null
    let least = reach * reach
    for (const point of this.within(x - reach, y - reach, x + reach, y + reach)) {
      const squared =
        ((this.#points.x[point] ?? 0) - x) ** 2 + ((this.#points.y[point] ?? 0) - y) ** 2
      if (squared > least) continue
      least = squared
      found = point
    }
    return found
  }

  /** All points of a rectangle. */
  within(left: number, top: number, right: number, bottom: number): readonly number[] {
    const square = (value: number) => Math.min(SQUARES - 1, Math.max(0, value >> SHIFT))
    const { x, y } = this.#points
    const found: number[] = []
    for (let row = square(top); row <= square(bottom); row++) {
      const from = this.#starts[row * SQUARES + square(left)] ?? 0
      const to = this.#starts[row * SQUARES + square(right) + 1] ?? 0
      for (const point of this.#sorted.subarray(from, to)) {
        const across = x[point] ?? 0
        const down = y[point] ?? 0
        if (across >= left && across <= right && down >= top && down <= bottom) found.push(point)
      }
    }
    return found
  }

  /** All points inside a line that is drawn around them; its ends are joined. */
  inside(line: readonly (readonly [number, number])[]): readonly number[] {
    if (line.length < 3) return []
    const across = line.map(([x]) => x)
    const down = line.map(([, y]) => y)
    const all = this.within(
      Math.min(...across),
      Math.min(...down),
      Math.max(...across),
      Math.max(...down),
    )
    const { x, y } = this.#points
    return all.filter((point) => isInside(line, x[point] ?? 0, y[point] ?? 0))
  }
}

/** Whether a ray from the place crosses the line an odd number of times. */
function isInside(line: readonly (readonly [number, number])[], x: number, y: number): boolean {
  let isOdd = false
  let [beforeX, beforeY] = line.at(-1) ?? [0, 0]
  for (const [nextX, nextY] of line) {
    const crosses = nextY > y !== beforeY > y
    if (crosses && x < ((beforeX - nextX) * (y - nextY)) / (beforeY - nextY) + nextX) isOdd = !isOdd
    beforeX = nextX
    beforeY = nextY
  }
  return isOdd
}
