import { expect, test } from 'bun:test'
import { openStore } from '../../src/store/store.ts'
import { temporaryFolder } from '../support/store-fixture.ts'

test('a revoked token stays revoked over a restart until it expires', async () => {
  using folder = temporaryFolder()
  let time = 1_000_000
  const now = () => time
  const first = await openStore({ directory: folder.path, now })
  await first.revokedTokens.revoke('long', 9_000_000)
  await first.revokedTokens.revoke('long', 9_000_000)
  await first.revokedTokens.revoke("'; DROP TABLE x; --", 2_000_000)
  expect(first.revokedTokens.isRevoked('long')).toBe(true)
  expect(first.revokedTokens.isRevoked('other')).toBe(false)
  await first.close()
  time = 3_000_000
  const second = await openStore({ directory: folder.path, now })
  expect(second.revokedTokens.isRevoked('long')).toBe(true)
  expect(second.revokedTokens.isRevoked("'; DROP TABLE x; --")).toBe(false)
  time = 10_000_000
  await second.revokedTokens.revoke('new', 20_000_000)
  expect(second.revokedTokens.isRevoked('long')).toBe(false)
  await second.close()
})
