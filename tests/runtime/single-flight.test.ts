import { expect, test } from 'bun:test'
import { SingleFlight } from '../../src/core/runtime/serial-queue.ts'

test('work is seen by its name until it is over, however it ends', async () => {
  const flights = new SingleFlight()
  const gate = Promise.withResolvers<number>()
  const first = flights.run('a', () => gate.promise)
  const waiting = flights.of('a')
  expect(waiting).toBeDefined()
  expect(flights.of('b')).toBeUndefined()
  gate.resolve(7)
  expect(await first).toBe(7)
  await waiting
  expect(flights.of('a')).toBeUndefined()

  const failing = flights.run('a', () => Promise.reject(new Error('no')))
  // Callers that wait do not get the failure, because they may succeed themselves.
  await flights.of('a')
  await expect(failing).rejects.toThrow('no')
  expect(flights.of('a')).toBeUndefined()
})
