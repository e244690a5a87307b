import { withoutAccents } from '../../../analysis/spellings.ts'
import { stopWordsOf } from '../../../analysis/term-rules.ts'
import { isMostlyLatin, words } from '../../../analysis/words.ts'
import type { Embedder } from '../../../domain/ports/model-ports.ts'
import type { AnswerUnit, Passage, Ranking } from './answer-unit.ts'
import { unitsOf } from './units.ts'

/** Sentences whose vectors are made, and how much of each: some 500 tokens, 60 ms on two cores. */
const EMBEDDED_MAX = 12
const EMBEDDED_CHARS_MAX = 160
/** Units that are looked at, of passages that may be long. */
const UNITS_MAX = 2000

/**
 * Weights of a sentence's cosine, BM25 and its passage's relevance, each scaled to 0..1 over the
 * candidates.
 */
const WEIGHTS = { cosine: 0.4, keyword: 0.4, passage: 0.2 } as const

/** A title, a lone word or half a sentence explains less than a whole one that fits as well. */
const FRAGMENT_FACTOR = 0.7

/**
 * When a question counts as answered. Chosen on questions over the READMEs of this project's
 * dependencies (`tests/slow/models/extractive-answers.test.ts`): answerable ones reach a cosine of
 * 0.53 to 0.81 there, others 0.11 to 0.28, and 0.43 where a licence speaks of warranties.
 */
const COSINE_MIN = 0.45
/** Words that meet by chance have little to do with each other in meaning. */
const COVERAGE_MIN = 0.6
const COVERED_COSINE_MIN = 0.2
/**
 * The built-in model is English: elsewhere its cosines are high between any two texts of one
 * script.
 */
const FOREIGN_COVERAGE_MIN = 0.3

interface Scored {
  readonly unit: AnswerUnit
  readonly keyword: number
  readonly passage: number
}

/** Ranks the units of passages by how well they answer a question. */
export async function rankedUnits(
  question: string,
  passages: readonly Passage[],
  embed: Embedder['embed'],
  signal: AbortSignal,
): Promise<Ranking> {
  const scored = selectUnits(question, passages)
  if (scored.length === 0) return { units: [], isRelevant: false }
  // Alone, so that its vector is the search's own one, which the embedder still remembers.
  const [questionVectors, vectors] = await Promise.all([
    embed([question], signal),
    embed(
      scored.map(({ unit }) => inContext(unit).slice(0, EMBEDDED_CHARS_MAX)),
      signal,
    ),
  ])
  const cosines = vectors.map((vector) => dot(vector, questionVectors[0]))
  const parts = {
    cosine: minMaxScale(cosines),
    keyword: minMaxScale(scored.map((sentence) => sentence.keyword)),
    passage: minMaxScale(scored.map((sentence) => sentence.passage)),
  }
  const units = scored.map(({ unit }, index) => {
    const weighted = (part: keyof typeof WEIGHTS) => WEIGHTS[part] * (parts[part][index] ?? 0)
    const whole = weighted('cosine') + weighted('keyword') + weighted('passage')
    return { ...unit, score: unit.isFragment ? whole * FRAGMENT_FACTOR : whole }
  })
  units.sort((a, b) => b.score - a.score)
  const isRelevant = isAnswered(question, Math.max(...cosines), coverageOf(question, passages))
  return { units, isRelevant }
}

/** With its setting: what the unit is about. */
function inContext({ text, setting }: AnswerUnit): string {
  return setting === '' ? text : `${setting}: ${text}`
}

function isAnswered(question: string, bestCosine: number, bestCoverage: number): boolean {
  if (!isMostlyLatin(question)) return bestCoverage >= FOREIGN_COVERAGE_MIN
  const isCovered = bestCoverage >= COVERAGE_MIN && bestCosine >= COVERED_COSINE_MIN
  return isCovered || bestCosine >= COSINE_MIN
}

function coverageOf(question: string, passages: readonly Passage[]): number {
  const questionWords = [...new Set(keywords(question))]
  if (questionWords.length === 0) return 0
  const shares = passages.map((passage) => {
    const passageWords = new Set(keywords(passage.text))
    const shared = questionWords.filter((word) => passageWords.has(word))
    return shared.length / questionWords.length
  })
  return Math.max(0, ...shares)
}

/** The units with the best BM25 and passage, without repetitions (chunks overlap). */
function selectUnits(question: string, passages: readonly Passage[]): readonly Scored[] {
  const unique = new Map<string, Omit<Scored, 'keyword'>>()
  const relevances = minMaxScale(passages.map((passage) => passage.relevance))
  const relevanceOf = new Map(passages.map((passage, index) => [passage, relevances[index] ?? 0]))
  for (const unit of unitsOf(passages)) {
    const key = unit.text.replace(/\s+/g, ' ').toLowerCase()
    if (unique.has(key) || unique.size >= UNITS_MAX) continue
    unique.set(key, { unit, passage: relevanceOf.get(unit.passage) ?? 0 })
  }
  const units = [...unique.values()]
  const keyword = bm25(
    keywords(question),
    units.map(({ unit }) => keywords(inContext(unit))),
  )
  const scaledKeyword = minMaxScale(keyword)
  const worth = (index: number) => (scaledKeyword[index] ?? 0) + (units[index]?.passage ?? 0) / 2
  return units
    .map((scored, index) => ({ ...scored, keyword: keyword[index] ?? 0, worth: worth(index) }))
    .sort((a, b) => b.worth - a.worth)
    .slice(0, EMBEDDED_MAX)
}

const K1 = 1.2
const B = 0.75

/**
 * BM25 of each text over these texts (Robertson and Zaragoza 2009, with the idf that is never
 * negative).
 */
function bm25(query: readonly string[], texts: readonly (readonly string[])[]): readonly number[] {
  const meanLength = texts.reduce((sum, words) => sum + words.length, 0) / texts.length || 1
  const terms = [...new Set(query)]
  const counts = texts.map((words) => {
    return terms.map((term) => words.filter((word) => word === term).length)
  })
  const idf = terms.map((_, index) => {
    const holders = counts.filter((count) => (count[index] ?? 0) > 0).length
    return Math.log(1 + (texts.length - holders + 0.5) / (holders + 0.5))
  })
  return texts.map((words, row) => {
    const norm = K1 * (1 - B + (B * words.length) / meanLength)
    return terms.reduce((sum, _, index) => {
      const count = counts[row]?.[index] ?? 0
      return sum + ((idf[index] ?? 0) * count * (K1 + 1)) / (count + norm)
    }, 0)
  })
}

/** To 0..1; all 0 where all are equal. */
function minMaxScale(values: readonly number[]): readonly number[] {
  const least = Math.min(...values)
  const range = Math.max(...values) - least
  return values.map((value) => (range > 0 ? (value - least) / range : 0))
}

/** Of vectors of length 1: their cosine. */
function dot(a: Float32Array, b: Float32Array | undefined): number {
  return a.reduce((sum, value, index) => sum + value * (b?.[index] ?? 0), 0)
}

/**
 * The words of a text that count in a comparison: those of the keyword index, without English stop words and endings;
 * names in camel case whole and in parts.
 */
export function keywords(text: string): readonly string[] {
  const spelled = text.replaceAll(CAMEL_CASE, (name) => [name, ...name.split(HUMP)].join(' '))
  const stopWords = stopWordsOf('english')
  return words(spelled)
    .map(withoutAccents)
    .filter((word) => !stopWords.has(word))
    .map(withoutEnding)
}

const CAMEL_CASE = /\p{L}*\p{Ll}\p{Lu}\p{L}*/gu
const HUMP = /(?<=\p{Ll})(?=\p{Lu})/u

/**
 * Plural, -ing and -ed, so that `retries` finds `retry` and `installing` finds `install`. The keyword index's stemmer
 * would take each new thread 24 ms, and a thread answers one question.
 */
function withoutEnding(word: string): string {
  if (word.length < 5) return word.length === 4 ? word.replace(/(?<![su])s$/, '') : word
  if (word.endsWith('ies')) return `${word.slice(0, -3)}y`
  const singular = word.replace(/(?<=(ss|sh|ch|x|z))es$|(?<![sui])s$/, '')
  const bare = singular.replace(/(?<=[a-z]{3})(ing|ed)$/, '')
  // `configur(e)`, `configur(ed)`, `configur(ing)` meet without the last vowel.
  return bare.length >= 5 ? bare.replace(/e$/, '') : bare
}
