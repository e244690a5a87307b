/** What of a map stands in its address: which part is seen, and which points are selected. */
import type { MapPoints, MapRegion, PointValues } from '../../api/maps.ts'
import type { PointIndex } from './point-index.ts'

/** The middle of what is seen, in units of the map, and how much nearer than the whole of it. */
interface MapLook {
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

/** Points that belong together: within a line, in a region, or alike in what colours them. */
export type Selection =
  /** On the map of this version: on another one it goes around other points. Unset: on any. */
  | { readonly kind: 'line'; readonly line: Line; readonly version?: string }
  | RegionSelection
  /** By what a colour stands for: with other documents it is another place in the palette. */
  | ValueSelection

/** By its words: the next map counts its regions otherwise. */
interface RegionSelection {
  readonly kind: 'region'
  readonly level: number
  readonly words: string
  /** Of those with the same words; missing: the first. */
  readonly ordinal?: number
  /** On the map of this version: one without words is counted. Unset: on any. */
  readonly version?: string
}

/** By the values of the column, or the nearness to the text, that colours the points. */
export type ValueSelection =
  | { readonly kind: 'value'; readonly value: string }
  /** Another value than these. */
  | { readonly kind: 'others'; readonly than: readonly string[] }
  | { readonly kind: 'range'; readonly least: number; readonly most: number }
  | { readonly kind: 'none' }

const BASE = 36
/** More corners than these say nothing more, and make a long address. */
const CORNERS_MAX = 60

/** null: it says none. */
export function selectionOf(text: string | undefined): Selection | null {
  const [kind, rest = ''] = splitAt(text ?? '', '.')
  if (kind === 'region') {
    const [which, words = ''] = splitAt(rest, '.')
    const [counted, version] = splitAt(which, '@')
    const [level, ordinal] = splitAt(counted, '~')
    return {
      ...{ kind, level: Number(level), words },
      ...(ordinal === undefined ? {} : { ordinal: Number(ordinal) }),
      ...(version === undefined ? {} : { version }),
    }
  }
  if (kind === 'value') return { kind, value: rest }
  if (kind === 'none') return { kind }
  if (kind === 'others') {
    const than = listOf(rest)
    return than?.every((one) => typeof one === 'string') ? { kind, than } : null
  }
  if (kind === 'range') {
    const [least, most, ...more] = listOf(rest) ?? []
    if (typeof least !== 'number' || typeof most !== 'number' || more.length > 0) return null
    return { kind, least, most }
  }
  return lineOf(kind, rest)
}

function lineOf(name: string, rest: string): Selection | null {
  const [kind, version] = splitAt(name, '@')
  if (kind !== 'line') return null
  const numbers = rest.split('.').map((part) => Number.parseInt(part, BASE))
  const line = Array.from({ length: numbers.length >> 1 }, (_, corner) => {
    return [numbers[2 * corner] ?? 0, numbers[2 * corner + 1] ?? 0] as const
  })
  if (line.length < 3 || !numbers.every(Number.isFinite)) return null
  return version === undefined ? { kind, line } : { kind, line, version }
}

/** The second is undefined where there is no such sign. */
function splitAt(text: string, sign: string): readonly [string, string | undefined] {
  const at = text.indexOf(sign)
  return at === -1 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)]
}

/** null: it is no list. */
function listOf(json: string): readonly unknown[] | null {
  try {
    const parsed: unknown = JSON.parse(json)
    return Array.isArray(parsed) ? parsed : null
  } catch {
    return null
  }
}

export function textOfSelection(selection: Selection): string {
  switch (selection.kind) {
    case 'region': {
      const ordinal = selection.ordinal === undefined ? '' : `~${selection.ordinal}`
      return `region.${selection.level}${ordinal}${versionText(selection)}.${selection.words}`
    }
    case 'value':
      return `value.${selection.value}`
    case 'others':
      return `others.${JSON.stringify(selection.than)}`
    case 'range':
      return `range.${JSON.stringify([selection.least, selection.most])}`
    case 'none':
      return 'none'
    case 'line': {
      const numbers = selection.line.flat().map((value) => Math.round(value).toString(BASE))
      return `line${versionText(selection)}.${numbers.join('.')}`
    }
  }
}

function versionText({ version }: { readonly version?: string }): string {
  return version === undefined ? '' : `@${version}`
}

/** Whether it says what belongs together on another map than that of this version. */
export function isOutdated(selection: Selection | null, version: string): boolean {
  if (selection?.kind !== 'line' && selection?.kind !== 'region') return false
  return (selection.version ?? version) !== version
}

/** Whether something has to colour the points, for it to select any. */
export function isOfValues(selection: Selection | null): selection is ValueSelection {
  return selection !== null && selection.kind !== 'line' && selection.kind !== 'region'
}

/** What was drawn, with as many corners as an address holds. */
export function lineSelection(drawn: Line, version: string): Selection {
  const step = Math.max(1, Math.ceil(drawn.length / CORNERS_MAX))
  return { kind: 'line', version, line: drawn.filter((_, corner) => corner % step === 0) }
}

/** @param index in the list of all regions of the map of this version */
export function regionSelection(
  regions: readonly MapRegion[],
  index: number,
  version: string,
): Selection {
  const { level = 0, words = [] } = regions[index] ?? {}
  const name = nameOf(words, index)
  if (words.length === 0) return { kind: 'region', level, words: name, version }
  const ordinal = namedSo(regions, level, name).indexOf(index) + 1
  return { kind: 'region', level, words: name, ...(ordinal > 1 ? { ordinal } : {}) }
}

/** Regions of the same words, by their indices. */
function namedSo(regions: readonly MapRegion[], level: number, name: string): readonly number[] {
  return regions.flatMap((one, index) => {
    return one.level === level && nameOf(one.words, index) === name ? [index] : []
  })
}

/** One without words is counted. */
function nameOf(words: readonly string[], index: number): string {
  return words.length === 0 ? `#${index}` : words.join(' ')
}

interface PointsAndColours {
  readonly version: string
  readonly points: MapPoints
  readonly index: PointIndex
  readonly regions: readonly MapRegion[]
  /** What colours the points; undefined: their regions. */
  readonly values: PointValues | undefined
}

/** null: no point is in it. */
export function selectedPoints(
  selection: Selection | null,
  { version, points, index, regions, values }: PointsAndColours,
): ReadonlySet<number> | null {
  if (selection === null || isOutdated(selection, version)) return null
  const found = new Set<number>()
  if (selection.kind === 'line') {
    for (const point of index.inside(selection.line)) found.add(point)
  } else if (selection.kind === 'region') {
    const isWithin = areWithin(selection, regions)
    for (const [point, region] of points.regions.entries()) if (isWithin[region]) found.add(point)
  } else if (values !== undefined) {
    const isMeant = meantBy(selection, values)
    for (let point = 0; point < points.count; point++) if (isMeant(point)) found.add(point)
  }
  return found.size === 0 ? null : found
}

function meantBy(selection: ValueSelection, values: PointValues): (point: number) => boolean {
  if (values.kind !== 'categories') {
    const { numbers } = values
    const valueAt = (point: number) => numbers[point] ?? Number.NaN
    if (selection.kind === 'none') return (point) => Number.isNaN(valueAt(point))
    if (selection.kind !== 'range') return () => false
    const { least, most } = selection
    return (point) => valueAt(point) >= least && valueAt(point) <= most
  }
  const { codes } = values
  if (selection.kind === 'none') return (point) => codes[point] === 0
  if (selection.kind === 'range') return () => false
  const isNamed = (value: string) =>
    selection.kind === 'value' ? value === selection.value : !selection.than.includes(value)
  const areMeant = [false, ...values.values.map(({ value }) => isNamed(value))]
  return (point) => areMeant[codes[point] ?? 0] ?? false
}

/** Of each region, whether it is the one meant or a part of it. */
function areWithin(
  { level, words, ordinal = 1 }: RegionSelection,
  regions: readonly MapRegion[],
): readonly boolean[] {
  const meant = namedSo(regions, level, words)[ordinal - 1]
  return regions.map((_, region) => {
    for (let at: number | null = region; at !== null; at = regions[at]?.parent ?? null) {
      if (at === meant) return true
    }
    return false
  })
}
