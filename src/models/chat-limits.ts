/** Limits of one answer of a chat model. The agent's own deadline usually comes first. */
export interface ChatLimits {
  /** Tries after the first, until the answer has begun. */
  readonly retriesMax: number
  /** Until the answer begins. */
  readonly timeoutMs: number
  /** Between two pieces of the answer. */
  readonly idleMs: number
  /** Of the answer as it comes over the wire. */
  readonly answerBytesMax: number
  /** Tokens of an answer, for providers that want to be told. */
  readonly answerTokensMax: number
}

export const CHAT_LIMITS: ChatLimits = {
  retriesMax: 2,
  timeoutMs: 180_000,
  idleMs: 120_000,
  answerBytesMax: 32 * 1024 * 1024,
  answerTokensMax: 4096,
}
