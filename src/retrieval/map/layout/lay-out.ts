/**
 * Places points in two dimensions so that similar vectors are close to each other. It builds a
 * graph of nearest neighbours with weights as in UMAP (McInnes, Healy and Melville, 2018). The
 * layout pulls neighbours together and pushes random others away (negative sampling as in LargeVis:
 * Tang, Liu, Zhang and Mei, 2016), with t-SNE's similarity 1 / (1 + d²), which needs no power
 * function. It starts from the first two principal components, which keeps distant points apart.
 */
import { type NearestGraph, nearestGraph } from './nearest-graph.ts'
import { SeededRandom, type VectorTable } from './principal-components.ts'

/** Values from UMAP: neighbours per point, and points pushed away per pull. */
const NEIGHBOURS = 15
const PUSHED_AWAY = 5
/** The longest step in one direction, in units of the layout. */
const STEP_MAX = 4
/** Half the initial width of the picture, in units of the layout. */
const START_SIZE = 10
/** A squared distance. It limits how strongly points at the same position are pushed apart. */
const NOT_NOTHING = 1e-3
/** Rounds over all edges; fewer if there are more points. */
const EPOCHS_FEW = 400
const EPOCHS_MANY = 160
const FEW_POINTS = 10_000

/** @param table the first two components are a point's start @returns x, y of each point */
export function layOut(
  table: VectorTable,
  given: {
    readonly seed: number
    /** The progress, from 0 to 1. */
    readonly onShare?: (stage: 'neighbours' | 'layout', share: number) => void
  },
): Float32Array {
  const { seed, onShare = () => {} } = given
  const pointCount = table.values.length / table.dimensions
  const random = new SeededRandom(seed)
  const places = startPlaces(table, random)
  if (pointCount < 3) return places
  const count = Math.min(NEIGHBOURS, pointCount - 1)
  const graph = nearestGraph(table, count, random, (share) => onShare('neighbours', share))
  const edges = weightedEdges(graph)
  const epochs = epochsFor(pointCount)
  for (let epoch = 0; epoch < epochs; epoch++) {
    moveOnce(places, edges, { epoch, rate: 1 - epoch / epochs }, random)
    onShare('layout', (epoch + 1) / epochs)
  }
  return places
}

function epochsFor(pointCount: number): number {
  if (pointCount <= FEW_POINTS) return EPOCHS_FEW
  return Math.max(EPOCHS_MANY, Math.round(EPOCHS_FEW * Math.sqrt(FEW_POINTS / pointCount)))
}

function startPlaces({ values, dimensions }: VectorTable, random: SeededRandom): Float32Array {
  const pointCount = values.length / dimensions
  const places = new Float32Array(pointCount * 2)
  let farthest = 0
  for (let point = 0; point < pointCount; point++) {
    const x = values[point * dimensions] ?? 0
    const y = dimensions > 1 ? (values[point * dimensions + 1] ?? 0) : 0
    places[point * 2] = x
    places[point * 2 + 1] = y
    farthest = Math.max(farthest, Math.abs(x), Math.abs(y))
  }
  const scale = farthest > 0 ? START_SIZE / farthest : 0
  for (let at = 0; at < places.length; at++) {
    // Equal vectors start close to each other but apart, so that both are visible.
    places[at] = (places[at] ?? 0) * scale + (random.next() - 0.5) * 1e-3
  }
  return places
}

/** Each pair of neighbours once. */
interface Edges {
  readonly heads: Int32Array
  readonly tails: Int32Array
  /** How many epochs pass between two turns of an edge: 1 for the strongest. */
  readonly periods: Float32Array
  /** The epoch of the edge's next turn. */
  readonly due: Float32Array
}

/** An edge that is weaker than this, relative to the strongest, would never have a turn. */
const WEIGHT_SHARE_MIN = 1 / EPOCHS_FEW

function weightedEdges(graph: NearestGraph): Edges {
  const { count, neighbours } = graph
  const weights = membershipOf(graph)
  const heads: number[] = []
  const tails: number[] = []
  const strengths: number[] = []
  for (let at = 0; at < neighbours.length; at++) {
    const head = Math.floor(at / count)
    const tail = neighbours[at] ?? -1
    if (tail < 0) continue
    const there = weights[at] ?? 0
    const back = neighbourIndex(neighbours, tail, head, count)
    // The edge was already added from its other end.
    if (back >= 0 && tail < head) continue
    const fromThere = back < 0 ? 0 : (weights[back] ?? 0)
    heads.push(head)
    tails.push(tail)
    strengths.push(there + fromThere - there * fromThere)
  }
  let strongest = 0
  for (const strength of strengths) strongest = Math.max(strongest, strength)
  const periods = Float32Array.from(strengths, (strength) => {
    return strength < strongest * WEIGHT_SHARE_MIN ? Number.POSITIVE_INFINITY : strongest / strength
  })
  return {
    heads: Int32Array.from(heads),
    tails: Int32Array.from(tails),
    periods,
    due: periods.slice(),
  }
}

function neighbourIndex(
  neighbours: Int32Array,
  point: number,
  other: number,
  count: number,
): number {
  for (let at = point * count; at < (point + 1) * count; at++) {
    if (neighbours[at] === other) return at
  }
  return -1
}

const SEARCH_ROUNDS = 40

/** 1 for the nearest, in sum log2 of their number. In UMAP: ρ is the nearest, `width` is σ. */
function membershipOf({ count, neighbours, distances }: NearestGraph): Float32Array {
  const weights = new Float32Array(neighbours.length)
  const wanted = Math.log2(count)
  for (let from = 0; from < neighbours.length; from += count) {
    const nearest = distances[from] ?? 0
    let low = 0
    let high = Number.POSITIVE_INFINITY
    let width = 1
    for (let round = 0; round < SEARCH_ROUNDS; round++) {
      let sum = 0
      for (let at = from; at < from + count; at++) {
        sum += Math.exp(-((distances[at] ?? 0) - nearest) / width)
      }
      if (Math.abs(sum - wanted) < 1e-4) break
      if (sum > wanted) high = width
      else low = width
      width = high === Number.POSITIVE_INFINITY ? width * 2 : (low + high) / 2
    }
    for (let at = from; at < from + count; at++) {
      const farther = (distances[at] ?? 0) - nearest
      weights[at] = farther <= 0 ? 1 : Math.exp(-farther / Math.max(width, 1e-9))
    }
  }
  return weights
}

/** Each edge pulls its ends together and pushes random points away. @param epoch from 0 */
function moveOnce(
  places: Float32Array,
  { heads, tails, periods, due }: Edges,
  { epoch, rate }: { readonly epoch: number; readonly rate: number },
  random: SeededRandom,
): void {
  const pointCount = places.length / 2
  for (let edge = 0; edge < heads.length; edge++) {
    if ((due[edge] ?? 0) > epoch + 1) continue
    due[edge] = (due[edge] ?? 0) + (periods[edge] ?? 1)
    const isTurned = (random.bits() & 1) === 1
    const head = 2 * ((isTurned ? tails[edge] : heads[edge]) ?? 0)
    const tail = 2 * ((isTurned ? heads[edge] : tails[edge]) ?? 0)
    let x = places[head] ?? 0
    let y = places[head + 1] ?? 0
    const dx = x - (places[tail] ?? 0)
    const dy = y - (places[tail + 1] ?? 0)
    const pull = -2 / (1 + dx * dx + dy * dy)
    const pullX = rate * bounded(pull * dx)
    const pullY = rate * bounded(pull * dy)
    x += pullX
    y += pullY
    places[tail] = (places[tail] ?? 0) - pullX
    places[tail + 1] = (places[tail + 1] ?? 0) - pullY
    for (let turn = 0; turn < PUSHED_AWAY; turn++) {
      const other = 2 * random.below(pointCount)
      if (other === head) continue
      const awayX = x - (places[other] ?? 0)
      const awayY = y - (places[other + 1] ?? 0)
      const squared = awayX * awayX + awayY * awayY
      const push = 2 / ((NOT_NOTHING + squared) * (1 + squared))
      x += rate * bounded(push * awayX)
      y += rate * bounded(push * awayY)
    }
    places[head] = x
    places[head + 1] = y
  }
}

function bounded(step: number): number {
  return step > STEP_MAX ? STEP_MAX : step < -STEP_MAX ? -STEP_MAX : step
}
