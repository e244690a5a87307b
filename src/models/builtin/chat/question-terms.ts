import WORDS from '../../../../assets/answers/words.json' with { type: 'json' }
import type { Language } from '../../../core/domain/language.ts'
import { type Analyzer, analyzerFor } from '../../../core/text/analyzer.ts'
import { learnedLanguage } from '../../../core/text/learned-language.ts'
import { isMostlyLatin, UNSPACED, weightOf } from '../../../core/text/words.ts'
import { withParts } from './keywords.ts'

/** The built-in embedding model reads only English. In other languages, only words are compared. */
export type QuestionKind = 'english' | 'latin' | 'other'

export interface TextTerms {
  /** The positions of each term in the text. */
  readonly places: ReadonlyMap<string, readonly number[]>
  /** Letter sequences of its words, which inflected forms have in common. */
  readonly grams: ReadonlySet<string>
}

/** The content of a question as terms, weighted by how rare they are in the given texts. */
export class QuestionTerms {
  readonly kind: QuestionKind
  readonly #analyzer: Analyzer
  readonly #weights: ReadonlyMap<string, number>
  /** Consecutive terms of the question, ignoring stop words. */
  readonly #pairs: readonly (readonly [string, string])[]
  readonly #grams: ReadonlyMap<string, number>
  readonly #parts: Readonly<Record<'names' | 'words', ReadonlyMap<string, number>>>
  /** Cached, because passages and units are compared more than once. */
  readonly #known = new Map<string, TextTerms>()

  /** @param passages used to detect the language @param units used to measure how rare terms are */
  constructor(question: string, passages: readonly string[], units: readonly string[]) {
    const language = learnedLanguage(passages).language ?? 'english'
    this.kind = questionKind(question, language)
    this.#analyzer = analyzerFor(language)
    const small = this.termsOf(WORDS.small)
    const asked = this.termsOf(question)
    const terms = [...asked.places.keys()].filter((term) => !small.places.has(term))
    const inPassages = rarity(
      terms,
      passages.map((text) => this.termsOf(text).places),
    )
    const inUnits = rarity(
      terms,
      units.map((text) => this.termsOf(text).places),
    )
    this.#weights = new Map(
      terms.map((term, index) => {
        return [
          term,
          weightOf(term) * ((inPassages[index] ?? 0) + UNIT_SHARE * (inUnits[index] ?? 0)),
        ]
      }),
    )
    const named = this.termsOf((question.match(NAMED) ?? []).join(' ')).places
    const weights = [...this.#weights]
    this.#parts = {
      names: new Map(weights.filter(([term]) => named.has(term))),
      words: new Map(weights.filter(([term]) => !named.has(term))),
    }
    const whole = terms
      .filter((term) => weightOf(term) === 1)
      .sort((a, b) => (asked.places.get(a)?.[0] ?? 0) - (asked.places.get(b)?.[0] ?? 0))
    this.#pairs = whole.slice(1).map((term, index) => [whole[index] ?? '', term] as const)
    const grams = [...asked.grams].filter((gram) => !small.grams.has(gram))
    const rare = rarity(
      grams,
      units.map((text) => this.termsOf(text).grams),
    )
    this.#grams = new Map(grams.map((gram, index) => [gram, rare[index] ?? 0]))
  }

  termsOf(text: string): TextTerms {
    const known = this.#known.get(text)
    if (known !== undefined) return known
    const places = new Map<string, number[]>()
    let place = 0
    for (const piece of this.#analyzer.terms(withParts(text))) {
      for (const { text: term } of piece) {
        const at = places.get(term)
        if (at === undefined) places.set(term, [place])
        else at.push(place)
        if (weightOf(term) === 1) place += 1
      }
    }
    const terms = { places, grams: gramsOf(text) }
    this.#known.set(text, terms)
    return terms
  }

  /** The share of terms that the texts contain together, 0 to 1; rare terms count more. */
  weightHeld(...texts: readonly TextTerms[]): number {
    return shareOf(this.#weights, (term) => texts.some((text) => text.places.has(term)))
  }

  /** The same for names and numbers only, or for other words only; 0.5 if there are none. */
  partHeld(part: 'names' | 'words', ...texts: readonly TextTerms[]): number {
    const weights = this.#parts[part]
    if (weights.size === 0) return 0.5
    return shareOf(weights, (term) => texts.some((text) => text.places.has(term)))
  }

  /** The share of the question's adjacent terms that are close to each other in a text. */
  pairsHeld({ places }: TextTerms): number {
    if (this.#pairs.length === 0) return 0
    const held = this.#pairs.filter(([first, second]) => {
      const seconds = places.get(second) ?? []
      return places.get(first)?.some((at) => seconds.some((other) => Math.abs(other - at) <= 3))
    })
    return held.length / this.#pairs.length
  }

  gramsHeld({ grams }: TextTerms): number {
    return shareOf(this.#grams, (gram) => grams.has(gram))
  }

  get count(): number {
    return this.#weights.size
  }
}

const UNIT_SHARE = 0.5
const GRAM_CHARS = 4
/** Capitalized words after the first word, and words with digits. */
const NAMED = /(?<=\S\s+[\p{Pi}\p{Ps}"']?)\p{Lu}[\p{L}\p{M}\p{N}’'-]*|\p{L}*\d[\p{L}\d]*/gu

/** For each item, how rare it is among the texts. */
function rarity(
  items: readonly string[],
  texts: readonly { has(item: string): boolean }[],
): readonly number[] {
  return items.map((item) => {
    const holders = texts.filter((text) => text.has(item)).length
    return Math.log(1 + (texts.length - holders + 0.5) / (holders + 0.5))
  })
}

function shareOf(weights: ReadonlyMap<string, number>, isHeld: (item: string) => boolean): number {
  let [held, sum] = [0, 0]
  for (const [item, weight] of weights) {
    sum += weight
    if (isHeld(item)) held += weight
  }
  return sum === 0 ? 0 : held / sum
}

/** All sequences of four letters, or of two characters in scripts without spaces. */
function gramsOf(text: string): ReadonlySet<string> {
  const grams = new Set<string>()
  for (const [word] of text.toLowerCase().matchAll(/[\p{L}\p{M}\p{N}]+/gu)) {
    const chars = UNSPACED.test(word) ? 2 : GRAM_CHARS
    for (let at = 0; at + chars <= word.length; at += 1) grams.add(word.slice(at, at + chars))
  }
  return grams
}

function questionKind(question: string, language: Language): QuestionKind {
  if (!isMostlyLatin(question)) return 'other'
  return language === 'english' ? 'english' : 'latin'
}
