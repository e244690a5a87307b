import type { FinishReason, TokenUsage } from '../../core/domain/agents/completion-event.ts'
import type { ChatRequest, ToolCall } from '../../core/domain/ports/model-ports.ts'
import type { PartialAnswer, SpokenDelta } from '../chat-stream.ts'
import { type AnswerEnd, answerEnd, member, tokenCount } from '../provider-answer.ts'
import { type CallInTheMaking, CallsInTheMaking, shortCallId } from '../tool-arguments.ts'

/** Untrusted: `index` may be missing (Gemini) or reused, a call whole (Ollama), `choices` empty. */
export class OpenaiAnswer implements PartialAnswer {
  readonly #request: ChatRequest
  readonly #calls = new CallsInTheMaking()
  readonly #splitter = new ThoughtSplitter()
  #finish: string | null = null
  #usage: TokenUsage | null = null
  #hasRefused = false
  /** Reasoning that some servers require to be sent back under this name. */
  #reasoningContent = ''

  constructor(request: ChatRequest) {
    this.#request = request
  }

  get isComplete(): boolean {
    return this.#finish !== null
  }

  /** @param piece a chunk or a whole completion */
  add(piece: unknown): readonly SpokenDelta[] {
    // Groq sends the counts in a separate field.
    const usage = member(piece, 'usage') ?? member(member(piece, 'x_groq'), 'usage')
    this.#usage = tokenUsage(usage) ?? this.#usage
    const choice = member(member(piece, 'choices'), '0')
    const message = member(choice, 'delta') ?? member(choice, 'message')
    const finish = member(choice, 'finish_reason')
    if (typeof finish === 'string') this.#finish = finish
    // OpenRouter ends a stream like this if the server behind it fails.
    if (finish === 'error') throw new Error('the server ended its answer with an error')
    const calls = member(message, 'tool_calls')
    if (Array.isArray(calls)) for (const call of calls) this.#addCall(call)
    return [...this.#reasoning(message), ...this.#text(message)]
  }

  rest(): readonly SpokenDelta[] {
    return this.#splitter.end()
  }

  toolCalls(): readonly ToolCall[] {
    return this.#calls.made(this.#request, shortCallId, (...call) => this.#keptWith(...call))
  }

  end(): AnswerEnd {
    const found = FINISHES[this.#finish ?? ''] ?? 'stop'
    const calling = this.#calls.all.length > 0 && found === 'stop' ? 'tool_calls' : found
    return answerEnd(this.#hasRefused ? 'refusal' : calling, this.#usage)
  }

  /** `reasoning_content`: DeepSeek, vLLM, llama.cpp, LM Studio; `reasoning`: Ollama, Groq, OpenRouter, newer vLLM. */
  #reasoning(message: unknown): readonly SpokenDelta[] {
    const content = contentText(member(message, 'reasoning_content'))
    this.#reasoningContent += content
    const parts = member(message, 'content')
    const text = content || contentText(member(message, 'reasoning')) || thoughtsOf(parts)
    return text === '' ? [] : [{ kind: 'reasoning', text }]
  }

  #text(message: unknown): readonly SpokenDelta[] {
    const refusal = contentText(member(message, 'refusal'))
    if (refusal !== '') this.#hasRefused = true
    return this.#splitter.add(contentText(member(message, 'content')) + refusal)
  }

  #keptWith({ extraContent }: CallInTheMaking, position: number) {
    const thought = position === 0 ? this.#reasoningContent : ''
    if (extraContent === undefined && thought === '') return undefined
    return {
      ...(extraContent === undefined ? {} : { extra_content: extraContent }),
      ...(thought === '' ? {} : { reasoning_content: thought }),
    }
  }

  #addCall(piece: unknown): void {
    const id = contentText(member(piece, 'id'))
    const name = contentText(member(member(piece, 'function'), 'name'))
    const index = member(piece, 'index')
    const call = this.#callFor(typeof index === 'number' ? index : null, { id, name })
    if (call.id === '') call.id = id
    if (call.name === '') call.name = name
    call.extraContent ??= member(piece, 'extra_content')
    const values = member(member(piece, 'function'), 'arguments')
    // Some servers send arguments as an object instead of a JSON string.
    const isObject = typeof values === 'object' && values !== null
    call.argumentsJson += isObject ? JSON.stringify(values) : contentText(values)
  }

  #callFor(
    index: number | null,
    start: { readonly id: string; readonly name: string },
  ): CallInTheMaking {
    const known = this.#calls.all.findLast((call) => index === null || call.index === index)
    const isNext =
      start.name !== '' && (index === null || (start.id !== '' && start.id !== known?.id))
    if (known !== undefined && !isNext) return known
    const made = { id: '', name: '', argumentsJson: '', extraContent: undefined }
    return this.#calls.start({ index: index ?? this.#calls.all.length, ...made })
  }
}

const FINISHES: Readonly<Record<string, FinishReason>> = {
  stop: 'stop',
  tool_calls: 'tool_calls',
  function_call: 'tool_calls',
  length: 'length',
  // Mistral: the context window is full.
  model_length: 'length',
  // DeepSeek: the service was interrupted.
  insufficient_system_resource: 'length',
  content_filter: 'filter',
}

function tokenUsage(usage: unknown): TokenUsage | null {
  const [input, output] = [
    tokenCount(member(usage, 'prompt_tokens')),
    tokenCount(member(usage, 'completion_tokens')),
  ]
  if (input === null || output === null) return null
  const cached =
    tokenCount(member(member(usage, 'prompt_tokens_details'), 'cached_tokens')) ??
    tokenCount(member(usage, 'prompt_cache_hit_tokens')) ??
    0
  return { inputTokens: input, outputTokens: output, cachedTokens: Math.min(cached, input) }
}

/** A string, or the joined texts of a list of parts. */
function contentText(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  const texts = content.map((part) => member(part, 'text'))
  return texts.filter((text) => typeof text === 'string').join('')
}

/** Mistral's reasoning models send parts `{type: "thinking", thinking: [{type: "text", text}]}`. */
function thoughtsOf(content: unknown): string {
  if (!Array.isArray(content)) return ''
  return content.map((part) => contentText(member(part, 'thinking'))).join('')
}

/** How models mark reasoning at the start of a text, if the server does not remove it. */
const THOUGHT_TAGS: readonly (readonly [string, string])[] = [
  ['<think>', '</think>'],
  ['<thinking>', '</thinking>'],
  // Gemma and Gemini.
  ['<thought>', '</thought>'],
  // Magistral.
  ['[THINK]', '[/THINK]'],
]

/** More leading white space than this counts as text. */
const LEAD_CHARS_MAX = 1_000

interface Said {
  readonly kind: 'text' | 'reasoning'
  readonly text: string
}

/** Separates reasoning from the start of a text, however the text is split into pieces. */
export class ThoughtSplitter {
  #state: 'beginning' | 'thought' | 'gap' | 'text' = 'beginning'
  #held = ''
  #endMark = ''

  add(piece: string): readonly Said[] {
    this.#held += piece
    const said: Said[] = []
    if (this.#state === 'beginning') this.#begin()
    if (this.#state === 'thought') said.push(...this.#thought())
    if (this.#state === 'gap') {
      // White space between reasoning and answer belongs to neither.
      this.#held = this.#held.trimStart()
      if (this.#held !== '') this.#state = 'text'
    }
    if (this.#state === 'text' && this.#held !== '') said.push(...this.end())
    return said
  }

  end(): readonly Said[] {
    const text = this.#held
    this.#held = ''
    if (text === '') return []
    return [{ kind: this.#state === 'thought' ? 'reasoning' : 'text', text }]
  }

  #begin(): void {
    const start = this.#held.trimStart()
    const mark = THOUGHT_TAGS.find(([opening]) => start.startsWith(opening))
    if (mark !== undefined) {
      this.#state = 'thought'
      this.#endMark = mark[1]
      this.#held = start.slice(mark[0].length)
    } else if (
      this.#held.length > LEAD_CHARS_MAX ||
      !THOUGHT_TAGS.some(([opening]) => opening.startsWith(start))
    ) {
      this.#state = 'text'
    }
  }

  #thought(): readonly Said[] {
    const mark = this.#endMark
    const endIndex = this.#held.indexOf(mark)
    // The marker itself may be split between two pieces.
    const length = endIndex === -1 ? this.#held.length - partialEnd(this.#held, mark) : endIndex
    const text = this.#held.slice(0, length)
    this.#held = this.#held.slice(length)
    if (endIndex !== -1) {
      this.#held = this.#held.slice(mark.length)
      this.#state = 'gap'
    }
    return text === '' ? [] : [{ kind: 'reasoning', text }]
  }
}

/** How many characters at the end of a text are the start of the marker. */
function partialEnd(text: string, mark: string): number {
  for (let length = Math.min(mark.length - 1, text.length); length > 0; length -= 1) {
    if (mark.startsWith(text.slice(text.length - length))) return length
  }
  return 0
}
