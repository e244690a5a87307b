import type { FinishReason, TokenUsage } from '../../core/domain/agents/completion-event.ts'
import type { ChatRequest, ToolCall } from '../../core/domain/ports/model-ports.ts'
import type { PartialAnswer, SpokenDelta } from '../chat-stream.ts'
import { type AnswerEnd, answerEnd, member, tokenCount } from '../provider-answer.ts'
import { CallsInTheMaking } from '../tool-arguments.ts'

/** An answer with more blocks than this is not trusted. */
const BLOCKS_MAX = 256

/** Must be sent back unchanged, with its signature, while the called tools run. */
interface Thought {
  readonly index: unknown
  readonly block: Record<string, unknown>
}

export class AnthropicAnswer implements PartialAnswer {
  readonly #request: ChatRequest
  readonly #calls = new CallsInTheMaking()
  readonly #thoughts: Thought[] = []
  #isComplete = false
  #stopReason: unknown = null
  #usage: TokenUsage | null = null

  constructor(request: ChatRequest) {
    this.#request = request
  }

  get isComplete(): boolean {
    return this.#isComplete
  }

  add(event: unknown): readonly SpokenDelta[] {
    const index = member(event, 'index')
    switch (member(event, 'type')) {
      case 'message_start':
        this.#count(member(member(event, 'message'), 'usage'))
        return []
      case 'content_block_start':
        return this.#addBlock(member(event, 'content_block'), index)
      case 'content_block_delta':
        return this.#addDelta(member(event, 'delta'), index)
      case 'message_delta':
        this.#stopReason = member(member(event, 'delta'), 'stop_reason') ?? this.#stopReason
        this.#count(member(event, 'usage'))
        return []
      case 'message_stop':
        this.#isComplete = true
        return []
      case 'message':
        return this.#addMessage(event)
      default:
        return []
    }
  }

  rest(): readonly SpokenDelta[] {
    return []
  }

  toolCalls(): readonly ToolCall[] {
    const thinking = this.#thoughts.map(({ block }) => block)
    return this.#calls.made(
      this.#request,
      (number) => `call_${number}`,
      (_, position) => (position === 0 && thinking.length > 0 ? { thinking } : undefined),
    )
  }

  end(): AnswerEnd {
    const finish = FINISHES[String(this.#stopReason)] ?? 'stop'
    const isCalling = this.#calls.all.length > 0 && finish === 'stop'
    return answerEnd(isCalling ? 'tool_calls' : finish, this.#usage)
  }

  #addMessage(message: unknown): readonly SpokenDelta[] {
    this.#isComplete = true
    this.#stopReason = member(message, 'stop_reason')
    this.#count(member(message, 'usage'))
    const blocks = member(message, 'content')
    if (!Array.isArray(blocks)) return []
    return blocks.flatMap((block, index) => this.#addBlock(block, index))
  }

  #addBlock(block: unknown, index: unknown): readonly SpokenDelta[] {
    switch (member(block, 'type')) {
      case 'text':
        return said('text', member(block, 'text'))
      case 'thinking':
      case 'redacted_thinking':
        // Text is their only content, and it stays unchanged.
        if (this.#thoughts.length < BLOCKS_MAX) {
          this.#thoughts.push({ index, block: { ...(block as Record<string, unknown>) } })
        }
        return said('reasoning', member(block, 'thinking'))
      case 'tool_use':
        this.#addCall(block, index)
        return []
      default:
        return []
    }
  }

  #addCall(block: unknown, index: unknown): void {
    const input = member(block, 'input')
    // In a stream, the block starts with an empty object, and the arguments follow in pieces.
    const isWhole = typeof input === 'object' && input !== null && Object.keys(input).length > 0
    this.#calls.start({
      index,
      id: textOrEmpty(member(block, 'id')),
      name: textOrEmpty(member(block, 'name')),
      argumentsJson: isWhole ? JSON.stringify(input) : '',
    })
  }

  #addDelta(delta: unknown, index: unknown): readonly SpokenDelta[] {
    const call = this.#calls.all.findLast((started) => started.index === index)
    if (call !== undefined) call.argumentsJson += textOrEmpty(member(delta, 'partial_json'))
    const thought = this.#thoughts.findLast((started) => started.index === index)
    for (const name of ['thinking', 'signature'] as const) {
      const piece = textOrEmpty(member(delta, name))
      if (thought === undefined || piece === '') continue
      thought.block[name] = `${textOrEmpty(thought.block[name])}${piece}`
    }
    return [...said('reasoning', member(delta, 'thinking')), ...said('text', member(delta, 'text'))]
  }

  /** `input_tokens` excludes cached tokens. The last output count is the complete one. */
  #count(usage: unknown): void {
    const before = this.#usage
    const cachedTokens =
      tokenCount(member(usage, 'cache_read_input_tokens')) ?? before?.cachedTokens
    const written = tokenCount(member(usage, 'cache_creation_input_tokens')) ?? 0
    const fresh = tokenCount(member(usage, 'input_tokens'))
    const outputTokens = tokenCount(member(usage, 'output_tokens')) ?? before?.outputTokens
    if (fresh === null && before === null) return
    const cached = cachedTokens ?? 0
    // The counts at the end leave out or repeat those from the start.
    const inputTokens = Math.max(before?.inputTokens ?? 0, (fresh ?? 0) + written + cached)
    this.#usage = { inputTokens, outputTokens: outputTokens ?? 0, cachedTokens: cached }
  }
}

const FINISHES: Readonly<Record<string, FinishReason>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  tool_use: 'tool_calls',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  refusal: 'refusal',
}

function said(kind: SpokenDelta['kind'], value: unknown): readonly SpokenDelta[] {
  const text = textOrEmpty(value)
  return text === '' ? [] : [{ kind, text }]
}

function textOrEmpty(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
