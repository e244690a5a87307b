import { afterEach, expect, test } from 'bun:test'
import { type LoginState, loggedInAgain, loginState } from '../../src/ui/api/session.ts'

afterEach(() => {
  loginState.value = 'unknown'
})

const BACK: readonly LoginState[] = ['on', 'off']

test.each(BACK)('what waits for a login goes on once it is %s', async (state) => {
  loginState.value = 'on'
  const back = loggedInAgain()
  expect(String(loginState.value)).toBe('expired')
  loginState.value = state
  await back
})
