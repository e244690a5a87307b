import type { Language } from '../domain/language.ts'
import { Analyzer } from './analyzer.ts'

const PHRASES_MAX = 16

/** What stands in quotes in a searched text. */
export interface Phrase {
  /** Without the quotes. */
  readonly text: string
  /** Keys of its terms, in its order. */
  readonly terms: readonly bigint[]
}

export interface QuotedPhrases {
  readonly phrases: readonly Phrase[]
  /** Nothing but phrases has a term. */
  readonly isWhole: boolean
}

/** A quote after a letter or digit opens nothing, so that inches (`a 24" screen`) are none. */
const QUOTED =
  /(?<![\p{L}\p{N}])["＂“”„]([^"＂“”„]+)["＂“”](?![\p{L}\p{N}])|«([^«»]+)»|»([^«»]+)«|「([^「」]+)」|『([^『』]+)』/gu

/** Phrases and texts are both read as searched texts are, each word one term. */
const analyzers = new Map<Language, Analyzer>()

function analyzerOf(language: Language): Analyzer {
  const known = analyzers.get(language) ?? new Analyzer(language, 'query')
  analyzers.set(language, known)
  return known
}

/**
 * The phrases of a text, as people of different languages quote: `"green tea" Japan`, `„grüner Tee“`, `« thé vert »`, `「緑茶」`.
 * One without a term, as of stop words alone, is none.
 */
export function phrasesOf(text: string, language: Language): QuotedPhrases {
  const analyzer = analyzerOf(language)
  const phrases = new Map<string, Phrase>()
  for (const match of text.matchAll(QUOTED)) {
    const quoted = match.slice(1).find((part) => part !== undefined) ?? ''
    const terms = termsOf(analyzer, quoted)
    if (terms.length > 0) phrases.set(terms.join(' '), { text: quoted, terms })
    if (phrases.size >= PHRASES_MAX) break
  }
  const isWhole = phrases.size > 0 && termsOf(analyzer, text.replaceAll(QUOTED, ' ')).length === 0
  return { phrases: [...phrases.values()], isWhole }
}

/** Whether the phrase's terms follow each other in the text: line breaks, punctuation, case and small words do not matter. */
export function holdsPhrase(text: string, phrase: Phrase, language: Language): boolean {
  const { terms } = phrase
  const all = termsOf(analyzerOf(language), text)
  for (let at = all.indexOf(terms[0] ?? 0n); at !== -1; at = all.indexOf(terms[0] ?? 0n, at + 1)) {
    if (terms.every((term, index) => all[at + index] === term)) return true
  }
  // Where no spaces are written the words around a phrase change how it is cut.
  return UNSPACED.test(phrase.text) && lettersOf(text).includes(lettersOf(phrase.text))
}

function termsOf(analyzer: Analyzer, text: string): readonly bigint[] {
  const keys: bigint[] = []
  for (const terms of analyzer.terms(text)) for (const { key } of terms) keys.push(key)
  return keys
}

const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u

function lettersOf(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}]+/gu, '')
}
