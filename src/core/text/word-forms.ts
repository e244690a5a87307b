import type { Language } from '../domain/language.ts'
import {
  hasOtherScript,
  hyphenatedParts,
  type Stem,
  segmentsOf,
  stemOf,
  stemStart,
  stemsOfLatin,
  stopWordsOf,
} from './words.ts'

/** Turns a word into the forms under which the index finds it. */

/** Longer words are truncated: they are not real words, and their start is enough to find them. */
const FORM_CHARS_MAX = 64
/** Only words with few hyphenated parts, such as `e-mail`, also count as one joined word. */
const JOINED_PARTS_MAX = 3
const JOINED_CHARS_MAX = 32
/** Only with such a part, else `boundary-layer` would count twice in a query. */
const SHORT_PART_CHARS = 2

/** A query gives fewer forms than a chunk, because the chunk's forms cover all spellings. */
export type FormsOf = 'chunk' | 'query'

/** A form that covers `length` pieces of a word, starting at piece `at`. */
interface WordStep {
  readonly at: number
  readonly length: number
  readonly form: string
}

/** A word prepared for phrase comparison: its pieces, and ways to read several as one. */
export interface WordPieces {
  /** 0 for a stop word. */
  readonly count: number
  readonly steps: readonly WordStep[]
  /** Forms in every chunk that has all pieces written separately. */
  readonly needed: readonly string[]
  /** A form that only chunks with the joined word have; null without a joined word. */
  readonly whole: string | null
}

export class WordForms {
  readonly #language: Language
  readonly #of: FormsOf
  readonly #stopWords: ReadonlySet<string>
  readonly #stemLatin: Stem
  /** Not in English: its words change little, and the index would grow by half. */
  readonly #hasLatinStarts: boolean

  constructor(language: Language, of: FormsOf) {
    this.#language = language
    this.#of = of
    this.#stopWords = stopWordsOf(language)
    this.#stemLatin = stemsOfLatin(language)
    this.#hasLatinStarts =
      language !== 'english' && language !== 'none' && !hasOtherScript(language)
  }

  /** Parts, then the joined word, each with its start. No forms for stop words. */
  of(joined: string): readonly string[] {
    const forms: string[] = []
    if (PLAIN_WORD.test(joined)) {
      this.#addForm(joined, forms)
      return forms
    }
    const parts = hyphenatedParts(joined)
    for (const part of parts) this.#addPart(part, forms)
    this.#addJoined(parts, forms)
    return forms
  }

  /**
   * Text without spaces between words is split into characters, so that neither spaces nor the text
   * around a phrase matter. Hyphenated words, and letters followed by digits, are several pieces
   * and also one word.
   */
  pieces(joined: string): WordPieces {
    const list = new PieceList()
    const parts = hyphenatedParts(joined)
    for (const part of parts) {
      for (const [run] of COMPACT.test(part) ? part.matchAll(RUNS) : [[part]]) {
        if (COMPACT.test(run)) list.addCompact(run)
        else this.#addPieces(run, list)
      }
    }
    const whole = this.#joinedWordOf(parts)
    const form = whole === null ? '' : this.#formFor(whole)
    if (form !== '') list.addSpan(0, form)
    return { ...list, whole: form === '' ? null : form }
  }

  #addPieces(word: string, list: PieceList): void {
    const cut = cutWord(word)
    const start = list.count
    for (const part of this.#lettersAndDigitsOf(cut)) list.add(this.#formFor(part))
    const form = this.#formFor(cut)
    if (list.count === start) list.add(form)
    else list.addSpan(start, form)
  }

  #addJoined(parts: readonly string[], forms: string[]): void {
    const whole = this.#joinedWordOf(parts)
    if (whole !== null) this.#addForm(whole, forms)
  }

  /** Returns null if the parts should not also be searched as one word. */
  #joinedWordOf(parts: readonly string[]): string | null {
    if (parts.length === 1 || parts.length > JOINED_PARTS_MAX) return null
    const whole = parts.join('')
    if (whole.length > JOINED_CHARS_MAX || !isName(whole) || COMPACT.test(whole)) return null
    const isShort = parts.some((part) => part.length <= SHORT_PART_CHARS)
    return this.#of === 'chunk' || isShort ? whole : null
  }

  #addPart(part: string, forms: string[]): void {
    if (NOT_ASCII.test(part) && COMPACT.test(part)) {
      for (const [run] of part.matchAll(RUNS)) {
        if (COMPACT.test(run)) addCompact(run, this.#of, forms)
        else this.#addWord(run, forms)
      }
    } else {
      this.#addWord(part, forms)
    }
  }

  #addWord(word: string, forms: string[]): void {
    const cut = cutWord(word)
    for (const part of this.#lettersAndDigitsOf(cut)) this.#addForm(part, forms)
    this.#addForm(cut, forms)
  }

  /** `gpt4` is also `gpt` and `4`, as in `GPT-4`. Not `x200`: a letter means nothing. */
  #lettersAndDigitsOf(word: string): readonly string[] {
    if (!LETTERS_AND_DIGITS.test(word)) return []
    const parts = word.match(/\p{L}+|\p{Nd}+/gu) ?? []
    const isSearched = !parts.some((part) => /^\p{L}$/u.test(part))
    return this.#of === 'chunk' || isSearched ? parts : []
  }

  #addForm(word: string, forms: string[]): void {
    const form = this.#formFor(word)
    if (form === '') return
    forms.push(form)
    const hasStart = NOT_LATIN.test(form) ? this.#language !== 'none' : this.#hasLatinStarts
    const start = hasStart ? stemStart(form) : null
    if (start !== null) forms.push(start)
  }

  /** Returns an empty string for a stop word. */
  #formFor(word: string): string {
    return NOT_ASCII.test(word) ? this.#formOf(word) : this.#latinFormOf(word)
  }

  #formOf(word: string): string {
    if (!/[\p{L}\p{N}]/u.test(word)) return ''
    const plain = withPlainDigits(word.replaceAll(/[’ʼ]/g, "'"))
    if (/\p{Script=Latin}/u.test(plain)) return this.#latinFormOf(plain)
    const written = withPlainLetters(plain)
    return this.#language === 'none' ? written : stemOf(written) || written
  }

  /** Returns an empty string for a stop word. */
  #latinFormOf(word: string): string {
    const language = this.#language
    let plain = word
    // In English, accents are optional. Stemmers for other languages need them.
    if (language === 'english') plain = withoutAccents(plain)
    else if (language === 'german') plain = withUmlauts(plain)
    else if (ELIDING.has(language)) plain = plain.replace(ELIDED, '')
    else if (language === 'turkish') plain = plain.replace(/'.*$/, '')
    if (this.#stopWords.has(plain) || this.#isPossessive(plain)) return ''
    const stem = this.#stemLatin(plain) || plain
    return ACCENTS_ASIDE.has(language) ? withoutAccents(stem) : stem.replaceAll('ß', 'ss')
  }

  #isPossessive(word: string): boolean {
    return word.endsWith("'s") && this.#stopWords.has(word.slice(0, -2))
  }
}

class PieceList {
  count = 0
  readonly steps: WordStep[] = []
  readonly needed: string[] = []

  add(form: string): void {
    if (form === '') return
    this.needed.push(form)
    this.#addStep(form)
  }

  /** Adds a form for all pieces since `start`, or a new piece if there are none. */
  addSpan(start: number, form: string): void {
    if (form === '') return
    if (start === this.count) this.add(form)
    else this.steps.push({ at: start, length: this.count - start, form })
  }

  addCompact(run: string): void {
    const characters = charactersOf(run)
    for (const character of characters) this.#addStep(character)
    if (IS_HAN.test(run)) {
      this.needed.push(...characters)
      return
    }
    for (let index = 1; index < characters.length; index += 1) {
      this.needed.push(pairAt(characters, index))
    }
  }

  #addStep(form: string): void {
    this.steps.push({ at: this.count, length: 1, form })
    this.count += 1
  }
}

function cutWord(word: string): string {
  return word.length > FORM_CHARS_MAX ? word.slice(0, FORM_CHARS_MAX).toWellFormed() : word
}

/** Languages that attach articles and pronouns to the next word: `l'eau`. */
const ELIDING: ReadonlySet<Language> = new Set<Language>(['french', 'italian', 'catalan'])

/** In other languages, an accented letter is a different letter. */
const ACCENTS_ASIDE: ReadonlySet<Language> = new Set<Language>([
  'catalan',
  'french',
  'italian',
  'portuguese',
  'spanish',
])

const PLAIN_WORD = /^[a-z]{1,64}$/
const NOT_ASCII = /[^\0-\x7f]/
const NOT_LATIN = /^\P{Script=Latin}/u
const LETTERS = /^[\p{L}\p{M}]+$/u
const LETTERS_AND_DIGITS = /^(?:\p{L}{1,16}\p{Nd}{1,9}|\p{Nd}{1,9}\p{L}{1,16})$/u

/** Whether it is a name, not a date or a range of numbers. */
function isName(joined: string): boolean {
  return LETTERS.test(joined) || LETTERS_AND_DIGITS.test(joined)
}

/** Scripts without spaces, and Korean, which attaches particles to nouns. */
const HAN = String.raw`\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー`
const OTHER_SCRIPTS = ['Hangul', 'Thai', 'Lao', 'Khmer', 'Myanmar'].map(
  (name) => `\\p{Script=${name}}`,
)
const COMPACT = new RegExp(`[${HAN}${OTHER_SCRIPTS.join('')}]`, 'u')
const RUNS = new RegExp(
  `[${HAN}]+|${OTHER_SCRIPTS.map((script) => `${script}+`).join('|')}|[^${HAN}${OTHER_SCRIPTS.join('')}]+`,
  'gu',
)
const IS_HAN = new RegExp(`[${HAN}]`, 'u')
const HANGUL = /\p{Script=Hangul}/u

/**
 * Makes a term of any two adjacent characters, so that parts of compounds and nouns with particles
 * are found; in Korean and Thai also of whole words. A single character is a term in chunks, and in
 * a query if it is alone.
 */
function addCompact(run: string, of: FormsOf, forms: string[]): void {
  const isHan = IS_HAN.test(run)
  const characters = charactersOf(run)
  if (!isHan) addWords(run, characters.length, forms)
  if (isHan && (of === 'chunk' || characters.length === 1)) forms.push(...characters)
  for (let index = 1; index < characters.length; index += 1) {
    forms.push(pairAt(characters, index))
  }
}

function charactersOf(run: string): readonly string[] {
  if (IS_HAN.test(run) || HANGUL.test(run)) return [...run]
  return run.match(/\P{M}\p{M}*|\p{M}+/gu) ?? []
}

/** The pair of this character and the one before it. */
function pairAt(characters: readonly string[], index: number): string {
  return clipped((characters[index - 1] ?? '') + (characters[index] ?? ''))
}

/** A word of two characters is skipped, because it is already one of the pairs. */
function addWords(run: string, runLength: number, forms: string[]): void {
  for (const word of segmentsOf(run)) {
    const isPair = word.length === 2 && runLength > 1
    if (!isPair) forms.push(clipped(word))
  }
}

function clipped(word: string): string {
  return word.length > FORM_CHARS_MAX ? word.slice(0, FORM_CHARS_MAX) : word
}

/** Maps spelling variants of a word to one common form. */

/** `café` → `cafe`, `straße` → `strasse`. Other scripts use marks for vowels. */
export function withoutAccents(word: string): string {
  if (!/[\u00c0-\u024f]/.test(word)) return word
  const plain = word.normalize('NFD').replaceAll(/[\u0300-\u036f]/g, '')
  return plain.replaceAll(/[æœøłđðþßı]/g, (letter) => PLAIN_LETTERS[letter] ?? letter)
}

const PLAIN_LETTERS: Readonly<Record<string, string>> = {
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ß: 'ss',
  ı: 'i',
}

/**
 * `mueller` → `müller`, as typed without umlauts; the `ue` in `neue`, `bauer` and `quelle` is kept.
 */
function withUmlauts(word: string): string {
  if (!/[aou]e/.test(word)) return word
  return word
    .replaceAll('ae', 'ä')
    .replaceAll('oe', 'ö')
    .replaceAll(/(?<![aeioäöq])ue/g, 'ü')
}

/** Converts digits of all scripts to ASCII: `٢٠٢٠` → `2020`. */
function withPlainDigits(word: string): string {
  return word.replaceAll(/\p{Nd}/gu, (digit) => {
    const code = digit.codePointAt(0) ?? 0
    if (code < 0x80) return digit
    // Unicode's decimal digits come in runs of ten, most of which start at a multiple of 16 or six
    // after it.
    let zero = code
    while (code - zero < 9 && /\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero -= 1
    return String(code - zero)
  })
}

/** `ё` → `е`, Persian and Urdu letters to Arabic ones, without the stretching character. */
function withPlainLetters(word: string): string {
  return word.replaceAll(/[ёیکۀەہ\u0640]/g, (letter) => OTHER_LETTERS[letter] ?? '')
}

const OTHER_LETTERS: Readonly<Record<string, string>> = {
  ё: 'е',
  ی: 'ي',
  ک: 'ك',
  ۀ: 'ه',
  ە: 'ه',
  ہ: 'ه',
}

/** `l'eau` → `eau`, `dell'acqua` → `acqua` */
const ELIDED =
  /^(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu|quoiqu|all|agl|coll|dall|dell|nell|sull|un|gl)'(?=.)/
