import type { FeatureMemory, ModelFeature } from '../core/domain/model-ref.ts'
import type { ChatDelta, ToolCall } from '../core/domain/ports/model-ports.ts'
import { AppError } from '../core/errors.ts'
import { abortable, withDeadline } from '../core/runtime/cancellation.ts'
import { SLICE_MS, TimeSlice } from '../core/runtime/serial-queue.ts'
import type { Endpoint } from './endpoint.ts'
import { type AnswerEnd, member } from './provider-answer.ts'
import { type CallLimits, callProvider } from './provider-call.ts'
import { statusOf } from './provider-failure.ts'

/** The limits of one chat model answer. The agent's own deadline usually comes first. */
export interface ChatLimits extends CallLimits {
  readonly idleMs: number
  /** The time limit for the whole answer, from its first piece. */
  readonly answerMs: number
  readonly answerBytesMax: number
  /** The token limit of an answer, for providers that require one. */
  readonly answerTokensMax: number
}

export const CHAT_LIMITS: ChatLimits = {
  retriesMax: 2,
  delayMs: 500,
  timeoutMs: 180_000,
  totalMs: 300_000,
  // A pause is limited only by the deadline.
  waitMsMax: 300_000,
  idleMs: 120_000,
  answerMs: 900_000,
  answerBytesMax: 32 * 1024 * 1024,
  answerTokensMax: 8192,
}

export interface ChatConfig {
  readonly endpoint: Endpoint
  readonly modelName: string
  readonly limits: ChatLimits
  /** Other options in the model's definition: `temperature`, `max_tokens`, … */
  readonly options?: Readonly<Record<string, unknown>>
  /** Which features the server has refused; if unset, none so far. */
  readonly features?: FeatureMemory | undefined
}

export type SpokenDelta = Extract<ChatDelta, { kind: 'text' | 'reasoning' }>

/** An answer assembled from the pieces of a provider's stream. */
export interface PartialAnswer {
  /** Whether the server marked the end of the answer. */
  readonly isComplete: boolean
  /** @returns what the piece adds; a piece may also be the whole answer */
  add(piece: unknown): readonly SpokenDelta[]
  /** Returns text that was held back in case more followed. */
  rest(): readonly SpokenDelta[]
  toolCalls(): readonly ToolCall[]
  end(): AnswerEnd
}

export interface ProviderCall {
  /** The URL to show in messages. */
  readonly url: string
  readonly limits: ChatLimits
  readonly answer: PartialAnswer
  /** Features that the request uses and that a server may refuse. */
  readonly used: ReadonlySet<ModelFeature>
  /** Makes one attempt and returns the pieces of its answer. */
  send(signal: AbortSignal): Promise<AsyncIterable<unknown>>
  failureOf(error: unknown): AppError
}

/** Also reads the single answer of a server that does not stream. @throws FeatureRefused first */
export async function* chatDeltas(
  call: ProviderCall,
  signal: AbortSignal,
): AsyncGenerator<ChatDelta> {
  // However this generator ends (stall, break, the caller's abort), it also ends the request.
  const stop = new AbortController()
  const { answer, failureOf } = call
  try {
    const either = AbortSignal.any([signal, stop.signal])
    const pieces = await begunAnswer(call, either)
    for await (const piece of withIdleTimeout(pieces, call, signal)) yield* answer.add(piece)
  } catch (error) {
    signal.throwIfAborted()
    throw typedFailure(error instanceof AppError ? error : failureOf(error))
  } finally {
    stop.abort()
  }
  if (!answer.isComplete) {
    throw new AppError('provider_failed', `${call.url} broke off in the middle of its answer`)
  }
  yield* answer.rest()
  for (const toolCall of answer.toolCalls()) yield { kind: 'tool_call', call: toolCall }
  yield { kind: 'end', ...answer.end() }
}

/** How Azure, OpenAI, Gemini and Anthropic say that they refuse the content. */
const CONTENT_WORDS =
  /content[_ ](filter|policy|management)|responsible ?ai|safety (system|setting|filter)|prohibited[_ ]content|usage polic/i

/** Gives failures that a client can act on their own codes. */
function typedFailure(failure: AppError): AppError {
  const { code, message, cause, retryAfterSeconds } = failure
  if (code === 'provider_failed' && statusOf(failure) === 429) {
    const wait = retryAfterSeconds === undefined ? {} : { retryAfterSeconds }
    return new AppError('provider_busy', message, { cause, ...wait })
  }
  if (code !== 'provider_refused' || !CONTENT_WORDS.test(message)) return failure
  return new AppError('content_refused', message, { cause })
}

/** A failure sent as the first event is handled like any other. */
async function begunAnswer(
  { url, limits, used, send, failureOf }: ProviderCall,
  signal: AbortSignal,
): Promise<AsyncIterable<unknown>> {
  const timeoutError = (ms: number) => {
    return new AppError('timeout', `${url} did not start its answer within ${Math.round(ms)} ms`)
  }
  let isRedrawn = false
  const attempt = async (one: AbortSignal): Promise<AsyncIterable<unknown>> => {
    try {
      const iterator = (await send(one))[Symbol.asyncIterator]()
      return resumed(await iterator.next(), iterator)
    } catch (error) {
      if (!isRedrawn && BAD_DRAW.test(errorWords(error))) {
        isRedrawn = true
        return attempt(one)
      }
      const failure = failureOf(error)
      const feature = refusedFeature({ status: statusOf(failure), words: errorWords(error) }, used)
      throw feature === null ? error : new FeatureRefused(feature, failure)
    }
  }
  return callProvider(attempt, { limits, timeoutError, failureOf }, signal)
}

/** Groq's server could not parse the model's tool call; another attempt may succeed. */
const BAD_DRAW = /tool_use_failed|failed_generation/

/** The whole text of a failed answer, for matching only, never for display. */
function errorWords(error: unknown): string {
  if (!(error instanceof Error)) return ''
  const body = 'error' in error ? error.error : undefined
  const said = body === undefined ? '' : JSON.stringify(body)
  return `${error.message} ${said}`.slice(0, REFUSAL_CHARS_MAX)
}

const REFUSAL_CHARS_MAX = 4_000

async function* resumed(
  first: IteratorResult<unknown>,
  iterator: AsyncIterator<unknown>,
): AsyncGenerator<unknown> {
  try {
    // Ends in any case, because the stream is limited.
    for (let next = first; next.done !== true; next = await iterator.next()) yield next.value
  } finally {
    iterator.return?.()?.catch(() => undefined)
  }
}

/** @throws the result of `failed` for an invalid answer */
export async function* streamPieces(
  data: unknown,
  response: Response,
  failed: (answer: unknown) => unknown,
): AsyncGenerator<unknown> {
  const type = response.headers.get('content-type') ?? ''
  const isStream = typeof data === 'object' && data !== null && Symbol.asyncIterator in data
  if (/^text\/html/i.test(type))
    throw new Error('the answer was a web page, so this is not the address of a model')
  // Some servers do not stream even if asked to.
  const isWhole = !isStream || /^application\/json/i.test(type)
  if (!isWhole) {
    yield* data as AsyncIterable<unknown>
    return
  }
  const answer: unknown = isStream ? await response.json() : data
  // Servers and proxies sometimes report a failure with a success status.
  if (member(answer, 'error') !== undefined && member(answer, 'error') !== null) {
    throw failed(answer)
  }
  yield answer
}

/** How long a stream is read after the end of its answer, for token counts. */
const TAIL_MS = 2_000

/** Checks for `timeout` and abort: an aborted provider stream ends like a complete answer. */
async function* withIdleTimeout<T>(
  source: AsyncIterable<T>,
  { url, answer, limits: { idleMs, answerMs } }: ProviderCall,
  signal: AbortSignal,
): AsyncGenerator<T> {
  const endMs = performance.now() + answerMs
  const timeoutError = (ms: number) => {
    const isOver = performance.now() >= endMs
    const found = isOver ? `was not ready after ${answerMs} ms` : `sent nothing for ${ms} ms`
    return new AppError('timeout', `${url} ${found} in the middle of its answer`)
  }
  const iterator = source[Symbol.asyncIterator]()
  const slice = new TimeSlice(SLICE_MS)
  try {
    for (;;) {
      // A stream that arrives faster than it is read would block everything else in this thread.
      await slice.yieldIfSpent(signal)
      const idle = answer.isComplete ? Math.min(TAIL_MS, idleMs) : idleMs
      const timeoutMs = Math.max(1, Math.min(idle, endMs - performance.now()))
      const deadline = { timeoutMs, signal, timeoutError }
      const next = await withDeadline(deadline, (both) => abortable(iterator.next(), both)).catch(
        (error: unknown) => {
          signal.throwIfAborted()
          if (!answer.isComplete) throw error
          return { done: true, value: undefined } as const
        },
      )
      signal.throwIfAborted()
      if (next.done === true) return
      yield next.value
    }
  } finally {
    // Not awaited: a hanging stream may also hang while being closed, and its failure no longer
    // matters.
    iterator.return?.().catch(() => undefined)
  }
}

/** Thrown before anything has arrived, because the request may succeed without the feature. */
export class FeatureRefused extends AppError {
  readonly feature: ModelFeature

  constructor(feature: ModelFeature, failure: AppError) {
    super(failure.code, failure.message, { cause: failure.cause })
    this.feature = feature
  }
}

export function featuresUsed(
  uses: Partial<Readonly<Record<ModelFeature, boolean>>>,
): ReadonlySet<ModelFeature> {
  // All keys come from the table.
  const features = Object.keys(uses) as ModelFeature[]
  return new Set(features.filter((feature) => uses[feature]))
}

/** Words with which a server refuses a feature, as opposed to reporting a mistake. */
const REFUSAL = new RegExp(
  [
    'not? (yet |be |currently )*(support|allow|permit|implement|enabl|recogni|accept|available)',
    "n't (support|allow|accept)",
    'unsupported|unrecognized|unknown|unexpected|disabled|not_supported',
    'extra inputs|extra_forbidden|additional propert',
    // llama.cpp: "tools param requires --jinja flag". vLLM: "requires --enable-auto-tool-choice".
    'requires? ',
    'only support|no endpoints|cannot|can not|combined',
  ].join('|'),
  'i',
)

interface Rule {
  readonly feature: ModelFeature
  readonly words: RegExp
  /** Whether these words alone are enough. */
  readonly isEnough?: true
}

/** The first match counts, so specific rules come first. */
const RULES: readonly Rule[] = [
  // Mistral, code 3280: "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9".
  {
    feature: 'call_ids',
    words: /tool call id was|tool_call_id.{0,40}(length|format)/i,
    isEnough: true,
  },
  // From the template of Llama 3.1 in vLLM and llama.cpp.
  {
    feature: 'parallel_calls',
    words: /single tool-?\s?calls? at once|one tool call at/i,
    isEnough: true,
  },
  // Mistral, code 3230: "Unexpected role 'user' after role 'tool'". Templates of Gemma and Mistral in vLLM and llama.cpp:
  // "Conversation roles must alternate user/assistant/user/assistant/...".
  {
    feature: 'role_order',
    words:
      /roles? must alternate|unexpected role .{0,20} after role|expected last role|after the optional system message/i,
    isEnough: true,
  },
  // "System role not supported" in Gemma's template; "Developer instruction is not enabled" from
  // Gemini's server for Gemma.
  {
    feature: 'system_role',
    words: /system[ _]?(role|message|prompt|instruction)|developer instruction|role.{0,12}system/i,
  },
  { feature: 'usage', words: /stream_options|include_usage/i },
  { feature: 'max_completion_tokens', words: /max_completion_tokens/i },
  { feature: 'max_tokens', words: /max_tokens/i },
  { feature: 'reasoning_history', words: /reasoning_content/i },
  { feature: 'caching', words: /cache_control/i },
  // Must come before the rule for tools: Gemini says "Function calling with a response mime type: …
  // is unsupported".
  {
    feature: 'response_format',
    words:
      /response[_ ]format|response mime type|json[_ ]schema|structured output|output_config|output_format/i,
  },
  // Ollama: "… does not support tools". llama.cpp before 2025: "Unsupported param: tools". OpenRouter, 404: "No endpoints
  // found that support tool use".
  {
    feature: 'tools',
    words: /\btools?\b|tool[_-]choice|tool[- ]call|function[ _-]?call|\bfunctions\b/i,
  },
  { feature: 'streaming', words: /\bstream(ing|ed)?\b/i },
  {
    feature: 'sampling',
    words: /temperature|top_p|\bseed\b|_penalty|reasoning_effort|\bstop\b/i,
  },
]

/** 404: OpenRouter. 500: llama.cpp, and servers that pass on a template's exception. */
const STATUSES: ReadonlySet<number> = new Set([400, 404, 405, 415, 422, 500, 501])

/** A conversation that is too long has nothing to do with features. */
const OTHER_MATTERS =
  /context.{0,12}(length|window)|too (long|large|many tokens)|maximum.{0,30}tokens/i

/** The feature that the server refused, judged by its error; null if none. */
function refusedFeature(
  { status, words }: { readonly status: number | null; readonly words: string },
  used: ReadonlySet<ModelFeature>,
): ModelFeature | null {
  if (status === null || !STATUSES.has(status) || OTHER_MATTERS.test(words)) return null
  const isRefusal = REFUSAL.test(words)
  const rule = RULES.find(({ feature, words: own, isEnough }) => {
    return used.has(feature) && own.test(words) && (isRefusal || isEnough === true)
  })
  return rule?.feature ?? null
}
