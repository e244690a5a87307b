import { newStemmer } from 'snowball-stemmers'
import type { TermCounts } from '../domain/chunk.ts'
import type { Language } from '../domain/language.ts'
import { stopWordsOf } from './term-rules.ts'
import { withoutAccents, wordsOf } from './words.ts'

/** What a keyword index counts: the stem of a word. */
export interface Term {
  readonly text: string
  /** The first 64 bits of the term in the index: XXH64 of its UTF-8 bytes, as a signed integer. */
  readonly key: bigint
}

/** Longer words are cut: they are not words of a language, and equal starts are enough to find them. */
const TERM_CHARS_MAX = 64
const REMEMBERED_WORDS_MAX = 50_000

/**
 * Text → terms in one language. Other terms for the same text need a higher `TERM_RULES_VERSION`. It remembers words,
 * since stemming one takes ten microseconds.
 */
export class Analyzer {
  readonly #stem: (word: string) => string
  readonly #stopWords: ReadonlySet<string>
  readonly #locale: string | undefined
  readonly #folds: boolean
  readonly #known = new Map<string, Term | null>()
  readonly #terms = new Map<string, Term>()

  constructor(language: Language) {
    this.#stopWords = stopWordsOf(language)
    // A capital I is another letter's in Turkish.
    this.#locale = language === 'turkish' ? 'tr' : undefined
    // English writes accents as it likes; elsewhere they make another word.
    this.#folds = language === 'english'
    this.#stem = stemmerOf(language)
  }

  /** The terms of a text in its order, as often as they stand there; in pieces of some thousands of characters. */
  *terms(text: string): Generator<readonly Term[]> {
    for (const words of wordsOf(text, this.#locale)) {
      const terms: Term[] = []
      for (const word of words) {
        const term = this.#termOf(word)
        if (term !== null) terms.push(term)
      }
      yield terms
    }
  }

  #termOf(word: string): Term | null {
    const known = this.#known.get(word)
    if (known !== undefined) return known
    if (this.#known.size >= REMEMBERED_WORDS_MAX) {
      this.#known.clear()
      this.#terms.clear()
    }
    const term = this.#newTerm(word)
    this.#known.set(word, term)
    return term
  }

  #newTerm(word: string): Term | null {
    const plain = word.slice(0, TERM_CHARS_MAX).toWellFormed().replaceAll('’', "'")
    const folded = this.#folds ? withoutAccents(plain) : plain
    if (this.#stopWords.has(folded.replace(/'s$/, ''))) return null
    const text = this.#stem(folded) || folded
    const known = this.#terms.get(text)
    if (known !== undefined) return known
    const term = { text, key: termKey(text) }
    this.#terms.set(text, term)
    return term
  }
}

/** The terms of one text, counted. @param pieces as `Analyzer.terms` gives them */
export function countTerms(pieces: Iterable<readonly Term[]>): TermCounts {
  const counts = new Map<Term, number>()
  let termCount = 0
  for (const terms of pieces) {
    for (const term of terms) counts.set(term, (counts.get(term) ?? 0) + 1)
    termCount += terms.length
  }
  const keys = new BigInt64Array(counts.size)
  const frequencies = new Int32Array(counts.size)
  let index = 0
  for (const [term, count] of counts) {
    keys[index] = term.key
    frequencies[index] = count
    index += 1
  }
  return { keys, frequencies, termCount }
}

/** Analyzers by their languages, each made when it is first needed. */
export class Analyzers {
  readonly #byLanguage = new Map<Language, Analyzer>()

  get(language: Language): Analyzer {
    const known = this.#byLanguage.get(language)
    if (known !== undefined) return known
    const analyzer = new Analyzer(language)
    this.#byLanguage.set(language, analyzer)
    return analyzer
  }
}

/** Takes words to their stems in one language: `running` → `run`. Making it takes longer than a call: keep it. */
function stemmerOf(language: Language): (word: string) => string {
  if (language === 'none') return (word) => word
  const stemmer = newStemmer(language)
  return (word) => stemmer.stem(word)
}

/**
 * Two of a million different terms share a key with a probability of three in a hundred million.
 * XXH64 with seed 0: github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md
 */
export function termKey(term: string): bigint {
  return BigInt.asIntN(64, Bun.hash.xxHash64(term))
}
