import { expect, test } from 'bun:test'
import { layOut } from '../../src/retrieval/map/layout/lay-out.ts'
import {
  principalComponents,
  SeededRandom,
} from '../../src/retrieval/map/layout/principal-components.ts'
import type { FromMapThread } from '../../src/retrieval/map/map-protocol.ts'
import { mapRegions } from '../../src/retrieval/map/map-regions.ts'
import { MapThread } from '../../src/retrieval/map/map-thread.ts'
import { regionWords } from '../../src/retrieval/map/region-words.ts'

const DIMENSIONS = 16
const CLUSTERS = 5

/** Point `i` belongs to cluster `i % CLUSTERS`. */
function planted(count: number): Float32Array {
  const random = new SeededRandom(3)
  const centres = Float32Array.from({ length: CLUSTERS * DIMENSIONS }, () => random.next() - 0.5)
  return Float32Array.from({ length: count * DIMENSIONS }, (_, at) => {
    const cluster = Math.floor(at / DIMENSIONS) % CLUSTERS
    return (centres[cluster * DIMENSIONS + (at % DIMENSIONS)] ?? 0) + (random.next() - 0.5) * 0.1
  })
}

test('the same vectors always have the same places', () => {
  const table = { values: planted(300), dimensions: DIMENSIONS }
  expect(layOut(table, { seed: 1 })).toEqual(layOut(table, { seed: 1 }))
})

// Too many points to compare all of them, so their neighbours come from trees and descent.
for (const count of [300, 2500]) {
  test(`of ${count} points, those of a cluster lie together`, () => {
    const places = layOut({ values: planted(count), dimensions: DIMENSIONS }, { seed: 1 })
    expect(places.every(Number.isFinite)).toBe(true)
    let own = 0
    for (let point = 0; point < 200; point++) {
      if (nearestOf(places, point) % CLUSTERS === point % CLUSTERS) own += 1
    }
    expect(own).toBeGreaterThan(195)
  })
}

function nearestOf(places: Float32Array, point: number): number {
  let nearest = -1
  let least = Number.POSITIVE_INFINITY
  for (let other = 0; other < places.length / 2; other++) {
    const dx = (places[other * 2] ?? 0) - (places[point * 2] ?? 0)
    const dy = (places[other * 2 + 1] ?? 0) - (places[point * 2 + 1] ?? 0)
    if (other === point || dx * dx + dy * dy >= least) continue
    least = dx * dx + dy * dy
    nearest = other
  }
  return nearest
}

test('the first component is the direction in which vectors differ most', () => {
  const random = new SeededRandom(5)
  const values = Float32Array.from({ length: 500 * 4 }, (_, at) => {
    return (random.next() - 0.5) * (at % 4 === 2 ? 10 : 0.1)
  })
  const { axes } = principalComponents({ values, dimensions: 4 }, 2, random)
  expect(axes[2]).toBeCloseTo(1, 2)
})

function mapOf(values: Float32Array, count: number): Extract<FromMapThread, { kind: 'named' }> {
  let named: FromMapThread | undefined
  const thread = new MapThread((message) => {
    named = message
  })
  const keys = BigInt64Array.from({ length: count }, (_, at) => BigInt(count - at))
  thread.receive({ kind: 'sample', values: values.slice(), dimensions: DIMENSIONS, rowsMax: count })
  thread.receive({ kind: 'rows', keys, values: values.slice() })
  thread.receive({ kind: 'place' })
  thread.receive({ kind: 'name', texts: [], language: 'english' })
  if (named?.kind !== 'named') throw new Error('There is no map')
  return named
}

test('one point, two, equal ones and numbers that are none make a map', () => {
  for (const [count, value] of [
    [1, 0.5],
    [2, 0.5],
    [3, 0],
    [100, 0.25],
    [100, Number.NaN],
  ] as const) {
    const map = mapOf(new Float32Array(count * DIMENSIONS).fill(value), count)
    expect([map.x.length, map.y.length, map.regionOf.length]).toEqual([count, count, count])
    expect(map.regions.at(-1)?.pointCount).toBeGreaterThan(0)
    expect([...map.keys]).toEqual([...map.keys].toSorted((a, b) => Number(a - b)))
  }
})

test('every point is in a region, whose parent has all of it', () => {
  const places = layOut({ values: planted(2500), dimensions: DIMENSIONS }, { seed: 1 })
  const { regions, ofPoints } = mapRegions(places, new SeededRandom(1))
  for (const level of [0, 1, 2]) {
    const own = regions.filter((region) => region.level === level)
    expect(own.reduce((sum, { pointCount }) => sum + pointCount, 0)).toBe(2500)
  }
  expect([...ofPoints].every((region) => regions[region]?.level === 2)).toBe(true)
  expect(regions.every(({ level, parent }) => (parent === null) === (level === 0))).toBe(true)
})

test('regions are named by words of their own, as they are written', () => {
  const region = { level: 0, parent: null, x: 0, y: 0, pointCount: 20 }
  const texts = Array.from({ length: 40 }, (_, at) => ({
    region: at % 2,
    text: at % 2 === 0 ? 'The bridges of the town are steel' : 'The town has many gardens and bees',
  }))
  const [first = [], second = []] = regionWords([region, region], texts, 'english')
  expect(first.toSorted()).toEqual(['bridges', 'steel'])
  expect(second).toContain('gardens')
  expect([...first, ...second]).not.toContain('town')
})
