import { expect, test } from 'bun:test'
import { Tombstones } from '../../src/retrieval/keywords/posting-lists.ts'

function noted(...writes: readonly (readonly [number, readonly bigint[] | null])[]): Tombstones {
  const removed = new Tombstones()
  for (const [revision, keys] of writes) {
    removed.note(7, revision, keys && BigInt64Array.from(keys))
  }
  return removed
}

test('the keys removed between two revisions are known, in ascending order', () => {
  const removed = noted([3, [9n, 4n]], [4, []], [5, [7n]])
  expect(removed.between(7, 2, 5)).toEqual(Uint32Array.of(4, 7, 9))
  expect(removed.between(7, 3, 5)).toEqual(Uint32Array.of(7))
  expect(removed.between(7, 3, 4)).toEqual(new Uint32Array(0))
  expect(removed.between(7, 5, 5)).toEqual(new Uint32Array(0))
})

test('unobserved and earlier writes are unknown', () => {
  const removed = noted([3, [1n]], [4, [2n]])
  expect(removed.between(7, 1, 4)).toBeNull()
  expect(removed.between(7, 3, 5)).toBeNull()
  expect(removed.between(7, 4, 3)).toBeNull()
  expect(removed.between(8, 3, 4)).toBeNull()
  expect(noted([3, [1n]], [4, null], [5, [2n]]).between(7, 3, 5)).toBeNull()
  expect(noted([3, [1n]], [5, [2n]]).between(7, 2, 5)).toBeNull()
  expect(noted([3, [1n]], [5, [2n]]).between(7, 4, 5)).toEqual(Uint32Array.of(2))
})

test('the number of keys and writes is limited, to the last ones', () => {
  const many = Array.from({ length: 60_000 }, (_, index) => BigInt(index))
  const large = noted([1, many], [2, many], [3, [5n]])
  expect(large.between(7, 0, 3)).toBeNull()
  expect(large.between(7, 1, 3)).toHaveLength(60_001)
  const writes = Array.from({ length: 1_100 }, (_, index) => [index, [BigInt(index)]] as const)
  const long = noted(...writes)
  expect(long.between(7, 98, 1_099)).toBeNull()
  expect(long.between(7, 99, 1_099)).toHaveLength(1_000)
  long.forget(7)
  expect(long.between(7, 1_098, 1_099)).toBeNull()
})
