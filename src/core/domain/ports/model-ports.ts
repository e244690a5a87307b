/**
 * The use cases' requirements on models: embedding, chat, agents and reranking. `models/` and `agents/` implement it. Every
 * method with a signal stops within a second of its abort and throws its reason.
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

/** Counts the tokens of texts. */
export interface TokenCounter {
  /** At least the model's number of tokens, without the special ones around every text. */
  count(text: string): number
  /**
   * How far `tokensMax` tokens reach: the end of the last whole word that fits, at most `end`; `start` if not even the first
   * word fits.
   */
  fit(text: string, start: number, end: number, tokensMax: number): number
}

/** `word_piece`: counts like the built-in model; `bytes`: no tokenizer makes more tokens than a text has bytes. */
export type TokenizerName = 'word_piece' | 'bytes'

/** How much of a text an embedding model reads. The rest is in no vector. */
export interface EmbedderReach {
  /** Including the special tokens around every text. */
  readonly tokensMax: number
  /** The special tokens around every text. */
  readonly frameTokens: number
  readonly tokenizer: TokenizerName
  /**
   * A text with more tokens, not counting the special ones, is read in parts of at most this many, and its vector is their
   * mean. Missing: every text is read at once.
   */
  readonly tokensAtOnce?: number
}

/** Text → vectors, by one loaded model. */
export interface Embedder {
  /** Missing: unknown. */
  readonly reach?: EmbedderReach
  /**
   * One vector per text, in the order of the texts, all of one length.
   * @throws AppError `provider_failed`, `provider_refused`; messages name URL and status
   */
  embed(texts: readonly string[], signal: AbortSignal): Promise<readonly Float32Array[]>
}

/** What kinds of embedding model there are. */
export interface EmbedderRegistry {
  readonly providers: readonly string[]
  /**
   * @param withinMs limit for one embedding, retries included: longer for background work; unset: the default for stored
   * vectors
   * @throws AppError `unknown_provider` listing those there are, `invalid_knowledge_base` for a missing setting
   */
  embedder(ref: ModelRef, withinMs?: number): Embedder
  /**
   * Tries the model once, without retries: its dimensions, or a warning if it cannot be reached.
   * @throws AppError `provider_refused` on a definite refusal (bad key, no such model)
   */
  probe(ref: ModelRef, timeoutMs: number): Promise<EmbedderProbe>
}

export type EmbedderProbe =
  | { readonly kind: 'ready'; readonly dimensions: number }
  | { readonly kind: 'unreachable'; readonly warning: string }

/** A call of one tool. */
export interface ToolCall {
  readonly id: string
  readonly name: string
  /** The text for a tool that takes one; for a tool with a `schema`, its arguments as a JSON object. */
  readonly input: string
  /** What is wrong with the model's arguments. The model gets this message, and the tool does not run. */
  readonly malformed?: string
  /** Opaque data that the provider wants back with the call (signed thoughts). */
  readonly kept?: Readonly<Record<string, unknown>>
}

/** A JSON schema (draft 2020-12), as providers accept it. */
export type JsonSchema = { readonly [key: string]: unknown }

export interface ToolSpec {
  readonly name: string
  readonly description: string
  /** Name and description of the one text argument; null for a tool without, or with a `schema`. */
  readonly input: { readonly name: string; readonly description: string } | null
  /** For a tool with several arguments: the schema of an object. */
  readonly schema?: JsonSchema
}

export type ChatMessage =
  | { readonly role: 'system'; readonly content: string }
  | {
      readonly role: 'user'
      readonly content: string
      /** For vision models; others reject them. */
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
  /** The form of an answer without tool calls, if the provider can enforce it. */
  readonly responseFormat?: ResponseFormat
}

/** `response_format` of the type `json_schema`. */
export interface ResponseFormat {
  readonly name: string
  readonly schema: JsonSchema
}

/**
 * A chat model's output as it arrives: text in pieces, then whole tool calls. Without a tool call, the text is the answer.
 * `reasoning` is not part of the answer. `end` comes last and once, or never if the model reports nothing.
 */
export type ChatDelta =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'reasoning'; readonly text: string }
  | { readonly kind: 'tool_call'; readonly call: ToolCall }
  | {
      readonly kind: 'end'
      readonly finish: FinishReason
      /** null: the server did not say. */
      readonly usage: TokenUsage | null
      /** What the answer lost or had to do without, in plain words: cut at a limit, filtered, no tools on that server. */
      readonly warnings: readonly string[]
      /** Set by the built-in model. */
      readonly judged?: JudgedAnswer
    }

/** What a model says about its own answer. */
export interface JudgedAnswer {
  readonly evidence: EvidenceLevel
  /** Quotes that are cited but not part of the text. */
  readonly further?: string
}

export interface ChatModel {
  /** The URL, safe for messages; missing: none is called. */
  readonly url?: string
  /** @throws AppError `provider_failed`, `provider_refused`, `timeout` */
  respond(request: ChatRequest, signal: AbortSignal): AsyncIterable<ChatDelta>
}

/** Chat models for the server's own questions; agents have theirs in threads. */
export interface ChatModels {
  /** The default of the settings; null: only the built-in one, which quotes and cannot write. */
  readonly defaultModel: ModelRef | null
  /** The known features of model servers, also for agents. */
  readonly features?: RefusedFeatures
  /** @throws AppError `unknown_provider`, `invalid_agent` for a missing setting */
  chatModel(ref: ModelRef, withinMs?: number): Promise<ChatModel>
  /** Why the model cannot be called, judging by its definition: no key, no address; null: nothing is missing. */
  problemOf?(ref: ModelRef): string | null
}

/** An agent's answer to one question. */
export interface AgentAnswer {
  readonly content: string
  readonly traceId: string
  readonly citations: readonly Citation[]
  readonly warnings: readonly string[]
  /** For all turns; null: not reported by the provider. */
  readonly usage: TokenUsage | null
  /** By the price table; null: no price for the model, or unknown tokens. */
  readonly cost: number | null
  /** From the start of its work to its answer, without waiting for a place. */
  readonly seconds: number
}

export interface AgentAnswers {
  /** What an agent's definition lacks; calls nothing. */
  warningsOf(agent: Agent): readonly string[]
  /**
   * @param purpose unset: a user's question. An evaluation's question waits, however long, for a slot that no user needs,
   * and leaves half of the slots to users
   * @throws AppError as the question failed: `timeout`, `too_busy`, `provider_failed`, `agent_crashed`, …
   */
  ask(
    agent: Agent,
    question: string,
    signal: AbortSignal,
    purpose?: RunPurpose,
  ): Promise<AgentAnswer>
}

/** A query text and passages → how well each passage answers it, by one loaded model. */
export interface Reranker {
  /**
   * One score per passage in [0, 1], larger is better, in the order of the passages.
   * @throws AppError `provider_failed`, `provider_refused`; messages name URL and status
   */
  rerank(
    queryText: string,
    passages: readonly string[],
    signal: AbortSignal,
  ): Promise<readonly number[]>
}

/** A search result with the values it is judged by. */
export interface FoundPassage {
  readonly documentId: string
  readonly text: string
  readonly heading: string
  readonly relevance: number
  /** Cosine of its vector and the question's; missing: not compared. */
  readonly cosine?: number
}

/** How well the best of some passages answers a question. */
export interface Answerability {
  /** 0 to 1: the probability that it answers. */
  readonly score: number
  readonly evidence: EvidenceLevel
}

export type JudgeAnswerability = (
  question: string,
  passages: readonly FoundPassage[],
) => Promise<Answerability>

/** What kinds of reranker there are. */
export interface RerankerRegistry {
  readonly providers: readonly string[]
  /** @throws AppError `unknown_provider` listing those there are, `invalid_knowledge_base` for a wrong setting */
  reranker(ref: ModelRef): Reranker
}
