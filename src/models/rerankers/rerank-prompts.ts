import PROMPTS from '../../../assets/prompts/rerank.json' with { type: 'json' }
import { AppError } from '../../core/errors.ts'
import { withDeadline } from '../../core/runtime/cancellation.ts'

/** Limits of one reranking that are not options. */
export const RERANK_LIMITS = {
  /** What is longer is cut: models have small windows, and a chunk is usually a third of this. */
  passageCharsMax: 3000,
  queryCharsMax: 3000,
  /** More candidates than these are a mistake: each one may be a call. */
  passagesMax: 1000,
  /** Of one call's answer as sent over the network. */
  answerBytesMax: 8 * 1024 * 1024,
  /** A server that wants a longer pause before the next try has failed. */
  retryWaitMsMax: 10_000,
} as const

/** What a reranker shows to its model. */
export interface ShownTexts {
  readonly queryText: string
  readonly passages: readonly string[]
}

/** The texts as a model may see them. @throws AppError `invalid_request` for too many passages */
export function shownTexts(queryText: string, passages: readonly string[]): ShownTexts {
  const { passageCharsMax, passagesMax, queryCharsMax } = RERANK_LIMITS
  if (passages.length > passagesMax) {
    const found = `${passages.length} passages to rerank`
    throw new AppError('invalid_request', `${found}: at most ${passagesMax} are allowed`)
  }
  return {
    queryText: cutPassage(queryText, queryCharsMax),
    passages: passages.map((passage) => cutPassage(passage, passageCharsMax)),
  }
}

/** Some servers refuse a whole call for one empty text; half a surrogate pair is not a character. */
function cutPassage(text: string, charsMax: number): string {
  const cut = text.slice(0, charsMax).toWellFormed()
  return cut.trim() === '' ? ' ' : cut
}

/**
 * Runs the calls of one reranking with a signal that ends them in time.
 * @param call `url` is what is called: for the message
 * @throws the caller's reason on abort, `provider_failed` when the time is over
 */
export function withRerankDeadline<T>(
  call: { readonly url: string; readonly timeoutMs: number; readonly signal: AbortSignal },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const timeoutError = (ms: number) => {
    return new AppError('provider_failed', `${call.url} did not rerank within ${ms} ms`)
  }
  return withDeadline({ ...call, timeoutError }, work)
}

/** What a chat model must judge. */
export interface JudgePrompt {
  readonly system: string
  readonly user: string
  /** A whole answer has at least this many tokens: a smaller limit would cut it. */
  readonly answerTokensMin: number
}

/**
 * The texts are sent as JSON, whose quoting no passage can escape, and the task is repeated after them, so that the last
 * word is not the passage's.
 */
export type PassageTask = keyof typeof PROMPTS.tasks

export function passagePrompt(
  kind: PassageTask,
  { queryText, passage }: { readonly queryText: string; readonly passage: string },
): JudgePrompt {
  const { task, last } = PROMPTS.tasks[kind]
  return {
    system: `${PROMPTS.passage}\n\n${task}`,
    user: `${JSON.stringify({ question: queryText, passage })}\n\n${last}`,
    answerTokensMin: 1,
  }
}

/** A number, a comma and a space; and what models put around a list. */
const TOKENS_PER_PASSAGE = 4
const TOKENS_PER_LIST = 32

/** Asks for an order of passages, numbered from 1. */
export function listPrompt(queryText: string, passages: readonly string[]): JudgePrompt {
  const numbered = passages.map((text, index) => ({ number: index + 1, text }))
  const data = JSON.stringify({ question: queryText, passages: numbered })
  const last = `Answer with a JSON list of the numbers 1 to ${passages.length}, the best first.`
  return {
    system: PROMPTS.list,
    user: `${data}\n\n${last}`,
    answerTokensMin: TOKENS_PER_LIST + passages.length * TOKENS_PER_PASSAGE,
  }
}
