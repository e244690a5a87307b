import { describe, expect, test } from 'bun:test'
import { redacted } from '../../src/models/provider-failure.ts'

describe('a secret that is known', () => {
  test('is cut out, in part and in any case', () => {
    const key = 'abcdefgh-SECRET-0123'
    expect(redacted(`no key ${key.toLowerCase()} here`, [key])).toBe('no key ****** here')
    expect(redacted('Incorrect key: abcdefgh-SEC…', [key])).toBe('Incorrect key: ******…')
  })

  test('that is short never garbles other words', () => {
    expect(redacted('model has no capacity', ['a', 'u', 'hat'])).toBe('model has no capacity')
    expect(redacted('too many requests', ['abcd'])).toBe('too many requests')
  })

  test.each([
    ['wrong key "a"', 'a'],
    ['wrong key A!', 'a'],
    ['wrong key xpw12y', 'pw12'],
    ['key=hunter2', 'HUNTER2'],
  ])('that is short keeps the whole text back: %s', (text, secret) => {
    const shown = redacted(text, [secret])
    expect(shown).toStartWith('its answer is not shown')
  })

  test('that is empty changes nothing', () => {
    expect(redacted('no such model', [''])).toBe('no such model')
  })
})

describe('what looks like a credential is cut out', () => {
  test.each([
    ['got Authorization: Bearer abc.def-123', 'got Authorization: ******'],
    ['{"authorization":"Basic dTpw"}', '{"authorization":"******"}'],
    ['bearer eb0f9d1c22 was refused', 'bearer ****** was refused'],
    ['key sk-proj-AbC123xyz789 is wrong', 'key sk-****** is wrong'],
    ['hf_abcdefghijkl and ghp_0123456789', 'hf_****** and ghp_******'],
    ['at http://joe:pass@host/v1?key=1234&x=2', 'at http://******@host/v1?key=******&x=2'],
    ['x-api-key: 99bottles99', 'x-api-key: ******'],
    ['{"client_secret": "verysecretindeed"}', '{"client_secret": "******"}'],
    [`token ${'0123456789abcdef'.repeat(2)}.`, 'token ******.'],
    [`${'aB3/'.repeat(11)}== no`, '****** no'],
    ['eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJ expired', '****** expired'],
    ['AKIAIOSFODNN7EXAMPLE has no rights', 'AKIA****** has no rights'],
  ])('%s', (text, shown) => {
    expect(redacted(text, [])).toBe(shown)
  })

  test.each([
    'The model sentence-transformers/all-MiniLM-L6-v2 does not exist',
    'request 123e4567-e89b-12d3-a456-426614174000 failed',
    'This model has at most 8192 tokens: 9001 were sent',
    'bearer authentication is required; api_key is missing',
    'no route /v1/chat/completions/of/this/server/that/is/long',
    'Incorrect API key provided. You can find your API key in the settings',
  ])('what helps stays: %s', (text) => {
    expect(redacted(text, [])).toBe(text)
  })
})

test('a long text is cut and put on one line', () => {
  const shown = redacted(`a\n\tb\0 ${'x'.repeat(100_000)}`, ['k'.repeat(40)])
  expect(shown).toStartWith('a b xxx')
  expect(shown.length).toBe(301)
})
