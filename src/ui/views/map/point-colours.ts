/** Maps the points' values to palette indexes, and describes each colour. */
import { useMemo } from 'preact/hooks'
import { DAY_MS } from '../../../core/time.ts'
import {
  type MapAddress,
  type MapPoints,
  type MapRegion,
  type PointValues,
  readValues,
} from '../../api/maps.ts'
import { counted } from '../../components/numbers.ts'
import { useResource } from '../../components/resource.ts'
import { SERIES } from './map-model.ts'

/** Palette indexes: none or faint, eight series, all other values, then a gradient. */
export const FAINT = 0
export const OTHERS = SERIES + 1
export const GRADIENT = OTHERS + 1
export const GRADIENT_STEPS = 16
export const PALETTE_SIZE = GRADIENT + GRADIENT_STEPS

/** How many parts of a gradient the legend lists. */
const BANDS = 4
const BAND_STEPS = GRADIENT_STEPS / BANDS
const WITHOUT_VALUE = 'no value'

/** Describes what the points with certain colours have in common. */
export interface LegendEntry {
  readonly label: string
  readonly count: number
  /** The palette indexes of these colours, both inclusive. */
  readonly first: number
  readonly last: number
}

export interface Coloured {
  /** The palette index of each point. */
  readonly places: Uint8Array
  /** null if the list of regions serves as the legend. */
  readonly legend: readonly LegendEntry[] | null
  /** The text for a point under the pointer. */
  readonly shownOf: (point: number) => string
}

/** Each region at level 0 has a colour. */
export function colouredByRegion(
  { regions: regionOf, count }: MapPoints,
  regions: readonly MapRegion[],
): Coloured {
  const places = new Uint8Array(count)
  const placeOf = regions.map((_, at) => placeOfRegion(regions, at))
  for (let point = 0; point < count; point++) places[point] = placeOf[regionOf[point] ?? 0] ?? 1
  const shownOf = (point: number) => regions[regionOf[point] ?? 0]?.words.join(' · ') ?? ''
  return { places, legend: null, shownOf }
}

/** The palette index of the region's ancestor at level 0. */
export function placeOfRegion(regions: readonly MapRegion[], index: number): number {
  let at = index
  for (let parent = regions[at]?.parent ?? null; parent !== null; ) {
    at = parent
    parent = regions[at]?.parent ?? null
  }
  return 1 + (at % SERIES)
}

export function colouredBy(values: PointValues): Coloured {
  return values.kind === 'categories' ? byCategory(values) : byNumber(values)
}

function byCategory({ values, codes }: Extract<PointValues, { kind: 'categories' }>): Coloured {
  const places = Uint8Array.from(codes, (code) => (code > SERIES ? OTHERS : code))
  const named = values.slice(0, SERIES).map(({ value }, at) => entry(value, at + 1))
  const others = entry(counted(values.length - SERIES, 'other value'), OTHERS)
  const legend = withCounts([...named, others, WITHOUT], places)
  return {
    places,
    legend,
    shownOf: (point) => values[(codes[point] ?? 0) - 1]?.value ?? WITHOUT_VALUE,
  }
}

/** Colours by rank, so that one very large number does not make all others look alike. */
function byNumber({ kind, numbers }: Extract<PointValues, { numbers: Float64Array }>): Coloured {
  const known = numbers.filter((value) => !Number.isNaN(value)).sort()
  const least = known[0] ?? 0
  const most = known.at(-1) ?? 0
  const borders = Array.from({ length: GRADIENT_STEPS - 1 }, (_, step) => {
    return known[Math.floor(((step + 1) * known.length) / GRADIENT_STEPS)] ?? most
  })
  const places = Uint8Array.from(numbers, (value) => {
    if (Number.isNaN(value)) return FAINT
    if (least === most) return GRADIENT + GRADIENT_STEPS - 1
    let step = 0
    while (step < borders.length && value >= (borders[step] ?? 0)) step += 1
    return GRADIENT + step
  })
  const shown = shownBy(kind, most - least)
  const bands = Array.from({ length: BANDS }, (_, band) => {
    const first = GRADIENT + band * BAND_STEPS
    const last = first + BAND_STEPS - 1
    const [from, to] = rangeOf(numbers, places, { first, last })
    const label = shown(from) === shown(to) ? shown(to) : `${shown(from)} – ${shown(to)}`
    return { ...entry(label, first), last }
  })
  const legend = withCounts([...bands.toReversed(), WITHOUT], places)
  const shownOf = (point: number) => {
    const value = numbers[point] ?? Number.NaN
    return Number.isNaN(value) ? WITHOUT_VALUE : shown(value)
  }
  return { places, legend, shownOf }
}

function entry(label: string, place: number): LegendEntry {
  return { label, count: 0, first: place, last: place }
}

const WITHOUT = entry(WITHOUT_VALUE, FAINT)

/** Only entries with at least one point. */
function withCounts(entries: readonly LegendEntry[], places: Uint8Array): readonly LegendEntry[] {
  const counts = new Uint32Array(PALETTE_SIZE)
  for (const place of places) counts[place] = (counts[place] ?? 0) + 1
  return entries
    .map((one) => {
      const own = counts.subarray(one.first, one.last + 1)
      return { ...one, count: own.reduce((sum, count) => sum + count, 0) }
    })
    .filter(({ count }) => count > 0)
}

/** The smallest and largest number with these colours. */
function rangeOf(
  numbers: Float64Array,
  places: Uint8Array,
  { first, last }: { readonly first: number; readonly last: number },
): readonly [number, number] {
  let least = Number.POSITIVE_INFINITY
  let most = Number.NEGATIVE_INFINITY
  for (let point = 0; point < numbers.length; point++) {
    const place = places[point] ?? 0
    if (place < first || place > last) continue
    least = Math.min(least, numbers[point] ?? 0)
    most = Math.max(most, numbers[point] ?? 0)
  }
  return [least, most]
}

const NUMBER = new Intl.NumberFormat('en', { maximumSignificantDigits: 4 })
const LARGE = 1e12
const SMALL = 1e-4

/** @param range the difference between the largest and the smallest value */
function shownBy(kind: 'numbers' | 'times', range: number): (value: number) => string {
  if (kind === 'numbers') return shownNumber
  return (value) => {
    // A database can contain times that a browser cannot represent.
    const time = new Date(value)
    if (Number.isNaN(time.getTime())) return shownNumber(value)
    const text = time.toISOString()
    const [day = text, clock = ''] = text.split('T')
    return range < 2 * DAY_MS ? `${day} ${clock.slice(0, 5)}` : day
  }
}

function shownNumber(value: number): string {
  const size = Math.abs(value)
  const isPlain = size === 0 || (size >= SMALL && size < LARGE)
  return isPlain ? NUMBER.format(value) : value.toExponential(2)
}

interface Colours {
  /** Undefined if regions determine the colours, or while loading. */
  readonly data: Coloured | undefined
  /** The points nearest to the search text. */
  readonly best: readonly number[]
  readonly failure: Error | undefined
  readonly reload: () => void
}

const BEST = 10
const NONE: readonly number[] = []

/** The colours of the points for a column or search text, reloaded when either changes. */
export function useColours(
  address: MapAddress,
  { column, query }: { readonly column: string | undefined; readonly query: string | undefined },
): Colours {
  const { data, failure, reload } = useResource(
    async (signal) => {
      if (query) return readValues(address, { query }, signal)
      return column ? readValues(address, { column }, signal) : null
    },
    [address, column, query],
  )
  const coloured = useMemo(() => (data ? colouredBy(data) : undefined), [data])
  const best = useMemo(() => (data && query ? bestOf(data) : NONE), [data, query])
  return { data: coloured, best, failure, reload }
}

function bestOf(values: PointValues): readonly number[] {
  if (values.kind === 'categories') return NONE
  const { numbers } = values
  const points = [...numbers.keys()].filter((point) => !Number.isNaN(numbers[point] ?? Number.NaN))
  return points.toSorted((a, b) => (numbers[b] ?? 0) - (numbers[a] ?? 0)).slice(0, BEST)
}
