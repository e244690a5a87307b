import type { FinishReason, TokenUsage } from '../core/domain/agents/agent-run.ts'
import type { ChatDelta } from '../core/domain/ports/model-ports.ts'

/** How an answer ended. */
export type AnswerEnd = Omit<Extract<ChatDelta, { kind: 'end' }>, 'kind'>

const WARNINGS: Readonly<Record<FinishReason, readonly string[]>> = {
  stop: [],
  tool_calls: [],
  length: ['The answer was cut off: the model had reached its limit of tokens'],
  filter: ['The content filter of the model withheld the answer or a part of it'],
  refusal: ['The model refused to answer'],
}

export function answerEnd(finish: FinishReason, usage: TokenUsage | null): AnswerEnd {
  return { finish, usage, warnings: WARNINGS[finish] }
}
