/**
 * Finds the approximate nearest neighbours of each point: random projection trees collect likely
 * neighbours (Dasgupta and Freund, 2008), then neighbours of neighbours are tried (NN-descent:
 * Dong, Charikar and Li, 2011). A small number of points is compared exhaustively.
 */
import type { SeededRandom, VectorTable } from './principal-components.ts'

/** `count` neighbours per point, nearest first. Missing ones are -1, at the end. */
export interface NearestGraph {
  readonly count: number
  readonly neighbours: Int32Array
  /** Euclidean distances, not squared. */
  readonly distances: Float32Array
}

/** Up to this many points, all pairs are compared: two million pairs are faster than trees. */
const COMPARED_ALL_MAX = 2_000
/** More trees find more of the true neighbours but take longer. */
const TREES = 6
const LEAF_POINTS_MAX = 50
const ROUNDS_MAX = 6
/** How many new and old neighbours of a point are combined per round. */
const CANDIDATES = 12
/** Stop when fewer neighbours than this share change in a round. */
const CHANGED_SHARE_MIN = 0.01

export function nearestGraph(
  table: VectorTable,
  count: number,
  random: SeededRandom,
  onShare: (share: number) => void = () => {},
): NearestGraph {
  const pointCount = table.values.length / table.dimensions
  const lists = new NeighbourLists(table, Math.min(count, Math.max(0, pointCount - 1)))
  if (pointCount <= COMPARED_ALL_MAX) {
    const all = Int32Array.from({ length: pointCount }, (_, point) => point)
    lists.compareAll(all)
    return lists.graph()
  }
  for (let tree = 0; tree < TREES; tree++) {
    compareLeaves(lists, random)
    onShare((0.4 * (tree + 1)) / TREES)
  }
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const changed = descend(lists, random)
    onShare(0.4 + (0.6 * (round + 1)) / ROUNDS_MAX)
    if (changed < CHANGED_SHARE_MIN * lists.neighbours.length) break
  }
  return lists.graph()
}

class NeighbourLists {
  readonly pointCount: number
  readonly count: number
  readonly neighbours: Int32Array
  readonly #distances: Float32Array
  /** 1 if not yet compared with the others in its list. */
  readonly isNew: Uint8Array
  readonly values: Float32Array
  readonly dimensions: number

  constructor({ values, dimensions }: VectorTable, count: number) {
    this.values = values
    this.dimensions = dimensions
    this.pointCount = values.length / dimensions
    this.count = count
    this.neighbours = new Int32Array(this.pointCount * count).fill(-1)
    this.#distances = new Float32Array(this.pointCount * count).fill(Number.POSITIVE_INFINITY)
    this.isNew = new Uint8Array(this.pointCount * count)
  }

  /** Squared. */
  #distance(one: number, other: number): number {
    const { values, dimensions } = this
    let a = one * dimensions
    let b = other * dimensions
    const end = a + dimensions
    let sum = 0
    let further = 0
    for (; a + 1 < end; a += 2, b += 2) {
      const first = (values[a] ?? 0) - (values[b] ?? 0)
      const second = (values[a + 1] ?? 0) - (values[b + 1] ?? 0)
      sum += first * first
      further += second * second
    }
    if (a < end) sum += ((values[a] ?? 0) - (values[b] ?? 0)) ** 2
    return sum + further
  }

  /** @returns how many of the two lists changed */
  compare(one: number, other: number): number {
    const distance = this.#distance(one, other)
    return this.#insert(one, other, distance) + this.#insert(other, one, distance)
  }

  compareAll(points: Int32Array): void {
    for (let at = 0; at < points.length; at++) {
      for (let next = at + 1; next < points.length; next++) {
        this.compare(points[at] ?? 0, points[next] ?? 0)
      }
    }
  }

  #insert(point: number, other: number, distance: number): number {
    const distances = this.#distances
    const { neighbours } = this
    const from = point * this.count
    const last = from + this.count - 1
    if (!(distance < (distances[last] ?? 0))) return 0
    for (let at = from; at <= last; at++) if (neighbours[at] === other) return 0
    let at = last
    while (at > from && (distances[at - 1] ?? 0) > distance) {
      distances[at] = distances[at - 1] ?? 0
      neighbours[at] = neighbours[at - 1] ?? 0
      this.isNew[at] = this.isNew[at - 1] ?? 0
      at -= 1
    }
    distances[at] = distance
    neighbours[at] = other
    this.isNew[at] = 1
    return 1
  }

  graph(): NearestGraph {
    const distances = this.#distances.map(Math.sqrt)
    return { count: this.count, neighbours: this.neighbours, distances }
  }
}

/**
 * Splits the points by random planes into small parts, and compares all points within each part.
 */
function compareLeaves(lists: NeighbourLists, random: SeededRandom): void {
  const points = Int32Array.from({ length: lists.pointCount }, (_, point) => point)
  const open: [number, number][] = [[0, points.length]]
  for (let part = open.pop(); part !== undefined; part = open.pop()) {
    const [from, to] = part
    if (to - from <= LEAF_POINTS_MAX) {
      lists.compareAll(points.subarray(from, to))
      continue
    }
    const cut = cutByPlane(lists, points.subarray(from, to), random)
    // If all points are equal, split anywhere.
    const middle = cut === 0 || cut === to - from ? (from + to) >> 1 : from + cut
    open.push([from, middle], [middle, to])
  }
}

/** By the side of the plane between two points. @returns the number on the first side */
function cutByPlane(lists: NeighbourLists, points: Int32Array, random: SeededRandom): number {
  const { values, dimensions } = lists
  const one = (points[random.below(points.length)] ?? 0) * dimensions
  const other = (points[random.below(points.length)] ?? 0) * dimensions
  const normal = new Float32Array(dimensions)
  let offset = 0
  for (let at = 0; at < dimensions; at++) {
    const a = values[one + at] ?? 0
    const b = values[other + at] ?? 0
    normal[at] = a - b
    offset += ((a + b) / 2) * (a - b)
  }
  let first = 0
  let last = points.length - 1
  while (first <= last) {
    const point = points[first] ?? 0
    const from = point * dimensions
    let side = -offset
    for (let at = 0; at < dimensions; at++) side += (values[from + at] ?? 0) * (normal[at] ?? 0)
    if (side > 0) {
      first += 1
    } else {
      points[first] = points[last] ?? 0
      points[last] = point
      last -= 1
    }
  }
  return first
}

/**
 * One round: compares points that have a common neighbour. @returns how many list entries changed
 */
function descend(lists: NeighbourLists, random: SeededRandom): number {
  const { pointCount, count, neighbours, isNew } = lists
  const fresh = new CandidateLists(pointCount)
  const known = new CandidateLists(pointCount)
  for (let point = 0; point < pointCount; point++) {
    for (let at = point * count; at < (point + 1) * count; at++) {
      const other = neighbours[at] ?? -1
      if (other < 0) continue
      const kind = isNew[at] === 1 ? fresh : known
      kind.offer(point, other, random)
      kind.offer(other, point, random)
      isNew[at] = 0
    }
  }
  let changed = 0
  for (let point = 0; point < pointCount; point++) {
    const ones = fresh.of(point)
    const others = known.of(point)
    for (let at = 0; at < ones.length; at++) {
      const one = ones[at] ?? 0
      for (let next = at + 1; next < ones.length; next++) {
        const other = ones[next] ?? 0
        if (one !== other) changed += lists.compare(one, other)
      }
      for (let next = 0; next < others.length; next++) {
        const other = others[next] ?? 0
        if (one !== other) changed += lists.compare(one, other)
      }
    }
  }
  return changed
}

/** A uniform random sample of each point's candidates (reservoir sampling). */
class CandidateLists {
  readonly #points: Int32Array
  readonly #offered: Int32Array

  constructor(pointCount: number) {
    this.#points = new Int32Array(pointCount * CANDIDATES)
    this.#offered = new Int32Array(pointCount)
  }

  offer(point: number, other: number, random: SeededRandom): void {
    const offered = this.#offered[point] ?? 0
    this.#offered[point] = offered + 1
    const place = offered < CANDIDATES ? offered : random.below(offered + 1)
    if (place < CANDIDATES) this.#points[point * CANDIDATES + place] = other
  }

  of(point: number): Int32Array {
    const size = Math.min(this.#offered[point] ?? 0, CANDIDATES)
    return this.#points.subarray(point * CANDIDATES, point * CANDIDATES + size)
  }
}
