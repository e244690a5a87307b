import { expect, test } from 'bun:test'
import type { NewUser } from '../../src/core/domain/ports/access-ports.ts'
import { openStore } from '../../src/store/store.ts'
import { temporaryFolder } from '../support/store-fixture.ts'

const { signal } = new AbortController()
const ANN: NewUser = {
  name: 'ann',
  password: 'correct horse',
  role: 'viewer',
  namespaces: null,
  createdBy: 'ada',
}
/** More than may wait for a slow hash. */
const GUESSES = 300

test('password guesses do not lock out a user whose password this process has verified', async () => {
  const store = await openStore({ directory: ':memory:' })
  const { users } = store
  const { id } = await users.create(ANN, signal)
  const guesses = Array.from({ length: GUESSES }, (_, at) => {
    return users.isPassword(id, `wrong ${at}`, `10.0.${at >> 8}.${at % 256}`, signal)
  })
  expect(await users.isPassword(id, ANN.password, '10.1.0.1', signal)).toBe(true)
  expect(new Set(await Promise.all(guesses))).toEqual(new Set([false]))
  await store.close()
})

test('only the current password is accepted, before and after it was verified', async () => {
  using folder = temporaryFolder()
  const store = await openStore({ directory: folder.path })
  const { id } = await store.users.create(ANN, signal)
  await store.users.change(id, { password: 'battery staple' }, signal)
  await store.users.change(id, { role: 'editor' }, signal)
  const right = (users: typeof store.users, password: string) => {
    return users.isPassword(id, password, '10.0.0.1', signal)
  }
  expect(await right(store.users, ANN.password)).toBe(false)
  expect(await right(store.users, 'battery staple')).toBe(true)
  await store.close()
  const again = await openStore({ directory: folder.path })
  expect(await right(again.users, ANN.password)).toBe(false)
  expect(await right(again.users, 'battery staple')).toBe(true)
  expect(await right(again.users, ANN.password)).toBe(false)
  expect(await right(again.users, 'battery staple')).toBe(true)
  await again.users.remove(id)
  expect(await right(again.users, 'battery staple')).toBe(false)
  await again.close()
})
