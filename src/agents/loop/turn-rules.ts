import type {
  ChatDelta,
  ResponseFormat,
  ToolCall,
  ToolSpec,
} from '../../core/domain/ports/model-ports.ts'
import { AppError } from '../../core/errors.ts'
import { parsedJson } from '../../core/json.ts'
import { AGENT_LIMITS } from '../agent-limits.ts'
import type { AgentEvent, Assignment } from './assignment.ts'
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

/** One turn of a model: calls, or the answer. */
export interface Turn {
  readonly text: string
  readonly calls: readonly ToolCall[]
  readonly reasoning: string
  /** Since the start of the question; null: nothing came. */
  readonly firstPieceMs: number | null
  readonly end: Extract<ChatDelta, { kind: 'end' }> | null
}

export function turnEvent(
  turn: Turn,
  times: { readonly startMs: number; readonly tookMs: number },
  warnings: readonly string[],
): AgentEvent {
  const { calls, end, reasoning, firstPieceMs } = turn
  return {
    type: 'turn',
    warnings: [...(end?.warnings ?? []), ...warnings],
    turn: {
      ...times,
      firstPieceMs: firstPieceMs === null ? null : firstPieceMs - times.startMs,
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
export async function* readTurn(
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
  const said = texts.join('')
  const textIndex = thoughtEnd(said)
  thoughts.push(said.slice(0, textIndex).replace(`${THOUGHT_END}\n`, ''))
  const text = textIndex === 0 ? said : said.slice(textIndex).trimStart()
  return { text, calls, reasoning: thoughts.join(''), firstPieceMs, end }
}

const THOUGHT_END = '</think>'

/**
 * The start of the answer after a thought without an opening mark: templates of some models open it themselves. This is
 * known only after its pieces have been passed on.
 */
function thoughtEnd(said: string): number {
  const index = said.indexOf(`${THOUGHT_END}\n`)
  const before = said.slice(0, Math.max(0, index))
  const isThought = index === 0 || (before.endsWith('\n') && !before.includes('<think>'))
  return isThought ? index + THOUGHT_END.length + 1 : 0
}

function deltaChars(delta: ChatDelta): number {
  if (delta.kind === 'tool_call') return delta.call.name.length + delta.call.input.length
  return delta.kind === 'end' ? 0 : delta.text.length
}

function tooMuch(limit: string): AppError {
  return new AppError('provider_failed', `The model wrote more than ${limit} in one turn`)
}

/** An answer in its form, or what is wrong with it. */
type CheckedAnswer =
  | { readonly kind: 'right'; readonly text: string }
  | { readonly kind: 'wrong'; readonly problem: string }

export type AnswerCheck = (text: string) => CheckedAnswer

const PROBLEMS_MAX = 10
/** Up to this length, all mistakes of an answer are listed. */
const LISTED_CHARS_MAX = 10_000
const PROBLEM_CHARS_MAX = 1000

/**
 * Checks an answer by its JSON schema. Patterns run in an engine with linear time: the schema comes from a client and the
 * text from a model.
 * @throws AppError `invalid_request` for an invalid schema
 */
export async function answerCheck({ schema }: ResponseFormat): Promise<AnswerCheck> {
  const [{ Ajv2020 }, { RE2JS }] = await Promise.all([import('ajv/dist/2020.js'), import('re2js')])
  const linearPattern = (pattern: string) => {
    const compiled = RE2JS.compile(RE2JS.translateRegExp(pattern))
    const test = (text: string) => compiled.matcher(text).find()
    // ajv uses it to distinguish patterns.
    return { test, toString: () => JSON.stringify(pattern) }
  }
  // Its source exists only in generated code, which this one is not.
  linearPattern.code = ''
  const options = {
    strict: false,
    logger: false as const,
    // `format` only describes, as the standard says.
    validateFormats: false,
    addUsedSchema: false,
    code: { regExp: linearPattern },
  }
  // Drafts differ only in parts not used here.
  const { $schema: _, ...plain } = schema
  const validate = compiled(() => new Ajv2020(options).compile(plain))
  const listProblems = new Ajv2020({ ...options, allErrors: true }).compile(plain)
  return (text) => {
    const json = withoutFence(text)
    const value = parsedJson(json)
    if (value === undefined) return { kind: 'wrong', problem: 'it is not JSON' }
    if (validate(value)) return { kind: 'right', text: json }
    // A long answer may have millions of mistakes: then only the first is reported.
    if (json.length <= LISTED_CHARS_MAX) listProblems(value)
    const errors = listProblems.errors ?? validate.errors
    listProblems.errors = null
    const problems = errors?.slice(0, PROBLEMS_MAX).map(({ instancePath, message }) => {
      return `${instancePath === '' ? 'the value' : instancePath} ${message}`
    })
    const problem = problems?.join('; ').slice(0, PROBLEM_CHARS_MAX).toWellFormed()
    return { kind: 'wrong', problem: problem ?? 'it does not match the schema' }
  }
}

function compiled<T>(compile: () => T): T {
  try {
    return compile()
  } catch (error) {
    const words = error instanceof Error ? error.message.slice(0, 300).toWellFormed() : ''
    throw new AppError('invalid_request', `The schema of response_format is not valid: ${words}`)
  }
}

/** Models like to write JSON as Markdown. */
function withoutFence(text: string): string {
  const trimmed = text.trim()
  const opening = /^```\w{0,40}[ \t]{0,40}\r?\n/.exec(trimmed)?.[0]
  if (opening === undefined || !trimmed.endsWith('```')) return trimmed
  return trimmed.slice(opening.length, -3).trim()
}
