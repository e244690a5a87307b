import { firstChars } from '../../core/domain/agents/agent-limits.ts'
import type { ChatMessage, ToolSpec } from '../../core/domain/ports/model-ports.ts'
import { AppError, toAppError } from '../../core/errors.ts'
import { sum } from '../../core/json.ts'
import { withDataFence } from './data-fence.ts'

/** The complete result of a tool call in a conversation. */
export interface ToolResult {
  readonly role: 'result'
  readonly callId: string
  /** Counts from 1, to tell the model which result is meant. */
  readonly number: number
  /** Eider's own message to the model. */
  readonly note: string
  /** The tool's result, which is untrusted data. */
  readonly data: string
}

export type Entry = ChatMessage | ToolResult

/** A request to the model, and what was shortened to make it fit. */
export interface FittingRequest {
  readonly messages: readonly ChatMessage[]
  /** Numbers of the results that are not shown completely. */
  readonly shortened: ReadonlySet<number>
  tokens(): number
}

/** The part of the context reserved for the model's answer. */
const ANSWER_TOKENS_MAX = 4096
/** Tokens of the template around a message, and around data. */
const MESSAGE_TOKENS = 8
const FENCE_TOKENS = 60
/** Tokens of the note about what is missing. */
const NOTE_TOKENS = 60
/** How much of a result from an earlier turn is kept. */
const HEAD_TOKENS = 300
const HEAD_TOKENS_MIN = 100
/** How much of the model's text before a call is kept if space is short. */
const OWN_TEXT_TOKENS = 500
/** Limits for correcting the estimate by the provider's count. */
const FACTOR_MIN = 0.5
const FACTOR_MAX = 4

/**
 * Shortens and removes old results first, then old turns, then new results; a note replaces each.
 */
export class ContextWindow {
  readonly #fence: string | undefined
  readonly #entryTokens = new WeakMap<Entry, number>()
  #contextTokens: number
  #tools: { readonly specs: readonly ToolSpec[]; readonly tokens: number } | null = null
  #toolTokens = 0
  /** The provider's tokens per estimated token. */
  #factor = 1

  constructor(contextTokens: number | undefined, fence: string | undefined) {
    this.#contextTokens = contextTokens ?? Number.POSITIVE_INFINITY
    this.#fence = fence
  }

  /** @param historyEnd the index of the question, after the instruction and the history */
  fit(entries: readonly Entry[], historyEnd: number, tools: readonly ToolSpec[]): FittingRequest {
    const toolTokens = this.#tokensOfTools(tools)
    this.#toolTokens = toolTokens
    const chars = sum(entries.map(charsIn))
    if (mostTokens(chars) <= this.#room) {
      // Called only if needed, because most conversations fit without counting.
      const tokens = () => sum(entries.map((entry) => this.#tokensOf(entry)))
      const messages = entries.map((entry) => shownMessage(entry, this.#fence))
      return { messages, shortened: NO_ENTRIES, tokens }
    }
    const draft = new Draft(entries, this.#fence, (entry) => this.#tokensOf(entry))
    const room = this.#room
    const isFit = () => draft.tokens <= room
    const newestTurn = entries.findLastIndex((entry) => entry.role === 'assistant')
    const older = entries.slice(historyEnd + 1, Math.max(historyEnd + 1, newestTurn))
    for (const entry of older) if (!isFit()) draft.shorten(entry, HEAD_TOKENS)
    for (const entry of older) if (!isFit()) draft.leaveOut(entry)
    for (const entry of entries.slice(1, historyEnd)) if (!isFit()) draft.forget(entry)
    const newest = entries.slice(newestTurn).filter((entry) => entry.role === 'result')
    if (!isFit() && newest.length > 0) {
      const others = draft.tokens - sum(newest.map((entry) => draft.tokensOf(entry)))
      const share =
        Math.floor((room - others) / newest.length) - MESSAGE_TOKENS - FENCE_TOKENS - NOTE_TOKENS
      for (const entry of newest) draft.shorten(entry, Math.max(HEAD_TOKENS_MIN, share))
    }
    const { shortened, tokens } = draft
    return { messages: draft.messages(), shortened, tokens: () => tokens }
  }

  /** How many estimated tokens may be sent. */
  get #room(): number {
    const answer = Math.min(ANSWER_TOKENS_MAX, this.#contextTokens / 4)
    return (this.#contextTokens - answer) / this.#factor - this.#toolTokens
  }

  /** Adjusts the estimate to the number of tokens the provider counted. */
  counted(request: FittingRequest, inputTokens: number): void {
    // A model without a limit needs no estimate.
    if (inputTokens <= 0 || this.#contextTokens === Number.POSITIVE_INFINITY) return
    const factor = inputTokens / (request.tokens() + this.#toolTokens)
    this.#factor = Math.min(FACTOR_MAX, Math.max(FACTOR_MIN, factor))
  }

  /** After a refusal for its length, the context is assumed to be smaller than the request. */
  refused(request: FittingRequest, error: unknown): void {
    const sent = (request.tokens() + this.#toolTokens) * this.#factor
    const smaller = Math.min(this.#contextTokens, sent) * 0.6
    const told = toldContextTokens(toAppError(error).message)
    this.#contextTokens = told === null ? smaller : Math.min(smaller, told)
  }

  #tokensOfTools(tools: readonly ToolSpec[]): number {
    if (this.#tools?.specs !== tools) {
      this.#tools = { specs: tools, tokens: estimatedTokens(JSON.stringify(tools)) }
    }
    return this.#tools.tokens
  }

  #tokensOf(entry: Entry): number {
    const known = this.#entryTokens.get(entry)
    if (known !== undefined) return known
    const tokens = tokensIn(entry)
    this.#entryTokens.set(entry, tokens)
    return tokens
  }
}

const NO_ENTRIES: ReadonlySet<number> = new Set()

/** A conversation being made to fit. */
class Draft {
  readonly #entries: readonly Entry[]
  readonly #fence: string | undefined
  readonly #wholeTokens: (entry: Entry) => number
  readonly #changed = new Map<Entry, { readonly entry: Entry | null; readonly tokens: number }>()
  readonly shortened = new Set<number>()
  tokens: number

  constructor(
    entries: readonly Entry[],
    fence: string | undefined,
    wholeTokens: (entry: Entry) => number,
  ) {
    this.#entries = entries
    this.#fence = fence
    this.#wholeTokens = wholeTokens
    this.tokens = sum(entries.map(wholeTokens))
  }

  tokensOf(entry: Entry): number {
    return this.#changed.get(entry)?.tokens ?? this.#wholeTokens(entry)
  }

  shorten(entry: Entry, tokensMax: number): void {
    if (entry.role === 'result') this.#replace(entry, shortResult(entry, tokensMax))
    else if (entry.role === 'assistant') this.#replace(entry, shortText(entry))
  }

  leaveOut(entry: Entry): void {
    if (entry.role !== 'result' || entry.data === '') return
    this.#replace(entry, { ...entry, data: '', note: `${entry.note}${LEFT_OUT}` })
  }

  /** Removes a turn of the history. */
  forget(entry: Entry): void {
    this.#replace(entry, null)
  }

  #replace(entry: Entry, by: Entry | null): void {
    const tokens = by === null ? 0 : tokensIn(by)
    const before = this.tokensOf(entry)
    if (tokens >= before) return
    this.tokens += tokens - before
    this.#changed.set(entry, { entry: by, tokens })
    if (entry.role === 'result') this.shortened.add(entry.number)
  }

  messages(): readonly ChatMessage[] {
    const kept = this.#entries.flatMap((entry) => {
      const shown = this.#changed.get(entry)
      const current = shown === undefined ? entry : shown.entry
      return current === null ? [] : [shownMessage(current, this.#fence)]
    })
    const isHistoryCut = [...this.#changed.values()].some(({ entry }) => entry === null)
    return isHistoryCut ? withFirstWords(kept, FORGOTTEN) : kept
  }
}

const LEFT_OUT = '(The result is left out to save space; call the tool again if you need it.)'
export const FORGOTTEN = '(The oldest turns of this conversation are left out to save space.)'

/** The same conversation with a sentence added to its instruction. */
export function withFirstWords(
  messages: readonly ChatMessage[],
  sentence: string,
): readonly ChatMessage[] {
  const [first, ...rest] = messages
  if (first?.role !== 'system') return messages
  return [{ ...first, content: `${first.content}\n\n${sentence}` }, ...rest]
}

function shownMessage(entry: Entry, fence: string | undefined): ChatMessage {
  if (entry.role !== 'result') return entry
  const { callId, note, data, number } = entry
  if (fence === undefined) return { role: 'tool', callId, content: `${note}${data}` }
  const parts = [
    `Result of call ${number}:`,
    ...(data === '' ? [] : [withDataFence(data, fence)]),
    ...(note === '' ? [] : [note]),
  ]
  return { role: 'tool', callId, content: parts.join('\n') }
}

function shortResult(result: ToolResult, tokensMax: number): ToolResult {
  const { data, note } = result
  const end = charsWithin(data, tokensMax)
  if (end >= data.length) return result
  const lineEnd = data.lastIndexOf('\n', end)
  const head = lineEnd > 0 ? data.slice(0, lineEnd) : firstChars(data, end)
  const left = data.length - head.length
  const said = `(Shortened to save space: ${left} of ${data.length} characters are missing. Call the tool again, asking for less, if you need them.)`
  return { ...result, data: head, note: note === '' ? said : `${note}\n${said}` }
}

function shortText(message: Extract<ChatMessage, { role: 'assistant' }>): ChatMessage {
  const end = charsWithin(message.content, OWN_TEXT_TOKENS)
  if (end >= message.content.length) return message
  return { ...message, content: `${firstChars(message.content, end)} (shortened to save space)` }
}

function tokensIn(entry: Entry): number {
  const around = entry.role === 'result' ? MESSAGE_TOKENS + FENCE_TOKENS : MESSAGE_TOKENS
  return around + estimatedTokens(entryText(entry))
}

function charsIn(entry: Entry): number {
  const around = entry.role === 'result' ? MESSAGE_TOKENS + FENCE_TOKENS : MESSAGE_TOKENS
  return around + entryText(entry).length
}

function entryText(entry: Entry): string {
  if (entry.role === 'result') return `${entry.note}${entry.data}`
  if (entry.role !== 'assistant') return entry.content
  return entry.content + entry.toolCalls.map(({ name, input }) => `${name} ${input} `).join('')
}

const TOO_LONG =
  /context[ _-]?(?:length|window|size|limit)|maximum context|prompt is too long|input (?:is|was) too long|too many (?:input )?tokens|reduce the length of the (?:messages|prompt|input)|exceeds? the (?:model'?s )?(?:maximum|available|context)|n_ctx/i

/** Whether a provider refused a request for its length. Each provider words it differently. */
export function isTooLong(error: unknown): boolean {
  const { code, message } = toAppError(error)
  const isRefusal = code === 'provider_refused' || code === 'provider_failed'
  return isRefusal && TOO_LONG.test(message) && !/rate.?limit|per min|quota/i.test(message)
}

export function contextExceeded(error: unknown): AppError {
  const { message, cause } = toAppError(error)
  const how = 'ask for less, shorten the instruction, or use a model with a larger context'
  return new AppError(
    'context_exceeded',
    `${message}. This does not fit into the model’s context: ${how}`,
    {
      cause,
    },
  )
}

/** "maximum context length is 8192 tokens", "210000 tokens > 200000 maximum", "(4096 tokens)". */
const TOLD_SIZES: readonly RegExp[] = [
  /context (?:length|size|window)(?: is| of|:)?[ (]*(\d{3,8})/i,
  /> *(\d{3,8}) maximum/i,
  /n_ctx[^\d]{1,8}(\d{3,8})/i,
]

function toldContextTokens(message: string): number | null {
  const sizes = TOLD_SIZES.flatMap((pattern) => {
    const size = Number(pattern.exec(message)?.[1] ?? 0)
    return size > 0 ? [size] : []
  })
  return sizes[0] ?? null
}

/**
 * Hundredths of a token per UTF-16 code unit, measured on twenty scripts and code, on the high
 * side.
 */
function weightOf(unit: number): number {
  if (unit < 0x80) return ASCII_WEIGHTS[unit] ?? 0
  if (unit < 0x250) return 100
  // Greek and Cyrillic up to here; Armenian, Hebrew and Arabic below.
  if (unit < 0x530) return 75
  if (unit < 0x800) return 95
  // Scripts of India and South-East Asia, Georgian up to here; Ethiopic and others below.
  if (unit < 0x1200) return 190
  if (unit < 0x2000) return 250
  // Half of a surrogate pair.
  if (unit >= 0xd800 && unit < 0xe000) return 200
  return 145
}

const ASCII_WEIGHTS: readonly number[] = Array.from({ length: 0x80 }, (_, unit) => {
  const char = String.fromCharCode(unit)
  if (/[a-z ]/.test(char)) return 25
  return /[0-9]/.test(char) ? 60 : 70
})

export function estimatedTokens(text: string): number {
  let hundredths = 0
  for (let index = 0; index < text.length; index += 1)
    hundredths += weightOf(text.charCodeAt(index))
  return Math.ceil(hundredths / 100)
}

/** The most tokens that this many code units can have. */
function mostTokens(chars: number): number {
  return Math.ceil((chars * 250) / 100)
}

/** How many code units of a text have at most this many tokens. */
export function charsWithin(text: string, tokensMax: number): number {
  let left = tokensMax * 100
  for (let index = 0; index < text.length; index += 1) {
    left -= weightOf(text.charCodeAt(index))
    if (left < 0) return index
  }
  return text.length
}
