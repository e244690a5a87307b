import type { QueryTerms } from '../domain/hybrid-search.ts'
import type { Language } from '../domain/language.ts'
import { analyzerFor, termKey } from './analyzer.ts'
import { WordForms, type WordPieces } from './word-forms.ts'
import { joinedWords, joinedWordsOf, localeOf, normalText, weightOf } from './words.ts'

const PHRASES_MAX = 16

/** Only this many pieces of a phrase are compared; more make no difference. */
const PIECES_MAX = 64

/** A quoted phrase in a query. */
export interface Phrase {
  /** The phrase without quotes. */
  readonly text: string
  /** Normalised for comparison; null if the phrase is too long to compare. */
  readonly literal: string | null
  /** Every chunk with the phrase has at least one term from each group. */
  readonly needed: readonly TermGroup[]
  /** Terms for finding the phrase; chunks with more of them are checked first. */
  readonly terms: readonly bigint[]
  /** Per piece, maps a form to the index of the next. The last index is the end. */
  readonly ways: readonly ReadonlyMap<string, readonly number[]>[]
}

/** A list of terms, or one term that replaces all of them. */
export interface TermGroup {
  readonly all: readonly bigint[]
  readonly or: bigint | null
}

/** A quote after a letter or digit does not open one: in `a 24" screen` it means inches. */
const QUOTED =
  /(?<![\p{L}\p{N}])["＂“”„]([^"＂“”„]+)["＂“”](?![\p{L}\p{N}])|«([^«»]+)»|»([^«»]+)«|「([^「」]+)」|『([^『』]+)』/gu

/** `"green tea" Japan`, `„grüner Tee“`, `« thé vert »`, `「緑茶」`, with at least a term. */
export function phrasesOf(
  text: string,
  language: Language,
): {
  readonly phrases: readonly Phrase[]
  /** Whether all terms of the query are within phrases. */
  readonly isWhole: boolean
} {
  const phrases = new Map<string, Phrase>()
  for (const match of text.matchAll(QUOTED)) {
    const quoted = match.slice(1).find((part) => part !== undefined) ?? ''
    const phrase = phraseOf(quoted, language)
    if (phrase !== null) phrases.set(phrase.terms.join(' '), phrase)
    if (phrases.size >= PHRASES_MAX) break
  }
  const isOther = () => queryTerms(text.replaceAll(QUOTED, ' '), language).keys.length > 0
  return { phrases: [...phrases.values()], isWhole: phrases.size > 0 && !isOther() }
}

function phraseOf(text: string, language: Language): Phrase | null {
  const { keys: terms } = queryTerms(text, language)
  if (terms.length === 0) return null
  const { words, isCut } = comparedWords(text, language)
  const groups = words.map(({ needed, whole }): TermGroup => {
    return { all: needed.map(termKey), or: whole === null ? null : termKey(whole) }
  })
  const needed = groups.filter(({ all }) => all.length > 0)
  return {
    text,
    literal: isCut ? null : normalText(text, localeOf(language)).trim(),
    // In some scripts, a single letter is a term only on its own.
    needed: needed.length === 0 ? [{ all: terms, or: null }] : needed,
    terms,
    ways: waysOf(words),
  }
}

function comparedWords(text: string, language: Language) {
  const forms = formsOf(language, 'query')
  const words: WordPieces[] = []
  let count = 0
  for (const joined of joinedWordsOf(text, localeOf(language))) {
    for (const word of joined) {
      if (count >= PIECES_MAX) return { words, isCut: true }
      const pieces = forms.pieces(word)
      const left = PIECES_MAX - count
      words.push(pieces.count > left ? firstPieces(pieces, left) : pieces)
      if (pieces.count > left) return { words, isCut: true }
      count += pieces.count
    }
  }
  return { words, isCut: false }
}

function firstPieces({ steps, needed }: WordPieces, count: number): WordPieces {
  const kept = steps.filter(({ at, length }) => at + length <= count)
  return { count, steps: kept, needed: needed.slice(0, count - 1), whole: null }
}

function waysOf(words: readonly WordPieces[]): readonly ReadonlyMap<string, readonly number[]>[] {
  const ways: Map<string, number[]>[] = []
  for (const { count, steps } of words) {
    const start = ways.length
    for (let index = 0; index < count; index += 1) ways.push(new Map())
    for (const { at, length, form } of steps) {
      const from = ways[start + at]
      from?.set(form, [...(from.get(form) ?? []), start + at + length])
    }
  }
  return ways
}

const forms = new Map<string, WordForms>()

/** The word forms for chunks, or for queries. */
export function formsOf(language: Language, of: 'chunk' | 'query'): WordForms {
  const name = `${language} ${of}`
  const known = forms.get(name) ?? new WordForms(language, of)
  forms.set(name, known)
  return known
}

/** The limit for a query's distinct terms; more cost time and add nothing. */
const QUERY_TERMS_MAX = 256

/** The query's distinct terms and weights: each occurrence counts 1, or 0.5 for a word start. */
export function queryTerms(text: string, language: Language): QueryTerms {
  const counts = new Map<bigint, number>()
  for (const terms of analyzerFor(language, 'query').terms(text)) {
    for (const { key, text: term } of terms)
      counts.set(key, (counts.get(key) ?? 0) + weightOf(term))
    if (counts.size >= QUERY_TERMS_MAX) break
  }
  const first = [...counts].slice(0, QUERY_TERMS_MAX)
  return { keys: first.map(([key]) => key), counts: first.map(([, count]) => count) }
}

/** Finds the query's words in other texts, by the rules of keyword search. */

/** Offsets in UTF-16 units: `text.slice(start, end)` is the word. */
export type TextRange = readonly [start: number, end: number]

/** Only this much of a longer text is searched. */
const MATCHED_CHARS_MAX = 200_000
const RANGES_MAX = 1000
/** The limit for distinct forms of the query. */
const FORMS_MAX = 1000

/** A part of a hyphenated word. Parts are matched first, then the joined word. */
const PART = /(?:[\p{L}\p{M}\p{N}]|\u00ad|\u200c|\u200d|\u2060)+(?:['’][\p{L}\p{M}\p{N}]+)*/gu
const WHOLE = /(?:[\p{L}\p{M}\p{N}]|\u00ad|\u200c|\u200d|\u2060)+(?:['’\-‐][\p{L}\p{M}\p{N}]+)*/gu
/** Scripts without spaces, and Korean, where any two adjacent characters are a term. */
const COMPACT =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u

/** As ranges in order, without overlaps. */
export function matchedWords(
  searched: string,
  language: Language,
): (text: string) => readonly TextRange[] {
  const wanted = wantedForms(searched, language)
  const known = new Map<string, boolean>()
  const isWanted = (word: string): boolean => {
    const before = known.get(word)
    if (before !== undefined) return before
    const forms = formsOf(language, 'chunk')
    const found = joinedWords(word, localeOf(language)).some((joined) => {
      return forms.of(joined).some((form) => wanted.has(form))
    })
    known.set(word, found)
    return found
  }
  return (text) => {
    if (wanted.size === 0) return []
    const ranges: TextRange[] = []
    for (const match of text.slice(0, MATCHED_CHARS_MAX).matchAll(WHOLE)) {
      if (ranges.length >= RANGES_MAX) break
      ranges.push(...rangesIn(match[0], match.index, isWanted))
    }
    return ranges
  }
}

function wantedForms(searched: string, language: Language): ReadonlySet<string> {
  const forms = formsOf(language, 'query')
  const wanted = new Set<string>()
  for (const words of joinedWordsOf(searched.toWellFormed(), localeOf(language))) {
    for (const word of words) for (const form of forms.of(word)) wanted.add(form)
    if (wanted.size >= FORMS_MAX) break
  }
  return wanted
}

function rangesIn(
  word: string,
  start: number,
  isWanted: (word: string) => boolean,
): readonly TextRange[] {
  if (COMPACT.test(word)) return compactRanges(word, start, isWanted)
  const parts = [...word.matchAll(PART)]
  const found = parts.filter(([part]) => isWanted(part))
  if (found.length === 0 && parts.length > 1 && isWanted(word)) {
    return [[start, start + word.length]]
  }
  return found.map((part) => [start + part.index, start + part.index + part[0].length])
}

/** Matching pairs of characters, merged if they touch. */
function compactRanges(
  run: string,
  start: number,
  isWanted: (word: string) => boolean,
): readonly TextRange[] {
  const characters = [...run]
  const ranges: [number, number][] = []
  let at = start
  for (const [index, character] of characters.entries()) {
    const end = at + character.length
    const before = characters[index - 1] ?? ''
    const isPair = before !== '' && isWanted(before + character)
    if (isPair || isWanted(character)) {
      const from = isPair ? at - before.length : at
      const last = ranges.at(-1)
      if (last !== undefined && last[1] >= from) last[1] = end
      else ranges.push([from, end])
    }
    at = end
  }
  return ranges
}
