import { expect, test } from 'bun:test'
import { stemOf } from '../../src/core/text/words.ts'

test.each([
  ['книгами', 'книг'],
  ['المدرسة', 'مدرس'],
  ['σχολεία', 'σχολει'],
  ['भाषाओं', 'भाष'],
  ['שָׁלוֹם', 'שלום'],
  ['გამარჯობა', 'გამარჯობა'],
])('the script of %s says its stem', (word, stem) => {
  expect(stemOf(word)).toBe(stem)
})
