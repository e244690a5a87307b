import { sum } from '../../core/json.ts'
import type { AnswerToken, JudgeAnswer, TokenChoice } from './judge.ts'

/** A word that the model may answer, in the form of `plainWord`, and its score. */
interface ScoredLabel {
  readonly words: readonly string[]
  readonly score: number
}

/** The grades used by servers whose clients set thresholds on them. */
export const CLASS_LABELS: readonly ScoredLabel[] = [1, 2, 3, 4].map((grade) => {
  return { words: [`class${grade}`, String(grade)], score: grade / 4 }
})

export const YES_LABELS: readonly ScoredLabel[] = [
  { words: ['yes'], score: 1 },
  { words: ['no'], score: 0 },
]

/** If all labels together are less likely than this at every position, they are noise. */
const LABEL_SHARE_MIN = 0.05

/** The longest label is shorter. */
const PREFIX_CHARS_MAX = 16

/**
 * The expected score over the labels, Σ score · P(label) / Σ P(label), at the deciding token; for
 * yes and no this is P(yes) / (P(yes) + P(no)). A label missing among the alternatives gets its
 * largest possible probability: what remains, but at most the smallest of the alternatives.
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

/** The probability of each label at this position, given the text before it. */
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

/** The whole text or one word of it. @returns null if there is none or more than one label */
export function textScore(text: string, labels: readonly ScoredLabel[]): number | null {
  const whole = labels.find(({ words }) => words.includes(plainWord(text)))
  if (whole !== undefined) return whole.score
  const spoken = new Set(text.match(/[\p{L}\p{N}_]+/gu)?.map(plainWord) ?? [])
  // A single digit within a sentence may mean anything, so only words count.
  const named = labels.filter(({ words }) => words[0] !== undefined && spoken.has(words[0]))
  const [only] = named
  return only !== undefined && named.length === 1 ? only.score : null
}

/** The letters and digits in lower case, without the rest of " **Yes**." or "class_3". */
function plainWord(text: string): string {
  return text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '')
}

const NUMBER_MAX = 100

/** 0 to 100, divided by 100, preferably after "score"; a fraction below 1 is used as it is. */
export function numberScore(text: string): number | null {
  const named = /(?:score|relevance|rating|grade)\W{1,10}(-?\d+(?:\.\d+)?)/iu.exec(text)?.[1]
  const written = named ?? /-?\d+(?:\.\d+)?/u.exec(text)?.[0]
  if (written === undefined) return null
  const value = Number(written)
  if (!(value >= 0 && value <= NUMBER_MAX)) return null
  const isFraction = written.includes('.') && value <= 1
  return isFraction ? value : value / NUMBER_MAX
}

export function labelScore(answer: JudgeAnswer, labels: readonly ScoredLabel[]): number | null {
  const byTokens = answer.tokens === null ? null : tokensScore(answer.tokens, labels)
  return byTokens ?? textScore(answer.text, labels)
}
