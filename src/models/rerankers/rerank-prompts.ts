import PROMPTS from '../../../assets/prompts/rerank.json' with { type: 'json' }
import { AppError } from '../../core/errors.ts'
import { withDeadline } from '../../core/runtime/cancellation.ts'

export const RERANK_LIMITS = {
  /** Models have small context windows. A chunk is usually a third of this. */
  passageCharsMax: 3000,
  queryCharsMax: 3000,
  /** More candidates are a mistake, because each may need a call. */
  passagesMax: 1000,
  answerBytesMax: 8 * 1024 * 1024,
  /** A server that asks for a longer pause counts as failed. */
  retryWaitMsMax: 10_000,
} as const

export interface ShownTexts {
  readonly queryText: string
  readonly passages: readonly string[]
}

/** Prepares the texts for the model. @throws AppError `invalid_request` for too many passages */
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

/** Some servers refuse a whole call for an empty text or half a surrogate pair. */
function cutPassage(text: string, charsMax: number): string {
  const cut = text.slice(0, charsMax).toWellFormed()
  return cut.trim() === '' ? ' ' : cut
}

/** @throws the caller's reason on abort, `provider_failed` after the deadline */
export function withRerankDeadline<T>(
  call: { readonly url: string; readonly timeoutMs: number; readonly signal: AbortSignal },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const timeoutError = (ms: number) => {
    return new AppError('provider_failed', `${call.url} did not rerank within ${ms} ms`)
  }
  return withDeadline({ ...call, timeoutError }, work)
}

export interface JudgePrompt {
  readonly system: string
  readonly user: string
  /** A complete answer has at least this many tokens, so a smaller limit would cut it off. */
  readonly answerTokensMin: number
}

/** JSON, so that no passage breaks out of its quotes. The task is repeated as the last word. */
type PassageTask = keyof typeof PROMPTS.tasks

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

/** A number, a comma and a space, plus the brackets around the list. */
const TOKENS_PER_PASSAGE = 4
const TOKENS_PER_LIST = 32

/** Asks the model to order passages, numbered from 1. */
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
