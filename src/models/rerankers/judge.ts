import type OpenAI from 'openai'
import type { ChatCompletionCreateParamsNonStreaming } from 'openai/resources/chat/completions'
import { AppError } from '../../core/errors.ts'
import { type Endpoint, openaiBaseUrl } from '../endpoint.ts'
import { member } from '../provider-answer.ts'
import { type CallLimits, callProvider } from '../provider-call.ts'
import type { RerankOptions } from './rerank-options.ts'
import type { JudgePrompt } from './rerank-prompts.ts'
import { RERANK_LIMITS } from './rerank-prompts.ts'

const CHAT_PATH = '/chat/completions'

/**
 * The extras requested besides the answer, from the fullest form to the barest: many servers do not return token
 * probabilities, and some models refuse a temperature or a token limit.
 */
export type CallForm = 'logprobs' | 'plain' | 'bare'

export interface JudgeConfig {
  readonly endpoint: Endpoint
  readonly modelName: string
  readonly options: RerankOptions
}

export interface Judge {
  /** The address that is called, fit for messages. */
  readonly url: string
  /**
   * One answer of the model, with retries if they may help.
   * @throws AppError `provider_failed`, `provider_refused`; the signal's reason
   */
  ask(prompt: JudgePrompt, form: CallForm, signal: AbortSignal): Promise<JudgeAnswer>
}

/** A chat model behind any server with OpenAI's chat completions API, used for judgments. */
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
      // Loaded by the first judgment, not by every start.
      const { openaiClient, openaiFailure } = await import('../openai/openai-client.ts')
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

/**
 * How servers refuse this one call: a parameter that they do not know, a text that is too long or
 * against their rules. Another call may go well.
 */
export function isCallRefusal(error: unknown): boolean {
  // The status is where `providerFailure` puts it.
  return error instanceof AppError && CALL_REFUSALS.has(member(error.cause, 'status'))
}

/** A chat model's answer to a prompt, reduced to what a judgment needs. */
export interface JudgeAnswer {
  /** Without the thoughts that some models put before it. */
  readonly text: string
  /** Whether the limit of tokens ended it. */
  readonly isCut: boolean
  /** Its first tokens with their alternatives; null where the server gives no probabilities. */
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

/** A judgment is one word: later text is ignored. */
const TOKENS_READ_MAX = 32
const REPLY_CHARS_MAX = 20_000

/**
 * Reads an answer with distrust: what is missing or of another shape is nothing.
 * @throws Error for anything but a chat completion
 */
export function judgeAnswerOf(answer: unknown): JudgeAnswer {
  const choice = member(member(answer, 'choices'), '0')
  if (choice === undefined) throw new Error('the answer is not a chat completion')
  const content = member(member(choice, 'message'), 'content')
  return {
    text: typeof content === 'string' ? withoutThoughts(content) : '',
    isCut: member(choice, 'finish_reason') === 'length',
    tokens: answerTokens(member(member(choice, 'logprobs'), 'content')),
  }
}

/** Models that think aloud put it between tags; one that was cut there has not answered. */
function withoutThoughts(text: string): string {
  const answer = text.slice(0, REPLY_CHARS_MAX).split('</think>').at(-1) ?? ''
  return answer.includes('<think>') ? '' : answer.trim()
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
  // Rounding puts a certain token a little above 1.
  return Number.isNaN(probability) ? null : { text, probability: Math.min(1, probability) }
}
