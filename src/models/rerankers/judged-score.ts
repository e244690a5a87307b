import { sum } from '../../core/json.ts'
import type { AnswerToken, JudgeAnswer, TokenChoice } from './judge.ts'

/** A word that a model may answer with, as `plainWord` gives it, and its score. */
export interface ScoredLabel {
  readonly words: readonly string[]
  readonly score: number
}

/** The grades of the servers whose clients set thresholds on them. */
export const CLASS_LABELS: readonly ScoredLabel[] = [1, 2, 3, 4].map((grade) => {
  return { words: [`class${grade}`, String(grade)], score: grade / 4 }
})

export const YES_LABELS: readonly ScoredLabel[] = [
  { words: ['yes'], score: 1 },
  { words: ['no'], score: 0 },
]

/** Labels that together are less likely than this at each place are noise, not an answer. */
const LABEL_SHARE_MIN = 0.05

/** No label is longer. */
const PREFIX_CHARS_MAX = 16

/**
 * The expected score over the labels, Σ score · P(label) / Σ P(label), at the token that decides; for yes and no that is
 * P(yes) / (P(yes) + P(no)). A label missing among the alternatives gets the most it can have: the rest of the probability,
 * at most their smallest.
 * @returns null if no token is a label
 */
export function tokensScore(
  tokens: readonly AnswerToken[],
  labels: readonly ScoredLabel[],
): number | null {
  let best: readonly number[] = []
  let bestShare = LABEL_SHARE_MIN
  let prefix = ''
  for (const { text, choices } of tokens) {
    const shares = sharesOf(choices, labels, prefix)
    if (sum(shares) > bestShare) {
      bestShare = sum(shares)
      best = withUnseen(shares, choices)
    }
    prefix += text
    if (plainWord(prefix).length > PREFIX_CHARS_MAX) break
  }
  if (best.length === 0) return null
  const weighted = best.map((share, index) => share * (labels[index]?.score ?? 0))
  return sum(weighted) / sum(best)
}

/** The probability of each label here, given the preceding text. */
function sharesOf(
  choices: readonly TokenChoice[],
  labels: readonly ScoredLabel[],
  prefix: string,
): readonly number[] {
  const said = choices.map(({ text, probability }) => {
    return { word: plainWord(prefix + text), probability }
  })
  return labels.map(({ words }) => {
    const own = said.filter(({ word }) => words.includes(word))
    return sum(own.map(({ probability }) => probability))
  })
}

function withUnseen(shares: readonly number[], choices: readonly TokenChoice[]): readonly number[] {
  const unseenCount = shares.filter((share) => share === 0).length
  const probabilities = choices.map(({ probability }) => probability)
  const rest = Math.max(0, 1 - sum(probabilities))
  const unseen = Math.min(rest / unseenCount, ...probabilities)
  return shares.map((share) => (share === 0 ? unseen : share))
}

/**
 * The score of the one label that a text names: as the whole text, else as a word of it.
 * @returns null if it names none or several
 */
export function textScore(text: string, labels: readonly ScoredLabel[]): number | null {
  const whole = labels.find(({ words }) => words.includes(plainWord(text)))
  if (whole !== undefined) return whole.score
  const spoken = new Set(text.match(/[\p{L}\p{N}_]+/gu)?.map(plainWord) ?? [])
  // A bare digit within a sentence may be anything.
  const named = labels.filter(({ words }) => words[0] !== undefined && spoken.has(words[0]))
  const [only] = named
  return only !== undefined && named.length === 1 ? only.score : null
}

/** Letters and digits only, lower case: what is left of " **Yes**." and of "class_3". */
function plainWord(text: string): string {
  return text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '')
}

const NUMBER_MAX = 100

/**
 * The number from 0 to 100 in a text, divided by 100: the one after a word such as "score", else the first one. A fraction
 * below 1 is used as it is.
 * @returns null without one in that range
 */
export function numberScore(text: string): number | null {
  const named = /(?:score|relevance|rating|grade)\W{1,10}(-?\d+(?:\.\d+)?)/iu.exec(text)?.[1]
  const written = named ?? /-?\d+(?:\.\d+)?/u.exec(text)?.[0]
  if (written === undefined) return null
  const value = Number(written)
  if (!(value >= 0 && value <= NUMBER_MAX)) return null
  const isFraction = written.includes('.') && value <= 1
  return isFraction ? value : value / NUMBER_MAX
}

/** How an answer to the method's prompt is read; probabilities first, if any. */
export function labelScore(answer: JudgeAnswer, labels: readonly ScoredLabel[]): number | null {
  const byTokens = answer.tokens === null ? null : tokensScore(answer.tokens, labels)
  return byTokens ?? textScore(answer.text, labels)
}
