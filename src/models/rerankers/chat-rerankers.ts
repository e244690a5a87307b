import type { Reranker } from '../../core/domain/ports/model-ports.ts'
import { AppError } from '../../core/errors.ts'
import { sum } from '../../core/json.ts'
import { mapConcurrent } from '../../core/runtime/serial-queue.ts'
import {
  type AnswerToken,
  type CallForm,
  isCallRefusal,
  type Judge,
  type JudgeAnswer,
  type JudgeConfig,
  judge,
  type TokenChoice,
} from './judge.ts'
import type { RerankMethod, RerankOptions } from './rerank-options.ts'
import {
  type JudgePrompt,
  listPrompt,
  passagePrompt,
  type ShownTexts,
  shownTexts,
  withRerankDeadline,
} from './rerank-prompts.ts'

export class PointwiseReranker implements Reranker {
  readonly #judge: Judge
  readonly #options: RerankOptions
  readonly #forms: readonly CallForm[]
  /** The form of call that the server answers; null if not known yet. */
  #knownForm: CallForm | null = null

  constructor(config: JudgeConfig) {
    this.#judge = judge(config)
    this.#options = config.options
    this.#forms = FORMS[config.options.method]
  }

  /** A passage without a score gets 0. If more than half have none, the reranking fails. */
  async rerank(
    queryText: string,
    passages: readonly string[],
    signal: AbortSignal,
  ): Promise<readonly number[]> {
    const shown = shownTexts(queryText, passages)
    const { timeoutMs } = this.#options
    const deadline = { url: this.#judge.url, timeoutMs, signal }
    const questions = shown.passages.map((passage) => ({ queryText: shown.queryText, passage }))
    const scores = await withRerankDeadline(deadline, (both) => this.#scoresOf(questions, both))
    const judgedCount = scores.filter((score) => score !== null).length
    if (judgedCount * 2 < scores.length) {
      this.#knownForm = null
      const missing = `${scores.length - judgedCount} of ${scores.length} passages`
      throw new AppError(
        'provider_failed',
        `${this.#judge.url} returned no judgment for ${missing}`,
      )
    }
    return scores.map((score) => score ?? 0)
  }

  /** The first passage is sent alone, until it is known what the server supports. */
  async #scoresOf(
    questions: readonly Question[],
    signal: AbortSignal,
  ): Promise<readonly (number | null)[]> {
    const aloneCount = this.#knownForm === null ? 1 : 0
    const bounds = { concurrencyMax: this.#options.callsAtOnceMax, signal }
    const judged = (some: readonly Question[]) => {
      return mapConcurrent(some, bounds, (question, ended) => this.#score(question, ended))
    }
    const first = await judged(questions.slice(0, aloneCount))
    return [...first, ...(await judged(questions.slice(aloneCount)))]
  }

  /** Falls back to a simpler form while none is known; later, one passage cannot change it. */
  async #score(question: Question, signal: AbortSignal): Promise<number | null> {
    const known = this.#knownForm
    for (const form of this.#forms.slice(known === null ? 0 : this.#forms.indexOf(known))) {
      const hasNext = form !== 'bare'
      const mayBeRefused = known !== null || hasNext
      const answer = await this.#answer(question, form, signal, mayBeRefused)
      if (answer === null && known !== null) return null
      if (answer === null) continue
      if (form === 'logprobs' && answer.tokens === null) {
        this.#knownForm = null
        continue
      }
      const score = this.#read(answer, form)
      if (score === null && answer.isCut && hasNext) continue
      if (score !== null) this.#knownForm ??= form
      return score
    }
    return null
  }

  /** Returns null if the server refused this passage or form and that is allowed. */
  async #answer(
    question: Question,
    form: CallForm,
    signal: AbortSignal,
    mayBeRefused: boolean,
  ): Promise<JudgeAnswer | null> {
    const prompt = this.#prompt(question, form)
    try {
      return await this.#judge.ask(prompt, form, signal)
    } catch (error) {
      if (mayBeRefused && isCallRefusal(error)) return null
      throw error
    }
  }

  #prompt(question: Question, form: CallForm): JudgePrompt {
    if (form !== 'logprobs') return passagePrompt('number', question)
    return passagePrompt(this.#options.method === 'binary' ? 'yes' : 'classes', question)
  }

  #read(answer: JudgeAnswer, form: CallForm): number | null {
    if (form !== 'logprobs') return numberScore(answer.text)
    return labelScore(answer, this.#options.method === 'binary' ? YES_LABELS : CLASS_LABELS)
  }
}

interface Question {
  readonly queryText: string
  readonly passage: string
}

const FORMS: Readonly<Record<RerankMethod, readonly CallForm[]>> = {
  'multi-class': ['logprobs', 'plain', 'bare'],
  binary: ['logprobs', 'plain', 'bare'],
  'no-logprobs': ['plain', 'bare'],
}

/** How many passages a model orders in one call. */
const WINDOW_SIZE = 20
/** How far the window moves: the better half of one window competes with half of the next. */
const WINDOW_STEP = 10

/**
 * Lets a chat model order the passages. If there are more than fit in one window, windows are
 * ordered from the last to the first, so that a good passage can move all the way up (Sun et al.
 * 2023, "Is ChatGPT Good at Search?", arXiv:2304.09542). Scores are positions: 1 for the first, 1/n
 * for the last of n passages.
 */
export function listwiseReranker(config: JudgeConfig): Reranker {
  const model = judge(config)
  const { timeoutMs } = config.options
  return {
    async rerank(queryText, passages, signal) {
      const shown = shownTexts(queryText, passages)
      if (passages.length < 2) return passages.map(() => 1)
      const deadline = { url: model.url, timeoutMs, signal }
      const order = await withRerankDeadline(deadline, (both) => rankedOrder(shown, model, both))
      const scores = passages.map(() => 0)
      for (const [position, index] of order.entries()) {
        scores[index] = (order.length - position) / order.length
      }
      return scores
    },
  }
}

/** A window whose answer names no passage keeps its order. @throws AppError if all do */
async function rankedOrder(
  { queryText, passages }: ShownTexts,
  model: Judge,
  signal: AbortSignal,
): Promise<readonly number[]> {
  const order = passages.map((_, index) => index)
  let namedCount = 0
  for (const from of windowStarts(passages.length)) {
    const window = order.slice(from, from + WINDOW_SIZE)
    const texts = window.map((index) => passages[index] ?? '')
    const answer = await answerTo(listPrompt(queryText, texts), model, signal)
    const named = namedOrder(answer, window.length)
    if (named === null) continue
    namedCount += 1
    const ordered = named.flatMap((position) => window[position] ?? [])
    order.splice(from, ordered.length, ...ordered)
  }
  if (namedCount > 0) return order
  throw new AppError('provider_failed', `${model.url} did not return an order of the passages`)
}

/** The starts of windows that cover all passages, the last window first. */
function windowStarts(passageCount: number): readonly number[] {
  const lastStart = Math.max(0, passageCount - WINDOW_SIZE)
  const count = Math.ceil(lastStart / WINDOW_STEP) + 1
  return Array.from({ length: count }, (_, at) => Math.max(0, lastStart - at * WINDOW_STEP))
}

/** A plain call for models that refuse a temperature or token limit. */
const LIST_FORMS: readonly CallForm[] = ['plain', 'bare']

async function answerTo(prompt: JudgePrompt, model: Judge, signal: AbortSignal): Promise<string> {
  let text = ''
  for (const form of LIST_FORMS) {
    const answer = await model.ask(prompt, form, signal).catch((error: unknown) => {
      if (form === 'plain' && isCallRefusal(error)) return null
      throw error
    })
    text = answer?.text ?? ''
    if (answer !== null && !(answer.isCut && form === 'plain')) return text
  }
  return text
}

/** Matches a passage's number; longer, negative or fractional numbers do not count. */
const RANK_NUMBER = /(?<![\d.-])\d{1,4}(?![\d.]*\d)/gu
const RANKED_LIST = /\[\s*-?\d+(?:\s*,\s*-?\d+)+\s*\]/gu

/**
 * The order of `count` passages in an answer, as indexes from 0: the longest list in brackets,
 * otherwise all numbers in order (`[2] > [1] > [3]`, one per line). Unknown and repeated numbers
 * are ignored; passages not named follow in their original order.
 * @returns null if the answer names no passage
 */
export function namedOrder(answer: string, count: number): readonly number[] | null {
  const lists = answer.match(RANKED_LIST) ?? []
  const longest = lists.toSorted((first, second) => second.length - first.length)[0]
  const numbers = (longest ?? answer).match(RANK_NUMBER) ?? []
  const positions = numbers.map((digits) => Number(digits) - 1)
  const named = new Set(positions.filter((position) => position >= 0 && position < count))
  if (named.size === 0) return null
  const all = Array.from({ length: count }, (_, position) => position)
  return [...named, ...all.filter((position) => !named.has(position))]
}

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

function labelScore(answer: JudgeAnswer, labels: readonly ScoredLabel[]): number | null {
  const byTokens = answer.tokens === null ? null : tokensScore(answer.tokens, labels)
  return byTokens ?? textScore(answer.text, labels)
}
