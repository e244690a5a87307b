import { AGENT_LIMITS } from '../../core/domain/agents/agent-limits.ts'
import type { ToolCall, ToolSpec } from '../../core/domain/ports/model-ports.ts'
import { isObject, parsedJson } from '../../core/json.ts'
import type { ToolResult } from './context-window.ts'

/** After this many consecutive turns with only invalid or repeated calls, the model must answer. */
const FRUITLESS_TURNS_MAX = 4
const TOOL_NAME_CHARS_MAX = 80

type Outcome = Pick<ToolResult, 'note' | 'data'>

interface MadeCall {
  readonly number: number
  readonly outcome: Promise<Outcome>
}

interface ToolCallsDeps {
  readonly tools: readonly ToolSpec[]
  /** Whether an earlier call may be repeated. */
  readonly mayRepeatEarlier?: boolean
  runTool(call: ToolCall): Promise<string>
  /** The time left for tool calls. */
  msLeft(): number
}

/** An invalid call is answered with what is expected; a repeated one is not run again. */
export class ToolCalls {
  readonly #deps: ToolCallsDeps
  readonly #made = new Map<string, MadeCall>()
  readonly #tried = new Set<string>()
  readonly #running: Promise<unknown>[] = []
  #count = 0
  #lastRun = 0
  #isFruitful = false
  #fruitlessTurns = 0
  #isOutOfTime = false

  constructor(deps: ToolCallsDeps) {
    this.#deps = deps
  }

  get count(): number {
    return this.#count
  }

  /** Whether the model only makes mistakes or repeats itself. */
  get isGoingNowhere(): boolean {
    return this.#fruitlessTurns >= FRUITLESS_TURNS_MAX
  }

  /** Whether a call had no result when the time for tool calls was up. */
  get isOutOfTime(): boolean {
    return this.#isOutOfTime
  }

  turnIsOver(): void {
    this.#fruitlessTurns = this.#isFruitful ? 0 : this.#fruitlessTurns + 1
    this.#isFruitful = false
  }

  /** @param shortened numbers of results that were shortened in the model's last turn */
  start(call: ToolCall, shortened: ReadonlySet<number>): Promise<ToolResult> {
    this.#count += 1
    const number = this.#count
    const outcome = this.#inTime(this.#outcomeOf(call, number, shortened))
    // The failure reaches the caller waiting for this call, if there still is one.
    outcome.catch(() => undefined)
    return outcome.then((found) => ({ role: 'result', callId: call.id, number, ...found }))
  }

  #outcomeOf(call: ToolCall, number: number, shortened: ReadonlySet<number>): Promise<Outcome> {
    const fault = faultOf(call, this.#deps.tools)
    if (fault !== null) {
      return Promise.resolve({ note: fault, data: '' })
    }
    const key = callKey(call)
    const before = this.#made.get(key)
    const isLast = before?.number === this.#lastRun
    if (before !== undefined && (isLast || this.#deps.mayRepeatEarlier !== true)) {
      return repeated(before, shortened.has(before.number))
    }
    this.#isFruitful = true
    const outcome = this.#sideBySide(async () => {
      const data = await this.#deps.runTool(call)
      // A failed call may be tried once more.
      if (data.startsWith('Error') && !this.#tried.has(key)) this.#made.delete(key)
      this.#tried.add(key)
      return { note: '', data }
    })
    this.#made.set(key, { number, outcome })
    this.#lastRun = number
    return outcome
  }

  /** Keeps slow tools from using up the time for the answer. */
  async #inTime(outcome: Promise<Outcome>): Promise<Outcome> {
    const over = Promise.withResolvers<Outcome>()
    const ms = Math.max(0, this.#deps.msLeft())
    const timer = setTimeout(() => {
      this.#isOutOfTime = true
      over.resolve({ note: OUT_OF_TIME, data: '' })
    }, ms)
    try {
      return await Promise.race([outcome, over.promise])
    } finally {
      clearTimeout(timer)
    }
  }

  #sideBySide<T>(work: () => Promise<T>): Promise<T> {
    const before = this.#running.at(-AGENT_LIMITS.toolCallsAtOnceMax)
    const done = before === undefined ? work() : before.then(work)
    this.#running.push(done.catch(() => undefined))
    return done
  }
}

const OUT_OF_TIME = 'The tool gave no result in time. Answer without it, and say what is missing.'

async function repeated({ number, outcome }: MadeCall, isShortened: boolean): Promise<Outcome> {
  const { data } = await outcome
  const same = `This call is identical to call ${number}, so it was not run again`
  if (isShortened) return { note: `${same}; this is its result once more.`, data }
  const advice = 'Use that result, try another input or another tool, or answer.'
  return { note: `${same}: its result is above. ${advice}`, data: '' }
}

/** Why a call cannot run, and what is expected; null if it can. */
function faultOf(call: ToolCall, tools: readonly ToolSpec[]): string | null {
  const spec = tools.find((tool) => tool.name === call.name)
  if (spec === undefined) {
    const names = tools.map((tool) => tool.name).join(', ')
    return `${call.name.slice(0, TOOL_NAME_CHARS_MAX)} is not a valid tool, try one of [${names}]`
  }
  if (call.malformed !== undefined) {
    const fault = call.malformed.slice(0, 500)
    return `Not run: the arguments of ${call.name} are malformed (${fault}). Expected: ${expectedOf(spec)}`
  }
  const missing = missingOf(call, spec)
  return missing === null ? null : `Not run: ${missing}. Expected: ${expectedOf(spec)}`
}

function missingOf({ name, input }: ToolCall, { input: text, schema }: ToolSpec): string | null {
  if (schema === undefined) {
    return text !== null && input.trim() === '' ? `${name} needs "${text.name}"` : null
  }
  const values = input.trim() === '' ? {} : parsedJson(input)
  if (!isObject(values)) return `the arguments of ${name} are not a JSON object`
  const required = Array.isArray(schema.required) ? schema.required : []
  const missing = required.find((key) => typeof key === 'string' && !Object.hasOwn(values, key))
  return missing === undefined ? null : `${name} needs "${missing}"`
}

function expectedOf({ input, schema }: ToolSpec): string {
  if (schema !== undefined) return `a JSON object of this schema: ${JSON.stringify(schema)}`
  if (input === null) return 'no arguments, {}'
  return `${JSON.stringify({ [input.name]: '…' })}, where ${input.name} is: ${input.description}`
}

/** Equal for calls that request the same. */
function callKey({ name, input }: ToolCall): string {
  const value = parsedJson(input)
  return `${name} ${isObject(value) ? canonicalJson(value) : plainSpaces(input)}`
}

/** Outside quotes, the amount of white space and a final semicolon do not matter in a statement. */
function plainSpaces(text: string): string {
  const plain = text.replaceAll(/'[^']*'|"[^"]*"|\s+/g, (part) => (part.trim() === '' ? ' ' : part))
  return plain.trim().replace(/[\s;]{1,20}$/, '')
}

function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) => {
    if (!isObject(part)) return part
    return Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1)))
  })
}
