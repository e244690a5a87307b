import type { Language } from '../domain/language.ts'
import { formsOf, type Phrase } from './phrases.ts'
import type { WordForms, WordPieces } from './word-forms.ts'
import { localeOf, normalText, stopWordsOf, textPieces, wordsOfNormal } from './words.ts'

/** Words cached per language. Words beyond that are analyzed each time. */
const KNOWN_WORDS_MAX = 25_000
const KNOWN_CHARS_MAX = 32

/** The pieces of recently seen words, by language. */
const knownWords = new Map<Language, Map<string, WordPieces>>()

const NOT_IN_WORD_BEFORE = /[\p{L}\p{M}\p{N}'’\-‐]$/u
const NOT_IN_WORD_AFTER = /^[\p{L}\p{M}\p{N}'’\-‐]/u
const PLAIN_WORD = /^[a-z]{1,64}$/

/** Line breaks, punctuation, case, stop words and spelling variants do not matter. */
export class PhraseReader {
  readonly #phrase: Phrase
  readonly #language: Language
  readonly #forms: WordForms
  readonly #words: Map<string, WordPieces>
  readonly #stopWords: ReadonlySet<string>
  readonly #wanted: ReadonlySet<string>
  /** To skip other words fast. null where a stem may start differently from its word. */
  readonly #firstLetters: ReadonlySet<number> | null

  constructor(phrase: Phrase, language: Language) {
    this.#phrase = phrase
    this.#language = language
    this.#forms = formsOf(language, 'chunk')
    this.#words = knownWords.get(language) ?? new Map()
    knownWords.set(language, this.#words)
    this.#stopWords = stopWordsOf(language)
    this.#wanted = new Set(phrase.ways.flatMap((ways) => [...ways.keys()]))
    const letters = [...this.#wanted].map((form) => form.charCodeAt(0))
    this.#firstLetters = language === 'english' ? new Set(letters) : null
  }

  /** Yields after each piece of a long text; returns as soon as the result is certain. */
  *read(text: string): Generator<undefined, boolean> {
    const { literal } = this.#phrase
    const locale = localeOf(this.#language)
    let places: readonly number[] = []
    for (const piece of textPieces(text.toWellFormed())) {
      const normal = normalText(piece, locale)
      if (literal !== null && holdsLiteral(normal, literal)) return true
      for (const word of wordsOfNormal(normal)) {
        const after = this.#after(word, places)
        if (after === null) return true
        places = after
      }
      yield
    }
    return false
  }

  /**
   * @param places how many pieces of the phrase are matched before this word, one entry per
   * possible match
   * @returns the entries after the word, or null if the phrase ends in it
   */
  #after(word: string, places: readonly number[]): readonly number[] | null {
    const pieces = this.#piecesOf(word)
    if (pieces === null) return NO_PLACES
    const { count, steps } = pieces
    if (count === 0) return places
    if (!steps.some(({ form }) => this.#wanted.has(form))) return NO_PLACES
    const reached = Array.from({ length: count + 1 }, (): Set<number> => new Set([0]))
    reached[count]?.clear()
    for (const place of places) reached[0]?.add(place)
    const { ways } = this.#phrase
    // Steps are sorted by position, so all steps to a position come before the steps from it.
    for (const { at, length, form } of steps.toSorted((one, other) => one.at - other.at)) {
      if (!this.#wanted.has(form)) continue
      for (const place of reached[at] ?? NO_PLACES) {
        for (const next of ways[place]?.get(form) ?? NO_PLACES) {
          if (next === ways.length) return null
          reached[at + length]?.add(next)
        }
      }
    }
    return [...(reached[count] ?? NO_PLACES)]
  }

  #piecesOf(word: string): WordPieces | null {
    const known = this.#words.get(word)
    if (known !== undefined) return known
    const letters = this.#firstLetters
    if (letters !== null && !letters.has(word.charCodeAt(0)) && PLAIN_WORD.test(word)) {
      return this.#stopWords.has(word) ? NO_PIECES : null
    }
    const pieces = this.#forms.pieces(word)
    if (word.length > KNOWN_CHARS_MAX) return pieces
    if (this.#words.size >= KNOWN_WORDS_MAX) this.#words.clear()
    // A copy, because JavaScript's slice would keep the whole text in memory.
    this.#words.set(Buffer.from(word, 'utf16le').toString('utf16le'), pieces)
    return pieces
  }
}

const NO_PLACES: readonly number[] = []
const NO_PIECES: WordPieces = { count: 0, steps: [], needed: [], whole: null }

/** As separate words, not merely the same letters inside other words. */
function holdsLiteral(text: string, literal: string): boolean {
  const at = text.indexOf(literal)
  if (at === -1) return false
  const before = text.slice(Math.max(0, at - 2), at)
  const after = text.slice(at + literal.length, at + literal.length + 2)
  return !NOT_IN_WORD_BEFORE.test(before) && !NOT_IN_WORD_AFTER.test(after)
}
