/** Values of points to places in the palette, and what each colour means. */
import { useMemo } from 'preact/hooks'
import {
  type MapAddress,
  type MapPoints,
  type MapRegion,
  type PointValues,
  readValues,
} from '../../api/maps.ts'
import { useResource } from '../../components/resource.ts'

/** Places in the palette: none or faint, eight of the series, all other values, then a gradient. */
export const FAINT = 0
export const SERIES = 8
export const OTHERS = SERIES + 1
export const GRADIENT = OTHERS + 1
export const GRADIENT_STEPS = 16
export const PALETTE_SIZE = GRADIENT + GRADIENT_STEPS

export type Legend =
  | { readonly kind: 'regions' }
  | {
      readonly kind: 'categories'
      readonly entries: readonly {
        readonly label: string
        readonly count: number
        readonly place: number
      }[]
    }
  | { readonly kind: 'numbers' | 'times'; readonly least: number; readonly most: number }

export interface Coloured {
  /** Of each point, the place in the palette. */
  readonly places: Uint8Array
  readonly legend: Legend
}

/** Each region of the view from far away has a colour. */
export function colouredByRegion(
  { regions: regionOf, count }: MapPoints,
  regions: readonly MapRegion[],
): Coloured {
  const places = new Uint8Array(count)
  const placeOf = regions.map((_, at) => 1 + (rootOf(regions, at) % SERIES))
  for (let point = 0; point < count; point++) places[point] = placeOf[regionOf[point] ?? 0] ?? 1
  return { places, legend: { kind: 'regions' } }
}

/** The region of level 0 that it is a part of. */
function rootOf(regions: readonly MapRegion[], index: number): number {
  let at = index
  for (let parent = regions[at]?.parent ?? null; parent !== null; ) {
    at = parent
    parent = regions[at]?.parent ?? null
  }
  return at
}

export function colouredBy(values: PointValues): Coloured {
  return values.kind === 'categories' ? byCategory(values) : byNumber(values)
}

function byCategory({ values, codes }: Extract<PointValues, { kind: 'categories' }>): Coloured {
  const places = Uint8Array.from(codes, (code) => (code > SERIES ? OTHERS : code))
  const named = values
    .slice(0, SERIES)
    .map(({ value, count }, at) => ({ label: value, count, place: at + 1 }))
  const rest = values.slice(SERIES)
  const count = rest.reduce((sum, one) => sum + one.count, 0)
  const others = { label: `${rest.length} other values`, count, place: OTHERS }
  const none = codes.reduce((sum, code) => sum + (code === 0 ? 1 : 0), 0)
  const entries = [
    ...named,
    ...(rest.length > 0 ? [others] : []),
    ...(none > 0 ? [{ label: 'no value', count: none, place: FAINT }] : []),
  ]
  return { places, legend: { kind: 'categories', entries } }
}

/** By rank, so that one very large number does not make all others alike. */
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
  return { places, legend: { kind, least, most } }
}

interface ColourSource {
  readonly column: string | undefined
  readonly query: string | undefined
}

interface Colours {
  /** Undefined: regions colour them, or it is still read. */
  readonly data: Coloured | undefined
  /** The nearest to a text. */
  readonly best: readonly number[]
  readonly failure: Error | undefined
  readonly reload: () => void
}

const BEST = 10
const NONE: readonly number[] = []

/** What colours the points, where it is a column or a text: read again when one of them changes. */
export function useColours(address: MapAddress, { column, query }: ColourSource): Colours {
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
