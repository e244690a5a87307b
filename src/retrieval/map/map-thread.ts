/**
 * The thread's side of a map: receives vectors, and returns points with named regions. An error
 * ends the thread.
 */
import { MAP_SIDE, type MapProgress } from '../../core/domain/ports/search-ports.ts'
import { layOut } from './layout/lay-out.ts'
import {
  type Components,
  principalComponents,
  projectRows,
  SeededRandom,
} from './layout/principal-components.ts'
import {
  type FromMapThread,
  type PlacedMap,
  rowsAt,
  type ToMapThread,
  WAY,
  type WantedTexts,
} from './map-protocol.ts'
import { type MapRegions, mapRegions } from './map-regions.ts'
import { regionWords } from './region-words.ts'

/** Neighbours in these are almost always neighbours in all dimensions. */
const COMPONENTS = 64
/** An arbitrary number. Another value would change all maps. */
const SEED = 20_180_209
/** Texts to read for naming regions: some for each, and about this many in total. */
const REGION_TEXTS_MAX = 6_000
const TEXTS_PER_REGION_MIN = 20
/** On each of the four sides, this share of points may be outside. They are drawn at the edge. */
const OUTER_SHARE = 0.002
/** The margin on each side, as a share of the picture's size. */
const EDGE_SHARE = 0.03

type Post = (message: FromMapThread, transfer?: readonly ArrayBuffer[]) => void

/** Methods are called in this order: sample, rows in parts, placing, naming regions. */
export class MapThread {
  readonly #post: Post
  #components: Components | null = null
  #dimensions = 0
  #rowCount = 0
  #keys = new BigInt64Array()
  /** Row by row, `#components.count` numbers each. Nothing else of a vector is kept. */
  #reduced = new Float32Array()
  #placed: PlacedMap | null = null

  constructor(post: Post) {
    this.#post = post
  }

  receive(message: ToMapThread): void {
    if (message.kind === 'sample') this.#open(message)
    else if (message.kind === 'rows') this.#take(message)
    else if (message.kind === 'place') this.#place()
    else this.#name(message)
  }

  #open({ values, dimensions, rowsMax }: Extract<ToMapThread, { kind: 'sample' }>): void {
    this.#dimensions = dimensions
    const sample = { values: finiteRows(values, dimensions), dimensions }
    const count = Math.min(COMPONENTS, dimensions)
    this.#components = principalComponents(sample, count, new SeededRandom(SEED))
    this.#keys = new BigInt64Array(rowsMax)
    this.#reduced = new Float32Array(rowsMax * count)
    this.#post({ kind: 'taken' })
  }

  #take({ keys, values }: Extract<ToMapThread, { kind: 'rows' }>): void {
    const components = this.#components
    if (components === null) throw new Error('rows came before their sample')
    this.#keys.set(keys, this.#rowCount)
    const table = { values: finiteRows(values, this.#dimensions), dimensions: this.#dimensions }
    projectRows(table, components, this.#reduced, this.#rowCount)
    this.#rowCount += keys.length
    this.#post({ kind: 'taken' })
  }

  #place(): void {
    const dimensions = this.#components?.count ?? 1
    const { keys, values } = byKey(
      this.#keys.subarray(0, this.#rowCount),
      this.#reduced,
      dimensions,
    )
    const places = layOut(
      { values, dimensions },
      { seed: SEED, onShare: (stage, share) => this.#tell({ stage, share }) },
    )
    this.#reduced = new Float32Array()
    const { x, y, scaled } = onSide(places)
    this.#tell({ stage: 'labels', share: 0 })
    const found = mapRegions(scaled, new SeededRandom(SEED))
    const regions = found.regions.map((region) => ({
      ...region,
      x: Math.round(region.x),
      y: Math.round(region.y),
      words: [],
    }))
    this.#placed = { keys, x, y, regionOf: found.ofPoints, regions }
    this.#post({ kind: 'placed', ...wantedTexts(keys, found) })
  }

  #name({ texts, language }: Extract<ToMapThread, { kind: 'name' }>): void {
    const placed = this.#placed
    if (placed === null) throw new Error('regions were to be named before there were any')
    const words = regionWords(placed.regions, texts, language)
    const regions = placed.regions.map((region, at) => ({ ...region, words: words[at] ?? [] }))
    this.#post({ kind: 'named', ...placed, regions })
  }

  #tell({ stage, share }: MapProgress): void {
    const [from, to] = WAY[stage]
    this.#post({ kind: 'progress', progress: { stage, share: from + share * (to - from) } })
  }
}

/** A row with an invalid number has no direction, so it becomes zero and is drawn in the middle. */
function finiteRows(values: Float32Array, dimensions: number): Float32Array {
  for (let from = 0; from < values.length; from += dimensions) {
    let sum = 0
    for (let at = from; at < from + dimensions; at++) sum += (values[at] ?? 0) ** 2
    if (!Number.isFinite(sum)) values.fill(0, from, from + dimensions)
  }
  return values
}

/** Sorts rows by key, so that equal chunks always give the same map. */
function byKey(keys: BigInt64Array, values: Float32Array, dimensions: number) {
  const isSorted = keys.every((key, at) => at === 0 || (keys[at - 1] ?? 0n) < key)
  if (isSorted) return { keys: keys.slice(), values: values.subarray(0, keys.length * dimensions) }
  const order = Uint32Array.from(keys, (_, at) => at)
  order.sort((a, b) => Number((keys[a] ?? 0n) - (keys[b] ?? 0n)))
  return rowsAt(order, { keys, values }, dimensions)
}

/** Same scale in both directions. @param places x, y in any unit @returns `scaled` likewise */
function onSide(places: Float32Array) {
  const pointCount = places.length / 2
  const [left, right] = bounds(places, 0)
  const [top, bottom] = bounds(places, 1)
  const size = Math.max(right - left, bottom - top) * (1 + 2 * EDGE_SHARE)
  const scale = size > 0 ? MAP_SIDE / size : 0
  const x = new Uint16Array(pointCount)
  const y = new Uint16Array(pointCount)
  const scaled = new Float32Array(places.length)
  const within = (value: number) => Math.min(MAP_SIDE, Math.max(0, Math.round(value)))
  for (let point = 0; point < pointCount; point++) {
    const across = (places[point * 2] ?? 0) - (left + right) / 2
    const down = (places[point * 2 + 1] ?? 0) - (top + bottom) / 2
    x[point] = scaled[point * 2] = within(MAP_SIDE / 2 + across * scale)
    y[point] = scaled[point * 2 + 1] = within(MAP_SIDE / 2 + down * scale)
  }
  return { x, y, scaled }
}

/** Returns the range of nearly all points along one direction. */
function bounds(places: Float32Array, direction: 0 | 1): readonly [number, number] {
  const sorted = Float32Array.from({ length: places.length / 2 }, (_, point) => {
    return places[point * 2 + direction] ?? 0
  }).sort()
  const outer = Math.floor(sorted.length * OUTER_SHARE)
  return [sorted[outer] ?? 0, sorted[sorted.length - 1 - outer] ?? 0]
}

/** Chooses chunks spread over each region of the last level, more from larger regions. */
function wantedTexts(keys: BigInt64Array, { ofPoints, regions }: MapRegions): WantedTexts {
  const share = Math.min(1, REGION_TEXTS_MAX / Math.max(1, keys.length))
  const seen = new Int32Array(regions.length)
  const taken = new Int32Array(regions.length)
  const points: number[] = []
  for (const [point, region] of ofPoints.entries()) {
    seen[region] = (seen[region] ?? 0) + 1
    const wanted = (seen[region] ?? 0) * share
    const isFew = (taken[region] ?? 0) < TEXTS_PER_REGION_MIN
    if (!isFew && (taken[region] ?? 0) >= wanted) continue
    taken[region] = (taken[region] ?? 0) + 1
    points.push(point)
  }
  return {
    keys: BigInt64Array.from(points, (point) => keys[point] ?? 0n),
    regions: Uint16Array.from(points, (point) => ofPoints[point] ?? 0),
  }
}
