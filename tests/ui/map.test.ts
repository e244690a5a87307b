import { expect, test } from 'bun:test'
import { placeLabels } from '../../src/ui/views/map/place-labels.ts'
import { colouredBy, FAINT, OTHERS } from '../../src/ui/views/map/point-colours.ts'
import { PointIndex } from '../../src/ui/views/map/point-index.ts'
import { moved, toMap, toScreen, wholeMap, zoomed } from '../../src/ui/views/map/viewport.ts'

const VIEW = wholeMap(800, 600)

test('zooming keeps what is under the pointer, and moving follows it', () => {
  const before = toMap(VIEW, 250, 120)
  const near = zoomed(VIEW, 3, 250, 120)
  expect(toMap(near, 250, 120).map(Math.round)).toEqual(before.map(Math.round))
  const [x, y] = toScreen(near, ...before)
  const [movedX, movedY] = toScreen(moved(near, 10, -5), ...before)
  expect([Math.round(movedX - x), Math.round(movedY - y)]).toEqual([10, -5])
})

test('the nearest point and those inside a line are found', () => {
  const x = Uint16Array.from([100, 5000, 65_535, 5200])
  const y = Uint16Array.from([100, 5000, 65_535, 5000])
  const index = new PointIndex({ count: 4, x, y, regions: new Uint16Array(4) })
  expect(index.nearest(5090, 5000, 300)).toBe(1)
  expect(index.nearest(30_000, 30_000, 300)).toBeNull()
  const triangle = [
    [4000, 4000],
    [5100, 4000],
    [5100, 9000],
  ] as const
  expect(index.inside(triangle)).toEqual([1])
  expect(index.within(0, 0, 65_535, 65_535)).toHaveLength(4)
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
