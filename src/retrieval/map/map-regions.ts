/**
 * Divides a map into regions of neighbouring points by k-means (Lloyd, 1982; seeded as k-means++:
 * Arthur and Vassilvitskii, 2007). For views from farther away, regions are joined by Ward's method
 * (1963).
 */
import type { ChunkMap } from '../../core/domain/ports/search-ports.ts'
import type { SeededRandom } from './layout/principal-components.ts'

export type MapRegion = Omit<ChunkMap['regions'][number], 'words'>

export interface MapRegions {
  /** Level by level, larger regions first. */
  readonly regions: readonly MapRegion[]
  /** The index of each point's region at the last level. */
  readonly ofPoints: Uint16Array
}

const POINTS_PER_REGION = 20
const REGIONS_MAX = 150
const REGIONS_MIN = 3
/** The number of regions at level 0, as many as there are distinct colours. */
const FIRST_REGIONS_MAX = 8
/** With fewer regions, a middle level would equal one of the others. */
const THREE_LEVELS_MIN = 30
const ROUNDS = 12
const SAMPLE_MAX = 20_000

/** @param places x and y of each point in sequence */
export function mapRegions(places: Float32Array, random: SeededRandom): MapRegions {
  const pointCount = places.length / 2
  if (pointCount === 0) return { regions: [], ofPoints: new Uint16Array() }
  const wanted = Math.round(pointCount / POINTS_PER_REGION)
  const count = Math.min(pointCount, REGIONS_MAX, Math.max(REGIONS_MIN, wanted))
  const clusters = clustersOf(places, count, random)
  const levels = joinedLevels(clusters)
  return numbered(levels, clusters)
}

interface Clusters {
  /** x and y of each cluster. */
  readonly centres: Float32Array
  readonly sizes: Int32Array
  readonly ofPoints: Uint16Array
}

function clustersOf(places: Float32Array, count: number, random: SeededRandom): Clusters {
  const pointCount = places.length / 2
  const centres = startCentres(places, count, random)
  const step = Math.max(1, Math.floor(pointCount / SAMPLE_MAX))
  for (let round = 0; round < ROUNDS; round++) {
    const sums = new Float64Array(count * 3)
    for (let point = 0; point < pointCount; point += step) {
      const x = places[point * 2] ?? 0
      const y = places[point * 2 + 1] ?? 0
      const to = nearestCentre(centres, x, y) * 3
      sums[to] = (sums[to] ?? 0) + x
      sums[to + 1] = (sums[to + 1] ?? 0) + y
      sums[to + 2] = (sums[to + 2] ?? 0) + 1
    }
    for (let centre = 0; centre < count; centre++) {
      const size = sums[centre * 3 + 2] ?? 0
      if (size === 0) continue
      centres[centre * 2] = (sums[centre * 3] ?? 0) / size
      centres[centre * 2 + 1] = (sums[centre * 3 + 1] ?? 0) / size
    }
  }
  const ofPoints = new Uint16Array(pointCount)
  const sizes = new Int32Array(count)
  for (let point = 0; point < pointCount; point++) {
    const centre = nearestCentre(centres, places[point * 2] ?? 0, places[point * 2 + 1] ?? 0)
    ofPoints[point] = centre
    sizes[centre] = (sizes[centre] ?? 0) + 1
  }
  return { centres, sizes, ofPoints }
}

function startCentres(places: Float32Array, count: number, random: SeededRandom): Float32Array {
  const pointCount = places.length / 2
  const centres = new Float32Array(count * 2)
  const tried = Int32Array.from({ length: Math.min(pointCount, count * 20) }, () => {
    return random.below(pointCount)
  })
  const distances = new Float64Array(tried.length).fill(1)
  for (let centre = 0; centre < count; centre++) {
    const point = tried[drawn(distances, random)] ?? 0
    const x = places[point * 2] ?? 0
    const y = places[point * 2 + 1] ?? 0
    centres[centre * 2] = x
    centres[centre * 2 + 1] = y
    for (const [at, other] of tried.entries()) {
      const squared = ((places[other * 2] ?? 0) - x) ** 2 + ((places[other * 2 + 1] ?? 0) - y) ** 2
      distances[at] = centre === 0 ? squared : Math.min(distances[at] ?? 0, squared)
    }
  }
  return centres
}

/** Returns a random index, drawn by weight. */
function drawn(weights: Float64Array, random: SeededRandom): number {
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  let left = random.next() * total
  for (const [at, weight] of weights.entries()) {
    left -= weight
    if (left < 0) return at
  }
  return random.below(weights.length)
}

function nearestCentre(centres: Float32Array, x: number, y: number): number {
  let nearest = 0
  let least = Number.POSITIVE_INFINITY
  for (let at = 0; at < centres.length; at += 2) {
    const squared = ((centres[at] ?? 0) - x) ** 2 + ((centres[at + 1] ?? 0) - y) ** 2
    if (squared < least) {
      least = squared
      nearest = at / 2
    }
  }
  return nearest
}

/** The clusters that form a region. */
type Group = readonly number[]

/** From level 0. At the last level, each cluster is a group. */
function joinedLevels({ centres, sizes }: Clusters): readonly (readonly Group[])[] {
  let groups = Array.from(sizes, (size, cluster) => {
    const x = centres[cluster * 2] ?? 0
    const y = centres[cluster * 2 + 1] ?? 0
    return { clusters: [cluster], x, y, size }
  }).filter(({ size }) => size > 0)
  const levels = [groups.map(({ clusters }) => clusters)]
  for (const count of countsAbove(groups.length)) {
    while (groups.length > count) groups = withNearestJoined(groups)
    levels.unshift(groups.map(({ clusters }) => clusters))
  }
  return levels
}

/** Returns the number of regions at the levels above the last, from the bottom up. */
function countsAbove(last: number): readonly number[] {
  if (last <= FIRST_REGIONS_MAX) return []
  // The second level is the geometric mean of the first and the last.
  const middle = Math.round(Math.sqrt(last * FIRST_REGIONS_MAX))
  return last < THREE_LEVELS_MIN ? [FIRST_REGIONS_MAX] : [middle, FIRST_REGIONS_MAX]
}

interface GroupPlace {
  readonly clusters: number[]
  readonly x: number
  readonly y: number
  readonly size: number
}

/** Joins the two groups whose union adds least to the squared distances from the centre. */
function withNearestJoined(groups: readonly GroupPlace[]): GroupPlace[] {
  let least = Number.POSITIVE_INFINITY
  let pair: readonly [GroupPlace, GroupPlace] | undefined
  for (const [at, one] of groups.entries()) {
    for (const other of groups.slice(at + 1)) {
      const share = (one.size * other.size) / (one.size + other.size)
      const cost = share * ((one.x - other.x) ** 2 + (one.y - other.y) ** 2)
      if (cost >= least) continue
      least = cost
      pair = [one, other]
    }
  }
  if (pair === undefined) return [...groups]
  const [one, other] = pair
  const size = one.size + other.size
  const joined = {
    clusters: [...one.clusters, ...other.clusters],
    x: (one.x * one.size + other.x * other.size) / size,
    y: (one.y * one.size + other.y * other.size) / size,
    size,
  }
  return [...groups.filter((group) => !pair.includes(group)), joined]
}

function numbered(levels: readonly (readonly Group[])[], clusters: Clusters): MapRegions {
  const { centres, sizes, ofPoints } = clusters
  const sizeOf = (group: Group) => group.reduce((sum, one) => sum + (sizes[one] ?? 0), 0)
  const regions: MapRegion[] = []
  let above = new Map<number, number>()
  for (const [level, groups] of levels.entries()) {
    const own = new Map<number, number>()
    for (const group of groups.toSorted((a, b) => sizeOf(b) - sizeOf(a))) {
      const [first = 0] = group
      for (const cluster of group) own.set(cluster, regions.length)
      const middle = middleOf(group, clusters)
      regions.push({
        level,
        parent: above.get(first) ?? null,
        x: centres[middle * 2] ?? 0,
        y: centres[middle * 2 + 1] ?? 0,
        pointCount: sizeOf(group),
      })
    }
    above = own
  }
  return { regions, ofPoints: ofPoints.map((cluster) => above.get(cluster) ?? 0) }
}

/** The cluster nearest to the group's centre, because there may be nothing at the centre itself. */
function middleOf(group: Group, { centres, sizes }: Clusters): number {
  const middle = (direction: 0 | 1) => {
    const sum = group.reduce((all, one) => {
      return all + (centres[one * 2 + direction] ?? 0) * (sizes[one] ?? 0)
    }, 0)
    return sum / group.reduce((all, one) => all + (sizes[one] ?? 0), 0)
  }
  const own = Float32Array.from(
    group.flatMap((one) => [centres[one * 2] ?? 0, centres[one * 2 + 1] ?? 0]),
  )
  return group[nearestCentre(own, middle(0), middle(1))] ?? 0
}
