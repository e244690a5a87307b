import { afterEach, expect, test } from 'bun:test'
import { isLeaving, type LoginState, loggedInAgain, loginState } from '../../src/ui/api/session.ts'

afterEach(() => {
  loginState.value = 'unknown'
  isLeaving.value = false
})

const BACK: readonly LoginState[] = ['on', 'off']

test.each(BACK)('what waits for a login goes on once it is %s', async (state) => {
  loginState.value = 'on'
  const back = loggedInAgain()
  expect(String(loginState.value)).toBe('expired')
  loginState.value = state
  await back
})

test('a request that needs a login during sign-out asks for none, and does not continue', async () => {
  loginState.value = 'on'
  isLeaving.value = true
  const abort = new AbortController()
  let isOn = false
  const back = loggedInAgain(abort.signal).then(() => {
    isOn = true
  })
  await Bun.sleep(0)
  expect([loginState.value, isOn]).toEqual(['on', false])
  abort.abort(new Error('left'))
  await expect(back).rejects.toThrow('left')
})
