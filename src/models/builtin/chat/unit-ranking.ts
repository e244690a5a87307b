import WEIGHTS from '../../../../assets/answers/weights.json' with { type: 'json' }
import WORDS from '../../../../assets/answers/words.json' with { type: 'json' }
import type {
  Answerability,
  Embedder,
  FoundPassage,
} from '../../../core/domain/ports/model-ports.ts'
import type { Passage, Ranking } from './answer-unit.ts'
import { QUESTION_CHARS_MAX } from './asked-question.ts'
import { COMPARES } from './definitions.ts'
import { bare } from './keywords.ts'
import { comparableRelevance } from './observed-passages.ts'
import {
  type FeaturedUnit,
  featuredQuestion,
  holdsKind,
  inContext,
  passageText,
  type QuestionKind,
  type QuestionTerms,
  RANK_FEATURES,
  type RankFeature,
  wantedKind,
  withCosines,
} from './unit-features.ts'
import { documentNames, WantedForm } from './wanted-form.ts'

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

/** A document's name after one of these is an ordinary word: `a backup`, `which models`. */
const DETERMINERS = new Set(WORDS.determiners.split(' '))

/**
 * A question about a document is answered by what else it asks, because all of that document's
 * passages are about its name.
 */
function judgement(
  question: string,
  scored: readonly ScoredUnit[],
  { terms, passages }: Omit<Judged, 'by'>,
): Omit<Ranking, 'units'> {
  const judged = judgementOf(question, scored, { terms, passages, by: 'documentId' })
  const rest = withoutNames(question, passages)
  if (judged.evidence !== 'answer' || rest === question || COMPARES.test(question)) return judged
  const { terms: others, units } = featuredQuestion(rest, passages)
  if (others.count === 0 || units.length === 0) return judged
  const again = scoredUnits(units, plainWeights(terms.kind))
  const { score, evidence } = judgementOf(rest, again, { terms: others, passages, by: 'chunkId' })
  const [best] = again
  if (evidence === 'answer' || (best && new WantedForm(rest).isBelowAsked(best.unit))) return judged
  return { ...judged, score: Math.min(score, judged.score), evidence: 'closest' }
}

/** A shorter document tells little more than what its name says, such as a row about one product. */
const NAMED_CHARS_MIN = 400

/** The question without the names of documents that passages come from, if they are long enough. */
export function withoutNames(question: string, passages: readonly Passage[]): string {
  const documents = [...Map.groupBy(passages, ({ documentId }) => documentId).values()]
  const long = documents.filter((those) => {
    return those.reduce((sum, { text }) => sum + text.length, 0) >= NAMED_CHARS_MIN
  })
  const names = new Set(long.flat().flatMap(documentNames))
  const words = question.split(/\s+/)
  const rest = words.filter((word, at) => {
    const isOrdinary = DETERMINERS.has(words[at - 1]?.toLowerCase() ?? '')
    return isOrdinary || !names.has(bare(word.replace(/['’]s\b/u, '')))
  })
  return rest.length === words.length ? question : rest.join(' ')
}

interface Judged {
  readonly terms: QuestionTerms
  readonly passages: readonly Passage[]
  /** What the best passage is compared with: other documents, or also others of the same one. */
  readonly by: 'documentId' | 'chunkId'
}

function judgementOf(
  question: string,
  scored: readonly ScoredUnit[],
  { terms, passages, by }: Judged,
): Omit<Ranking, 'units'> {
  const features = judgedFeatures(scored, terms, passages, by)
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
    !lacksWanted(question, terms.kind, scored[0])
  return { score, evidence: isAnswer ? 'answer' : 'closest', unknownNames }
}

/** Capitalized words after the first word: in English, names of people, places and products. */
const NAMES =
  /(?<=[^\s.!?:]\s+[\p{Pi}\p{Ps}"']?)\p{Lu}[\p{L}\p{M}]+(?: \p{Lu}[\p{L}\p{M}]+)*(?![-\p{L}\p{M}\p{N}])/gu
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
  const unknown = names.map((name) => {
    const words = name.split(' ')
    const long = words.filter((word) => word.length >= NAME_LETTERS)
    return long.length > 0 && long.every(isUnknown) ? name : words.filter(isUnknown).join(' ')
  })
  return [...new Set(unknown)].filter((name) => name !== '')
}

const ABBREVIATIONS = /\p{Lu}{2,}\p{L}*/gu
/** How far from the best sentence what the question asks for may be. */
const AROUND_CHARS = 200

/** In German, every noun looks like a name, and `keiner` is a number. */
const MISSED: Readonly<Record<QuestionKind, readonly string[]>> = {
  english: ['date', 'number', 'person'],
  latin: ['date'],
  other: [],
}
const ASKS_PRICE =
  /\bhow much (?:do|does|did|would|will|is|are)\b.*\bcosts?\b|\bwas kostet\b|\bwie (?:viel kostet|teuer)\b/i
/** An amount of money, a number after a word such as price, or a word such as free. */
const PRICE =
  /\p{Sc}\s?\d|\d\s?(?:\p{Sc}|,-|(?:chf|franken|fr|kr)\b)|\b(?:prices?|preise?|fees?)\b\D{0,60}\d|\bcosts?\b\W{1,20}\d|\b(?:free|gratis|kosten(?:los|frei)|umsonst|dollars?|euros?|pounds?|cents?|usd|eur)\b/iu

const ASKS_PHONE = /\b(?:(?:tele)?phone|fax) number\b|\btelefonnummer\b/i
const PHONE = /\+?\d(?:[ ()/.-]?\d){5,}/

/** Whether a price, phone number, date, number or name is asked for and not near the best sentence. */
function lacksWanted(question: string, asked: QuestionKind, best: ScoredUnit | undefined): boolean {
  if (best === undefined) return false
  const { kind, stretch, span } = best.unit.site
  const start = Math.max(0, span.start - AROUND_CHARS)
  const around = stretch.text.slice(start, span.end + AROUND_CHARS)
  if (ASKS_PRICE.test(question)) return kind === 'code' || !PRICE.test(around)
  if (ASKS_PHONE.test(question)) return !PHONE.test(around)
  const wanted = wantedKind(question)
  if (wanted === null || !MISSED[asked].includes(wanted)) return false
  if (wanted !== 'person') return !holdsKind(wanted, around, question)
  return kind === 'code' || !holdsKind(wanted, around.replace(ABBREVIATIONS, ''), question)
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

/** `rest…` are means over other documents or passages. @param scored best first, at least one */
export function judgedFeatures(
  scored: readonly ScoredUnit[],
  terms: Pick<QuestionTerms, 'count' | 'kind'>,
  passages: readonly Pick<Passage, Judged['by'] | 'relevance' | 'cosine'>[],
  by: Judged['by'],
): Readonly<Record<JudgeFeature, number>> | null {
  const [best] = scored
  if (best === undefined) return null
  const own = best.unit.passage[by]
  const rival = scored.find(({ unit }) => unit.passage[by] !== own)
  const relevances = perPart(passages, by, ({ relevance }) => relevance)
  const vectors = perPart(passages, by, ({ cosine }) => cosine ?? 0)
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

function perPart<P extends Pick<Passage, Judged['by']>>(
  passages: readonly P[],
  by: Judged['by'],
  read: (passage: P) => number,
) {
  const values = new Map<string, number>()
  for (const passage of passages) {
    const part = passage[by]
    values.set(part, Math.max(values.get(part) ?? 0, read(passage)))
  }
  const [best = 0, ...others] = [...values.values()].sort((a, b) => b - a)
  const rest = others.reduce((sum, value) => sum + value, 0) / Math.max(1, others.length)
  return { best, rest, gap: best - (others[0] ?? 0) }
}
