import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { KeyRows } from '../../src/retrieval/vectors/row-table.ts'
import { type Block, VectorMemory } from '../../src/retrieval/vectors/vector-memory.ts'

const MEGABYTE = 1024 ** 2

test('blocks never overlap, in any order of taking and giving back', () => {
  const sizes = fc.integer({ min: 1, max: 16 * MEGABYTE })
  const steps = fc.array(fc.tuple(fc.boolean(), sizes, fc.nat()), { maxLength: 60 })
  fc.assert(
    fc.property(steps, (all) => {
      const memory = new VectorMemory({ bytesMax: 64 * MEGABYTE, threadCount: 1 })
      const held: Block[] = []
      for (const [isTaken, bytes, which] of all) {
        if (!isTaken && held.length > 0) {
          for (const block of held.splice(which % held.length, 1)) memory.release(block)
        } else if (isTaken && memory.usedBytes + 2 * bytes < 16 * MEGABYTE) {
          const block = memory.allocate(bytes)
          expect(block.bytes).toBeGreaterThanOrEqual(bytes)
          held.push(block)
        }
        const ascending = held.toSorted((a, b) => a.address - b.address)
        const ends = ascending.map(({ address, bytes }) => address + bytes)
        for (const [index, end] of ends.entries()) {
          const limit = ascending[index + 1]?.address ?? memory.memory.buffer.byteLength
          expect(end).toBeLessThanOrEqual(limit)
        }
        expect(memory.usedBytes).toBe(held.reduce((sum, block) => sum + block.bytes, 0))
      }
    }),
    { numRuns: 30 },
  )
})

test('freed blocks are merged again', () => {
  const memory = new VectorMemory({ bytesMax: 16 * MEGABYTE, threadCount: 1 })
  const pages = Array.from({ length: 256 }, () => memory.allocate(1))
  const full = expect.objectContaining({ code: 'out_of_memory' })
  expect(() => memory.allocate(1)).toThrow(full)
  for (const page of pages) memory.release(page)
  expect(memory.usedBytes).toBe(0)
  const whole = memory.allocate(16 * MEGABYTE)
  expect(whole.bytes).toBe(16 * MEGABYTE)
  expect(() => memory.allocate(1)).toThrow(full)
})

test('memory grows no further than its limit says', () => {
  for (const [bytesMax, blocks] of [
    [0, 0],
    [15 * MEGABYTE, 0],
    [16 * MEGABYTE, 1],
    [63 * MEGABYTE, 3],
  ] as const) {
    const memory = new VectorMemory({ bytesMax, threadCount: 64 })
    for (let count = 0; count < blocks; count++) memory.allocate(16 * MEGABYTE)
    const full = expect.objectContaining({ code: 'out_of_memory' })
    expect(() => memory.allocate(1)).toThrow(full)
  }
})

test('the memory limit is capped at what 32-bit addresses can reach', () => {
  const memory = new VectorMemory({ bytesMax: 1e15, threadCount: 2 })
  expect(memory.allocate(1).bytes).toBe(65_536)
})

test('keys map to the same rows as in a plain map', () => {
  const key = fc.oneof(fc.integer({ min: -300, max: 900 }), fc.maxSafeInteger())
  const steps = fc.array(fc.tuple(fc.boolean(), key, fc.nat({ max: 1e6 })), { maxLength: 200 })
  fc.assert(
    fc.property(steps, (all) => {
      const rows = new KeyRows()
      const plain = new Map<number, number>()
      for (const [isSet, one, row] of all) {
        if (isSet) rows.set(one, row)
        else rows.delete(one)
        if (isSet) plain.set(one, row)
        else plain.delete(one)
        expect(rows.get(one)).toBe(plain.get(one))
        expect(rows.size).toBe(plain.size)
      }
      for (const [, one] of all) expect(rows.get(one)).toBe(plain.get(one))
    }),
  )
})
