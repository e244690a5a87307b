import { stemmer as greekStem } from '@orama/stemmers/greek'
import { stemmer as hindiStem } from '@orama/stemmers/indian'
import type { Language } from '../domain/language.ts'

/**
 * The words of a text in lower case and compatibility form (NFKC): `Ｔｅａ` is `tea`. Runs of letters, marks and digits are
 * words, also joined by hyphens and apostrophes. Scripts without spaces give runs. Works in pieces, because a text may have
 * a hundred million characters.
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

/** The same for a short text. */
export function joinedWords(piece: string, locale: string | undefined): readonly string[] {
  return wordsOfNormal(normalText(piece, locale))
}

/** In lower case and compatibility form, without invisible characters. */
export function normalText(piece: string, locale: string | undefined): string {
  const normal = piece.normalize('NFKC')
  const plain = locale === undefined ? normal.toLowerCase() : normal.toLocaleLowerCase(locale)
  return INVISIBLE.test(plain) ? plain.replaceAll(INVISIBLES, '') : plain
}

/** The words of a normal text. */
export function wordsOfNormal(text: string): readonly string[] {
  return text.match(JOINED_WORDS) ?? []
}

/**
 * The words of a text in pieces: hyphenated words are split, and in scripts without spaces Unicode's segmentation (UAX 29)
 * finds words by dictionary.
 */
export function* textToWords(
  text: string,
  locale: string | undefined,
): Generator<readonly string[]> {
  for (const joined of joinedWordsOf(text, locale)) {
    yield joined.flatMap((word) => hyphenatedParts(word).flatMap(segmentsOf))
  }
}

/** All words of a short text; see `textToWords`. */
export function words(text: string): readonly string[] {
  return [...textToWords(text, undefined)].flat()
}

/** Soft hyphens and joiners, which only affect how a word is drawn. */
const INVISIBLE = /\u00ad|\u200c|\u200d|\u2060/
const INVISIBLES = /\u00ad|\u200c|\u200d|\u2060/g

/** More parts form the next word: names have few. */
const JOINED_WORDS = /[\p{L}\p{M}\p{N}]+(?:['’\-‐][\p{L}\p{M}\p{N}]+)*/gu

const HYPHEN = /[-‐]/

/** The parts of a word that hyphens join. */
export function hyphenatedParts(joined: string): readonly string[] {
  return HYPHEN.test(joined) ? joined.split(HYPHEN) : [joined]
}

/** Scripts that write no spaces between words. */
export const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u

/** The words of a run in a script without spaces; any other word unchanged. */
export function segmentsOf(word: string): readonly string[] {
  if (!UNSPACED.test(word)) return [word]
  const segmenter = new Intl.Segmenter('und', { granularity: 'word' })
  return [...segmenter.segment(word)]
    .filter(({ isWordLike }) => isWordLike)
    .map(({ segment }) => segment)
}

const PIECE_CHARS = 16_384
/** The text cut at white space, or anywhere but inside a character without it. */
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

/** Whether at least half of the letters are Latin; a text without letters counts as such. */
export function isMostlyLatin(text: string): boolean {
  const letters = text.match(/\p{L}/gu)?.length ?? 0
  const latin = text.match(/\p{Script=Latin}/gu)?.length ?? 0
  return latin * 2 >= letters
}

/**
 * Version of the term rules: raise it with every change of the stop words below, of a rule in this folder, of the stemmers,
 * or of relevant Unicode data. An index with another version is rebuilt; otherwise it would keep the old terms and no longer
 * find its content.
 */
export const TERM_RULES_VERSION = 3

/**
 * Words in nearly every English text: without them there are two fifths fewer postings. In other languages their BM25
 * weight, near zero, does the same.
 */
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

/**
 * The start of a word's stem, as a separate term: it connects related words that stemmers separate (`restaurieren` and
 * `Restauration`, `schloss` and `schlossen`), and compounds with their first word.
 */

/** A shorter stem is its own start. */
const STEM_LETTERS_MIN = 5
const START_LETTERS = 4
/** No word has it. */
const START_MARK = '^'

/** Alphabets, whose letters are consecutive. */
const CASED_LETTERS =
  /^[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Arabic}]+$/u

/** null: the stem is short, or not only letters. */
export function stemStart(stem: string): string | null {
  if (stem.length < STEM_LETTERS_MIN || !CASED_LETTERS.test(stem)) return null
  return START_MARK + stem.slice(0, START_LETTERS)
}

/** Weight of a query term: an equal start counts less than an equal stem. */
export function weightOf(term: string): number {
  return term.startsWith(START_MARK) ? 0.5 : 1
}

/** `running` → `run` */
export type Stem = (word: string) => string

/** Stems Latin words. Knowledge bases in other scripts contain English words, too. */
export function stemsOfLatin(language: Language): Stem {
  if (language === 'none') return (word) => word
  return snowball(hasOtherScript(language) ? 'english' : language)
}

/** Whether the language is not written in Latin letters. */
export function hasOtherScript(language: Language): boolean {
  return IN_OTHER_SCRIPTS.has(language)
}

const IN_OTHER_SCRIPTS: ReadonlySet<Language> = new Set<Language>([
  'arabic',
  'armenian',
  'russian',
  'tamil',
])

/** The stem of a word by its script; a word of another script unchanged. */
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

/** Created on the first call, which takes longer. */
function snowball(language: string): Stem {
  let stemmer: ReturnType<Snowball['newStemmer']> | undefined
  return (word) => {
    stemmer ??= loadSnowball().newStemmer(language)
    return stemmer.stem(word)
  }
}

type Snowball = typeof import('snowball-stemmers')

/** Loaded with the first word: its tables would take a fiftieth of startup, which needs no words. */
function loadSnowball(): Snowball {
  return import.meta.require('snowball-stemmers')
}

/** A part of a text: from `start` up to `end`. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** The end of a sentence with the quotes and brackets that close it, and what must follow it. */
const SENTENCE_END = /(?<![.!?…])[.!?…]+["'”’»)\]*_]*(?=\s+[^\s\p{Ll}])|[。！？｡][」』”’）]*/gu
/** A full stop after one of these or after a single letter does not end a sentence. */
const ABBREVIATION = new RegExp(
  `(?:^|[\\s(])(?:\\p{L}|${[
    'e\\.g|i\\.e|etc|cf|vs|al|approx|no|nr|fig|eq|vol',
    'dept|dr|mr|mrs|ms|prof|st|inc|ltd|co|jr|sr',
  ].join('|')})\\.$`,
  'iu',
)

/** The sentences of running text, whose lines may break anywhere, without surrounding white space. */
export function sentenceSpans(text: string, span: Span): readonly Span[] {
  const part = text.slice(span.start, span.end)
  const spans: Span[] = []
  let start = 0
  const add = (end: number) => {
    const trimmed = trimmedSpan(text, { start: span.start + start, end: span.start + end })
    if (trimmed.end > trimmed.start) spans.push(trimmed)
    start = end
  }
  for (const match of part.matchAll(SENTENCE_END)) {
    const end = match.index + match[0].length
    if (match[0] === '.' && ABBREVIATION.test(part.slice(Math.max(start, end - 12), end))) continue
    add(end)
  }
  add(part.length)
  return spans
}

/** Without leading and trailing white space. */
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

/** 31 bits, the same as the database computes by `hashSql`. */
export function textHash(text: string): number {
  Bun.MD5.hash(text.toWellFormed(), DIGEST)
  return DIGEST_VIEW.getUint32(12, true) >>> 1
}

export function hashSql(column: string): string {
  return `(md5_number_lower(${column}) >> 33)::INTEGER`
}
