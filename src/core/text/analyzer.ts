import type { TermCounts } from '../domain/document.ts'
import type { Language } from '../domain/language.ts'
import { type FormsOf, WordForms } from './word-forms.ts'
import { joinedWordsOf, localeOf } from './words.ts'

/** A unit of the keyword index, usually the stem of a word. */
export interface Term {
  readonly text: string
  /** The term's key in the index: XXH64 of its UTF-8 bytes as a signed 64-bit integer. */
  readonly key: bigint
}

/** The limit for each of two cache generations, so that words in use stay cached. */
const REMEMBERED_WORDS_MAX = 25_000
const REMEMBERED_CHARS_MAX = 64

/** After a change to any text's terms, increase `TERM_RULES_VERSION`. Caches words. */
export class Analyzer {
  readonly language: Language
  readonly #forms: WordForms
  readonly #locale: string | undefined
  #words = new Map<string, WordTerms>()
  #formerWords = new Map<string, WordTerms>()
  #terms = new Map<string, KnownTerm>()
  #formerTerms = new Map<string, KnownTerm>()
  /** Numbers the texts being counted, so that counts left from another text are not used. */
  #textNumber = 0
  #generation = 0

  /** @param of a query gives fewer terms than a chunk, all of them among the chunk's */
  constructor(language: Language, of: FormsOf = 'chunk') {
    this.language = language
    this.#forms = new WordForms(language, of)
    this.#locale = localeOf(language)
  }

  /** The terms of a text in order, with repetitions, in pieces of a few thousand characters. */
  *terms(text: string): Generator<readonly Term[]> {
    for (const words of joinedWordsOf(text.toWellFormed(), this.#locale)) {
      const terms: Term[] = []
      for (const word of words) {
        const found = this.#termsOf(word)
        if (found instanceof KnownTerm) terms.push(found)
        else if (found !== null) terms.push(...found)
      }
      yield terms
    }
  }

  /** The combined terms of several texts, like `countTerms` but without building a list. */
  count(texts: readonly string[]): TermCounts {
    const counted: KnownTerm[] = []
    this.#textNumber += 1
    const generation = this.#generation
    let termCount = 0
    for (const text of texts) {
      for (const words of joinedWordsOf(text.toWellFormed(), this.#locale)) {
        for (const word of words) termCount += this.#countWord(word, counted)
      }
    }
    // If the cache dropped a term and created it again in between, there are two objects for it.
    return this.#generation === generation
      ? countsOf(counted, termCount, this.language)
      : mergedCounts(counted, termCount, this.language)
  }

  /** @returns the number of terms of the word */
  #countWord(word: string, counted: KnownTerm[]): number {
    const found = this.#termsOf(word)
    if (found === null) return 0
    if (found instanceof KnownTerm) {
      this.#countTerm(found, counted)
      return 1
    }
    for (const term of found) this.#countTerm(term, counted)
    return found.length
  }

  #countTerm(term: KnownTerm, counted: KnownTerm[]): void {
    if (term.textNumber === this.#textNumber) {
      term.count += 1
    } else {
      term.textNumber = this.#textNumber
      term.count = 1
      counted.push(term)
    }
  }

  #termsOf(word: string): WordTerms {
    const known = this.#words.get(word)
    if (known !== undefined) return known
    const former = this.#formerWords.get(word)
    const terms = former === undefined ? this.#newTermsOf(word) : former
    if (word.length > REMEMBERED_CHARS_MAX) return terms
    if (this.#words.size >= REMEMBERED_WORDS_MAX) {
      this.#formerWords = this.#words
      this.#words = new Map()
    }
    this.#words.set(ownText(word), terms)
    return terms
  }

  #newTermsOf(word: string): WordTerms {
    const terms = this.#forms.of(word).map((form) => this.#termOf(form))
    const [first = null, second] = terms
    return second === undefined ? first : terms
  }

  #termOf(form: string): KnownTerm {
    const known = this.#terms.get(form) ?? this.#formerTerms.get(form)
    if (known !== undefined) return known
    if (this.#terms.size >= REMEMBERED_WORDS_MAX) {
      this.#formerTerms = this.#terms
      this.#terms = new Map()
      this.#generation += 1
    }
    const term = new KnownTerm(ownText(form))
    this.#terms.set(term.text, term)
    return term
  }
}

/** The terms of a word; null if it has none. */
type WordTerms = KnownTerm | readonly KnownTerm[] | null

class KnownTerm implements Term {
  readonly text: string
  readonly key: bigint
  /** The number of the text in which the term was last counted. */
  textNumber = 0
  count = 0

  constructor(text: string) {
    this.text = text
    this.key = termKey(text)
  }
}

/** Copies a part of a text, because JavaScript's slice would keep the whole text in memory. */
function ownText(part: string): string {
  return Buffer.from(part, 'utf16le').toString('utf16le')
}
/** Counts the terms of several texts together. @param pieces as returned by `Analyzer.terms` */
export function countTerms(pieces: Iterable<readonly Term[]>, language: Language): TermCounts {
  const counted: CountedKey[] = []
  let termCount = 0
  for (const terms of pieces) {
    for (const { key } of terms) counted.push({ key, count: 1 })
    termCount += terms.length
  }
  return mergedCounts(counted, termCount, language)
}

interface CountedKey {
  readonly key: bigint
  readonly count: number
}

function countsOf(
  counted: readonly CountedKey[],
  termCount: number,
  language: Language,
): TermCounts {
  const keys = new BigInt64Array(counted.length)
  const frequencies = new Int32Array(counted.length)
  for (const [index, { key, count }] of counted.entries()) {
    keys[index] = key
    frequencies[index] = count
  }
  return { keys, frequencies, termCount, language }
}

function mergedCounts(
  counted: readonly CountedKey[],
  termCount: number,
  language: Language,
): TermCounts {
  const counts = new Map<bigint, number>()
  for (const { key, count } of counted) counts.set(key, (counts.get(key) ?? 0) + count)
  const merged = [...counts].map(([key, count]) => ({ key, count }))
  return countsOf(merged, termCount, language)
}

const analyzers = new Map<string, Analyzer>()

/** One analyzer for each language, which keeps the terms of words for the next text. */
export function analyzerFor(language: Language, of: FormsOf = 'chunk'): Analyzer {
  const name = `${language} ${of}`
  const analyzer = analyzers.get(name) ?? new Analyzer(language, of)
  analyzers.set(name, analyzer)
  return analyzer
}

/** Among a million terms, two share a key with a probability of 3e-8. XXH64 with seed 0. */
export function termKey(term: string): bigint {
  return BigInt.asIntN(64, Bun.hash.xxHash64(term))
}
