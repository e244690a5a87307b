import type { ConversationTurn } from '../../domain/agents/agent.ts'
import type { Action } from '../../domain/agents/completion-event.ts'
import type { ChatDelta, ChatMessage, ChatModel, ToolCall } from '../../domain/ports/model-ports.ts'
import { AppError } from '../../errors.ts'
import { AGENT_LIMITS, byteSize } from '../agent-limits.ts'
import type { AgentEvent, Assignment } from './assignment.ts'

export interface LoopDeps {
  readonly model: ChatModel
  /** What the tool found, as text; what went wrong in it is text too. */
  runTool(call: ToolCall, signal: AbortSignal): Promise<string>
}

/** A conversation under way. */
interface Progress {
  readonly assignment: Assignment
  readonly deps: LoopDeps
  readonly messages: ChatMessage[]
  /** On the clock of `performance.now()`. */
  readonly beganMs: number
  readonly calls: ToolCall[]
}

/**
 * Think, act, observe: start, then an action and a step for each tool call, then output, then end.
 * @throws AppError `step_limit`, and whatever the model throws
 */
export async function* answer(
  assignment: Assignment,
  deps: LoopDeps,
  signal: AbortSignal,
): AsyncGenerator<AgentEvent, void> {
  yield { type: 'start' }
  const messages = [...openingMessages(assignment)]
  const output = yield* conversation(
    { assignment, deps, messages, calls: [], beganMs: performance.now() },
    signal,
  )
  yield { type: 'output', output }
  yield { type: 'end' }
}

/** @returns the answer */
async function* conversation(
  progress: Progress,
  signal: AbortSignal,
): AsyncGenerator<AgentEvent, string> {
  const { assignment, calls, messages } = progress
  let hasBeenSilent = false
  // Each turn makes a call or ends the conversation, but for one that says nothing.
  for (let turns = 0; turns < assignment.maxSteps + 2; turns += 1) {
    const isLast = calls.length >= assignment.maxSteps
    if (isLast) messages.push({ role: 'system', content: LAST_TURN })
    const turn = yield* nextTurn(progress, isLast, signal)
    if (turn.calls.length > 0) {
      if (isLast) throw stepLimit(assignment.maxSteps)
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
  throw stepLimit(assignment.maxSteps)
}

const LAST_TURN =
  'No tool call is left. Answer now, from what the tools have returned so far, ' +
  'and say what is missing.'
const ASK_AGAIN = 'Your last message was empty. Answer the question, or say why you cannot.'
const NO_ANSWER = 'The model gave no answer to this question.'

function stepLimit(maxSteps: number): AppError {
  return new AppError(
    'step_limit',
    `No answer after ${maxSteps} steps (max_steps of the agent, or EIDER_AGENT_STEPS_MAX)`,
  )
}

async function* nextTurn(
  progress: Progress,
  isLast: boolean,
  signal: AbortSignal,
): AsyncGenerator<AgentEvent, Turn> {
  const { assignment, deps, messages } = progress
  const request = { messages: withinLimits(messages), tools: isLast ? [] : assignment.tools }
  const startMs = performance.now() - progress.beganMs
  const clock = () => performance.now() - progress.beganMs
  const reading = readTurn(deps.model.respond(request, signal), clock, signal)
  for (;;) {
    const { done, value } = await reading.next()
    if (done) {
      yield turnEvent(value, startMs, clock() - startMs)
      return value
    }
    if (assignment.deltas) yield { type: 'delta', content: value }
  }
}

/** What a model said in one go: calls, or without them the answer. */
interface Turn {
  readonly text: string
  readonly calls: readonly ToolCall[]
  readonly reasoning: string
  /** Since the question began; null: nothing came. */
  readonly firstPieceMs: number | null
  readonly end: Extract<ChatDelta, { kind: 'end' }> | null
}

function turnEvent(turn: Turn, startMs: number, tookMs: number): AgentEvent {
  const { calls, end, reasoning, firstPieceMs } = turn
  return {
    type: 'turn',
    warnings: end?.warnings ?? [],
    turn: {
      startMs,
      tookMs,
      firstPieceMs: firstPieceMs === null ? null : firstPieceMs - startMs,
      finish: end?.finish ?? (calls.length > 0 ? 'tool_calls' : 'stop'),
      usage: end?.usage ?? null,
      reasoning: reasoning.slice(0, AGENT_LIMITS.reasoningCharsMax).toWellFormed(),
      callCount: calls.length,
    },
  }
}

/**
 * Reads one turn to its end and passes its text on while it comes. @throws AppError
 * `provider_failed` for an endless one
 */
async function* readTurn(
  deltas: AsyncIterable<ChatDelta>,
  clock: () => number,
  signal: AbortSignal,
): AsyncGenerator<string, Turn> {
  const { turnCharsMax, turnCallsMax } = AGENT_LIMITS
  const texts: string[] = []
  const thoughts: string[] = []
  const calls: ToolCall[] = []
  let chars = 0
  let firstPieceMs: number | null = null
  let end: Turn['end'] = null
  for await (const delta of deltas) {
    signal.throwIfAborted()
    firstPieceMs ??= clock()
    chars += deltaChars(delta)
    if (chars > turnCharsMax) throw tooMuch(`${turnCharsMax} characters`)
    if (delta.kind === 'tool_call') calls.push(delta.call)
    if (calls.length > turnCallsMax) throw tooMuch(`${turnCallsMax} tool calls`)
    if (delta.kind === 'reasoning') thoughts.push(delta.text)
    if (delta.kind === 'end') end = delta
    if (delta.kind === 'text' && delta.text !== '') {
      texts.push(delta.text)
      yield delta.text
    }
  }
  // The OpenAI library ends an aborted stream without a word.
  signal.throwIfAborted()
  return { text: texts.join(''), calls, reasoning: thoughts.join(''), firstPieceMs, end }
}

function deltaChars(delta: ChatDelta): number {
  if (delta.kind === 'tool_call') return delta.call.input.length
  return delta.kind === 'end' ? 0 : delta.text.length
}

function tooMuch(limit: string): AppError {
  return new AppError('provider_failed', `The model wrote more than ${limit} in one turn`)
}

/**
 * Runs the calls of one turn side by side. Their events come in the order of the calls, each action
 * with its step. The model sees a result for each, as its protocol demands.
 */
async function* act(
  progress: Progress,
  turn: Turn,
  signal: AbortSignal,
): AsyncGenerator<AgentEvent, void> {
  const { assignment, calls, messages } = progress
  messages.push({ role: 'assistant', content: turn.text, toolCalls: turn.calls })
  const room = Math.max(0, assignment.maxSteps - calls.length)
  const run = sideBySide()
  const started = turn.calls.slice(0, room).map((call, index) => {
    calls.push(call)
    const before = calls.slice()
    const observation = run(() => observationOfCall(call, before, progress, signal))
    return { call, observation, action: actionOf(call, index === 0 ? turn.text : '') }
  })
  for (const { call, observation, action } of started) {
    yield { type: 'action', action }
    const text = await observation
    signal.throwIfAborted()
    messages.push({ role: 'tool', callId: call.id, content: text })
    yield { type: 'step', step: { action, observation: text } }
  }
  for (const call of turn.calls.slice(room)) {
    const content = `Not run: at most ${assignment.maxSteps} tool calls are allowed`
    messages.push({ role: 'tool', callId: call.id, content })
  }
}

/** Runs what it is given in its order, at most `toolCallsAtOnceMax` at a time. */
function sideBySide(): (work: () => Promise<string>) => Promise<string> {
  const running: Promise<unknown>[] = []
  return (work) => {
    const before = running.at(-AGENT_LIMITS.toolCallsAtOnceMax)
    const done = before === undefined ? work() : before.then(work)
    // A failure is heard by whoever waits for this call, if anybody still does.
    running.push(done.catch(() => undefined))
    return done
  }
}

async function observationOfCall(
  call: ToolCall,
  calls: readonly ToolCall[],
  { assignment, deps }: Progress,
  signal: AbortSignal,
): Promise<string> {
  const names = assignment.tools.map((tool) => tool.name)
  if (!names.includes(call.name)) {
    return `${call.name} is not a valid tool, try one of [${names.join(', ')}]`
  }
  if (isRepeated(calls)) return REPEATED
  return deps.runTool(call, signal)
}

const REPEATED =
  'This is the third identical call in a row, so it was not run: its result stands above. ' +
  'Try another input or another tool, or answer.'

/** Whether the last three calls are the same. */
function isRepeated(calls: readonly ToolCall[]): boolean {
  const [first, ...others] = calls.slice(-3)
  if (first === undefined || others.length < 2) return false
  return others.every(({ name, input }) => {
    return name === first.name && input.trim() === first.input.trim()
  })
}

/** The call as it is told to the client, with the text that the model wrote before it. */
function actionOf(call: ToolCall, thought: string): Action {
  const text = thought.trim()
  const lines = [
    ...(text === '' ? [] : [`Thought: ${text}`]),
    `Action: ${call.name}`,
    `Action Input: ${call.input}`,
  ]
  return { tool: call.name, tool_input: call.input, log: lines.join('\n') }
}

/** The instruction, the newest turns that fit into `historyBytesMax`, and the question. */
function openingMessages(assignment: Assignment): readonly ChatMessage[] {
  const { systemPrompt, question } = assignment
  const history = newestThatFit(assignment.history, AGENT_LIMITS.historyBytesMax)
  return [
    { role: 'system', content: systemPrompt },
    ...history.map(({ role, content }): ChatMessage => {
      return role === 'user' ? { role, content } : { role, content, toolCalls: [] }
    }),
    { role: 'user', content: question },
  ]
}

function newestThatFit(
  history: readonly ConversationTurn[],
  bytesMax: number,
): readonly ConversationTurn[] {
  const spoken = history.filter((turn) => turn.content.trim() !== '')
  let bytes = 0
  const tooOld = spoken.findLastIndex((turn) => {
    bytes += byteSize(turn.content)
    return bytes > bytesMax
  })
  return spoken.slice(tooOld + 1)
}

const LEFT_OUT = '(left out to save room; call the tool again if you need it)'

/**
 * The same messages with the oldest observations left out beyond `observationsBytesMax`. The newest
 * always stays.
 */
function withinLimits(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const newest = messages.findLastIndex((message) => message.role === 'tool')
  let bytes = 0
  const tooOld = messages.findLastIndex((message, index) => {
    bytes += message.role === 'tool' ? byteSize(message.content) : 0
    return bytes > AGENT_LIMITS.observationsBytesMax && index < newest
  })
  return messages.map((message, index) => {
    const isKept = message.role !== 'tool' || index > tooOld || index === newest
    return isKept ? message : { ...message, content: LEFT_OUT }
  })
}
