/** The state of a map: visible part, positions of points and labels, selection. Pure. */
import type { MapPoints, MapRegion } from '../../api/maps.ts'

const MAP_SIDE = 65_535

export interface Viewport {
  /** The map coordinates at the centre of the view. */
  readonly x: number
  readonly y: number
  /** How many pixels one map unit has. */
  readonly scale: number
  readonly width: number
  readonly height: number
}

const ZOOM_MAX = 60

export function wholeMap(width: number, height: number): Viewport {
  const scale = Math.max(1e-4, Math.min(width, height) / MAP_SIDE)
  return { x: MAP_SIDE / 2, y: MAP_SIDE / 2, scale, width, height }
}

export function resized(view: Viewport, width: number, height: number): Viewport {
  const scale =
    view.scale * (Math.min(width, height) / Math.max(1, Math.min(view.width, view.height)))
  return { ...view, width, height, scale }
}

/** The zoom relative to the whole map; 1 shows all of it. */
export function zoomOf({ scale, width, height }: Viewport): number {
  return scale / wholeMap(width, height).scale
}

export function moved(view: Viewport, dx: number, dy: number): Viewport {
  const within = (value: number) => Math.min(MAP_SIDE, Math.max(0, value))
  return { ...view, x: within(view.x - dx / view.scale), y: within(view.y - dy / view.scale) }
}

/** Zooms around the point at `atX`, `atY`, which stays in place. */
export function zoomed(view: Viewport, factor: number, atX: number, atY: number): Viewport {
  const least = wholeMap(view.width, view.height).scale
  const scale = Math.min(least * ZOOM_MAX, Math.max(least * 0.8, view.scale * factor))
  const share = 1 / view.scale - 1 / scale
  const x = view.x + (atX - view.width / 2) * share
  const y = view.y + (atY - view.height / 2) * share
  return moved({ ...view, scale, x, y }, 0, 0)
}

export function toScreen(view: Viewport, x: number, y: number): readonly [number, number] {
  return [(x - view.x) * view.scale + view.width / 2, (y - view.y) * view.scale + view.height / 2]
}

export function toMap(view: Viewport, x: number, y: number): readonly [number, number] {
  return [(x - view.width / 2) / view.scale + view.x, (y - view.height / 2) / view.scale + view.y]
}

/** Within `reach` map units, or null. 100,000 points take less than a frame. */
export function nearestPoint(
  { count, x, y }: MapPoints,
  atX: number,
  atY: number,
  reach: number,
): number | null {
  let found: number | null = null
  let least = reach * reach
  for (let point = 0; point < count; point++) {
    const squared = ((x[point] ?? 0) - atX) ** 2 + ((y[point] ?? 0) - atY) ** 2
    if (squared > least) continue
    least = squared
    found = point
  }
  return found
}

interface PlacedLabel {
  readonly text: string
  readonly x: number
  readonly y: number
  readonly level: number
}

const WORDS = 3
const LINE_PIXELS = 20
const GAP_PIXELS = 10
const EDGE_PIXELS = 4
/** How far a label is above the centre of its region, so that it does not hide the points there. */
const ABOVE_PIXELS = 14
/** The zoom from which the labels of each level are shown. */
const LEVEL_ZOOMS = [1, 2.2, 5]

export function placeLabels(
  regions: readonly MapRegion[],
  view: Viewport,
  widthOf: (text: string) => number,
): readonly PlacedLabel[] {
  const zoom = zoomOf(view)
  const level = LEVEL_ZOOMS.findLastIndex((from) => zoom >= from * 0.99)
  const last = regions.reduce((most, region) => Math.max(most, region.level), 0)
  const shown = regions
    .filter((region) => region.level === Math.min(last, Math.max(0, level)))
    .toSorted((a, b) => b.point_count - a.point_count)
  const placed: Box[] = []
  for (const region of shown) {
    const box = placeFor(region, view, placed, widthOf)
    if (box !== null) placed.push(box)
  }
  return placed
}

type Box = PlacedLabel & { readonly half: number }

/** Labels a region with as many words as fit; null if none fits or it is not visible. */
function placeFor(
  { words, level, x: mapX, y: mapY }: MapRegion,
  view: Viewport,
  placed: readonly Box[],
  widthOf: (text: string) => number,
): Box | null {
  const [middle, pointsY] = toScreen(view, mapX, mapY)
  if (middle < 0 || middle > view.width || pointsY < 0 || pointsY > view.height) return null
  const hasRoomAbove = pointsY > ABOVE_PIXELS + LINE_PIXELS
  const y = hasRoomAbove ? pointsY - ABOVE_PIXELS : pointsY + ABOVE_PIXELS
  for (let count = Math.min(WORDS, words.length); count > 0; count--) {
    const text = words.slice(0, count).join(' · ')
    const half = widthOf(text) / 2
    const least = half + EDGE_PIXELS
    if (2 * least > view.width) continue
    const x = Math.min(view.width - least, Math.max(least, middle))
    const isFree = placed.every((other) => {
      const isBeside = Math.abs(other.x - x) > other.half + half + GAP_PIXELS
      return isBeside || Math.abs(other.y - y) > LINE_PIXELS
    })
    if (isFree) return { text, x, y, level, half }
  }
  return null
}

/** A region with its parts, a rectangle of the map, or the points with some colours. */
export type Selection =
  | { readonly region: number }
  | { readonly box: readonly number[] }
  /** Indexes in the palette, both inclusive. */
  | { readonly first: number; readonly last: number }

/** The visible area as a selection. */
export function visibleBox(view: Viewport): Selection {
  return { box: [...toMap(view, 0, 0), ...toMap(view, view.width, view.height)] }
}

export interface PointsAndColours {
  readonly points: MapPoints
  readonly regions: readonly MapRegion[]
  /** The palette index of each point. */
  readonly places: Uint8Array
}

/** Returns null if the selection is empty. */
export function selectedPoints(
  selection: Selection | undefined,
  { points, regions, places }: PointsAndColours,
): ReadonlySet<number> | null {
  if (selection === undefined) return null
  const isMeant = (point: number) => {
    if ('region' in selection) {
      return isWithin(regions, points.regions[point] ?? 0, selection.region)
    }
    if ('box' in selection) {
      const [left = 0, top = 0, right = 0, bottom = 0] = selection.box
      const [x, y] = [points.x[point] ?? 0, points.y[point] ?? 0]
      return x >= left && x <= right && y >= top && y <= bottom
    }
    const place = places[point] ?? 0
    return place >= selection.first && place <= selection.last
  }
  const all = Array.from({ length: points.count }, (_, point) => point)
  const found = new Set(all.filter(isMeant))
  return found.size === 0 ? null : found
}

/** Whether a region is the selected one or a part of it. */
function isWithin(regions: readonly MapRegion[], region: number, meant: number): boolean {
  for (let at: number | null = region; at !== null; at = regions[at]?.parent ?? null) {
    if (at === meant) return true
  }
  return false
}

/** How many values have a colour of their own. */
export const SERIES = 8
