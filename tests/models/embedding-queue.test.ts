import { expect, test } from 'bun:test'
import { EmbeddingQueue } from '../../src/models/builtin/embedding-loop.ts'

/** Returns texts with one part each. */
const sequences = (count: number, length: number) => {
  return Array.from({ length: count }, () => [new Array<number>(length).fill(7)])
}

/** Returns the IDs of the jobs in the order of their texts. */
function drained(queue: EmbeddingQueue): readonly number[] {
  const order: number[] = []
  for (let task = queue.next(); task !== null; task = queue.next()) {
    order.push(task.jobId)
    task.complete(new Float32Array(1))
  }
  return order
}

test('a query overtakes the waiting texts of an insert', () => {
  const queue = new EmbeddingQueue()
  queue.add(1, sequences(40, 128))
  queue.next()?.complete(new Float32Array(1))
  queue.add(2, sequences(1, 10))
  expect(queue.next()?.jobId).toBe(2)
})

test('an insert gets its turn although queries never stop', () => {
  const queue = new EmbeddingQueue()
  queue.add(0, sequences(40, 128))
  for (let id = 1; id <= 100; id += 1) queue.add(id, sequences(1, 10))
  const order = drained(queue)
  expect(order.indexOf(0)).toBe(32)
  expect(order).toHaveLength(140)
})

test('two inserts take turns', () => {
  const queue = new EmbeddingQueue()
  queue.add(1, sequences(40, 128))
  queue.add(2, sequences(40, 128))
  expect(drained(queue).slice(0, 4)).toEqual([1, 2, 1, 2])
})

test('vectors come back in the order of the texts once all are there', () => {
  const queue = new EmbeddingQueue()
  const lengths = [200, 3, 256, 50]
  queue.add(
    1,
    lengths.flatMap((length) => sequences(1, length)),
  )
  const results: unknown[] = []
  for (let task = queue.next(); task !== null; task = queue.next()) {
    const vectors = task.complete(Float32Array.of(task.tokens.length))
    results.push(vectors?.map((vector) => vector[0]) ?? null)
  }
  expect(results).toEqual([null, null, null, lengths])
})

test('a cancelled text is not embedded, and the others are', () => {
  const queue = new EmbeddingQueue()
  queue.add(1, sequences(40, 128))
  queue.add(2, sequences(2, 8))
  queue.cancel(1)
  expect(drained(queue)).toEqual([2, 2])
})

test('the vector of a text in parts is their mean by tokens, of length 1', () => {
  const queue = new EmbeddingQueue()
  queue.add(1, [[[1, 1, 1], [2]], [[3]]])
  const given = [Float32Array.of(1, 0), Float32Array.of(0, 1), Float32Array.of(0.6, 0.8)]
  const answers = given.map((vector) => queue.next()?.complete(vector))
  expect(answers.slice(0, 2)).toEqual([null, null])
  const root = Math.sqrt(10)
  expect(answers[2]).toEqual([Float32Array.of(3 / root, 1 / root), Float32Array.of(0.6, 0.8)])
})
