import type { ChatRequest, ToolCall } from '../../domain/ports/model-ports.ts'
import type { PartialAnswer } from '../chat-stream.ts'
import { member } from '../provider-answer.ts'
import { toolCallCount, toolInput } from '../tool-arguments.ts'

/** A server that sends more calls in one answer than this is not taken at its word. */
const TOOL_CALLS_MAX = 64

interface CallInTheMaking {
  readonly index: number
  id: string
  name: string
  argumentsJson: string
}

/**
 * Puts an answer together from its chunks. They are read with distrust: compatible servers leave
 * out `index`, send a whole call at once or reuse an index for the next call, and end with an empty
 * list of choices.
 */
export class OpenaiAnswer implements PartialAnswer {
  readonly #request: ChatRequest
  readonly #calls: CallInTheMaking[] = []
  #isComplete = false

  constructor(request: ChatRequest) {
    this.#request = request
  }

  get isComplete(): boolean {
    return this.#isComplete
  }

  /** @param piece a chunk or a whole completion */
  add(piece: unknown): string {
    const choice = member(member(piece, 'choices'), '0')
    const message = member(choice, 'delta') ?? member(choice, 'message')
    if (typeof member(choice, 'finish_reason') === 'string') this.#isComplete = true
    const calls = member(message, 'tool_calls')
    if (Array.isArray(calls)) for (const call of calls) this.#addCall(call)
    return textOf(member(message, 'content')) + textOf(member(message, 'refusal'))
  }

  toolCalls(): readonly ToolCall[] {
    const earlierCount = toolCallCount(this.#request)
    return this.#calls.map((call, position) => {
      const spec = this.#request.tools.find((tool) => tool.name === call.name)
      const id = call.id === '' ? `call_${earlierCount + position + 1}` : call.id
      return { id, name: call.name, input: toolInput(call.argumentsJson, spec) }
    })
  }

  #addCall(piece: unknown): void {
    const id = textOf(member(piece, 'id'))
    const name = textOf(member(member(piece, 'function'), 'name'))
    const index = member(piece, 'index')
    const call = this.#callFor(typeof index === 'number' ? index : null, { id, name })
    if (call.id === '') call.id = id
    if (call.name === '') call.name = name
    const values = member(member(piece, 'function'), 'arguments')
    // Some servers send the arguments as an object instead of as its JSON.
    const isObject = typeof values === 'object' && values !== null
    call.argumentsJson += isObject ? JSON.stringify(values) : textOf(values)
  }

  #callFor(
    index: number | null,
    start: { readonly id: string; readonly name: string },
  ): CallInTheMaking {
    const known = this.#calls.findLast((call) => index === null || call.index === index)
    const isNext =
      start.name !== '' && (index === null || (start.id !== '' && start.id !== known?.id))
    if (known !== undefined && !isNext) return known
    if (this.#calls.length >= TOOL_CALLS_MAX) {
      throw new Error(`more than ${TOOL_CALLS_MAX} tool calls in one answer`)
    }
    const call = { index: index ?? this.#calls.length, id: '', name: '', argumentsJson: '' }
    this.#calls.push(call)
    return call
  }
}

/** A text, or the texts of a list of parts. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  const texts = content.map((part) => member(part, 'text'))
  return texts.filter((text) => typeof text === 'string').join('')
}
