import { AGENT_LIMITS } from '../../core/domain/agents/agent-limits.ts'
import type {
  ChatDelta,
  ResponseFormat,
  ToolCall,
  ToolSpec,
} from '../../core/domain/ports/model-ports.ts'
import { AppError } from '../../core/errors.ts'
import { parsedJson } from '../../core/json.ts'
import type { AgentEvent, Assignment } from './assignment.ts'
import type { ToolCalls } from './tool-calls.ts'

/** Why a turn is the last one, in which no tools may be called. */
export interface Ending {
  readonly told: string
  readonly warnings: readonly string[]
  /** The error if the model still calls a tool in its last turn. */
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
    return { told: `No tool calls are left. ${ANSWER_NOW}`, warnings: [], failure }
  }
  if (calls.isGoingNowhere) {
    const told = `Your last calls were wrong or repeated, so no further calls are run. ${ANSWER_NOW}`
    return { told, warnings: [WENT_NOWHERE], failure: () => stepLimit(calls.count) }
  }
  if (!calls.isOutOfTime && elapsedMs < msForTools(assignment)) return null
  return {
    told: `The time is almost up, so no further tools are run. ${ANSWER_NOW}`,
    warnings: [
      'The answer was written early because the time limit was near, so it may be incomplete',
    ],
    failure: () =>
      new AppError('timeout', 'There was no answer when the time limit of the agent was near'),
  }
}

const WENT_NOWHERE =
  'The answer was written early because the model only repeated calls or made wrong ones'

/** A fifth of the time is for the last turn, or 20 seconds if tools keep at least half. */
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
  'Your last message contains a tool call written as text, which is not run. ' +
  'Call the tool through the tool interface, or answer the question.'

/** The reply to a model whose text is not an answer; null if it is one. */
export function objectionTo(text: string, tools: readonly ToolSpec[]): string | null {
  if (text.trim() === '') return ASK_AGAIN
  return isWrittenCall(text, tools) ? CALL_PROPERLY : null
}

/** Ways in which models write calls as text. Limited white space keeps matching linear. */
const CALL_FORMS: readonly string[] = [
  // {"name": "tool", "arguments": …} alone, in a code fence, or in <tool_call>.
  '^(?:```\\w{0,40}\\s{0,40}|<tool_call>\\s{0,40}|\\[TOOL_CALLS\\]\\s{0,40})?\\[?\\s{0,40}\\{\\s{0,40}"(?:name|tool|tool_name|function|action)"\\s{0,40}:\\s{0,40}"(?:NAME)"',
  '<(?:invoke|function|tool)[^>]{0,20}[= ]"?(?:NAME)"?',
  '^Action[ \\t]{0,8}:[ \\t]{0,8}`?(?:NAME)`?$',
]

/** Whether a text that should be an answer is actually a tool call. Such a call is never run. */
function isWrittenCall(text: string, tools: readonly ToolSpec[]): boolean {
  if (tools.length === 0) return false
  const names = tools.map(({ name }) => name.replaceAll(/\W/g, '\\$&')).join('|')
  return CALL_FORMS.some((form) => new RegExp(form.replace('NAME', names), 'im').test(text))
}

/** A turn of the model: tool calls, or the answer. */
export interface Turn {
  readonly text: string
  readonly calls: readonly ToolCall[]
  readonly reasoning: string
  /** Milliseconds since the start of the question; null if nothing came. */
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

/** Passes text on as it arrives. @throws AppError `provider_failed` for an endless turn */
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
  // The OpenAI library ends an aborted stream without an error.
  signal.throwIfAborted()
  const said = texts.join('')
  const textIndex = thoughtEnd(said)
  thoughts.push(said.slice(0, textIndex).replace(`${THOUGHT_END}\n`, ''))
  const text = textIndex === 0 ? said : said.slice(textIndex).trimStart()
  return { text, calls, reasoning: thoughts.join(''), firstPieceMs, end }
}

const THOUGHT_END = '</think>'

/** Where the answer starts if the text has a closing but no opening mark of reasoning. */
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

type CheckedAnswer =
  | { readonly kind: 'right'; readonly text: string }
  | { readonly kind: 'wrong'; readonly problem: string }

export type AnswerCheck = (text: string) => CheckedAnswer

const PROBLEMS_MAX = 10
/** For answers up to this length, all mistakes are listed. */
const LISTED_CHARS_MAX = 10_000
const PROBLEM_CHARS_MAX = 1000

/**
 * Patterns run in a linear-time engine. @throws AppError `invalid_request` for an invalid schema
 */
export async function answerCheck({ schema }: ResponseFormat): Promise<AnswerCheck> {
  const [{ Ajv2020 }, { RE2JS }] = await Promise.all([import('ajv/dist/2020.js'), import('re2js')])
  const linearPattern = (pattern: string) => {
    const compiled = RE2JS.compile(RE2JS.translateRegExp(pattern))
    const test = (text: string) => compiled.matcher(text).find()
    // ajv caches patterns by this string.
    return { test, toString: () => JSON.stringify(pattern) }
  }
  // Used only in generated code, but ajv's type requires it.
  linearPattern.code = ''
  const options = {
    strict: false,
    logger: false as const,
    // In the standard, `format` is only an annotation.
    validateFormats: false,
    addUsedSchema: false,
    code: { regExp: linearPattern },
  }
  // Versions of the standard differ only in parts that are not allowed here.
  const { $schema: _, ...plain } = schema
  const validate = compiled(() => new Ajv2020(options).compile(plain))
  const listProblems = new Ajv2020({ ...options, allErrors: true }).compile(plain)
  return (text) => {
    const json = withoutFence(text)
    const value = parsedJson(json)
    if (value === undefined) return { kind: 'wrong', problem: 'it is not JSON' }
    if (validate(value)) return { kind: 'right', text: json }
    // A long answer may contain millions of mistakes, so only the first one is reported.
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

/** Models often wrap JSON in a Markdown code fence. */
function withoutFence(text: string): string {
  const trimmed = text.trim()
  const opening = /^```\w{0,40}[ \t]{0,40}\r?\n/.exec(trimmed)?.[0]
  if (opening === undefined || !trimmed.endsWith('```')) return trimmed
  return trimmed.slice(opening.length, -3).trim()
}
