import type { Language } from '../domain/language.ts'
import { formsOf, localeOf, type Phrase } from './phrases.ts'
import type { WordForms, WordPieces } from './word-forms.ts'
import { normalText, stopWordsOf, textPieces, wordsOfNormal } from './words.ts'

/** Per language; a missing one is built. */
const KNOWN_WORDS_MAX = 25_000
const KNOWN_CHARS_MAX = 32

/** The pieces of the words that texts had last, by their language. */
const knownWords = new Map<Language, Map<string, WordPieces>>()

const NOT_IN_WORD_BEFORE = /[\p{L}\p{M}\p{N}'’\-‐]$/u
const NOT_IN_WORD_AFTER = /^[\p{L}\p{M}\p{N}'’\-‐]/u
const PLAIN_WORD = /^[a-z]{1,64}$/

/** Finds a phrase in texts: line breaks, punctuation, case, small words and spellings that meet do not matter. */
export class PhraseReader {
  readonly #phrase: Phrase
  readonly #language: Language
  readonly #forms: WordForms
  readonly #words: Map<string, WordPieces>
  readonly #stopWords: ReadonlySet<string>
  readonly #wanted: ReadonlySet<string>
  /** An English stem starts like its word; null: in this language some do not. */
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

  /** Piece by piece, because a text may be long: yields after each, and ends as soon as the outcome is known. */
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
   * @param places the lengths of the phrase's beginnings that end right before the word
   * @returns the places after it; null: the phrase ends in it
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
    // In order of place: everything that leads to a place is known before it is left.
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

  /** null: it contains nothing of the phrase. */
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
    // The engine's part of a text would hold the whole text in memory.
    this.#words.set(Buffer.from(word, 'utf16le').toString('utf16le'), pieces)
    return pieces
  }
}

const NO_PLACES: readonly number[] = []
const NO_PIECES: WordPieces = { count: 0, steps: [], needed: [], whole: null }

/** Whether the text contains the phrase, computed at once: for long texts use a `PhraseReader`. */
export function holdsPhrase(text: string, phrase: Phrase, language: Language): boolean {
  const reading = new PhraseReader(phrase, language).read(text)
  for (;;) {
    const { done, value } = reading.next()
    if (done === true) return value
  }
}

/** As separate words: the same letters inside other words may not be the phrase. */
function holdsLiteral(text: string, literal: string): boolean {
  const at = text.indexOf(literal)
  if (at === -1) return false
  const before = text.slice(Math.max(0, at - 2), at)
  const after = text.slice(at + literal.length, at + literal.length + 2)
  return !NOT_IN_WORD_BEFORE.test(before) && !NOT_IN_WORD_AFTER.test(after)
}
