import type { ToolSpec } from '../../core/domain/ports/model-ports.ts'
import { AppError } from '../../core/errors.ts'
import type { Assignment } from './assignment.ts'
import type { ToolCalls } from './tool-calls.ts'

/** Why a turn is the last one: no tool may be called in it. */
export interface Ending {
  /** Messages for the model. */
  readonly told: string
  readonly warnings: readonly string[]
  /** Why the question has no answer, if a model still calls a tool in its last turn. */
  failure(): AppError
}

const ANSWER_NOW = 'Answer now, from what the tools have returned so far, and say what is missing.'

/** @param elapsedMs since the start of the question */
export function endingOf(
  assignment: Assignment,
  calls: Pick<ToolCalls, 'count' | 'isGoingNowhere' | 'isOutOfTime'>,
  elapsedMs: number,
): Ending | null {
  const { maxSteps } = assignment
  if (calls.count >= maxSteps) {
    const failure = () => stepLimit(maxSteps)
    return { told: `No tool call is left. ${ANSWER_NOW}`, warnings: [], failure }
  }
  if (calls.isGoingNowhere) {
    const told = `Your last calls were wrong or repeated, so no further one is run. ${ANSWER_NOW}`
    return { told, warnings: [WENT_NOWHERE], failure: () => stepLimit(calls.count) }
  }
  if (!calls.isOutOfTime && elapsedMs < msForTools(assignment)) return null
  return {
    told: `The time is nearly over, so no further tool is run. ${ANSWER_NOW}`,
    warnings: [
      'The answer was written early, since its time limit was near: it may lack something',
    ],
    failure: () => new AppError('timeout', 'No answer before the time limit of the agent was near'),
  }
}

const WENT_NOWHERE =
  'The answer was written early, since the model only repeated calls or made wrong ones'

/**
 * How long tools may be called: a fifth of the time is reserved for the last turn, and 20 seconds if that leaves at least
 * half.
 */
export function msForTools({ timeoutMs }: Pick<Assignment, 'timeoutMs'>): number {
  return timeoutMs - Math.max(timeoutMs / 5, Math.min(20_000, timeoutMs / 2))
}

export function stepLimit(steps: number): AppError {
  return new AppError(
    'step_limit',
    `No answer after ${steps} steps (max_steps of the agent, or EIDER_AGENT_STEPS_MAX)`,
  )
}

const ASK_AGAIN = 'Your last message was empty. Answer the question, or say why you cannot.'
const CALL_PROPERLY =
  'Your last message holds a tool call written as text, which is not run. ' +
  'Call the tool by the interface for tools, or answer the question.'

/** The reply to a model whose text is not an answer; null: it is one. */
export function objectionTo(text: string, tools: readonly ToolSpec[]): string | null {
  if (text.trim() === '') return ASK_AGAIN
  return isWrittenCall(text, tools) ? CALL_PROPERLY : null
}

/**
 * Forms in which models write calls to existing tools as text. `NAME` is replaced by their names. White space is limited, so
 * that matching hostile text takes linear time.
 */
const CALL_FORMS: readonly string[] = [
  // {"name": "tool", "arguments": …}, alone, in a fence or within <tool_call>.
  '^(?:```\\w{0,40}\\s{0,40}|<tool_call>\\s{0,40}|\\[TOOL_CALLS\\]\\s{0,40})?\\[?\\s{0,40}\\{\\s{0,40}"(?:name|tool|tool_name|function|action)"\\s{0,40}:\\s{0,40}"(?:NAME)"',
  '<(?:invoke|function|tool)[^>]{0,20}[= ]"?(?:NAME)"?',
  '^Action[ \\t]{0,8}:[ \\t]{0,8}`?(?:NAME)`?$',
]

/** Whether a text that should be an answer holds a tool call instead. It is never run. */
function isWrittenCall(text: string, tools: readonly ToolSpec[]): boolean {
  if (tools.length === 0) return false
  const names = tools.map(({ name }) => name.replaceAll(/\W/g, '\\$&')).join('|')
  return CALL_FORMS.some((form) => new RegExp(form.replace('NAME', names), 'im').test(text))
}
