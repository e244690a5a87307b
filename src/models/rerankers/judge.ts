import type OpenAI from 'openai'
import type { ChatCompletionCreateParamsNonStreaming } from 'openai/resources/chat/completions'
import { AppError } from '../../core/errors.ts'
import { withoutThoughts } from '../../core/short-text.ts'
import { type Endpoint, openaiBaseUrl } from '../endpoint.ts'
import { member } from '../provider-answer.ts'
import { type CallLimits, callProvider } from '../provider-call.ts'
import type { RerankOptions } from './rerank-options.ts'
import { type JudgePrompt, RERANK_LIMITS } from './rerank-prompts.ts'

const CHAT_PATH = '/chat/completions'

/** From the fullest form to the barest: many servers return no token probabilities. */
export type CallForm = 'logprobs' | 'plain' | 'bare'

export interface JudgeConfig {
  readonly endpoint: Endpoint
  readonly modelName: string
  readonly options: RerankOptions
}

export interface Judge {
  /** The address called, without secrets. */
  readonly url: string
  /** @throws AppError `provider_failed`, `provider_refused`; the signal's reason */
  ask(prompt: JudgePrompt, form: CallForm, signal: AbortSignal): Promise<JudgeAnswer>
}

export function judge(config: JudgeConfig): Judge {
  const { endpoint, options } = config
  const limits: CallLimits = {
    retriesMax: options.retriesMax,
    delayMs: options.retryDelayMs,
    timeoutMs: options.requestTimeoutMs,
    totalMs: options.timeoutMs,
    waitMsMax: RERANK_LIMITS.retryWaitMsMax,
  }
  let client: OpenAI | null = null
  return {
    url: `${openaiBaseUrl(endpoint.url)}${CHAT_PATH}`,
    ask: async (prompt, form, signal) => {
      // Loaded with the first judgment, not at startup.
      const { openaiClient, openaiFailure } = await import('../providers/openai-client.ts')
      const { answerBytesMax } = RERANK_LIMITS
      const api = client ?? openaiClient(endpoint, { timeoutMs: limits.timeoutMs, answerBytesMax })
      client = api
      const failureOf = (error: unknown) => openaiFailure(error, endpoint, CHAT_PATH)
      const timeoutError = () => failureOf(new Error('no answer in time'))
      const body = judgeBody(prompt, form, config)
      const send = async (either: AbortSignal) => {
        const answer: unknown = await api.chat.completions.create(body, { signal: either })
        return judgeAnswerOf(answer)
      }
      return callProvider(send, { limits, timeoutError, failureOf }, signal)
    },
  }
}

function judgeBody(
  prompt: JudgePrompt,
  form: CallForm,
  { modelName, options }: JudgeConfig,
): ChatCompletionCreateParamsNonStreaming {
  const bare: ChatCompletionCreateParamsNonStreaming = {
    model: modelName,
    messages: [
      { role: 'system', content: prompt.system },
      { role: 'user', content: prompt.user },
    ],
  }
  if (form === 'bare') return bare
  const max_tokens = Math.max(options.answerTokensMax, prompt.answerTokensMin)
  const plain = { ...bare, temperature: 0, max_tokens }
  if (form === 'plain') return plain
  return { ...plain, logprobs: true, top_logprobs: options.topLogprobs }
}

const CALL_REFUSALS: ReadonlySet<unknown> = new Set([400, 413, 422])

/** An unknown parameter, or a text too long or against the rules. Other calls may succeed. */
export function isCallRefusal(error: unknown): boolean {
  // `providerFailure` put the status there.
  return error instanceof AppError && CALL_REFUSALS.has(member(error.cause, 'status'))
}

/** A chat model's answer, reduced to what a judgment needs. */
export interface JudgeAnswer {
  /** Without reasoning before it. */
  readonly text: string
  /** Whether the token limit cut off the answer. */
  readonly isCut: boolean
  /** The first tokens with their alternatives; null if the server returns no probabilities. */
  readonly tokens: readonly AnswerToken[] | null
}

export interface AnswerToken {
  readonly text: string
  /** The token itself and its alternatives. */
  readonly choices: readonly TokenChoice[]
}

export interface TokenChoice {
  readonly text: string
  /** In [0, 1]. */
  readonly probability: number
}

/** A judgment is one word, so later tokens are ignored. */
const TOKENS_READ_MAX = 32
const REPLY_CHARS_MAX = 20_000

/** Ignores malformed parts. @throws Error for anything but a chat completion */
export function judgeAnswerOf(answer: unknown): JudgeAnswer {
  const choice = member(member(answer, 'choices'), '0')
  if (choice === undefined) throw new Error('the answer is not a chat completion')
  const content = member(member(choice, 'message'), 'content')
  return {
    text: typeof content === 'string' ? withoutThoughts(content.slice(0, REPLY_CHARS_MAX)) : '',
    isCut: member(choice, 'finish_reason') === 'length',
    tokens: answerTokens(member(member(choice, 'logprobs'), 'content')),
  }
}

function answerTokens(content: unknown): readonly AnswerToken[] | null {
  if (!Array.isArray(content) || content.length === 0) return null
  return content.slice(0, TOKENS_READ_MAX).map((entry) => {
    const own = choiceOf(entry)
    const listed = member(entry, 'top_logprobs')
    const others = Array.isArray(listed) ? listed.map(choiceOf) : []
    const text = own?.text ?? ''
    const isListed = others.some((choice) => choice?.text === text)
    const choices = [...(isListed ? [] : [own]), ...others].filter((choice) => choice !== null)
    return { text, choices }
  })
}

function choiceOf(entry: unknown): TokenChoice | null {
  const text = member(entry, 'token')
  const logprob = member(entry, 'logprob')
  if (typeof text !== 'string' || typeof logprob !== 'number') return null
  const probability = Math.exp(logprob)
  // Rounding can make a certain token slightly more likely than 1.
  return Number.isNaN(probability) ? null : { text, probability: Math.min(1, probability) }
}
