/** Which labels of regions are shown where: larger ones first, and none over another. */
import type { MapRegion } from '../../api/maps.ts'
import { toScreen, type Viewport, zoomOf } from './viewport.ts'

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
/** Above the middle of its points, which it would hide where they are few. */
const ABOVE_PIXELS = 14
/** From this zoom on, labels of the next level are shown. */
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

/** With as many of its words as there is room for. */
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
