import type { ChatMessage, ChatRequest, ToolSpec } from '../domain/ports/model-ports.ts'

/** The JSON schema of a tool's arguments: one text, none, or as the tool says. */
export type ToolSchema = {
  readonly type: 'object'
  readonly properties: Record<string, unknown>
  readonly required: string[]
}

export function toolSchema({ input, schema }: ToolSpec): ToolSchema {
  if (schema !== undefined) {
    const { properties = {}, required = [] } = schema
    const isList = Array.isArray(required)
    // Of an object's schema, these two are an object and a list of names.
    return {
      ...schema,
      type: 'object',
      properties: { ...(properties as object) },
      required: isList ? required.map(String) : [],
    }
  }
  if (input === null) return { type: 'object', properties: {}, required: [] }
  const property = { type: 'string' as const, description: input.description }
  return { type: 'object', properties: { [input.name]: property }, required: [input.name] }
}

/**
 * The one text of a tool's arguments as a model wrote them. What is not an object with a text is
 * handed on as it is: whoever runs the tool tells the model what it wants.
 */
export function toolInput(argumentsJson: string, spec: ToolSpec | undefined): string {
  if (spec?.schema !== undefined) return argumentsJson
  const values = parsedObject(argumentsJson)
  if (values === null) return argumentsJson
  const name = spec?.input?.name
  const named = name === undefined ? undefined : values[name]
  if (typeof named === 'string') return named
  const texts = Object.values(values)
  const [only] = texts
  if (texts.length === 0) return ''
  return texts.length === 1 && typeof only === 'string' ? only : argumentsJson
}

/** The arguments of an earlier call, as they go back to the model. */
export function toolArguments(
  call: { readonly name: string; readonly input: string },
  tools: readonly ToolSpec[],
): Record<string, unknown> {
  const spec = tools.find((tool) => tool.name === call.name)
  if (spec?.schema !== undefined) return parsedObject(call.input) ?? { input: call.input }
  if (spec?.input === null || call.input === '') return {}
  return { [spec?.input.name ?? 'input']: call.input }
}

/** Providers refuse a conversation with other names, also of a tool that a model made up. */
export function toolName(name: string): string {
  const plain = name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64)
  return plain === '' ? 'unnamed' : plain
}

/**
 * Only the words that open a conversation stay the system's: many servers refuse them later on,
 * where they become the user's.
 */
export function withSystemFirst(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const opening = messages.findIndex((message) => message.role !== 'system')
  return messages.map((message, index) => {
    const isLate = message.role === 'system' && opening !== -1 && index > opening
    return isLate ? { role: 'user', content: message.content } : message
  })
}

/** Calls so far: the number of the next one, for a provider that gives no ids. */
export function toolCallCount({ messages }: ChatRequest): number {
  const count = (message: ChatMessage) => {
    return message.role === 'assistant' ? message.toolCalls.length : 0
  }
  return messages.reduce((sum, message) => sum + count(message), 0)
}

function parsedObject(text: string): Record<string, unknown> | null {
  if (text.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(text)
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? { ...value } : null
  } catch {
    return null
  }
}
