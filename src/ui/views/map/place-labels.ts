/** Which labels of regions are shown where: larger ones first, and none over another. */
import type { MapRegion } from '../../api/maps.ts'
import { toScreen, type Viewport, zoomOf } from './viewport.ts'

export interface PlacedLabel {
  readonly text: string
  readonly x: number
  readonly y: number
  readonly level: number
}

const WORDS = 3
const LINE_PIXELS = 20
const GAP_PIXELS = 10
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
  const placed: (PlacedLabel & { readonly half: number })[] = []
  for (const region of shown) {
    const text = region.words.slice(0, WORDS).join(' · ')
    const [x, y] = toScreen(view, region.x, region.y)
    const half = widthOf(text) / 2
    if (text === '' || y < LINE_PIXELS || y > view.height - LINE_PIXELS) continue
    if (x < -half || x > view.width + half) continue
    const isFree = placed.every((other) => {
      const isBeside = Math.abs(other.x - x) > other.half + half + GAP_PIXELS
      return isBeside || Math.abs(other.y - y) > LINE_PIXELS
    })
    const within = Math.min(view.width - half - 4, Math.max(half + 4, x))
    if (isFree) placed.push({ text, x: within, y, level: region.level, half })
  }
  return placed
}
