import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { BUILTIN_PROVIDER, chatOptionsOf, type ModelRef } from '../../core/domain/model-ref.ts'
import type { ChatModel } from '../../core/domain/ports/model-ports.ts'
import { AppError } from '../../core/errors.ts'
import type { Fields } from '../definitions/fields.ts'
import { modelRefOf, refuseOptions } from '../definitions/fields.ts'
import type { QueryDeps } from '../select/query-deps.ts'
import type { EvaluationPrompt } from './metrics/evaluation-prompts.ts'

/** Calls of the model at the same time. */
export const MODEL_CALLS_AT_ONCE = 8

/** Unusable replies that one evaluation passes over. */
const BAD_REPLIES_MAX = 5
/** A question or a number is far shorter; the thoughts of some models are not. */
const REPLY_CHARS_MAX = 100_000

/** A chat model for one evaluation, which counts the replies it cannot use. */
export class EvaluationModel {
  readonly #model: ChatModel
  readonly #name: string
  readonly #badRepliesMax: number
  #badReplies = 0

  /**
   * @param name for messages, without secrets
   * @param badRepliesMax that are passed over
   */
  constructor(model: ChatModel, name: string, badRepliesMax = BAD_REPLIES_MAX) {
    this.#model = model
    this.#name = name
    this.#badRepliesMax = badRepliesMax
  }

  get name(): string {
    return this.#name
  }

  /**
   * @returns what the reply says; null: it is not what was asked for
   * @throws AppError `provider_failed` when too many were not, and as the model fails
   */
  async ask<T>(prompt: EvaluationPrompt<T>, signal: AbortSignal): Promise<T | null> {
    const reply = await this.#reply(prompt, signal)
    const said = reply.length > REPLY_CHARS_MAX ? null : prompt.read(reply)
    if (said === null) this.#countBadReply()
    return said
  }

  /** Asks again after a bad reply. @throws AppError as `ask` */
  async askUntilRead<T>(prompt: EvaluationPrompt<T>, signal: AbortSignal): Promise<T> {
    for (;;) {
      const said = await this.ask(prompt, signal)
      // Bounded: too many bad replies are a failure.
      if (said !== null) return said
    }
  }

  async #reply({ system, user }: EvaluationPrompt<unknown>, signal: AbortSignal): Promise<string> {
    const messages = [
      { role: 'system', content: system },
      { role: 'user', content: user },
    ] as const
    let reply = ''
    for await (const delta of this.#model.respond({ messages, tools: [] }, signal)) {
      signal.throwIfAborted()
      if (delta.kind === 'text') reply += delta.text
      if (reply.length > REPLY_CHARS_MAX) break
    }
    // The OpenAI library ends an aborted stream without an error.
    signal.throwIfAborted()
    return reply
  }

  #countBadReply(): void {
    this.#badReplies += 1
    if (this.#badReplies <= this.#badRepliesMax) return
    const message = `${this.#name} gave ${this.#badReplies} replies that are not what was asked for`
    throw new AppError(
      'provider_failed',
      `${message}; at most ${this.#badRepliesMax} are passed over`,
    )
  }
}

/**
 * The model of the option `llm`, else the knowledge base's reranking model where it is a chat model, else that of the
 * settings.
 * @param purpose what it is needed for, for the message when there is none
 * @throws AppError `missing_parameter`, `invalid_request`, `unknown_provider`
 */
export async function evaluationModel(
  llm: Fields | null,
  kb: KnowledgeBase,
  deps: QueryDeps,
  purpose: string,
): Promise<EvaluationModel> {
  const ref = llm === null ? defaultRef(kb, deps) : modelRefOf(llm, LLM_FIELDS, kb.rerankingModel)
  if (ref === null || ref.provider === BUILTIN_PROVIDER) throw noModel(purpose)
  if (llm !== null) refuseOptions(llm, chatOptionsOf(ref.provider), LLM_FIELDS.code)
  return openModel(ref, 'llm', deps)
}

/**
 * @param option by which the caller named it
 * @param badRepliesMax that are passed over; unset: a few
 * @throws AppError `invalid_request`, `unknown_provider`
 */
export async function openModel(
  ref: ModelRef,
  option: string,
  deps: QueryDeps,
  badRepliesMax?: number,
): Promise<EvaluationModel> {
  try {
    const name = `The ${ref.provider} model ${ref.modelName}`
    return new EvaluationModel(await deps.chatModels.chatModel(ref), name, badRepliesMax)
  } catch (error) {
    // The registry speaks of an agent's model; here the caller has sent an option.
    if (!(error instanceof AppError) || error.code !== 'invalid_agent') throw error
    throw new AppError('invalid_request', `${option}: ${error.message}`, { cause: error })
  }
}

const LLM_FIELDS = { provider: 'openai', code: 'invalid_request' } as const

function defaultRef(kb: KnowledgeBase, deps: QueryDeps): ModelRef | null {
  const { rerankingModel } = kb
  const isChat = rerankingModel !== null && deps.chatProviders.includes(rerankingModel.provider)
  if (isChat && !NO_WRITERS.has(rerankingModel.provider)) return rerankingModel
  return deps.chatModels.defaultModel
}

/** As reranking models: vLLM is asked for scores there, not for text. */
const NO_WRITERS: ReadonlySet<string> = new Set([BUILTIN_PROVIDER, 'vllm'])

function noModel(purpose: string): AppError {
  const how = [
    'llm = {"provider": "openai", "model_name": "…", "api_key": "…"}',
    'a chat model as reranking_model of the knowledge base',
    'EIDER_CHAT_PROVIDER with EIDER_CHAT_MODEL',
  ]
  const message = `${purpose} needs a language model, which the built-in one is not`
  return new AppError('missing_parameter', `${message}: set ${how.join(', or ')}`)
}
