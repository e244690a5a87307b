import type { CompletionEvent } from '../domain/completion-event.ts'
import type { ChatMessage, ChatModel, ToolCall } from '../domain/ports.ts'
import { AppError } from '../errors.ts'
import { actionOf, readTurn, type Turn } from './model-turn.ts'
import { type OpenPrompt, openingMessages, withinLimits } from './open-prompt.ts'
import { actionsEvent, outputEvent, stepsEvent } from './wire-events.ts'

/** One question, with all that the model is told about it. */
export interface Ask extends OpenPrompt {
  readonly traceId: string
  /** Tool calls before the answer. */
  readonly maxSteps: number
  /** Whether text is wanted while it is written. */
  readonly deltas: boolean
}

export interface AgentPorts {
  readonly model: ChatModel
  /** What the tool found, as text; what went wrong in it is text too. */
  runTool(call: ToolCall, signal: AbortSignal): Promise<string>
}

/** A conversation under way. */
interface Progress {
  readonly ask: Ask
  readonly ports: AgentPorts
  readonly messages: ChatMessage[]
  readonly calls: ToolCall[]
}

type Events = AsyncGenerator<CompletionEvent, void>

/**
 * Think, act, observe: start, then actions and steps for each tool call, then output, then end.
 * @throws AppError `step_limit`, and whatever the model throws
 */
export async function* answer(ask: Ask, ports: AgentPorts, signal: AbortSignal): Events {
  yield { type: 'start', prompt: ask.question, trace_id: ask.traceId }
  const progress: Progress = { ask, ports, messages: [...openingMessages(ask)], calls: [] }
  const content = yield* conversation(progress, signal)
  yield outputEvent({ content, traceId: ask.traceId, citations: [], warnings: [] })
  yield { type: 'end' }
}

/** @returns the answer */
async function* conversation(
  progress: Progress,
  signal: AbortSignal,
): AsyncGenerator<CompletionEvent, string> {
  const { ask, calls, messages } = progress
  let hasBeenSilent = false
  // Each turn makes a call or ends the conversation, but for one that says nothing.
  for (let turns = 0; turns < ask.maxSteps + 2; turns += 1) {
    const isLast = calls.length >= ask.maxSteps
    if (isLast) messages.push({ role: 'system', content: LAST_TURN })
    const turn = yield* nextTurn(progress, isLast, signal)
    if (turn.calls.length > 0) {
      if (isLast) throw stepLimit(ask.maxSteps)
      yield* act(progress, turn, signal)
    } else if (turn.text.trim() !== '') {
      return turn.text
    } else if (hasBeenSilent) {
      return NO_ANSWER
    } else {
      hasBeenSilent = true
      messages.push({ role: 'system', content: ASK_AGAIN })
    }
  }
  throw stepLimit(ask.maxSteps)
}

const LAST_TURN =
  'No tool call is left. Answer now, from what the tools have returned so far, ' +
  'and say what is missing.'
const ASK_AGAIN = 'Your last message was empty. Answer the question, or say why you cannot.'
const NO_ANSWER = 'The model gave no answer to this question.'

function stepLimit(maxSteps: number): AppError {
  return new AppError('step_limit', `No answer after ${maxSteps} steps (max_steps)`)
}

async function* nextTurn(
  { ask, ports, messages }: Progress,
  isLast: boolean,
  signal: AbortSignal,
): AsyncGenerator<CompletionEvent, Turn> {
  const request = { messages: withinLimits(messages), tools: isLast ? [] : ask.tools }
  const reading = readTurn(ports.model.respond(request, signal), signal)
  for (;;) {
    const { done, value } = await reading.next()
    if (done) return value
    if (ask.deltas) yield { type: 'delta', content: value, trace_id: ask.traceId }
  }
}

/**
 * Runs the calls of one turn, one after the other. The model sees a result for each, as its
 * protocol demands.
 */
async function* act(progress: Progress, turn: Turn, signal: AbortSignal): Events {
  const { ask, calls, messages } = progress
  messages.push({ role: 'assistant', content: turn.text, toolCalls: turn.calls })
  for (const [index, call] of turn.calls.entries()) {
    if (calls.length >= ask.maxSteps) {
      const content = `Not run: at most ${ask.maxSteps} tool calls are allowed`
      messages.push({ role: 'tool', callId: call.id, content })
      continue
    }
    const action = actionOf(call, index === 0 ? turn.text : '')
    yield actionsEvent([action], ask.traceId)
    calls.push(call)
    const observation = await observationOfCall(call, progress, signal)
    signal.throwIfAborted()
    messages.push({ role: 'tool', callId: call.id, content: observation })
    yield stepsEvent([{ action, observation }], ask.traceId)
  }
}

async function observationOfCall(
  call: ToolCall,
  { ask, ports, calls }: Progress,
  signal: AbortSignal,
): Promise<string> {
  const names = ask.tools.map((tool) => tool.name)
  if (!names.includes(call.name)) {
    return `${call.name} is not a valid tool, try one of [${names.join(', ')}]`
  }
  if (isRepeated(calls)) return REPEATED
  return ports.runTool(call, signal)
}

const REPEATED =
  'This is the third identical call in a row, so it was not run: its result stands above. ' +
  'Try another input or another tool, or answer.'

/** Whether the last three calls are the same. */
function isRepeated(calls: readonly ToolCall[]): boolean {
  const [first, ...others] = calls.slice(-3)
  if (first === undefined || others.length < 2) return false
  return others.every((call) => isSame(call, first))
}

function isSame(one: ToolCall, other: ToolCall): boolean {
  return one.name === other.name && one.input.trim() === other.input.trim()
}
