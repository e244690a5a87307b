import { expect, test } from 'bun:test'
import {
  moved,
  nearestPoint,
  placeLabels,
  type Selection,
  selectedPoints,
  toMap,
  toScreen,
  visibleBox,
  wholeMap,
  zoomed,
} from '../../src/ui/views/map/map-model.ts'
import { colouredBy, FAINT, OTHERS } from '../../src/ui/views/map/point-colours.ts'

const VIEW = wholeMap(800, 600)

test('zooming keeps what is under the pointer, and moving follows it', () => {
  const before = toMap(VIEW, 250, 120)
  const near = zoomed(VIEW, 3, 250, 120)
  expect(toMap(near, 250, 120).map(Math.round)).toEqual(before.map(Math.round))
  const [x, y] = toScreen(near, ...before)
  const [movedX, movedY] = toScreen(moved(near, 10, -5), ...before)
  expect([Math.round(movedX - x), Math.round(movedY - y)]).toEqual([10, -5])
})

test('the nearest point is found', () => {
  const x = Uint16Array.from([100, 5000, 65_535, 5200])
  const y = Uint16Array.from([100, 5000, 65_535, 5000])
  const points = { count: 4, x, y, regions: new Uint16Array(4) }
  expect(nearestPoint(points, 5090, 5000, 300)).toBe(1)
  expect(nearestPoint(points, 30_000, 30_000, 300)).toBeNull()
})

test('a region is selected with its parts, a rectangle, or the points of some colours', () => {
  const x = Uint16Array.from([100, 5000, 5100])
  const points = { count: 3, x, y: x, regions: Uint16Array.from([1, 2, 2]) }
  const region = { level: 1, parent: 0, x: 0, y: 0, point_count: 1 }
  const regions = [
    { ...region, level: 0, parent: null, words: ['all'] },
    { ...region, words: ['a.b', 'c'] },
    { ...region, words: [] },
  ]
  const places = Uint8Array.from([FAINT, 1, OTHERS])
  const of = (selection: Selection | undefined) => {
    const found = selectedPoints(selection, { points, regions, places })
    return found && [...found]
  }
  expect(of({ region: 1 })).toEqual([0])
  expect(of({ region: 2 })).toEqual([1, 2])
  expect(of({ region: 0 })).toEqual([0, 1, 2])
  expect(of({ box: [4000, 4000, 6000, 6000] })).toEqual([1, 2])
  expect(of(visibleBox(VIEW))).toEqual([0, 1, 2])
  expect(of({ first: FAINT, last: FAINT })).toEqual([0])
  expect(of({ first: 1, last: OTHERS })).toEqual([1, 2])
  for (const nothing of [undefined, { region: 9 }, { first: 2, last: 2 }]) {
    expect(of(nothing)).toBeNull()
  }
})

test('a label near the edge is moved inside, and says less rather than lie over another', () => {
  const region = (x: number, words: readonly string[], count: number) => ({
    ...{ level: 0, parent: null, x, y: 30_000, point_count: count, words: [...words] },
  })
  const regions = [region(0, ['first', 'long'], 9), region(24_000, ['second', 'long'], 5)]
  const placed = placeLabels(regions, wholeMap(390, 390), (text) => text.length * 8)
  expect(placed.map(({ text }) => text)).toEqual(['first · long', 'second'])
  expect(placed[0]?.x).toBeGreaterThanOrEqual(48)
})

test('no label lies over another, and nearer views have those of smaller regions', () => {
  const region = (level: number, x: number, count: number) => ({
    ...{ level, parent: null, x, y: 30_000, point_count: count, words: [`word ${x}`] },
  })
  const regions = [region(0, 20_000, 5), region(0, 20_500, 9), region(1, 32_000, 2)]
  const far = placeLabels(regions, VIEW, () => 80)
  expect(far.map(({ text }) => text)).toEqual(['word 20500'])
  const near = placeLabels(regions, zoomed(VIEW, 3, 400, 300), () => 80)
  expect(near.map(({ text }) => text)).toEqual(['word 32000'])
})

test('rare values share a colour, and one huge number does not make all others alike', () => {
  const values = Array.from({ length: 12 }, (_, at) => ({ value: `v${at}`, count: 12 - at }))
  const codes = Uint32Array.from([0, 1, 8, 9, 12])
  const { places } = colouredBy({ kind: 'categories', values, codes })
  expect([...places]).toEqual([FAINT, 1, 8, OTHERS, OTHERS])
  const numbers = Float64Array.from([1, 2, 3, 4, 1e12, Number.NaN])
  const coloured = colouredBy({ kind: 'numbers', numbers })
  expect(new Set(coloured.places).size).toBe(6)
  expect(coloured.places[5]).toBe(FAINT)
})

test('a legend names its colours, with counts, and a point its value', () => {
  const days = Array.from({ length: 40 }, (_, day) => Date.UTC(2026, 0, 1 + day))
  const times = colouredBy({ kind: 'times', numbers: Float64Array.from([...days, Number.NaN]) })
  expect(times.legend?.map(({ label, count }) => `${label}: ${count}`)).toEqual([
    '2026-01-31 – 2026-02-09: 10',
    '2026-01-21 – 2026-01-30: 10',
    '2026-01-11 – 2026-01-20: 10',
    '2026-01-01 – 2026-01-10: 10',
    'no value: 1',
  ])
  expect([times.shownOf(0), times.shownOf(40)]).toEqual(['2026-01-01', 'no value'])
  const hours = days.map((_, hour) => Date.UTC(2026, 0, 1, hour))
  const clock = colouredBy({ kind: 'times', numbers: Float64Array.from(hours) })
  expect(clock.shownOf(3)).toBe('2026-01-01 03:00')
  const same = colouredBy({ kind: 'numbers', numbers: Float64Array.from([7, 7]) })
  expect(same.legend?.map(({ label, count }) => `${label}: ${count}`)).toEqual(['7: 2'])
  const huge = colouredBy({ kind: 'numbers', numbers: Float64Array.from([-1e308, 1e308]) })
  expect(huge.legend?.map(({ label }) => label)).toEqual(['1.00e+308', '-1.00e+308'])
})
