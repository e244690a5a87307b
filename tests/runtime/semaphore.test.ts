import { expect, test } from 'bun:test'
import { AppError } from '../../src/core/errors.ts'
import { Semaphore } from '../../src/core/runtime/semaphore.ts'
import { failureOf } from '../support/store-fixture.ts'

const { signal } = new AbortController()
const tooBusy = () => new AppError('too_busy', 'Too many')

test('lets in as many as there are places, then in the order of arrival', async () => {
  const queue = new Semaphore({ placesMax: 1, waitingMax: 2, tooBusy })
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
  const queue = new Semaphore({ placesMax: 1, waitingMax: 2, tooBusy })
  const leave = await queue.enter(signal)
  const controller = new AbortController()
  const impatient = queue.enter(controller.signal)
  const patient = queue.enter(signal)
  controller.abort(new Error('enough'))
  expect((await failureOf(impatient)).message).toBe('enough')
  leave()
  expect(typeof (await patient)).toBe('function')
})

test('a key that has its places is passed by, and comes when one is free', async () => {
  const places = new Semaphore({ placesMax: 2, placesPerKeyMax: 1, waitingMax: 5, tooBusy })
  const entered: string[] = []
  const enter = async (key: string) => {
    const release = await places.enter(signal, key)
    entered.push(key)
    return release
  }
  const first = await enter('busy')
  const waiting = enter('busy')
  await enter('other')
  expect([entered, places.taken, places.waiting]).toEqual([['busy', 'other'], 2, 1])
  first()
  await waiting
  expect(entered).toEqual(['busy', 'other', 'busy'])
})

test('who has time waits behind everybody, outside of the queue, and takes half of the places', async () => {
  const places = new Semaphore({ placesMax: 3, placesPerKeyMax: 2, waitingMax: 1, tooBusy })
  const entered: string[] = []
  const enter = async (name: string, key: string, isPatient: boolean) => {
    const release = await places.enter(signal, key, { isPatient })
    entered.push(name)
    return release
  }
  const first = await enter('first', 'a', true)
  const others = [enter('second', 'a', true), enter('third', 'b', true), enter('fourth', 'b', true)]
  await others[1]
  expect([entered, places.taken, places.waiting]).toEqual([['first', 'third'], 2, 0])
  // One slot is left, reserved for those who cannot wait.
  const user = await enter('user', 'a', false)
  const next = enter('next', 'a', false)
  expect((await failureOf(places.enter(signal))).code).toBe('too_busy')
  first()
  await next
  user()
  await others[0]
  expect(entered).toEqual(['first', 'third', 'user', 'next', 'second'])
})
