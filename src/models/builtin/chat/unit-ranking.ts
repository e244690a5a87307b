import type { Embedder } from '../../../domain/ports/model-ports.ts'
import type { AnswerUnit, Passage, Ranking } from './answer-unit.ts'
import { type QuestionKind, QuestionTerms } from './question-terms.ts'
import { unitsOf } from './units.ts'
import { WantedForm } from './wanted-form.ts'

/** Units whose vectors are made, and how much of each: making one takes 10 to 15 ms of a core. */
const EMBEDDED_MAX = 10
const EMBEDDED_CHARS_MAX = 240
/** Units that are looked at, of passages that may be long. */
const UNITS_MAX = 2000

/**
 * What a unit's score is made of: the relevance that the search gave its passage, the weight of the question's terms that it
 * holds, and that it holds with the units beside it, and its cosine. bench/notes/agents.md says how they were
 * fitted; a third more or less of one of them changes almost nothing.
 */
const WEIGHTS = { relevance: 12, own: 4.4, nearby: 4, cosine: 5 } as const
/** A title, a lone word or half a sentence explains less than a whole one that fits as well. */
const FRAGMENT_COST = 3
/** A unit that has no word of the question beside it either says the same in other words, or something else. */
const WORDLESS_COSINE_MIN = 0.4

/**
 * When there is an answer: the best of its parts, weighed, reach the sum for the kind of the question. Decision 48 tells on
 * which questions, and how many with and without an answer are taken for the other. Cosines are made in English only.
 */
const EVIDENCE = { relevance: 8.3, cosine: 1.8, share: 5.5, nearby: 1.2 } as const
const EVIDENCE_MIN: Readonly<Record<QuestionKind, number>> = {
  english: 7.1,
  latin: 4.4,
  other: 3.6,
}

interface Scored {
  readonly unit: AnswerUnit
  /** Without the cosine. */
  readonly score: number
  readonly nearby: number
}

/** Ranks the units of passages by how well they answer a question, and decides whether one does. */
export async function rankedUnits(
  question: string,
  passages: readonly Passage[],
  embed: Embedder['embed'],
  signal: AbortSignal,
): Promise<Ranking> {
  const texts = passages.map(({ heading, text }) => `${heading}\n${text}`)
  const terms = new QuestionTerms(question, texts)
  const scored = scoredUnits(passages, terms, new WantedForm(question))
  if (scored.length === 0) return { units: [], isRelevant: false }
  const embedded = terms.kind === 'english' ? scored.slice(0, EMBEDDED_MAX) : []
  const cosines = await cosinesTo(question, embedded, embed, signal)
  const units = scored.flatMap(({ unit, score, nearby }, index) => {
    const cosine = cosines[index] ?? 0
    const hasWords = nearby > 0
    const isNear = hasWords || cosine >= WORDLESS_COSINE_MIN
    return isNear ? [{ ...unit, score: score + WEIGHTS.cosine * cosine, hasWords }] : []
  })
  units.sort((a, b) => b.score - a.score)
  const evidence =
    EVIDENCE.relevance * Math.max(...passages.map(({ relevance }) => relevance)) +
    EVIDENCE.cosine * Math.max(0, ...cosines) +
    EVIDENCE.share * Math.max(...texts.map((text) => terms.shareHeld(terms.termsOf(text)))) +
    EVIDENCE.nearby * Math.max(...scored.map(({ nearby }) => nearby))
  return { units, isRelevant: evidence >= EVIDENCE_MIN[terms.kind] }
}

/** By what the words and the search say, the best first; the same words only once, since chunks overlap. */
function scoredUnits(
  passages: readonly Passage[],
  terms: QuestionTerms,
  form: WantedForm,
): readonly Scored[] {
  const units = unitsOf(passages).slice(0, UNITS_MAX)
  const held = units.map((unit) => terms.termsOf(inContext(unit)))
  const own = units.map((unit) => terms.termsOf(unit.text))
  const unique = new Map<string, Scored>()
  for (const [index, unit] of units.entries()) {
    const beside = [index - 1, index + 1].map((at) => {
      return units[at]?.site.stretch === unit.site.stretch ? own[at] : undefined
    })
    const nearby = terms.weightHeld(held[index], ...beside)
    const score =
      WEIGHTS.relevance * unit.passage.relevance +
      // Its setting counts half: all units below a heading share it.
      (WEIGHTS.own / 2) * (terms.weightHeld(own[index]) + terms.weightHeld(held[index])) +
      WEIGHTS.nearby * nearby +
      form.worthOf(unit) -
      (unit.isFragment ? FRAGMENT_COST : 0)
    const key = unit.text.replace(/\s+/g, ' ').toLowerCase()
    if ((unique.get(key)?.score ?? Number.NEGATIVE_INFINITY) < score) {
      unique.set(key, { unit, score, nearby })
    }
  }
  return [...unique.values()].sort((a, b) => b.score - a.score)
}

/** With its setting: what the unit is about. */
function inContext({ text, setting }: AnswerUnit): string {
  return setting === '' ? text : `${setting}: ${text}`
}

async function cosinesTo(
  question: string,
  embedded: readonly Scored[],
  embed: Embedder['embed'],
  signal: AbortSignal,
): Promise<readonly number[]> {
  if (embedded.length === 0) return []
  // Alone, so that its vector is the search's own one, which the embedder still remembers.
  const [questionVectors, vectors] = await Promise.all([
    embed([question], signal),
    embed(
      embedded.map(({ unit }) => inContext(unit).slice(0, EMBEDDED_CHARS_MAX)),
      signal,
    ),
  ])
  return vectors.map((vector) => dot(vector, questionVectors[0]))
}

/** Of vectors of length 1: their cosine. */
function dot(a: Float32Array, b: Float32Array | undefined): number {
  return a.reduce((sum, value, index) => sum + value * (b?.[index] ?? 0), 0)
}
