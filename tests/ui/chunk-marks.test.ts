import { expect, test } from 'bun:test'
import {
  areMadeOfJson,
  blocksOf,
  markOf,
  piecesOf,
} from '../../src/ui/views/knowledge-base/chunk-marks.ts'

test('blocks are the whole text, and cut no character in two', () => {
  const text = `${'a'.repeat(5999)}😀${'line\n'.repeat(3000)}`
  const parts = blocksOf(text).map(({ start, end }) => text.slice(start, end))
  expect(parts.join('')).toBe(text)
  expect(parts.length).toBeGreaterThan(2)
  expect(parts.every((part) => part.isWellFormed())).toBe(true)
})

test('a piece knows each chunk that holds it, and whether it is marked', () => {
  const chunks = [
    { start: 0, end: 6 },
    { start: 4, end: 10 },
  ]
  expect(piecesOf({ start: 0, end: 12 }, chunks, { start: 8, end: 10 })).toEqual([
    { start: 0, end: 4, chunks: [0], isMarked: false },
    { start: 4, end: 6, chunks: [0, 1], isMarked: false },
    { start: 6, end: 8, chunks: [1], isMarked: false },
    { start: 8, end: 10, chunks: [1], isMarked: true },
    { start: 10, end: 12, chunks: [], isMarked: false },
  ])
})

test('of chunks of JSON that are of one length, the one that is named is marked where it is shown', () => {
  const chunks = [
    { number: 1, start: 0, end: 9, cut: { start: 0, end: 9 } },
    { number: 2, start: 11, end: 20, cut: { start: 0, end: 9 } },
  ]
  expect(markOf({ number: 2, start: 0, end: 9 }, chunks)).toEqual({
    at: 1,
    mark: { start: 11, end: 20 },
  })
  expect(markOf({ number: 2, start: 2, end: 5 }, chunks).mark).toEqual({ start: 13, end: 16 })
  // An address from before re-chunking has only its offsets.
  expect(markOf({ number: 2, start: 12, end: 15 }, chunks)).toEqual({
    at: 1,
    mark: { start: 12, end: 15 },
  })
})

test('a document of one chunk is known to be made of JSON', () => {
  expect(areMadeOfJson([{ source: 'JSONChunkingPreprocessor' }])).toBe(true)
  expect(areMadeOfJson([{ source: 'TextChunkingPreprocessor' }])).toBe(false)
})
