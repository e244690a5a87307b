import type {
  ChatMessage,
  ChatRequest,
  JsonSchema,
  ToolCall,
  ToolSpec,
} from '../core/domain/ports/model-ports.ts'
import { isObject, parsedArguments } from '../core/json.ts'

type ToolSchema = JsonSchema & { readonly type: 'object' }

export function toolSchema({ input, schema }: ToolSpec): ToolSchema {
  // llama.cpp requires `properties`.
  if (schema !== undefined) return { properties: {}, ...schema, type: 'object' }
  if (input === null) return { type: 'object', properties: {}, required: [] }
  const property = { type: 'string' as const, description: input.description }
  return { type: 'object', properties: { [input.name]: property }, required: [input.name] }
}

/** With arguments in the form the tool expects, or a description of what is wrong. */
export function toolCallOf(
  given: {
    readonly id: string
    readonly name: string
    readonly argumentsJson: string
    readonly kept?: Readonly<Record<string, unknown>> | undefined
  },
  spec: ToolSpec | undefined,
): ToolCall {
  const { id, name, argumentsJson, kept } = given
  const call = { id, name, ...(kept === undefined ? {} : { kept }) }
  const values = parsedArguments(argumentsJson)
  if (values === null) {
    // Some models write the text argument itself instead of an object.
    const isText = spec?.schema === undefined && !/^\s*[{["]/.test(argumentsJson)
    const malformed = 'The arguments are not a JSON object'
    return { ...call, input: argumentsJson, ...(isText ? {} : { malformed }) }
  }
  if (spec?.schema !== undefined) return { ...call, input: JSON.stringify(values) }
  const text = textArgument(values, spec)
  if (text !== null) return { ...call, input: text }
  const expected = spec?.input ? `{"${spec.input.name}": "…"} with one text` : 'no arguments'
  return { ...call, input: argumentsJson, malformed: `The arguments must be ${expected}` }
}

/** Returns null if the arguments are not exactly one text. */
function textArgument(
  values: Readonly<Record<string, unknown>>,
  spec: ToolSpec | undefined,
): string | null {
  const name = spec?.input?.name
  const named = name === undefined ? undefined : values[name]
  if (typeof named === 'string') return named
  const texts = Object.values(values)
  const [only] = texts
  if (texts.length === 0 || spec?.input === null) return typeof only === 'string' ? only : ''
  return texts.length === 1 && typeof only === 'string' ? only : null
}

/** The arguments of an earlier call, in the form in which they go back to the model. */
export function toolArguments(
  call: Pick<ToolCall, 'name' | 'input' | 'malformed'>,
  tools: readonly ToolSpec[],
): Readonly<Record<string, unknown>> {
  const spec = tools.find((tool) => tool.name === call.name)
  if (spec?.schema !== undefined) return parsedArguments(call.input) ?? { input: call.input }
  if (spec?.input === null || call.input === '') return {}
  return { [spec?.input.name ?? 'input']: call.input }
}

/** Providers refuse a conversation with other names, even if the model invented the tool. */
export function toolName(name: string): string {
  const plain = name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64)
  return plain === '' ? 'unnamed' : plain
}

/** Later system messages become the user's, because many servers refuse them. */
export function withSystemFirst(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const opening = messages.findIndex((message) => message.role !== 'system')
  return messages.map((message, index) => {
    const isLate = message.role === 'system' && opening !== -1 && index > opening
    return isLate ? { role: 'user', content: message.content } : message
  })
}

/** An answer with more calls than this is not trusted. */
const TOOL_CALLS_MAX = 64

export interface CallInTheMaking {
  readonly index: unknown
  id: string
  name: string
  argumentsJson: string
  /** Data that the provider needs back with the call. */
  extraContent?: unknown
}

/** Assembles the calls of one answer from pieces. */
export class CallsInTheMaking {
  readonly all: CallInTheMaking[] = []

  start(call: CallInTheMaking): CallInTheMaking {
    if (this.all.length >= TOOL_CALLS_MAX) {
      throw new Error(`more than ${TOOL_CALLS_MAX} tool calls in one answer`)
    }
    this.all.push(call)
    return call
  }

  /** @param madeId makes an id for the call with this number, if the server sends none */
  made(
    request: ChatRequest,
    madeId: (number: number) => string,
    keptWith: (call: CallInTheMaking, position: number) => ToolCall['kept'],
  ): readonly ToolCall[] {
    const earlierCount = toolCallCount(request)
    return this.all.map((call, position) => {
      const spec = request.tools.find((tool) => tool.name === call.name)
      const id = call.id === '' ? madeId(earlierCount + position + 1) : call.id
      return toolCallOf({ ...call, id, kept: keptWith(call, position) }, spec)
    })
  }
}

/** An id of nine letters and digits, as Mistral's models require. */
export function shortCallId(number: number): string {
  return `call${String(number).padStart(5, '0')}`
}

export function toolCallCount({ messages }: ChatRequest): number {
  const count = (message: ChatMessage) => {
    return message.role === 'assistant' ? message.toolCalls.length : 0
  }
  return messages.reduce((sum, message) => sum + count(message), 0)
}

const SCHEMA_DEPTH_MAX = 32

/** Strict mode: no additional properties, and all properties required. */
export function isStrictSchema(node: unknown, depth = 0): boolean {
  if (depth > SCHEMA_DEPTH_MAX) return false
  if (Array.isArray(node)) return node.every((item) => isStrictSchema(item, depth + 1))
  if (!isObject(node)) return true
  const { properties, required, additionalProperties } = node
  if (typeof properties === 'object' && properties !== null) {
    const names = Array.isArray(required) ? required : []
    const areAll = Object.keys(properties).every((name) => names.includes(name))
    if (additionalProperties !== false || !areAll) return false
  }
  return Object.values(node).every((value) => isStrictSchema(value, depth + 1))
}
