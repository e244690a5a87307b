import { expect, test } from 'bun:test'
import { Semaphore } from '../../src/runtime/semaphore.ts'
import { failureOf } from '../store/store-fixture.ts'

const { signal } = new AbortController()

test('lets in as many as there are places, then in the order of arrival', async () => {
  const queue = new Semaphore({ placesMax: 1, waitingMax: 2 })
  const entered: string[] = []
  const leave = await queue.enter(signal)
  const second = queue.enter(signal).then((leaveSecond) => {
    entered.push('second')
    leaveSecond()
  })
  const third = queue.enter(signal).then(() => entered.push('third'))
  expect((await failureOf(queue.enter(signal))).code).toBe('too_busy')
  expect(entered).toEqual([])
  leave()
  leave()
  await Promise.all([second, third])
  expect(entered).toEqual(['second', 'third'])
})

test('who gives up while waiting does not take a place', async () => {
  const queue = new Semaphore({ placesMax: 1, waitingMax: 2 })
  const leave = await queue.enter(signal)
  const controller = new AbortController()
  const impatient = queue.enter(controller.signal)
  const patient = queue.enter(signal)
  controller.abort(new Error('enough'))
  expect((await failureOf(impatient)).message).toBe('enough')
  leave()
  expect(typeof (await patient)).toBe('function')
})
