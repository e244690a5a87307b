/**
 * What the use cases need of models: embedding, chat, agents and reranking. `models/` and `agents/` implement it. Every method
 * that takes a signal stops within a second of its abort and throws its reason.
 */
import type { Agent } from '../agent.ts'
import type { Citation } from '../completion-event.ts'
import type { ModelRef } from '../model-ref.ts'

/** Counts the tokens of texts. */
export interface TokenCounter {
  /** At least as many as the model makes of the text, without those that stand around every text. */
  count(text: string): number
  /**
   * Up to where `tokensMax` tokens reach: the end of the last whole word that fits, at most `end`; `start` where not even
   * the first word fits.
   */
  fit(text: string, start: number, end: number, tokensMax: number): number
}

/** `word_piece`: as the built-in model counts; `bytes`: no tokenizer makes more tokens than a text has bytes. */
export type TokenizerName = 'word_piece' | 'bytes'

/** How much of a text an embedding model reads. What comes after it is in no vector. */
export interface EmbedderReach {
  /** With those that stand around every text. */
  readonly tokensMax: number
  /** Tokens that stand around every text. */
  readonly frameTokens: number
  readonly tokenizer: TokenizerName
  /**
   * A text of more tokens, those around it aside, is read in parts of at most so many, and its vector is the mean of theirs.
   * Missing: every text is read at once.
   */
  readonly tokensAtOnce?: number
}

/** Text → vectors. One model, ready to be called. */
export interface Embedder {
  /** Missing: nobody knows. */
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
   * @param withinMs how long one embedding may take, further tries included: longer than usual for work that nobody waits for;
   * unset: as long as vectors that are to be stored are worth
   * @throws AppError `unknown_provider` listing those there are, `invalid_knowledge_base` for a missing setting
   */
  embedder(ref: ModelRef, withinMs?: number): Embedder
  /**
   * Tries the model once, without retries: its dimensions, or a warning where it could not be reached.
   * @throws AppError `provider_refused` on a definite refusal (bad key, no such model)
   */
  probe(ref: ModelRef, timeoutMs: number): Promise<EmbedderProbe>
}

export type EmbedderProbe =
  | { readonly kind: 'ready'; readonly dimensions: number }
  | { readonly kind: 'unreachable'; readonly warning: string }

/** A call of one tool. Every tool takes at most one text. */
export interface ToolCall {
  readonly id: string
  readonly name: string
  readonly input: string
}

export interface ToolSpec {
  readonly name: string
  readonly description: string
  /** Name and description of the one text argument; null for a tool without. */
  readonly input: { readonly name: string; readonly description: string } | null
}

export type ChatMessage =
  | { readonly role: 'system'; readonly content: string }
  | { readonly role: 'user'; readonly content: string }
  | {
      readonly role: 'assistant'
      readonly content: string
      readonly toolCalls: readonly ToolCall[]
    }
  | { readonly role: 'tool'; readonly callId: string; readonly content: string }

export interface ChatRequest {
  readonly messages: readonly ChatMessage[]
  readonly tools: readonly ToolSpec[]
}

/** What a chat model says, as it says it: text in pieces, then whole tool calls. No tool call: the text is the answer. */
export type ChatDelta =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'tool_call'; readonly call: ToolCall }

export interface ChatModel {
  /** @throws AppError `provider_failed`, `provider_refused`, `timeout` */
  respond(request: ChatRequest, signal: AbortSignal): AsyncIterable<ChatDelta>
}

/** Chat models for what the server asks by itself; agents have theirs in threads. */
export interface ChatModels {
  /** That of the settings; null: there is only the built-in one, which quotes and cannot write. */
  readonly defaultModel: ModelRef | null
  /** @throws AppError `unknown_provider`, `invalid_agent` for a missing setting */
  chatModel(ref: ModelRef): Promise<ChatModel>
}

/** What an agent said to one question. */
export interface AgentAnswer {
  readonly content: string
  readonly traceId: string
  readonly citations: readonly Citation[]
}

export interface AgentAnswers {
  /** @throws AppError as the question failed: `timeout`, `too_busy`, `provider_failed`, `agent_crashed`, … */
  ask(agent: Agent, question: string, signal: AbortSignal): Promise<AgentAnswer>
}

/** A query text and passages → how well each passage answers it. One model, ready to be called. */
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

/** What kinds of reranker there are. */
export interface RerankerRegistry {
  readonly providers: readonly string[]
  /** @throws AppError `unknown_provider` listing those there are, `invalid_knowledge_base` for a wrong setting */
  reranker(ref: ModelRef): Reranker
}
