import { stemmer as greekStem } from '@orama/stemmers/greek'
import { stemmer as hindiStem } from '@orama/stemmers/indian'
import type { Language } from '../domain/language.ts'

/**
 * The words of a text in lower case and compatibility form (NFKC): `Ｔｅａ` becomes `tea`. Words are
 * runs of letters, marks and digits, which hyphens and apostrophes may join. In scripts without
 * spaces, a whole run is one word. Yields pieces, because a text may have a hundred million
 * characters.
 */
export function* joinedWordsOf(
  text: string,
  locale: string | undefined,
): Generator<readonly string[]> {
  if (text.length <= PIECE_CHARS) {
    yield joinedWords(text, locale)
    return
  }
  for (const piece of textPieces(text)) yield joinedWords(piece, locale)
}

/** The locale for case conversion: in Turkish, the lower case of I is ı. */
export function localeOf(language: Language): string | undefined {
  return language === 'turkish' ? 'tr' : undefined
}

export function joinedWords(piece: string, locale: string | undefined): readonly string[] {
  return wordsOfNormal(normalText(piece, locale))
}

/** The text in lower case and compatibility form, without invisible characters. */
export function normalText(piece: string, locale: string | undefined): string {
  const normal = piece.normalize('NFKC')
  const plain = locale === undefined ? normal.toLowerCase() : normal.toLocaleLowerCase(locale)
  return INVISIBLE.test(plain) ? plain.replaceAll(INVISIBLES, '') : plain
}

export function wordsOfNormal(text: string): readonly string[] {
  return text.match(JOINED_WORDS) ?? []
}

/** Without hyphens; without spaces, Unicode segmentation (UAX 29) by dictionary. */
export function* textToWords(text: string): Generator<readonly string[]> {
  for (const joined of joinedWordsOf(text, undefined)) {
    yield joined.flatMap((word) => hyphenatedParts(word).flatMap(segmentsOf))
  }
}

/** All words of a short text; see `textToWords`. */
export function words(text: string): readonly string[] {
  return [...textToWords(text)].flat()
}

/** Soft hyphens and joiners, which affect only how a word is displayed. */
const INVISIBLE = /\u00ad|\u200c|\u200d|\u2060/
const INVISIBLES = /\u00ad|\u200c|\u200d|\u2060/g

const JOINED_WORDS = /[\p{L}\p{M}\p{N}]+(?:['’\-‐][\p{L}\p{M}\p{N}]+)*/gu

const HYPHEN = /[-‐]/

export function hyphenatedParts(joined: string): readonly string[] {
  return HYPHEN.test(joined) ? joined.split(HYPHEN) : [joined]
}

/** Scripts without spaces between words. */
export const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u

/** Splits a run in a script without spaces into words; returns any other word unchanged. */
export function segmentsOf(word: string): readonly string[] {
  if (!UNSPACED.test(word)) return [word]
  const segmenter = new Intl.Segmenter('und', { granularity: 'word' })
  return [...segmenter.segment(word)]
    .filter(({ isWordLike }) => isWordLike)
    .map(({ segment }) => segment)
}

const PIECE_CHARS = 16_384
/** Splits the text at white space, or between any two characters if there is none. */
export function* textPieces(text: string): Generator<string> {
  let start = 0
  while (text.length - start > PIECE_CHARS) {
    const end = cutBefore(text, start + PIECE_CHARS, start)
    yield text.slice(start, end)
    start = end
  }
  yield text.slice(start)
}

/** How far back to look for white space. */
const CUT_CHARS = 1024

function cutBefore(text: string, end: number, start: number): number {
  for (let at = end; at > Math.max(start, end - CUT_CHARS); at -= 1) {
    if (/\s/.test(text.charAt(at - 1))) return at
  }
  const isPair = /[\ud800-\udbff]/.test(text.charAt(end - 1))
  return isPair ? end - 1 : end
}

/** Whether at least half of the letters are Latin. True for a text without letters. */
export function isMostlyLatin(text: string): boolean {
  const letters = text.match(/\p{L}/gu)?.length ?? 0
  const latin = text.match(/\p{Script=Latin}/gu)?.length ?? 0
  return latin * 2 >= letters
}

/** Increase after a change to stop words, rules, stemmers or Unicode: rebuilds indexes. */
export const TERM_RULES_VERSION = 3

/** In English, saves two fifths of the postings. Elsewhere BM25 weighs them near zero. */
const ENGLISH = new Set(
  `a am an and any are as at be been being but by can could did do does doing done for from had has have having he her
  here him his how i if in into is it its just me my no nor not of off on only or other our out own same shall she
  should so some such than that the their them then there these they this those through to too under until up very
  was we were what when where which while who whom why will with would you your`.split(/\s+/),
)

const NO_TERMS: ReadonlySet<string> = new Set()

export function stopWordsOf(language: Language): ReadonlySet<string> {
  return language === 'english' ? ENGLISH : NO_TERMS
}

/** Connects `restaurieren` and `Restauration`, and compounds with their first word. */

/** A shorter stem would be the same as its start. */
const STEM_LETTERS_MIN = 5
const START_LETTERS = 4
/** Marks a start; no word contains this character. */
const START_MARK = '^'

/** Alphabets with upper and lower case. */
const CASED_LETTERS =
  /^[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Arabic}]+$/u

/** Returns null if the stem is short or contains characters other than letters. */
export function stemStart(stem: string): string | null {
  if (stem.length < STEM_LETTERS_MIN || !CASED_LETTERS.test(stem)) return null
  return START_MARK + stem.slice(0, START_LETTERS)
}

/** The weight of a query term: a matching start counts less than a matching stem. */
export function weightOf(term: string): number {
  return term.startsWith(START_MARK) ? 0.5 : 1
}

/** `running` → `run` */
export type Stem = (word: string) => string

/** English for other scripts, because their texts contain English words too. */
export function stemsOfLatin(language: Language): Stem {
  if (language === 'none') return (word) => word
  return snowball(hasOtherScript(language) ? 'english' : language)
}

/** Whether the language is written in another script than Latin. */
export function hasOtherScript(language: Language): boolean {
  return IN_OTHER_SCRIPTS.has(language)
}

const IN_OTHER_SCRIPTS: ReadonlySet<Language> = new Set<Language>([
  'arabic',
  'armenian',
  'russian',
  'tamil',
])

/** The stem of a word, by its script; words in scripts without a stemmer stay unchanged. */
export function stemOf(word: string): string {
  for (const [script, stem] of SCRIPTS) if (script.test(word)) return stem(word)
  return word
}

const SCRIPTS: readonly (readonly [RegExp, Stem])[] = [
  [/\p{Script=Cyrillic}/u, snowball('russian')],
  [/\p{Script=Arabic}/u, snowball('arabic')],
  [/\p{Script=Greek}/u, (word) => greekStem(withoutMarks(word))],
  [/\p{Script=Devanagari}/u, hindiStem],
  [/\p{Script=Armenian}/u, snowball('armenian')],
  [/\p{Script=Tamil}/u, snowball('tamil')],
  [/\p{Script=Hebrew}/u, withoutMarks],
]

function withoutMarks(word: string): string {
  return word.normalize('NFD').replaceAll(/\p{M}/gu, '')
}

/** Created on first use, because creation is slow. */
function snowball(language: string): Stem {
  let stemmer: ReturnType<Snowball['newStemmer']> | undefined
  return (word) => {
    stemmer ??= loadSnowball().newStemmer(language)
    return stemmer.stem(word)
  }
}

type Snowball = typeof import('snowball-stemmers')

/** Loaded with the first word, because the tables would make startup two percent slower. */
function loadSnowball(): Snowball {
  return import.meta.require('snowball-stemmers')
}

/** A part of a text, from `start` to just before `end`. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** Abbreviations usually followed by another word, so that their dot does not end a sentence. */
export const ABBREVIATIONS: ReadonlySet<string> = new Set(
  (
    'mr mrs ms dr prof st sr jr gen col capt hon rev no nr vol pp p fig figs eq eqs sec ch art op cf vs viz approx ca ' +
    'abs aufl bd bzw dipl evtl ggf hrsg inkl max min mio mrd sog str tel usw vgl zzgl mme mlle av env ej pág núm sra ' +
    'тыс млн млрд им ул рис табл стр см др'
  ).split(' '),
)

/** A blank line, or punctuation of Latin, Arabic, Hindi, Armenian, Khmer, … and quotes. */
const SENTENCE_END =
  /(?<![.!?…])[.!?…]+["'”’»)\]*_]*(?=\s+[^\s\p{Ll}])|[؟۔।॥։።፧។៕။]["'”’»)\]]*(?=\s)|[。！？｡][」』”’）]*|\n\s*\n/gu
/** Abbreviations, single letters and ordinals (`31. März`) whose dot does not end a sentence. */
const SHORT = ['\\p{L}', '\\d{1,2}', 'e\\.g', 'i\\.e', 'etc', 'al', 'dept', 'inc', 'ltd', 'co']
const SHORTENED = new RegExp(`(?:^|[\\s(])(?:${[...SHORT, ...ABBREVIATIONS].join('|')})\\.$`, 'iu')

/** The sentences of a text, trimmed. A line break does not end a sentence. */
export function* sentenceSpans(text: string, span: Span): Generator<Span> {
  const part = text.slice(span.start, span.end)
  let start = 0
  for (const { 0: sign, index } of part.matchAll(SENTENCE_END)) {
    const end = index + sign.length
    if (sign === '.' && SHORTENED.test(part.slice(Math.max(start, end - 12), end))) continue
    if (isWithinCode(part, start, end)) continue
    yield* filledSpan(text, { start: span.start + start, end: span.start + end })
    start = end
  }
  yield* filledSpan(text, { start: span.start + start, end: span.end })
}

/** Code in a longer sentence is not looked for, so that many dots in one line take no longer. */
const CODE_CHARS_MAX = 1000

/** Whether a place is between two backticks of one line, as in `CREATE INDEX … WITH`. */
function isWithinCode(text: string, start: number, at: number): boolean {
  if (at - start > CODE_CHARS_MAX) return false
  const isOpen = text.slice(start, at).split('`').length % 2 === 0
  return isOpen && /^[^`\n]*`/.test(text.slice(at, at + CODE_CHARS_MAX))
}

function filledSpan(text: string, span: Span): readonly Span[] {
  const { start, end } = trimmedSpan(text, span)
  return start === end ? [] : [{ start, end }]
}

/** The span without leading and trailing white space. */
export function trimmedSpan(text: string, { start, end }: Span): Span {
  let [from, to] = [start, end]
  while (from < to && isSpace(text, from)) from += 1
  while (to > from && isSpace(text, to - 1)) to -= 1
  return { start: from, end: to }
}

function isSpace(text: string, at: number): boolean {
  return /\s/.test(text.charAt(at))
}

const DIGEST = new Uint8Array(16)
const DIGEST_VIEW = new DataView(DIGEST.buffer)

/** A 31-bit hash, the same as `hashSql` computes in the database. */
export function textHash(text: string): number {
  Bun.MD5.hash(text.toWellFormed(), DIGEST)
  return DIGEST_VIEW.getUint32(12, true) >>> 1
}

export function hashSql(column: string): string {
  return `(md5_number_lower(${column}) >> 33)::INTEGER`
}
