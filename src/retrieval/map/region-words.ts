/**
 * Finds the words that characterize a region: TF-IDF with regions as documents (c-TF-IDF:
 * Grootendorst, 2022), over the terms of keyword search. Each term is shown as its most frequent
 * word.
 */

import type { Language } from '../../core/domain/language.ts'
import { Analyzer } from '../../core/text/analyzer.ts'
import { words } from '../../core/text/words.ts'
import type { MapRegion } from './map-regions.ts'

export interface RegionText {
  readonly region: number
  readonly text: string
}

const WORDS_MAX = 4
const WORD_CHARS_MIN = 2
const LABEL_CHARS_MAX = 30
/** No script puts this many marks on one letter. They would cover the lines above and below. */
const PILED_MARKS = /\p{M}{4}/u
/** A word must be this many times as frequent inside the region as outside. */
const LIFT_MIN = 2
/** A word in fewer texts of a region may be there by chance. */
const TEXTS_MIN = 2
/**
 * A word in a larger share of the other texts is common in the language or in the whole collection.
 */
const OUTSIDE_MAX = 0.3
/** With fewer texts, frequency says too little. */
const FEW_TEXTS = 10

/** Returns the words of each region, most characteristic first. */
export function regionWords(
  regions: readonly MapRegion[],
  texts: readonly RegionText[],
  language: Language,
): readonly (readonly string[])[] {
  const counts = new TermCounter(language)
  const ofRegions: TextCounts[] = regions.map(() => ({ texts: new Map(), textCount: 0 }))
  const all: TextCounts = { texts: new Map(), textCount: 0 }
  for (const { region, text } of texts) {
    const terms = counts.termsOf(text)
    countTerms(all, terms)
    for (let at: number | null = region; at !== null; at = regions[at]?.parent ?? null) {
      const own = ofRegions[at]
      if (own !== undefined) countTerms(own, terms)
    }
  }
  return ofRegions.map((own) => bestTerms(own, all).map((term) => counts.wordOf(term)))
}

interface TextCounts {
  readonly texts: Map<string, number>
  textCount: number
}

function countTerms(counts: TextCounts, terms: ReadonlySet<string>): void {
  counts.textCount += 1
  for (const term of terms) counts.texts.set(term, (counts.texts.get(term) ?? 0) + 1)
}

function bestTerms(own: TextCounts, all: TextCounts): readonly string[] {
  const isFew = all.textCount < FEW_TEXTS
  const outsideCount = all.textCount - own.textCount
  const scored: { term: string; score: number }[] = []
  for (const [term, count] of own.texts) {
    const share = count / own.textCount
    // Add half a text, so that a word that does not occur outside is not infinitely rare.
    const outside = ((all.texts.get(term) ?? count) - count + 0.5) / (outsideCount + 1)
    const isCommon = share < LIFT_MIN * outside || outside > OUTSIDE_MAX
    if (!isFew && (count < TEXTS_MIN || isCommon)) continue
    // How characteristic the word is for this region.
    scored.push({ term, score: share * (isFew ? 1 : Math.log(share / outside)) })
  }
  scored.sort((a, b) => b.score - a.score || (a.term < b.term ? -1 : 1))
  return scored.slice(0, WORDS_MAX).map(({ term }) => term)
}

/** Counts terms of texts, and the words they come from. */
class TermCounter {
  readonly #analyzer: Analyzer
  /** The term for each word; null if it has none, such as "the" in English. */
  readonly #terms = new Map<string, string | null>()
  readonly #words = new Map<string, Map<string, number>>()

  constructor(language: Language) {
    this.#analyzer = new Analyzer(language, 'query')
  }

  termsOf(text: string): ReadonlySet<string> {
    const terms = new Set<string>()
    for (const word of words(text)) {
      const term = this.#termOf(word)
      if (term === null) continue
      terms.add(term)
      const known = this.#words.get(term) ?? new Map<string, number>()
      known.set(word, (known.get(word) ?? 0) + 1)
      this.#words.set(term, known)
    }
    return terms
  }

  #termOf(word: string): string | null {
    const known = this.#terms.get(word)
    if (known !== undefined) return known
    const isWord =
      word.length >= WORD_CHARS_MIN &&
      word.length <= LABEL_CHARS_MAX &&
      /\p{L}/u.test(word) &&
      !PILED_MARKS.test(word)
    const [terms = []] = isWord ? this.#analyzer.terms(word) : []
    const term = terms[0]?.text ?? null
    this.#terms.set(word, term)
    return term
  }

  wordOf(term: string): string {
    let shown = term
    let most = 0
    for (const [word, count] of this.#words.get(term) ?? []) {
      if (count > most) {
        most = count
        shown = word
      }
    }
    return shown
  }
}
