import { expect, test } from 'bun:test'
import { linesOf } from '../../src/ui/api/sql.ts'

async function linesIn(pieces: readonly string[]): Promise<readonly string[]> {
  const encoder = new TextEncoder()
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(encoder.encode(piece))
      controller.close()
    },
  })
  return Array.fromAsync(linesOf(new Response(body)))
}

test('lines are whole wherever the pieces of a body end', async () => {
  expect(await linesIn(['a', 'b\nc', '\n', '\nd\ne', 'f'])).toEqual(['ab', 'c', 'd', 'ef'])
  expect(await linesIn(['a\n'])).toEqual(['a'])
  expect(await linesIn([])).toEqual([])
})

test('a line of many pieces takes time by its length, not by its square', async () => {
  const piece = 'x'.repeat(16_384)
  const [line = ''] = await linesIn([...Array.from({ length: 3000 }, () => piece), '\n'])
  expect(line.length).toBe(3000 * piece.length)
}, 5000)
