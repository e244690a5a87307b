/** Finds the words of a query in another text by the rules of keyword search. */
import type { Language } from '../domain/language.ts'
import { formsOf, localeOf } from './phrases.ts'
import { joinedWords, joinedWordsOf } from './words.ts'

/** Offsets in UTF-16 units: `text.slice(start, end)` is the word. */
export type TextRange = readonly [start: number, end: number]

/** The rest of a longer text is not read. */
const MATCHED_CHARS_MAX = 200_000
const RANGES_MAX = 1000
/** The number of distinct forms of the searched text to find. */
const FORMS_MAX = 1000

/** What hyphens join is looked at part by part, then as one word. */
const PART = /(?:[\p{L}\p{M}\p{N}]|\u00ad|\u200c|\u200d|\u2060)+(?:['’][\p{L}\p{M}\p{N}]+)*/gu
const WHOLE = /(?:[\p{L}\p{M}\p{N}]|\u00ad|\u200c|\u200d|\u2060)+(?:['’\-‐][\p{L}\p{M}\p{N}]+)*/gu
/** Scripts without spaces, and Korean: any two adjacent characters are a term. */
const COMPACT =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u

/**
 * Finds, in many texts, the ranges of words they share with one query, in order and without overlaps.
 */
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

/** Matching pairs of characters, joined if they touch. */
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
