import { withoutAccents } from '../../analysis/spellings.ts'
import { stopWordsOf } from '../../analysis/term-rules.ts'
import { words } from '../../analysis/words.ts'
import type { Embedder } from '../../domain/ports/model-ports.ts'
import type { Passage } from './observed-passages.ts'
import { sentencesOf } from './sentences.ts'

/** A sentence that may answer the question. */
export interface Candidate {
  readonly text: string
  readonly chunkId: string
  /** Higher is better; comparable within one question only. */
  readonly score: number
}

export interface Ranking {
  /** The best first; the same words only once. */
  readonly candidates: readonly Candidate[]
  /** Highest cosine similarity of a candidate to the question; -1 without candidates. */
  readonly bestCosine: number
  /** Largest share of the question's keywords that one chunk holds, 0 to 1. */
  readonly bestCoverage: number
}

/** Sentences whose vectors are made, and how much of each: some 500 tokens, 60 ms on two cores. */
const EMBEDDED_MAX = 12
const EMBEDDED_CHARS_MAX = 160
/** Sentences that are looked at, of passages that may be long. */
const SENTENCES_MAX = 2000

/**
 * Weights of a sentence's cosine, BM25 and its passage's relevance, each scaled to 0..1 over the
 * candidates.
 */
const WEIGHTS = { cosine: 0.4, keyword: 0.4, passage: 0.2 } as const

/** A title, a lone word or half a sentence explains less than a whole one that fits as well. */
const FRAGMENT_FACTOR = 0.7

interface Scored {
  readonly text: string
  readonly chunkId: string
  /** With its heading: what the sentence is about. */
  readonly inContext: string
  readonly isFragment: boolean
  readonly keyword: number
  readonly passage: number
}

/** Ranks the sentences of passages by how well they answer a question. */
export async function rankedSentences(
  question: string,
  passages: readonly Passage[],
  embed: Embedder['embed'],
  signal: AbortSignal,
): Promise<Ranking> {
  const bestCoverage = coverageOf(question, passages)
  const scored = selectSentences(question, passages)
  if (scored.length === 0) return { candidates: [], bestCosine: -1, bestCoverage }
  // Alone, so that its vector is the search's own one, which the embedder still remembers.
  const [questionVectors, vectors] = await Promise.all([
    embed([question], signal),
    embed(
      scored.map((sentence) => sentence.inContext.slice(0, EMBEDDED_CHARS_MAX)),
      signal,
    ),
  ])
  const cosines = vectors.map((vector) => dot(vector, questionVectors[0]))
  const parts = {
    cosine: minMaxScale(cosines),
    keyword: minMaxScale(scored.map((sentence) => sentence.keyword)),
    passage: minMaxScale(scored.map((sentence) => sentence.passage)),
  }
  const candidates = scored.map(({ text, chunkId, isFragment }, index): Candidate => {
    const weighted = (part: keyof typeof WEIGHTS) => WEIGHTS[part] * (parts[part][index] ?? 0)
    const whole = weighted('cosine') + weighted('keyword') + weighted('passage')
    const score = isFragment ? whole * FRAGMENT_FACTOR : whole
    return { text, chunkId, score }
  })
  candidates.sort((a, b) => b.score - a.score)
  return { candidates, bestCosine: Math.max(...cosines), bestCoverage }
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

/** The sentences with the best BM25 and passage, without repetitions (chunks overlap). */
function selectSentences(question: string, passages: readonly Passage[]): readonly Scored[] {
  const unique = new Map<string, Omit<Scored, 'keyword'>>()
  const relevances = minMaxScale(passages.map((passage) => passage.relevance))
  for (const [index, passage] of passages.entries()) {
    for (const { text, heading, isFragment } of sentencesOf(passage.text)) {
      const key = text.replace(/\s+/g, ' ').toLowerCase()
      if (unique.has(key) || unique.size >= SENTENCES_MAX) continue
      const inContext = heading === '' ? text : `${heading}: ${text}`
      const passageScore = relevances[index] ?? 0
      const { chunkId } = passage
      unique.set(key, { text, chunkId, inContext, isFragment, passage: passageScore })
    }
  }
  const sentences = [...unique.values()]
  const keyword = bm25(
    keywords(question),
    sentences.map((sentence) => keywords(sentence.inContext)),
  )
  const scaledKeyword = minMaxScale(keyword)
  const worth = (index: number) =>
    (scaledKeyword[index] ?? 0) + (sentences[index]?.passage ?? 0) / 2
  return sentences
    .map((sentence, index) => ({ ...sentence, keyword: keyword[index] ?? 0, worth: worth(index) }))
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
