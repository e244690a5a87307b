/** Runs tools: checks access and arguments, limits concurrency, and reports failures. */

import { mayDo, type Principal, requireScope } from '../../core/domain/access/principal.ts'
import { AppError, ERRORS, type ErrorCode, toAppError } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import { Semaphore } from '../../core/runtime/semaphore.ts'
import { ADD_DOCUMENTS_TOOL } from './add-documents-tool.ts'
import { ASK_AGENT_TOOL } from './ask-agent-tool.ts'
import { LIST_DATA_TOOL } from './list-data-tool.ts'
import { QUERY_TOOL } from './query-tool.ts'
import { FETCH_TOOL, SEARCH_TOOL } from './search-tool.ts'
import { Arguments, type Tool, type ToolCall } from './tool.ts'

const TOOLS: readonly Tool[] = [
  SEARCH_TOOL,
  FETCH_TOOL,
  QUERY_TOOL,
  LIST_DATA_TOOL,
  ASK_AGENT_TOOL,
  ADD_DOCUMENTS_TOOL,
]

const CALLS_MAX = 64
/** The limit for each key or user; without a login, for all callers together. */
const PRINCIPAL_CALLS_MAX = 16
const CALLS_WAITING_MAX = 256

/** Callers that may only ask agents still need to see which agents exist. */
function isFor({ name, needs }: Tool, principal: Principal): boolean {
  return mayDo(principal, needs) || (name === 'list_data' && mayDo(principal, 'ask'))
}

export function toolsFor(principal: Principal): readonly Tool[] {
  return TOOLS.filter((tool) => isFor(tool, principal))
}

export interface ToolResult {
  readonly [key: string]: unknown
  readonly content: { readonly type: 'text'; readonly text: string }[]
  readonly structuredContent?: Record<string, unknown>
  readonly isError?: boolean
  readonly _meta?: Record<string, unknown>
}

/** Describes what is wrong with the arguments; undefined if they are valid. */
type CheckArguments = (tool: Tool, sent: JsonObject) => string | undefined

function placesOf(calls: string): Semaphore {
  return new Semaphore({
    placesMax: CALLS_MAX,
    placesPerKeyMax: PRINCIPAL_CALLS_MAX,
    waitingMax: CALLS_WAITING_MAX,
    tooBusy: (waiting) => new AppError('too_busy', `${waiting} ${calls} are waiting; try again`),
  })
}

export class ToolCalls {
  readonly #check: CheckArguments
  readonly #places = placesOf('tool calls')
  /** Separate, because questions take up to minutes, and quick calls must not wait for them. */
  readonly #questionPlaces = placesOf('questions to agents')

  constructor(check: CheckArguments) {
    this.#check = check
  }

  /** A failure becomes a result that the model can read. @returns null for an unknown tool */
  async run(name: string, sent: JsonObject, call: ToolCall): Promise<ToolResult | null> {
    const tool = TOOLS.find((one) => one.name === name)
    if (tool === undefined) return null
    try {
      if (!isFor(tool, call.principal)) requireScope(call.principal, tool.needs)
      const given = this.#checked(tool, sent)
      const { kind, id } = call.principal
      const places = tool === ASK_AGENT_TOOL ? this.#questionPlaces : this.#places
      const leave = await places.enter(call.signal, `${kind}:${id}`)
      try {
        const { structured, text } = await tool.run(given, call)
        return {
          content: [{ type: 'text', text: text ?? JSON.stringify(structured) }],
          structuredContent: { ...structured },
        }
      } finally {
        leave()
      }
    } catch (error) {
      return failureResult(error, call)
    }
  }

  /** Models send null for missing arguments. @throws AppError `invalid_request`, `unknown_field` */
  #checked(tool: Tool, sent: JsonObject): Arguments {
    const given = Object.fromEntries(Object.entries(sent).filter(([, value]) => value !== null))
    const known = Object.keys(tool.inputSchema.properties)
    const unknown = Object.keys(given).find((name) => !known.includes(name))
    if (unknown !== undefined) {
      const expected = known.map((name) => `"${name}"`).join(', ')
      const message = `Unknown argument "${unknown.slice(0, 100)}" of ${tool.name}; expected ${expected}`
      throw new AppError('unknown_field', message)
    }
    const wrong = this.#check(tool, given)
    if (wrong !== undefined) throw new AppError('invalid_request', `${tool.name}: ${wrong}`)
    return new Arguments(given)
  }
}

/** What the model should do next, for errors whose message does not say so. */
const NEXT_STEPS: Partial<Record<ErrorCode, string>> = {
  project_not_found: 'Call list_data for the names',
  knowledge_base_not_found: 'Call list_data for the names',
  agent_not_found: 'Call list_data to see which agents there are',
  document_not_found: 'Call search to find documents and their ids',
  forbidden: 'Call list_data to see what this key may use',
  sql_syntax: "Correct the statement; use DuckDB's dialect",
  sql_unknown_name: 'Call list_data to see names and columns',
  timeout: 'Ask for less: filter, aggregate or limit',
  too_busy: 'Wait a moment, then try again',
}

function failureResult(error: unknown, { signal, uses }: ToolCall): ToolResult {
  const failure =
    signal.aborted && !(error instanceof AppError)
      ? new AppError('cancelled', 'The call was cancelled', { cause: error })
      : toAppError(error)
  const { code, message, excerpt } = failure
  if (ERRORS[code].status >= 500 && !signal.aborted) uses.logError(failure.cause ?? failure, signal)
  const place = excerpt === undefined ? '' : `\n${excerpt}`
  const next = NEXT_STEPS[code]
  const advice = next === undefined ? '' : `\nNext: ${next}.`
  return {
    content: [{ type: 'text', text: `Error ${code}: ${message}${place}${advice}` }],
    isError: true,
    _meta: { 'eider/code': code, 'eider/number': ERRORS[code].number },
  }
}
