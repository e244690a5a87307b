import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { LANGUAGES, type Language } from '../../src/core/domain/language.ts'
import { Analyzer, countTerms, termKey } from '../../src/core/text/analyzer.ts'
import { PhraseReader } from '../../src/core/text/phrase-reader.ts'
import { phrasesOf, queryTerms } from '../../src/core/text/phrases.ts'
import { isMostlyLatin, textToWords } from '../../src/core/text/words.ts'

function terms(text: string, language: Language = 'english'): readonly string[] {
  return termsAndStarts(text, language).filter((term) => !term.startsWith('^'))
}

function termsAndStarts(text: string, language: Language): readonly string[] {
  return [...new Analyzer(language).terms(text)].flat().map((term) => term.text)
}

test.each<[string, Language, readonly string[]]>([
  ['Die Restauration', 'german', ['die', 'restauration', '^rest']],
  ['restaurieren', 'german', ['restauri', '^rest']],
  ['гребневиков съест', 'english', ['гребневик', '^греб', 'съест', '^съес']],
  ['restoration', 'english', ['restor']],
  ['restoration', 'russian', ['restor']],
  ['restoration гребневик', 'none', ['restoration', 'гребневик']],
  ['b2b-handel 12345678', 'german', ['b2b', 'handel', '^hand', '12345678']],
  ['한국어 किताबों', 'german', ['한국어', '한국', '국어', 'किताब']],
])('long words of %s in %s have starts', (text, language, expected) => {
  expect(termsAndStarts(text, language)).toEqual([...expected])
})

test("a word's start counts half in a query, once per occurrence", () => {
  const { keys, counts } = queryTerms('restaurieren Restauration', 'german')
  const count = (term: string) => counts[keys.indexOf(termKey(term))]
  expect([count('restauri'), count('restauration'), count('^rest')]).toEqual([1, 1, 1])
})

test.each<[string, Language, readonly string[]]>([
  ['The cats were running', 'english', ['cat', 'run']],
  ["The dog's owner doesn’t", 'english', ['dog', 'owner', "doesn't"]],
  ['CAFÉ naïve', 'english', ['cafe', 'naiv']],
  ['Ｔｅａ ﬁsh ²', 'english', ['tea', 'fish', '2']],
  ['ERR_404 x-200 1,000', 'english', ['err', '404', 'x', '200', 'x200', '1', '000']],
  ['die Häuser', 'german', ['die', 'haus']],
  ['schön schon', 'german', ['schon', 'schon']],
  ['важная книгами', 'russian', ['важн', 'книг']],
  ['continuellement chevaux', 'french', ['continuel', 'cheval']],
  ['KIŞ IŞIK', 'turkish', ['kış', 'ışık']],
  ['running cats', 'none', ['running', 'cats']],
  ['東京都', 'english', ['東', '京', '都', '東京', '京都']],
  ['iPhone手机', 'english', ['iphon', '手', '机', '手机']],
  ['학교에서', 'english', ['학교에서', '학교', '교에', '에서']],
  ['ชาเขียว', 'none', ['เขียว', 'ชา', 'าเ', 'เขี', 'ขีย', 'ยว']],
  ['GPT-4 gpt4', 'english', ['gpt', '4', 'gpt4', 'gpt', '4', 'gpt4']],
  ['e-mails email', 'english', ['e', 'mail', 'email', 'email']],
  ['2020-01-05 a-b-c-d', 'none', ['2020', '01', '05', 'a', 'b', 'c', 'd']],
  ['Straße STRASSE strasse', 'english', ['strass', 'strass', 'strass']],
  ['Straße strasse', 'german', ['strass', 'strass']],
  ['Müller Mueller Bauer neue', 'german', ['mull', 'mull', 'bau', 'neu']],
  ["l'élève eleve qu'il", 'french', ['elev', 'elev', 'il']],
  ["Ankara'da", 'turkish', ['ankar']],
  ['año ano', 'spanish', ['ano', 'ano']],
  ['книгами книга ёлка елка', 'english', ['книг', 'книг', 'елк', 'елк']],
  ['المدرسة مدرسة كتــاب كتاب', 'english', ['مدرس', 'مدرس', 'كتاب', 'كتاب']],
  ['άνθρωποι άνθρωπος', 'english', ['ανθρωπ', 'ανθρωπ']],
  ['किताबें किताब', 'english', ['किताब', 'किताब']],
  ['שָׁלוֹם שלום', 'english', ['שלום', 'שלום']],
  ['٢٠٢٠ ２０２０', 'english', ['2020', '2020']],
  ['Donau\u00addampf', 'german', ['donaudampf']],
  ['running книгами', 'russian', ['run', 'книг']],
  ['книгами cats', 'none', ['книгами', 'cats']],
  ['हिन्दी में', 'none', ['हिन्दी', 'में']],
  ['…!? 👍', 'english', []],
  ['constructor __proto__', 'none', ['constructor', 'proto']],
])('%s in %s', (text, language, expected) => {
  expect(terms(text, language)).toEqual([...expected])
})

test('every language reads its words, and the same term has one key', () => {
  for (const language of LANGUAGES) {
    const [first, second] = [...new Analyzer(language).terms('xyz Xyz')].flat()
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

test('a long text has the words of its parts, at any cut', () => {
  const words = Array.from({ length: 20_000 }, (_, index) => `w${index}`)
  expect([...textToWords(words.join(' '))].flat()).toEqual(words)
  const pairs = [...textToWords('𠮷'.repeat(40_000))].flat().join('')
  expect(pairs).toBe('𠮷'.repeat(40_000))
})

test('terms of every text are well-formed words', () => {
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
  ['"green tea" Japan', ['green tea'], false],
  ['“exact phrase” and "another one"', ['exact phrase', 'another one'], true],
  ['„grüner Tee“ aus Japan', ['grüner Tee'], false],
  ['le « thé vert » du Japon', [' thé vert '], false],
  ['»grüner Tee«', ['grüner Tee'], true],
  ['東京「緑茶」', ['緑茶'], false],
  ['a 24" screen and a 27" one', [], false],
  ['one " alone', [], false],
  ['„ open and « and 「', [], false],
  ['"" "  " "the of" "!?" "x" "x"', ['x'], true],
  ["the 'green tea' of 'x'", [], false],
])('phrases of %s', (text, expected, isWhole) => {
  const found = phrasesOf(text, 'english')
  expect([found.phrases.map((phrase) => phrase.text), found.isWhole]).toEqual([expected, isWhole])
})

test.each([
  ['a cup of Green\n\n tea, hot', 'green tea', true],
  ['GREEN-TEA', 'green tea', true],
  ['green: the tea', 'green tea', true],
  ['tea green', 'green tea', false],
  ['green leaf tea', 'green tea', false],
  ['green green tea', 'green tea', true],
  ['日本の緑茶。', '緑茶', true],
  ['日本の緑 茶', '紅茶', false],
])('"%s" holds "%s": %p', (text, phrase, isHeld) => {
  const [found] = phrasesOf(`"${phrase}"`, 'english').phrases
  const reading = found && new PhraseReader(found, 'english').read(text)
  let read = reading?.next()
  while (read?.done === false) read = reading?.next()
  expect(read?.value).toBe(isHeld)
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

const WORDS = [
  'tea',
  'GPT-4',
  'e-mail',
  'x-ray',
  'boundary-layer',
  '東京都庁',
  '茶',
  '학교에서',
  'ชาเขียว',
  'книгами',
]

test('every term of a searched text is one of the same text in a chunk', () => {
  const anyText = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 60 }),
    fc.array(fc.constantFrom(...WORDS), { maxLength: 6 }).map((words) => words.join(' ')),
  )
  for (const language of ['english', 'german', 'none'] as const) {
    const [chunks, queries] = [new Analyzer(language), new Analyzer(language, 'query')]
    fc.assert(
      fc.property(anyText, (text) => {
        const inChunk = new Set([...chunks.terms(text)].flat().map((term) => term.text))
        for (const term of [...queries.terms(text)].flat()) expect(inChunk).toContain(term.text)
      }),
      { numRuns: 100 },
    )
  }
})

test('counting terms equals reading them one by one, after any number of words', () => {
  const analyzer = new Analyzer('none')
  const fresh = new Analyzer('none')
  const words = Array.from({ length: 30_000 }, (_, index) => `w${index}`)
  for (const texts of [
    ['green tea', 'Green teas, e-mail'],
    [words.join(' '), `${words.slice(0, 1000).join(' ')} tea`],
    ['w1 w2 tea'],
  ]) {
    const sorted = ({ keys, frequencies, termCount }: ReturnType<typeof countTerms>) => {
      const pairs = [...keys].map((key, index) => `${key}:${frequencies[index]}`)
      return { pairs: pairs.sort(), termCount }
    }
    const listed = countTerms(
      texts.flatMap((text) => [...fresh.terms(text)]),
      'none',
    )
    expect(sorted(analyzer.count(texts))).toEqual(sorted(listed))
  }
})

test('hostile texts have terms of bounded length', () => {
  const marks = `a${'\u0301'.repeat(100_000)}`
  const hyphens = 'a-'.repeat(50_000)
  const thai = `ก${'\u0e48'.repeat(50_000)}`
  for (const text of [
    marks,
    hyphens,
    thai,
    '\ud800x\udfff',
    '\ufdfa'.repeat(5_000),
    '가'.repeat(30_000),
  ]) {
    for (const term of terms(text, 'english')) {
      expect(term.length).toBeLessThanOrEqual(64)
      expect(term.isWellFormed()).toBe(true)
    }
  }
})
