/** What of a map stands in its address: which part is seen, and which points are selected. */
import { useEffect, useRef } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
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

/** More corners than these say nothing more, and make a long address. */
const CORNERS_MAX = 40

/** A selection as one parameter of the address, in JSON. */
export function textOfSelection(selection: Selection): string {
  return JSON.stringify(selection)
}

/** null: it says none. */
export function selectionOf(text: string | undefined): Selection | null {
  try {
    const parsed: unknown = JSON.parse(text ?? '')
    return isSelection(parsed) ? parsed : null
  } catch {
    return null
  }
}

function isSelection(value: unknown): value is Selection {
  if (typeof value !== 'object' || value === null || !('kind' in value)) return false
  const fields: Readonly<Record<string, unknown>> = { ...value }
  const { kind, line, level, words, value: one, than, least, most } = fields
  if (kind === 'line') return Array.isArray(line) && line.length > 2 && line.every(isCorner)
  if (kind === 'region') return typeof level === 'number' && typeof words === 'string'
  if (kind === 'value') return typeof one === 'string'
  if (kind === 'others')
    return Array.isArray(than) && than.every((name) => typeof name === 'string')
  if (kind === 'range') return typeof least === 'number' && typeof most === 'number'
  return kind === 'none'
}

function isCorner(corner: unknown): boolean {
  return Array.isArray(corner) && corner.length === 2 && corner.every(Number.isFinite)
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
  const corners = drawn.filter((_, corner) => corner % step === 0)
  return { kind: 'line', version, line: corners.map(([x, y]) => [Math.round(x), Math.round(y)]) }
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

/** Null takes a word out of the address. */
type Change = Readonly<Record<string, string | null>>

interface MapAddressing {
  readonly query: Readonly<Record<string, string>>
  /** A step that Back undoes. */
  readonly change: (change: Change) => void
  /** Which part is seen: Back does not go through every move. */
  readonly look: (text: string | null) => void
  /** Leaves, with what is seen kept for Back. */
  readonly leave: (to: string) => void
}

/** After the last move: browsers refuse an address that changes with every frame. */
const SETTLED_MS = 250

/** The address of a map as a view changes it. */
export function useMapAddress(): MapAddressing {
  const { query, route } = useLocation()
  const waiting = useRef<{ timer: number; text: string | null } | null>(null)
  const write = () => {
    const { current } = waiting
    if (current === null) return
    clearTimeout(current.timer)
    waiting.current = null
    history.replaceState(null, '', addressWith({ at: current.text }))
  }
  useEffect(() => {
    return () => {
      clearTimeout(waiting.current?.timer)
      // Nothing is written any more: the address is that of another view.
      waiting.current = null
    }
  }, [])
  return {
    query,
    change: (change) => {
      write()
      route(addressWith(change))
    },
    look: (text) => {
      clearTimeout(waiting.current?.timer)
      waiting.current = { timer: window.setTimeout(write, SETTLED_MS), text }
    },
    leave: (to) => {
      write()
      route(to)
    },
  }
}

function addressWith(change: Change): string {
  const query = new URLSearchParams(location.search)
  for (const [name, value] of Object.entries(change)) {
    if (value === null) query.delete(name)
    else query.set(name, value)
  }
  return `${location.pathname}${query.size === 0 ? '' : `?${query}`}`
}
