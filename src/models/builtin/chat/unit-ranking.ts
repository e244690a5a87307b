import WEIGHTS from '../../../../assets/answers/weights.json' with { type: 'json' }
import type {
  Answerability,
  Embedder,
  FoundPassage,
} from '../../../core/domain/ports/model-ports.ts'
import type { AnswerUnit, Passage, Ranking } from './answer-unit.ts'
import { QUESTION_CHARS_MAX } from './asked-question.ts'
import { comparableRelevance } from './observed-passages.ts'
import { type QuestionKind, QuestionTerms, type TextTerms } from './question-terms.ts'
import { POINTS_BACK, unitsOf } from './units.ts'
import { type AnswerKind, bare, holdsKind, WantedForm, wantedKind } from './wanted-form.ts'

/** How many units to embed, and how much of each. One takes 10 to 15 ms on one core. */
const EMBEDDED_MAX = 10
const EMBEDDED_CHARS_MAX = 240
/** Separates paraphrases from units about something else. */
const WORDLESS_COSINE_MIN = 0.4

interface ScoredUnit extends FeaturedUnit {
  readonly score: number
}

export type Weights = Readonly<Partial<Record<RankFeature, number>>>

/** Also judges whether the best unit answers the question. */
export async function rankedUnits(
  question: string,
  passages: readonly Passage[],
  embed: Embedder['embed'],
  signal: AbortSignal,
): Promise<Ranking> {
  const { terms, units } = featuredQuestion(question, passages)
  if (units.length === 0) return { units: [], score: 0, evidence: 'none', unknownNames: [] }
  const plain = scoredUnits(units, plainWeights(terms.kind))
  const judged = judgement(question, plain, { terms, passages })
  if (terms.kind !== 'english') return { ...judged, units: shownUnits(plain) }
  const embedded = plain.slice(0, EMBEDDED_MAX)
  const cosines = await cosinesTo(question, embedded, embed, signal)
  return {
    ...judged,
    units: shownUnits(scoredUnits(withCosines(embedded, cosines), WEIGHTS.english)),
  }
}

/** How many results to judge, because a search may return thousands and other requests wait. */
const JUDGED_MAX = 20

/** Judges search results in the same way, from the cosine similarities they carry. */
export function answerabilityOf(query: string, found: readonly FoundPassage[]): Answerability {
  const question = query.slice(0, QUESTION_CHARS_MAX)
  const passages = found.slice(0, JUDGED_MAX).map(({ relevance, cosine, ...passage }, index) => ({
    ...passage,
    ...(cosine === undefined ? {} : { cosine: Math.max(0, cosine) }),
    relevance: comparableRelevance(relevance, 1 - (cosine ?? Number.NaN)),
    ...{ chunkId: `${passage.documentId}:${index}`, pages: null, place: null },
  }))
  const { terms, units } = featuredQuestion(question, passages)
  if (units.length === 0) return { score: 0, evidence: 'none' }
  return judgement(question, scoredUnits(units, plainWeights(terms.kind)), { terms, passages })
}

/** The weights for units without cosine similarity. */
function plainWeights(kind: QuestionKind): Weights {
  return kind === 'english' ? WEIGHTS.words : WEIGHTS.other
}

/** Best first. */
export function scoredUnits(
  units: readonly FeaturedUnit[],
  weights: Weights,
): readonly ScoredUnit[] {
  return units
    .map((one) => {
      const score = RANK_FEATURES.reduce((sum, name) => {
        return sum + (weights[name] ?? 0) * one.features[name]
      }, one.form)
      return { ...one, score }
    })
    .sort((a, b) => b.score - a.score)
}

function shownUnits(scored: readonly ScoredUnit[]): Ranking['units'] {
  return scored
    .filter(({ hasWords, features }) => hasWords || features.cosine >= WORDLESS_COSINE_MIN)
    .map(({ unit, score, hasWords }) => ({ ...unit, score, hasWords }))
}

/** A sentence may answer if it holds this share of the question’s words, by their weight. */
const PART_HELD_MIN = 0.3

interface Judged {
  readonly terms: QuestionTerms
  readonly passages: readonly Passage[]
}

function judgement(
  question: string,
  scored: readonly ScoredUnit[],
  { terms, passages }: Judged,
): Omit<Ranking, 'units'> {
  const features = judgedFeatures(scored, terms, passages)
  const sum = JUDGE_FEATURES.reduce((total, name) => {
    return total + WEIGHTS.answerable[name] * (features?.[name] ?? 0)
  }, 0)
  const score = 1 / (1 + Math.exp(-sum))
  const relevance = Math.max(...passages.map((passage) => passage.relevance))
  const unknownNames = unknownNamesOf(question, passages, terms.kind)
  const { closest, answer } = WEIGHTS.thresholds
  const isFar = relevance < WEIGHTS.floors[terms.kind]
  // A chunk about many things has a low relevance for each of them.
  const isPart = score >= answer && (features?.held ?? 0) >= PART_HELD_MIN
  if (score < closest || (isFar && !isPart)) {
    return { score: Math.min(score, closest), evidence: 'none', unknownNames }
  }
  const isAnswer =
    !isFar &&
    score >= answer &&
    unknownNames.length === 0 &&
    !(terms.kind === 'english' && lacksFigure(question, scored))
  return { score, evidence: isAnswer ? 'answer' : 'closest', unknownNames }
}

/** Capitalized words after the first word: in English, names of people, places and products. */
const NAMES =
  /(?<=[^\s.!?:]\s+[\p{Pi}\p{Ps}"']?)\p{Lu}[\p{L}\p{M}]+(?: \p{Lu}[\p{L}\p{M}]+)*(?![-\p{N}])/gu
/** In a title, all words are capitalized. */
const TITLE = /\s(?:Is|Are|Was|Were|Do|Does|Did|Can|The|Of|To|In|For)\s/
/** Whom the question is addressed to, as in `Hello Claude, …`. */
const ADDRESSEE = /^\s*(?:\p{L}+\s+)?\p{L}+\s*,/u
/** Of a name's letters: shorter ones may be abbreviations; endings differ as in `Russian`. */
const [NAME_LETTERS, NAME_ENDING] = [4, 3]

/** The question's names that no passage mentions: the search by keywords ranks them high. */
function unknownNamesOf(
  question: string,
  passages: readonly Passage[],
  kind: QuestionKind,
): readonly string[] {
  if (kind !== 'english' || TITLE.test(question)) return []
  const told = bare(passages.map((one) => `${one.documentId} ${passageText(one)}`).join(' '))
  const isUnknown = (word: string) => {
    const begin = bare(word).slice(0, Math.max(NAME_LETTERS, word.length - NAME_ENDING))
    return word.length >= NAME_LETTERS && !told.includes(begin)
  }
  const names = question.replace(ADDRESSEE, '').match(NAMES) ?? []
  const unknown = names.map((name) => name.split(' ').filter(isUnknown).join(' '))
  return [...new Set(unknown)].filter((name) => name !== '')
}

/** If the best document has none. In other languages, "when" may also ask for a condition. */
function lacksFigure(question: string, scored: readonly ScoredUnit[]): boolean {
  const wanted = wantedKind(question)
  if (wanted !== 'date' && wanted !== 'number') return false
  const documentId = scored[0]?.unit.passage.documentId
  return scored.every(({ unit, features }) => {
    return unit.passage.documentId !== documentId || features.kind < 0
  })
}

async function cosinesTo(
  question: string,
  embedded: readonly FeaturedUnit[],
  embed: Embedder['embed'],
  signal: AbortSignal,
): Promise<readonly number[]> {
  // Embedded separately, because the embedder still has this vector cached from the search.
  const [[asked], vectors] = await Promise.all([
    embed([question], signal),
    embed(
      embedded.map(({ unit }) => inContext(unit).slice(0, EMBEDDED_CHARS_MAX)),
      signal,
    ),
  ])
  return vectors.map((vector) => cosineOf(vector, asked ?? vector))
}

function cosineOf(a: Float32Array, b: Float32Array): number {
  const dot = a.reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0)
  return dot / (Math.hypot(...a) * Math.hypot(...b) || 1)
}

type JudgeFeature = keyof typeof WEIGHTS.answerable
// The table's keys are the features.
export const JUDGE_FEATURES = Object.keys(WEIGHTS.answerable) as readonly JudgeFeature[]

/** `rest…` are means over other documents. @param scored best first, at least one */
export function judgedFeatures(
  scored: readonly ScoredUnit[],
  terms: Pick<QuestionTerms, 'count' | 'kind'>,
  passages: readonly Pick<Passage, 'documentId' | 'relevance' | 'cosine'>[],
): Readonly<Record<JudgeFeature, number>> | null {
  const [best] = scored
  if (best === undefined) return null
  const { documentId } = best.unit.passage
  const rival = scored.find(({ unit }) => unit.passage.documentId !== documentId)
  const relevances = perDocument(passages, ({ relevance }) => relevance)
  const vectors = perDocument(passages, ({ cosine }) => cosine ?? 0)
  const { kind } = best.features
  return {
    ...best.features,
    bias: 1,
    relevance: relevances.best,
    restRelevance: relevances.rest,
    relevanceGap: relevances.gap,
    vector: vectors.best,
    restVector: vectors.rest,
    score: best.score / 10,
    margin: rival === undefined ? 1 : Math.min(1, (best.score - rival.score) / 3),
    share: 1 / scored.reduce((sum, { score }) => sum + Math.exp(score - best.score), 0),
    kindHeld: Number(kind > 0),
    kindMissing: Number(kind < 0),
    mostHeld: Math.max(...scored.map((one) => one.features.held)),
    termCount: Math.min(1, terms.count / 12),
    isLatin: Number(terms.kind === 'latin'),
    isOther: Number(terms.kind === 'other'),
  }
}

function perDocument<P extends Pick<Passage, 'documentId'>>(
  passages: readonly P[],
  read: (passage: P) => number,
) {
  const byDocument = new Map<string, number>()
  for (const passage of passages) {
    const { documentId } = passage
    byDocument.set(documentId, Math.max(byDocument.get(documentId) ?? 0, read(passage)))
  }
  const [best = 0, ...others] = [...byDocument.values()].sort((a, b) => b - a)
  const rest = others.reduce((sum, value) => sum + value, 0) / Math.max(1, others.length)
  return { best, rest, gap: best - (others[0] ?? 0) }
}

// The features of a question's units.

/** The most units examined, because passages may be long. */
const UNITS_MAX = 2000

type RankFeature = keyof typeof WEIGHTS.english
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

function passageText({ heading, text }: Pick<Passage, 'heading' | 'text'>): string {
  return `${heading}\n${text}`
}

/** The unit together with the context that says what it is about. */
export function inContext({ text, setting }: AnswerUnit): string {
  return setting === '' ? text : `${setting}: ${text}`
}
