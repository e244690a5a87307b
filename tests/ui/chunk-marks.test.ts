import { expect, test } from 'bun:test'
import { blocksOf, piecesOf } from '../../src/ui/views/knowledge-base/documents/chunk-marks.ts'

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
