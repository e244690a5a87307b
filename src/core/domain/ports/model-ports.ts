/**
 * What the use cases need from models for embedding, chat, agents and reranking. Implemented in
 * `models/` and `agents/`. When its signal aborts, every method stops within a second and throws
 * the signal's reason.
 */
import type { Agent } from '../agents/agent.ts'
import type {
  Citation,
  EvidenceLevel,
  FinishReason,
  RunPurpose,
  TokenUsage,
} from '../agents/completion-event.ts'
import type { ModelRef, RefusedFeatures } from '../model-ref.ts'

export interface TokenCounter {
  /** An upper bound for the model's token count, without the special tokens around each text. */
  count(text: string): number
  /**
   * How far `tokensMax` tokens reach: the end of the last whole word that fits, at most `end`, or
   * `start` if not even the first word fits.
   */
  fit(text: string, start: number, end: number, tokensMax: number): number
}

/**
 * `word_piece` counts like the built-in model. `bytes` is an upper bound, because no tokenizer
 * makes more tokens than a text has bytes.
 */
type TokenizerName = 'word_piece' | 'bytes'

/** How much of a text an embedding model can read. The rest does not affect the vector. */
export interface EmbedderReach {
  /** Including the special tokens around each text. */
  readonly tokensMax: number
  /** The number of special tokens around each text. */
  readonly frameTokens: number
  readonly tokenizer: TokenizerName
  /**
   * Longer texts, not counting special tokens, are read in parts of at most this many tokens, and
   * the vector is the mean of the parts. If missing, every text is read in one piece.
   */
  readonly tokensAtOnce?: number
}

/** Turns texts into vectors with one loaded model. */
export interface Embedder {
  /** Missing if unknown. */
  readonly reach?: EmbedderReach
  /**
   * Returns one vector per text, in the same order and all of equal length.
   * @param onEmbedded called with the number of texts in each part once it is embedded
   * @throws AppError `provider_failed`, `provider_refused`; messages name URL and status
   */
  embed(
    texts: readonly string[],
    signal: AbortSignal,
    onEmbedded?: (textCount: number) => void,
  ): Promise<readonly Float32Array[]>
}

export interface EmbedderRegistry {
  readonly providers: readonly string[]
  /**
   * @param withinMs the limit for one embedding including retries, longer for background work; if
   * unset, the default for stored vectors
   * @throws AppError `unknown_provider` listing the known ones, `invalid_knowledge_base` for a
   * missing setting
   */
  embedder(ref: ModelRef, withinMs?: number): Embedder
  /**
   * Tries the model once, without retries, and returns its dimensions, or a warning if it cannot be
   * reached.
   * @throws AppError `provider_refused` if the provider refuses (bad key, no such model)
   */
  probe(ref: ModelRef, timeoutMs: number): Promise<EmbedderProbe>
}

export type EmbedderProbe =
  | { readonly kind: 'ready'; readonly dimensions: number }
  | { readonly kind: 'unreachable'; readonly warning: string }

/** A model's call of one tool. */
export interface ToolCall {
  readonly id: string
  readonly name: string
  /**
   * The text, for a tool that takes one; for a tool with a `schema`, its arguments as a JSON
   * object.
   */
  readonly input: string
  /** What is wrong with the arguments. The model gets this message, and the tool does not run. */
  readonly malformed?: string
  /** Opaque provider data to send back with the call, such as signed reasoning. */
  readonly kept?: Readonly<Record<string, unknown>>
}

/** A JSON schema (draft 2020-12) that providers accept. */
export type JsonSchema = { readonly [key: string]: unknown }

export interface ToolSpec {
  readonly name: string
  readonly description: string
  /**
   * Name and description of the only argument, a string; null for a tool with none, or with a
   * `schema`.
   */
  readonly input: { readonly name: string; readonly description: string } | null
  /** For a tool with several arguments: the schema of the arguments object. */
  readonly schema?: JsonSchema
}

export type ChatMessage =
  | { readonly role: 'system'; readonly content: string }
  | {
      readonly role: 'user'
      readonly content: string
      /** Only for vision models; others reject images. */
      readonly images?: readonly {
        readonly mediaType: 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp'
        readonly base64: string
      }[]
    }
  | {
      readonly role: 'assistant'
      readonly content: string
      readonly toolCalls: readonly ToolCall[]
    }
  | { readonly role: 'tool'; readonly callId: string; readonly content: string }

export interface ChatRequest {
  readonly messages: readonly ChatMessage[]
  readonly tools: readonly ToolSpec[]
  /** The required form of an answer without tool calls, if the provider can enforce it. */
  readonly responseFormat?: ResponseFormat
}

/** A `response_format` of type `json_schema`. */
export interface ResponseFormat {
  readonly name: string
  readonly schema: JsonSchema
}

/**
 * A chat model's output as it arrives: text in pieces, then whole tool calls. If there is no tool
 * call, the text is the answer. `reasoning` is not part of the answer. `end` comes once, at the
 * end, or never if the model reports nothing.
 */
export type ChatDelta =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'reasoning'; readonly text: string }
  | { readonly kind: 'tool_call'; readonly call: ToolCall }
  | {
      readonly kind: 'end'
      readonly finish: FinishReason
      /** null if the server did not report it. */
      readonly usage: TokenUsage | null
      /**
       * What the answer lost or had to do without, in plain words: truncated at a limit, filtered,
       * no tools on that server.
       */
      readonly warnings: readonly string[]
      /** Only the built-in model sets it. */
      readonly judged?: JudgedAnswer
    }

/** A model's own assessment of its answer. */
export interface JudgedAnswer {
  readonly evidence: EvidenceLevel
  /** Quotes that are cited but not part of the text. */
  readonly further?: string
}

export interface ChatModel {
  /** The URL to show in messages; missing if the model makes no requests. */
  readonly url?: string
  /** @throws AppError `provider_failed`, `provider_refused`, `timeout` */
  respond(request: ChatRequest, signal: AbortSignal): AsyncIterable<ChatDelta>
}

/** Stops reading soon after this many characters. @throws like `respond`; the signal's reason */
export async function replyText(
  model: ChatModel,
  { system, user }: { readonly system: string; readonly user: string },
  { charsMax, signal }: { readonly charsMax: number; readonly signal: AbortSignal },
): Promise<string> {
  const messages = [
    { role: 'system', content: system },
    { role: 'user', content: user },
  ] as const
  let reply = ''
  for await (const delta of model.respond({ messages, tools: [] }, signal)) {
    signal.throwIfAborted()
    if (delta.kind === 'text') reply += delta.text
    if (reply.length > charsMax) break
  }
  // OpenAI's library ends an aborted stream without an error.
  signal.throwIfAborted()
  return reply
}

/** Chat models for the server's own prompts; agents create theirs in worker threads. */
export interface ChatModels {
  /**
   * The default from the settings; null means only the built-in model, which quotes but cannot
   * write.
   */
  readonly defaultModel: ModelRef | null
  /** Features that model servers have refused, shared with agents. */
  readonly features?: RefusedFeatures
  /** @throws AppError `unknown_provider`, `invalid_agent` for a missing setting */
  chatModel(ref: ModelRef, withinMs?: number): Promise<ChatModel>
  /**
   * Why the model cannot be called, judged by its definition only (no key, no address); null if
   * nothing is missing.
   */
  problemOf?(ref: ModelRef): string | null
}

/** An agent's answer to one question. */
export interface AgentAnswer {
  readonly content: string
  readonly traceId: string
  readonly citations: readonly Citation[]
  readonly warnings: readonly string[]
  /** For all turns; null if the provider did not report it. */
  readonly usage: TokenUsage | null
  /** From the price table; null if the model has no price or its tokens are unknown. */
  readonly cost: number | null
  /** From the start of the agent's work to its answer, without the wait for a slot. */
  readonly seconds: number
}

export interface AgentAnswers {
  /** What an agent's definition lacks. Makes no requests. */
  warningsOf(agent: Agent): readonly string[]
  /**
   * @param purpose if unset, a user's question. An evaluation's questions wait as long as needed
   * for slots that users do not need, and leave half of the slots to users
   * @throws AppError with the cause of the failure: `timeout`, `too_busy`, `provider_failed`,
   * `agent_crashed`, …
   */
  ask(
    agent: Agent,
    question: string,
    signal: AbortSignal,
    purpose?: RunPurpose,
  ): Promise<AgentAnswer>
}

/** Scores with one loaded model how well each passage answers a query. */
export interface Reranker {
  /**
   * One score per passage in [0, 1], higher is better, in the order of the passages.
   * @throws AppError `provider_failed`, `provider_refused`; messages name URL and status
   */
  rerank(
    queryText: string,
    passages: readonly string[],
    signal: AbortSignal,
  ): Promise<readonly number[]>
}

/** A search result with the values for judging it. */
export interface FoundPassage {
  readonly documentId: string
  readonly text: string
  /** The document's headings above the chunk, outermost first. */
  readonly heading: string
  readonly relevance: number
  /** Cosine similarity of its vector and the question's; missing if not compared. */
  readonly cosine?: number
}

/** How well the best of several passages answers a question. */
export interface Answerability {
  /** The probability from 0 to 1 that the passage answers the question. */
  readonly score: number
  readonly evidence: EvidenceLevel
}

export type JudgeAnswerability = (
  question: string,
  passages: readonly FoundPassage[],
) => Promise<Answerability>

export interface RerankerRegistry {
  readonly providers: readonly string[]
  /** @throws AppError `unknown_provider` listing the known ones, `invalid_knowledge_base` for a wrong setting */
  reranker(ref: ModelRef): Reranker
}
