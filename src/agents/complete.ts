import type { AgentPool, FullAnswer } from './agent-pool.ts'
import type { AgentQuestion } from './agent-question.ts'
import type { Answer } from './wire-events.ts'

export interface Completion extends Answer {
  /** The texts that the model was shown, for an agent with `return_context`. */
  readonly context?: readonly string[]
}

/**
 * One question, one answer, without a stream.
 * @throws AppError as the question failed: `timeout`, `step_limit`, `provider_refused`,
 * `agent_crashed`, …
 */
export async function complete(
  question: AgentQuestion,
  pool: Pick<AgentPool, 'run'>,
  signal: AbortSignal,
): Promise<Completion> {
  const { context, ...answer } = await lastOf(pool.run(question, signal))
  return question.agent.params.returnContext === true ? { ...answer, context } : answer
}

/** What the generator returns; its events are for those who watch. */
async function lastOf(events: AsyncGenerator<unknown, FullAnswer>): Promise<FullAnswer> {
  // Bounded: the pool ends every question.
  for (;;) {
    const { done, value } = await events.next()
    if (done) return value
  }
}
