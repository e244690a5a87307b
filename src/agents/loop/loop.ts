import type { Action } from '../../core/domain/agents/completion-event.ts'
import type {
  ChatMessage,
  ChatModel,
  ChatRequest,
  JudgedAnswer,
  ToolCall,
} from '../../core/domain/ports/model-ports.ts'
import { AppError } from '../../core/errors.ts'
import type { AgentEvent, Assignment } from './assignment.ts'
import {
  ContextWindow,
  contextExceeded,
  type Entry,
  type FittingRequest,
  FORGOTTEN,
  isTooLong,
  type ToolResult,
  withFirstWords,
} from './context-window.ts'
import { historyMessages, type ShownHistory, shownHistory } from './old-turns.ts'
import { ToolCalls } from './tool-calls.ts'
import {
  type AnswerCheck,
  answerCheck,
  type Ending,
  endingOf,
  msForTools,
  objectionTo,
  readTurn,
  stepLimit,
  type Turn,
  turnEvent,
} from './turn-rules.ts'

export interface LoopDeps {
  readonly model: ChatModel
  /** The tool's result as text, also for errors. */
  runTool(call: ToolCall, signal: AbortSignal): Promise<string>
}

interface Progress {
  readonly assignment: Assignment
  readonly model: ChatModel
  readonly entries: Entry[]
  readonly questionIndex: number
  readonly window: ContextWindow
  readonly calls: ToolCalls
  /** Numbers of results that were shortened in the model's last turn. */
  shortened: ReadonlySet<number>
  /** In the time of `performance.now()`. */
  readonly beganMs: number
}

/** Yields `start`, an `action` and a `step` per tool call, `output`, `end`. @throws AppError */
export async function* answer(
  assignment: Assignment,
  deps: LoopDeps,
  signal: AbortSignal,
): AsyncGenerator<AgentEvent, void> {
  yield { type: 'start' }
  const { answerForm } = assignment
  // Checked first, so that an invalid schema costs no model call.
  const check = answerForm === undefined ? null : await answerCheck(answerForm)
  const beganMs = performance.now()
  const history = yield* shownHistory(assignment, deps.model, signal)
  const progress = loopProgress(assignment, { ...deps, history, beganMs }, signal)
  const { text, judged } = yield* conversation(progress, signal)
  const output = check === null ? text : yield* inForm(text, check, progress, signal)
  yield { type: 'output', output, ...(judged === undefined ? {} : { judged }) }
  yield { type: 'end' }
}

function loopProgress(
  assignment: Assignment,
  deps: LoopDeps & Pick<Progress, 'beganMs'> & { readonly history: ShownHistory },
  signal: AbortSignal,
): Progress {
  const { tools, contextTokens, fence } = assignment
  const { beganMs } = deps
  const entries = openingEntries(assignment, deps.history)
  return {
    assignment,
    model: deps.model,
    entries,
    questionIndex: entries.length - 1,
    window: new ContextWindow(contextTokens, fence),
    calls: new ToolCalls({
      tools,
      mayRepeatEarlier: assignment.endsWithRows === true,
      runTool: (call) => deps.runTool(call, signal),
      msLeft: () => beganMs + msForTools(assignment) - performance.now(),
    }),
    shortened: new Set(),
    beganMs,
  }
}

/** @returns the answer */
async function* conversation(
  progress: Progress,
  signal: AbortSignal,
): AsyncGenerator<AgentEvent, { readonly text: string; readonly judged?: JudgedAnswer }> {
  const { assignment, entries } = progress
  const objections = new Set<string>()
  let ending: Ending | null = null
  // Each turn makes a tool call, gets one of a limited number of objections, or ends the
  // conversation.
  for (let turns = 0; turns < assignment.maxSteps + TURNS_WITHOUT_CALL_MAX; turns += 1) {
    if (ending === null) {
      ending = endingOf(assignment, progress.calls, performance.now() - progress.beganMs)
      if (ending !== null) entries.push({ role: 'system', content: ending.told })
    }
    const turn = yield* nextTurn(progress, ending, signal)
    if (turn.calls.length > 0) {
      if (ending !== null) throw ending.failure()
      yield* act(progress, turn, signal)
      continue
    }
    const objection = objectionTo(turn.text, assignment.tools)
    if (objection === null) {
      const judged = turn.end?.judged
      return { text: turn.text, ...(judged === undefined ? {} : { judged }) }
    }
    if (objections.has(objection)) {
      return { text: turn.text.trim() === '' ? NO_ANSWER : turn.text }
    }
    objections.add(objection)
    if (turn.text.trim() !== '') {
      entries.push({ role: 'assistant', content: turn.text, toolCalls: [] })
    }
    entries.push({ role: 'system', content: objection })
  }
  throw stepLimit(progress.calls.count)
}

/** The last turn, plus one for each objection. */
const TURNS_WITHOUT_CALL_MAX = 4

const NO_ANSWER = 'The model gave no answer to this question.'

/** The answer in the required form. If the model misses it, it is asked again without tools. */
async function* inForm(
  text: string,
  check: AnswerCheck,
  progress: Progress,
  signal: AbortSignal,
): AsyncGenerator<AgentEvent, string> {
  const first = check(text)
  if (first.kind === 'right') return first.text
  progress.entries.push(
    { role: 'assistant', content: text, toolCalls: [] },
    { role: 'system', content: `${WRONG_FORM}: ${first.problem}. ${ONLY_JSON}` },
  )
  const repair = { told: '', warnings: [], failure: () => formFailure(first.problem) }
  const turn = yield* nextTurn(progress, repair, signal)
  if (turn.calls.length > 0) throw repair.failure()
  const second = check(turn.text)
  if (second.kind === 'right') return second.text
  throw formFailure(second.problem)
}

const WRONG_FORM = 'Your answer does not have the required form'
const ONLY_JSON = 'Write the same answer again, only as JSON that matches the schema.'

function formFailure(problem: string): AppError {
  return new AppError(
    'answer_malformed',
    `The model's answer does not have the form required by response_format: ${problem}`,
  )
}

/** Runs one turn of the model. If the request is refused as too long, it is shortened once. */
async function* nextTurn(
  progress: Progress,
  ending: Ending | null,
  signal: AbortSignal,
): AsyncGenerator<AgentEvent, Turn> {
  const { assignment, entries, questionIndex, window } = progress
  const tools = ending === null ? assignment.tools : []
  const fitting = window.fit(entries, questionIndex, tools)
  try {
    return yield* oneTurn(progress, { fitting, tools, ending }, signal)
  } catch (error) {
    signal.throwIfAborted()
    if (!isTooLong(error)) throw error
    window.refused(fitting, error)
    const shorter = window.fit(entries, questionIndex, tools)
    if (shorter.tokens() >= fitting.tokens()) throw contextExceeded(error)
    try {
      return yield* oneTurn(progress, { fitting: shorter, tools, ending }, signal)
    } catch (second) {
      throw isTooLong(second) ? contextExceeded(second) : second
    }
  }
}

async function* oneTurn(
  progress: Progress,
  given: Pick<ChatRequest, 'tools'> & {
    readonly fitting: FittingRequest
    readonly ending: Ending | null
  },
  signal: AbortSignal,
): AsyncGenerator<AgentEvent, Turn> {
  const { fitting, tools, ending } = given
  const { assignment, beganMs, model, window } = progress
  progress.shortened = fitting.shortened
  const clock = () => performance.now() - beganMs
  const startMs = clock()
  // While tools are available, the form is not enforced, because servers would then prevent tool
  // calls.
  const isForced = tools.length === 0 && assignment.answerForm !== undefined
  const request = {
    messages: fitting.messages,
    tools,
    ...(isForced ? { responseFormat: assignment.answerForm } : {}),
  }
  const reading = readTurn(model.respond(request, signal), clock, signal)
  for (;;) {
    const { done, value } = await reading.next()
    if (done) {
      const usage = value.end?.usage ?? null
      if (usage !== null) window.counted(fitting, usage.inputTokens)
      const times = { startMs, tookMs: clock() - startMs }
      yield turnEvent(value, times, value.calls.length === 0 ? (ending?.warnings ?? []) : [])
      return value
    }
    if (assignment.deltas) yield { type: 'delta', content: value }
  }
}

/**
 * Runs a turn's calls in parallel. Events come in the order of the calls; every call has a result.
 */
async function* act(
  progress: Progress,
  turn: Turn,
  signal: AbortSignal,
): AsyncGenerator<AgentEvent, void> {
  const { assignment, calls, entries, shortened } = progress
  entries.push({ role: 'assistant', content: turn.text, toolCalls: turn.calls })
  const room = Math.max(0, assignment.maxSteps - calls.count)
  const allowed = turn.calls.slice(0, room)
  const actions = allowed.map((call, index) => actionOf(call, index === 0 ? turn.text : ''))
  const [first] = actions
  // Tells the client about the first call before it runs.
  if (first !== undefined) yield { type: 'action', action: first }
  const started = allowed.map((call) => calls.start(call, shortened))
  for (const [index, action] of actions.entries()) {
    if (index > 0) yield { type: 'action', action }
    const result = await started[index]
    signal.throwIfAborted()
    if (result === undefined) continue
    entries.push(result)
    yield { type: 'step', step: { action, observation: observationOf(result) } }
  }
  calls.turnIsOver()
  for (const call of turn.calls.slice(room)) {
    const content = `Not run: at most ${assignment.maxSteps} tool calls are allowed`
    entries.push({ role: 'tool', callId: call.id, content })
  }
}

function observationOf({ note, data }: ToolResult): string {
  return note !== '' && data !== '' ? `${note}\n${data}` : note + data
}

/** The call as shown to the client, with the model's text before it. */
function actionOf(call: ToolCall, thought: string): Action {
  const text = thought.trim()
  const lines = [
    ...(text === '' ? [] : [`Thought: ${text}`]),
    `Action: ${call.name}`,
    `Action Input: ${call.input}`,
  ]
  return { tool: call.name, tool_input: call.input, log: lines.join('\n') }
}

function openingEntries(
  { systemPrompt, question, fence }: Assignment,
  history: ShownHistory,
): Entry[] {
  const opening: readonly ChatMessage[] = [
    { role: 'system', content: systemPrompt },
    ...historyMessages(history, question, fence),
  ]
  return [...(history.isCut ? withFirstWords(opening, FORGOTTEN) : opening)]
}
