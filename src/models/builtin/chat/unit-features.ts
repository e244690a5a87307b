import WEIGHTS from '../../../../assets/answers/weights.json' with { type: 'json' }
import WORDS from '../../../../assets/answers/words.json' with { type: 'json' }
import type { Language } from '../../../core/domain/language.ts'
import { type Analyzer, analyzerFor } from '../../../core/text/analyzer.ts'
import { learnedLanguage } from '../../../core/text/learned-language.ts'
import { isMostlyLatin, UNSPACED, weightOf } from '../../../core/text/words.ts'
import type { AnswerUnit, Passage } from './answer-unit.ts'
import { withParts } from './keywords.ts'
import { POINTS_BACK, unitsOf } from './units.ts'
import { DATES, WantedForm } from './wanted-form.ts'

/** The most units examined, because passages may be long. */
const UNITS_MAX = 2000

export type RankFeature = keyof typeof WEIGHTS.english
export const RANK_FEATURES = Object.keys(WEIGHTS.english) as readonly RankFeature[]

/** The features for ranking, plus two that only answerability uses. */
type Features = Record<RankFeature | 'kind' | 'passageHeld', number>

export interface FeaturedUnit {
  readonly unit: AnswerUnit
  /** Whether the unit or a neighbour contains a word of the question, or explains its option. */
  readonly hasWords: boolean
  /** The score for position and form, as for an option's entry or a section's first sentence. */
  readonly form: number
  readonly features: Features
}

/** The units for a question, without duplicates, because chunks overlap. */
export function featuredQuestion(question: string, passages: readonly Passage[]) {
  const units = unitsOf(passages).slice(0, UNITS_MAX)
  const texts = units.map(({ text }) => text)
  const terms = new QuestionTerms(question, passages.map(passageText), texts)
  const featuresOf = featuresFor(question, passages, terms)
  const form = new WantedForm(question)
  const own = texts.map((text) => terms.termsOf(text))
  const unique = new Map<string, FeaturedUnit>()
  for (const [index, unit] of units.entries()) {
    const besideAt = (at: number) => {
      const terms = units[at]?.site.stretch === unit.site.stretch ? own[at] : undefined
      return terms === undefined ? [] : [terms]
    }
    const [before, after] = [besideAt(index - 1), besideAt(index + 1)]
    const features = featuresOf(unit, { before, after })
    const key = unit.text.replace(/\s+/g, ' ').toLowerCase()
    const known = unique.get(key)
    if (known === undefined || known.features.relevance < features.relevance) {
      const hasWords = features.nearby > 0 || form.explainsOption(unit)
      unique.set(key, { unit, features, form: form.worthOf(unit), hasWords })
    }
  }
  return { terms, units: [...unique.values()] }
}

/** The terms of neighbouring units; empty at either end of the text. */
type Beside = Readonly<Record<'before' | 'after', readonly TextTerms[]>>

/** @returns a function that computes a unit's features from the unit and its neighbours' terms */
function featuresFor(question: string, passages: readonly Passage[], terms: QuestionTerms) {
  const wanted = wantedKind(question)
  const inOrder = passages.toSorted((a, b) => b.relevance - a.relevance)
  const ranks = new Map(inOrder.map((passage, index) => [passage, 1 / (1 + index)]))
  return (unit: AnswerUnit, { before, after }: Beside): Features => {
    const { passage, text, isFragment } = unit
    const mine = terms.termsOf(text)
    const held = terms.termsOf(inContext(unit))
    const whole = terms.termsOf(passageText(passage))
    const holds = wanted !== null && holdsKind(wanted, text, question)
    const has = (...kinds: readonly AnswerKind[]) => {
      return Number(holds && wanted !== null && kinds.includes(wanted))
    }
    return {
      relevance: passage.relevance,
      rank: ranks.get(passage) ?? 0,
      vector: passage.cosine ?? 0,
      passagePairs: terms.pairsHeld(whole),
      // The context counts half, because all units below a heading share it.
      held: (terms.weightHeld(mine) + terms.weightHeld(held)) / 2,
      nearby: terms.weightHeld(held, ...before, ...after),
      before: terms.weightHeld(mine, ...before),
      names: terms.partHeld('names', mine),
      words: terms.partHeld('words', mine),
      passageNames: terms.partHeld('names', whole),
      passageWords: terms.partHeld('words', whole),
      pairs: terms.pairsHeld(held),
      grams: (terms.gramsHeld(mine) + terms.gramsHeld(held)) / 2,
      date: has('date'),
      number: has('number'),
      name: has('person', 'place', 'name'),
      length: Math.log(1 + text.length) / 5,
      fragment: Number(isFragment),
      missing: Number(wanted !== null && !holds),
      pronoun: Number(POINTS_BACK.test(text)),
      cosine: 0,
      bestCosine: 0,
      kind: wanted === null ? 0 : holds ? 1 : -1,
      passageHeld: terms.weightHeld(whole),
    }
  }
}

/** The same units with their cosine similarities, in the same order. */
export function withCosines(
  units: readonly FeaturedUnit[],
  cosines: readonly number[],
): readonly FeaturedUnit[] {
  const best = new Map<string, number>()
  for (const [index, { unit }] of units.entries()) {
    const { chunkId } = unit.passage
    best.set(chunkId, Math.max(best.get(chunkId) ?? 0, cosines[index] ?? 0))
  }
  return units.map((one, index) => {
    const bestCosine = best.get(one.unit.passage.chunkId) ?? 0
    return { ...one, features: { ...one.features, cosine: cosines[index] ?? 0, bestCosine } }
  })
}

export function passageText({ heading, text }: Pick<Passage, 'heading' | 'text'>): string {
  return `${heading}\n${text}`
}

/** The unit together with the context that says what it is about. */
export function inContext({ text, setting }: AnswerUnit): string {
  return setting === '' ? text : `${setting}: ${text}`
}

type AnswerKind = keyof typeof WORDS.wanted

const SPACED = /[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}]/u

/** A regular expression for these words; in scripts with spaces, only as whole words. */
function anyOf(words: readonly string[]): RegExp {
  const forms = words.map((word) => {
    const text = word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
    return SPACED.test(word) ? `(?<![\\p{L}\\p{N}])${text}(?![\\p{L}\\p{N}])` : text
  })
  return new RegExp(forms.join('|'), 'giu')
}

const ASKS = Object.entries(WORDS.wanted).map(([kind, words]) => {
  // The table's keys are the kinds.
  return [kind as AnswerKind, anyOf(words)] as const
})
/** A number without the comma or full stop after it. */
const WORD = /\p{L}+|\d+(?:[.,]\d+)*/gu
const NUMBERS = new Set(WORDS.numbers.split(' '))
const UNSPACED_NUMBER = /[〇一二三四五六七八九十百千万亿]/u
const UNSPACED_DATE = /[年月日]|世纪/u
const REASON = anyOf(WORDS.reasons)
/** A capitalized word that does not start a sentence. */
const NAME =
  /(?<![.!?。！？:]["'”’)\]]*\s+|^["'“‘([]*)(?<=[\s"'“‘(\-–/])\p{Lu}[\p{L}\p{M}\p{N}’'-]*/gu

/** The first kind that a question asks for; `name` only if there is no other. */
export function wantedKind(question: string): AnswerKind | null {
  let best: { readonly kind: AnswerKind; readonly at: number } | null = null
  for (const [kind, expression] of ASKS) {
    const at = question.search(expression) + (kind === 'name' ? question.length : 0)
    if (question.search(expression) === -1) continue
    if (best === null || at < best.at) best = { kind, at }
  }
  return best?.kind ?? null
}

/** Whether a text contains something of this kind that is not in the question. */
export function holdsKind(kind: AnswerKind, text: string, question: string): boolean {
  const asked = question.toLowerCase()
  const isIn = (expression: RegExp) => {
    return text.match(expression)?.some((found) => !asked.includes(found.toLowerCase())) ?? false
  }
  const hasWord = (form: RegExp, words: ReadonlySet<string>) => {
    const own = new Set(asked.match(WORD))
    // The month has a capital letter.
    const found =
      text
        .replaceAll(/\bmay\b/g, '')
        .toLowerCase()
        .match(WORD) ?? []
    return found.some((word) => (form.test(word) || words.has(word)) && !own.has(word))
  }
  switch (kind) {
    case 'date':
      return hasWord(/^\d{3,4}$/, DATES) || UNSPACED_DATE.test(text)
    case 'number':
      return hasWord(/^\d/, NUMBERS) || UNSPACED_NUMBER.test(text)
    case 'reason':
      return REASON.test(text) || isIn(REASON)
    default:
      return UNSPACED.test(text) || isIn(NAME)
  }
}

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
