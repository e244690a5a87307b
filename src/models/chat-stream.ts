import type { ChatDelta, ToolCall } from '../domain/ports/model-ports.ts'
import { AppError } from '../errors.ts'
import { abortable, withDeadline } from '../runtime/cancellation.ts'
import type { Endpoint } from './endpoint.ts'
import { type CallLimits, callProvider } from './provider-call.ts'

/** Limits of one answer of a chat model. The agent's own deadline usually comes first. */
export interface ChatLimits extends CallLimits {
  /** Between two pieces of the answer. */
  readonly idleMs: number
  /** Of the whole answer, from its first piece on. */
  readonly answerMs: number
  /** Of the answer as it comes over the wire. */
  readonly answerBytesMax: number
  /** Tokens of an answer, for providers that want to be told. */
  readonly answerTokensMax: number
}

export const CHAT_LIMITS: ChatLimits = {
  retriesMax: 2,
  delayMs: 500,
  timeoutMs: 180_000,
  totalMs: 300_000,
  waitMsMax: 60_000,
  idleMs: 120_000,
  answerMs: 900_000,
  answerBytesMax: 32 * 1024 * 1024,
  answerTokensMax: 4096,
}

/** Which model is asked, where, and how long. */
export interface ChatConfig {
  readonly endpoint: Endpoint
  readonly modelName: string
  readonly limits: ChatLimits
}

/** An answer that is put together from the pieces of a provider's stream. */
export interface PartialAnswer {
  /** Whether the server said that the answer ends here. */
  readonly isComplete: boolean
  /** @returns the text that the piece adds; a piece may be a whole answer. */
  add(piece: unknown): string
  toolCalls(): readonly ToolCall[]
}

export interface ProviderCall {
  /** What is called, fit for messages. */
  readonly url: string
  readonly limits: ChatLimits
  /** One try. */
  send(
    signal: AbortSignal,
  ): Promise<{ readonly data: AsyncIterable<unknown>; readonly response: Response }>
  failureOf(error: unknown): AppError
}

/** The turn that a provider's stream holds, or the one JSON answer of a server that does not stream. */
export async function* chatDeltas(
  answer: PartialAnswer,
  call: ProviderCall,
  signal: AbortSignal,
): AsyncGenerator<ChatDelta> {
  // Whatever ends this generator ends the request: a stall, a break, the caller's abort.
  const stop = new AbortController()
  const { url, limits, failureOf } = call
  const timeoutError = (ms: number) => {
    return new AppError('timeout', `${url} did not begin its answer within ${Math.round(ms)} ms`)
  }
  try {
    const either = AbortSignal.any([signal, stop.signal])
    const terms = { limits, timeoutError, failureOf }
    const { data, response } = await callProvider((one) => call.send(one), terms, either)
    const isJson = /^application\/json/.test(response.headers.get('content-type') ?? '')
    const pieces: AsyncIterable<unknown> = isJson ? wholeAnswer(response) : data
    for await (const piece of withIdleTimeout(pieces, call, signal)) {
      const text = answer.add(piece)
      if (text !== '') yield { kind: 'text', text }
    }
  } catch (error) {
    signal.throwIfAborted()
    throw error instanceof AppError ? error : failureOf(error)
  } finally {
    stop.abort()
  }
  if (!answer.isComplete) {
    throw new AppError('provider_failed', `${call.url} broke off in the middle of its answer`)
  }
  for (const toolCall of answer.toolCalls()) yield { kind: 'tool_call', call: toolCall }
}

async function* wholeAnswer(response: Response): AsyncGenerator<unknown> {
  yield await response.json()
}

/**
 * Passes on what a stream yields; `timeout` when nothing comes for too long or the whole takes too long, the signal's
 * reason when it is aborted. A provider's stream ends without an error on abort, which must not look like the end of an
 * answer.
 */
async function* withIdleTimeout<T>(
  source: AsyncIterable<T>,
  { url, limits: { idleMs, answerMs } }: ProviderCall,
  signal: AbortSignal,
): AsyncGenerator<T> {
  const endMs = performance.now() + answerMs
  const timeoutError = (ms: number) => {
    const isOver = performance.now() >= endMs
    const found = isOver ? `was not ready after ${answerMs} ms` : `sent nothing for ${ms} ms`
    return new AppError('timeout', `${url} ${found} in the middle of its answer`)
  }
  const iterator = source[Symbol.asyncIterator]()
  try {
    for (;;) {
      const timeoutMs = Math.max(1, Math.min(idleMs, endMs - performance.now()))
      const deadline = { timeoutMs, signal, timeoutError }
      const next = await withDeadline(deadline, (both) => abortable(iterator.next(), both))
      signal.throwIfAborted()
      if (next.done === true) return
      yield next.value
    }
  } finally {
    // Not awaited: a stream that hangs may hang in its own end too, and nobody is left to hear its failure.
    iterator.return?.().catch(() => undefined)
  }
}
