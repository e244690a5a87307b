/** What of a map stands in its address: which part is seen, and which points are selected. */
import type { MapPoints, MapRegion } from '../../api/maps.ts'
import type { PointIndex } from './point-index.ts'

/** The middle of what is seen, in units of the map, and how much nearer than the whole of it. */
export interface MapLook {
  readonly x: number
  readonly y: number
  readonly zoom: number
}

/** null: it says none. */
export function lookOf(text: string | undefined): MapLook | null {
  const [x, y, zoom, ...more] = (text ?? '').split(',').map(Number)
  if (x === undefined || y === undefined || zoom === undefined || more.length > 0) return null
  return [x, y, zoom].every(Number.isFinite) && zoom > 0 ? { x, y, zoom } : null
}

export function textOfLook({ x, y, zoom }: MapLook): string {
  return [Math.round(x), Math.round(y), Number(zoom.toPrecision(4))].join(',')
}

type Line = readonly (readonly [number, number])[]

/** Points that belong together: within a line, in a region, of some colours. */
export type Selection =
  | { readonly kind: 'line'; readonly line: Line }
  /** By its words: the next map counts its regions otherwise. */
  | { readonly kind: 'region'; readonly level: number; readonly words: string }
  /** Places in the palette, from the first to the last. */
  | { readonly kind: 'colour'; readonly first: number; readonly last: number }

const BASE = 36
/** More corners than these say nothing more, and make a long address. */
const CORNERS_MAX = 60

/** null: it says none. */
export function selectionOf(text: string | undefined): Selection | null {
  const [kind, ...parts] = (text ?? '').split('.')
  if (kind === 'region') {
    const [level = '', ...words] = parts
    return { kind, level: Number(level), words: words.join('.') }
  }
  if (kind === 'colour') {
    const [first = Number.NaN, last = first] = parts.map(Number)
    return first >= 0 && last >= first ? { kind, first, last } : null
  }
  if (kind !== 'line') return null
  const numbers = parts.map((part) => Number.parseInt(part, BASE))
  const line = Array.from({ length: numbers.length >> 1 }, (_, corner) => {
    return [numbers[2 * corner] ?? 0, numbers[2 * corner + 1] ?? 0] as const
  })
  return line.length >= 3 && numbers.every(Number.isFinite) ? { kind, line } : null
}

export function textOfSelection(selection: Selection): string {
  if (selection.kind === 'region') return `region.${selection.level}.${selection.words}`
  if (selection.kind === 'colour') return `colour.${selection.first}.${selection.last}`
  const numbers = selection.line.flat().map((value) => Math.round(value).toString(BASE))
  return `line.${numbers.join('.')}`
}

/** What was drawn, with as many corners as an address holds. */
export function lineSelection(drawn: Line): Selection {
  const step = Math.max(1, Math.ceil(drawn.length / CORNERS_MAX))
  return { kind: 'line', line: drawn.filter((_, corner) => corner % step === 0) }
}

/** @param index in the list of all regions */
export function regionSelection({ level, words }: MapRegion, index: number): Selection {
  return { kind: 'region', level, words: nameOf(words, index) }
}

/** One without words is counted. */
function nameOf(words: readonly string[], index: number): string {
  return words.length === 0 ? `#${index}` : words.join(' ')
}

interface PointsAndColours {
  readonly points: MapPoints
  readonly index: PointIndex
  readonly regions: readonly MapRegion[]
  readonly places: Uint8Array
}

/** null: no point is in it. */
export function selectedPoints(
  selection: Selection | null,
  { points, index, regions, places }: PointsAndColours,
): ReadonlySet<number> | null {
  const found = new Set<number>()
  if (selection?.kind === 'line') {
    for (const point of index.inside(selection.line)) found.add(point)
  }
  if (selection?.kind === 'colour') {
    for (const [point, place] of places.entries()) {
      if (place >= selection.first && place <= selection.last) found.add(point)
    }
  }
  if (selection?.kind === 'region') {
    const isWithin = areWithin(selection, regions)
    for (const [point, region] of points.regions.entries()) if (isWithin[region]) found.add(point)
  }
  return found.size === 0 ? null : found
}

/** Of each region, whether it is the one meant or a part of it. */
function areWithin(
  { level, words }: Extract<Selection, { kind: 'region' }>,
  regions: readonly MapRegion[],
): readonly boolean[] {
  const meant = regions.findIndex((one, index) => {
    return one.level === level && nameOf(one.words, index) === words
  })
  return regions.map((_, region) => {
    for (let at: number | null = region; at !== null; at = regions[at]?.parent ?? null) {
      if (at === meant) return true
    }
    return false
  })
}
