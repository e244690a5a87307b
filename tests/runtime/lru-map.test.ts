import { expect, test } from 'bun:test'
import { LruMap } from '../../src/core/runtime/lru-map.ts'

test('the one not used for the longest time goes first', () => {
  const recent = new LruMap<string, number>({ sizeMax: 2 })
  recent.set('a', 1)
  recent.set('b', 2)
  expect(recent.get('a')).toBe(1)
  recent.set('c', 3)
  expect(['a', 'b', 'c'].map((key) => recent.get(key))).toEqual([1, undefined, 3])
})

test('values count by their size, also when they are replaced or deleted', () => {
  const recent = new LruMap<string, string>({ sizeMax: 10, sizeOf: ({ length }) => length })
  recent.set('a', 'xxxx')
  recent.set('b', 'xxxx')
  recent.set('a', 'x')
  expect(recent.size).toBe(5)
  recent.set('c', 'xxxxxx')
  expect([recent.get('a'), recent.get('b'), recent.size]).toEqual(['x', undefined, 7])
  recent.delete('c')
  recent.delete('nobody')
  expect(recent.size).toBe(1)
})

test('what is larger than all may be is not kept, and nothing goes but what it replaces', () => {
  const recent = new LruMap<string, string>({ sizeMax: 3, sizeOf: ({ length }) => length })
  recent.set('a', 'x')
  recent.set('b', 'x')
  recent.set('b', 'xxxx')
  expect([recent.get('a'), recent.get('b'), recent.size]).toEqual(['x', undefined, 1])
})

test('a value that has grown counts with its new size once it is set again', () => {
  const recent = new LruMap<string, string[]>({ sizeMax: 4, sizeOf: ({ length }) => length })
  const grown = ['x']
  recent.set('a', grown)
  recent.set('b', ['x'])
  grown.push('x', 'x', 'x')
  recent.set('a', grown)
  expect([recent.get('b'), recent.size]).toEqual([undefined, 4])
})
