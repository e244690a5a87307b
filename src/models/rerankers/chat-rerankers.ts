import type { Reranker } from '../../core/domain/ports/model-ports.ts'
import { AppError } from '../../core/errors.ts'
import { mapConcurrent } from '../../core/runtime/serial-queue.ts'
import {
  type CallForm,
  isCallRefusal,
  type Judge,
  type JudgeAnswer,
  type JudgeConfig,
  judge,
} from './judge.ts'
import { CLASS_LABELS, labelScore, numberScore, YES_LABELS } from './judged-score.ts'
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
    const judged = (question: Question, laneSignal: AbortSignal) => {
      return this.#score(question, laneSignal)
    }
    const concurrencyMax = this.#options.callsAtOnceMax
    const first = await mapConcurrent(
      questions.slice(0, aloneCount),
      { concurrencyMax: 1, signal },
      judged,
    )
    const rest = await mapConcurrent(
      questions.slice(aloneCount),
      { concurrencyMax, signal },
      judged,
    )
    return [...first, ...rest]
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
