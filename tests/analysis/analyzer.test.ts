import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { Analyzer, termKey } from '../../src/analysis/analyzer.ts'
import { phrasesOf, queryTerms } from '../../src/analysis/query-terms.ts'
import { isMostlyLatin, wordsOf } from '../../src/analysis/words.ts'
import { LANGUAGES, type Language } from '../../src/domain/language.ts'

function terms(text: string, language: Language = 'english'): readonly string[] {
  return [...new Analyzer(language).terms(text)].flat().map((term) => term.text)
}

test.each<[string, Language, readonly string[]]>([
  ['The cats were running', 'english', ['cat', 'run']],
  ["The dog's owner doesn’t", 'english', ['dog', 'owner', "doesn't"]],
  ['CAFÉ naïve', 'english', ['cafe', 'naiv']],
  ['Ｔｅａ ﬁsh ²', 'english', ['tea', 'fish', '2']],
  ['ERR_404 x-200 1,000', 'english', ['err', '404', 'x', '200', '1', '000']],
  ['die Häuser', 'german', ['die', 'haus']],
  ['schön schon', 'german', ['schon', 'schon']],
  ['важная книгами', 'russian', ['важн', 'книг']],
  ['continuellement chevaux', 'french', ['continuel', 'cheval']],
  ['KIŞ IŞIK', 'turkish', ['kış', 'ışık']],
  ['running cats', 'none', ['running', 'cats']],
  ['東京都庁へ行きたい', 'english', ['東京', '都庁', 'へ', '行き', 'たい']],
  ['ฉันชอบดื่มชาเขียว', 'none', ['ฉัน', 'ชอบ', 'ดื่ม', 'ชา', 'เขียว']],
  ['हिन्दी में', 'none', ['हिन्दी', 'में']],
  ['…!? 👍', 'english', []],
  ['constructor __proto__', 'none', ['constructor', 'proto']],
])('%s in %s', (text, language, expected) => {
  expect(terms(text, language)).toEqual([...expected])
})

test('every language reads its words, and the same term stands for one key', () => {
  for (const language of LANGUAGES) {
    const [first, second] = [...new Analyzer(language).terms('xyzzy Xyzzy')].flat()
    expect(first).toBe(second)
    expect(first?.key).toBe(termKey(first?.text ?? ''))
  }
})

test('a key is the XXH64 of the term', () => {
  // github.com/Cyan4973/xxHash: XXH64 of no bytes and of "abc" with seed 0.
  expect(BigInt.asUintN(64, termKey(''))).toBe(0xef46db3751d8e999n)
  expect(BigInt.asUintN(64, termKey('abc'))).toBe(0x44bc2cf5ad770999n)
})

test('a word of any length is one short term', () => {
  const [term, ...others] = terms('a'.repeat(1_000_000), 'none')
  expect(others.length).toBeLessThan(62)
  expect(term?.length).toBe(64)
})

test('a long text has the words of its parts, wherever it is cut', () => {
  const words = Array.from({ length: 20_000 }, (_, index) => `w${index}`)
  expect([...wordsOf(words.join(' '), undefined)].flat()).toEqual(words)
  const pairs = [...wordsOf('𠮷'.repeat(40_000), undefined)].flat().join('')
  expect(pairs).toBe('𠮷'.repeat(40_000))
})

test('whatever the text, its terms are well-formed words', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary', maxLength: 200 }),
      fc.constantFrom(...LANGUAGES),
      (text, language) => {
        for (const term of terms(text, language)) {
          expect(term.isWellFormed()).toBe(true)
          expect(term.length).toBeGreaterThan(0)
        }
      },
    ),
    { numRuns: 300 },
  )
})

test('a query has each of its terms once with its count, and no more than 256', () => {
  const keys = [termKey('tea'), termKey('green')]
  expect(queryTerms('tea teas green TEA the', 'english')).toEqual({ keys, counts: [3, 1] })
  const long = Array.from({ length: 1000 }, (_, index) => `w${index}`).join(' ')
  const { keys: first, counts } = queryTerms(long, 'none')
  expect([first.length, counts.length]).toEqual([256, 256])
})

test.each([
  ['"green tea" Japan', ['green tea']],
  ['“exact phrase” and "another one"', ['exact phrase', 'another one']],
  ['a 24" screen and a 27" one', []],
  ['one " alone', []],
  ['"" "  " "x" "x"', ['x']],
])('phrases of %s', (text, expected) => {
  expect(phrasesOf(text)).toEqual(expected)
})

test.each([
  ['green tea', true],
  ['42 + 1', true],
  ['привет мир', false],
  ['東京 tower', true],
  ['شاي أخضر', false],
])('%s is mostly Latin: %p', (text, expected) => {
  expect(isMostlyLatin(text)).toBe(expected)
})
