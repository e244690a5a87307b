import type { ChatRequest, ToolCall } from '../../domain/ports/model-ports.ts'
import type { PartialAnswer } from '../chat-stream.ts'
import { member } from '../provider-answer.ts'
import { toolCallCount, toolInput } from '../tool-arguments.ts'

/** A server that sends more calls in one answer than this is not taken at its word. */
const TOOL_CALLS_MAX = 64

interface CallInTheMaking {
  readonly index: unknown
  readonly id: string
  readonly name: string
  argumentsJson: string
}

/** Puts an answer together from the events of a stream, or from one whole message. */
export class AnthropicAnswer implements PartialAnswer {
  readonly #request: ChatRequest
  readonly #calls: CallInTheMaking[] = []
  #isComplete = false

  constructor(request: ChatRequest) {
    this.#request = request
  }

  get isComplete(): boolean {
    return this.#isComplete
  }

  add(event: unknown): string {
    const index = member(event, 'index')
    switch (member(event, 'type')) {
      case 'content_block_start':
        return this.#addBlock(member(event, 'content_block'), index)
      case 'content_block_delta':
        return this.#addDelta(member(event, 'delta'), index)
      case 'message_stop':
        this.#isComplete = true
        return ''
      case 'message':
        return this.#addMessage(event)
      default:
        return ''
    }
  }

  toolCalls(): readonly ToolCall[] {
    const earlierCount = toolCallCount(this.#request)
    return this.#calls.map((call, position) => {
      const spec = this.#request.tools.find((tool) => tool.name === call.name)
      const id = call.id === '' ? `call_${earlierCount + position + 1}` : call.id
      return { id, name: call.name, input: toolInput(call.argumentsJson, spec) }
    })
  }

  #addMessage(message: unknown): string {
    this.#isComplete = true
    const blocks = member(message, 'content')
    if (!Array.isArray(blocks)) return ''
    return blocks.map((block, index) => this.#addBlock(block, index)).join('')
  }

  #addBlock(block: unknown, index: unknown): string {
    if (member(block, 'type') === 'text') return textOf(member(block, 'text'))
    if (member(block, 'type') !== 'tool_use') return ''
    if (this.#calls.length >= TOOL_CALLS_MAX) {
      throw new Error(`more than ${TOOL_CALLS_MAX} tool calls in one answer`)
    }
    const input = member(block, 'input')
    // In a stream the arguments follow in pieces, and the block starts with an empty object.
    const isWhole = typeof input === 'object' && input !== null && Object.keys(input).length > 0
    this.#calls.push({
      index,
      id: textOf(member(block, 'id')),
      name: textOf(member(block, 'name')),
      argumentsJson: isWhole ? JSON.stringify(input) : '',
    })
    return ''
  }

  #addDelta(delta: unknown, index: unknown): string {
    const call = this.#calls.findLast((started) => started.index === index)
    if (call !== undefined) call.argumentsJson += textOf(member(delta, 'partial_json'))
    return textOf(member(delta, 'text'))
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
