import { expect, test } from 'bun:test'
import { openSecrets } from '../../src/store/catalog/secrets.ts'

test('a text decrypts to itself, and encrypts differently each time', () => {
  const secrets = openSecrets(null)
  for (const text of ['', 'sk-1', 'é😀\0', 'x'.repeat(100_000)]) {
    const sealed = secrets.seal(text)
    expect(secrets.open(sealed)).toBe(text)
    expect(secrets.seal(text)).not.toBe(sealed)
  }
})

test('a text that was changed, or encrypted with another key, is refused', () => {
  const secrets = openSecrets(null)
  const sealed = secrets.seal('secret')
  const middle = sealed.length - 6
  const flipped = sealed[middle] === 'A' ? 'B' : 'A'
  const changed = `${sealed.slice(0, middle)}${flipped}${sealed.slice(middle + 1)}`
  for (const text of [changed, sealed.slice(0, 20), '', 'v2.AAAA', 'plain']) {
    expect(() => secrets.open(text)).toThrow()
  }
  expect(() => openSecrets(null).open(sealed)).toThrow()
})

test('the signing key has 256 bits and is another one in each store', () => {
  const secrets = openSecrets(null)
  expect(secrets.signingKey()).toHaveLength(32)
  expect(secrets.signingKey()).toEqual(secrets.signingKey())
  expect(openSecrets(null).signingKey()).not.toEqual(secrets.signingKey())
})
