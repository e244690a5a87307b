import type { Reranker } from '../../core/domain/ports/model-ports.ts'
import { AppError } from '../../core/errors.ts'
import { type CallForm, isCallRefusal, type Judge, type JudgeConfig, judge } from './judge.ts'
import { type ShownTexts, shownTexts, withRerankDeadline } from './rerank-limits.ts'
import { type JudgePrompt, listPrompt } from './rerank-prompts.ts'

/** Passages that a model orders in one call. */
const WINDOW_SIZE = 20
/** The step of the window: its second half overlaps the next one. */
const WINDOW_STEP = 10

/**
 * Lets a chat model order the passages. More than one window of them are ordered from the last
 * window to the first, so that a good passage can rise through all of them (Sun et al. 2023,
 * "Is ChatGPT Good at Search?", arXiv:2304.09542). Scores are positions: 1 for the first, 1/n for
 * the last of n passages.
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

/**
 * Indexes of the passages, the best first. A window whose answer names nothing stays as it was.
 * @throws AppError `provider_failed` when no answer named anything
 */
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
  throw new AppError('provider_failed', `${model.url} named no order of the passages`)
}

/** The starts of the windows, last one first; they cover every passage. */
function windowStarts(passageCount: number): readonly number[] {
  const lastStart = Math.max(0, passageCount - WINDOW_SIZE)
  const count = Math.ceil(lastStart / WINDOW_STEP) + 1
  return Array.from({ length: count }, (_, at) => Math.max(0, lastStart - at * WINDOW_STEP))
}

/** Some models refuse a temperature or a limit of tokens, or think beyond that limit. */
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

/** A passage's number; a longer, a negative or a broken one is none. */
const RANK_NUMBER = /(?<![\d.-])\d{1,4}(?![\d.]*\d)/gu
const RANKED_LIST = /\[\s*-?\d+(?:\s*,\s*-?\d+)+\s*\]/gu

/**
 * The order of `count` passages that an answer names, as positions from 0: the longest list in brackets, else all numbers in
 * order (`[2] > [1] > [3]`, one per line). Unknown and repeated numbers are ignored; missing passages follow in their old
 * order.
 * @returns null where the answer names no passage
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
