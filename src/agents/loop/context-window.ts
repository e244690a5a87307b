import type { ChatMessage, ToolSpec } from '../../core/domain/ports/model-ports.ts'
import { AppError, toAppError } from '../../core/errors.ts'
import { sum } from '../../core/json.ts'
import { firstChars } from '../agent-limits.ts'
import { withDataFence } from './data-fence.ts'

/** The result of a tool call in a conversation, as long as it is whole. */
export interface ToolResult {
  readonly role: 'result'
  readonly callId: string
  /** Counted from 1: tells the model which result is meant. */
  readonly number: number
  /** Our own words to the model. */
  readonly note: string
  /** The tool's result: data. */
  readonly data: string
}

export type Entry = ChatMessage | ToolResult

/** The request to the model, and what making it fit cost. */
export interface FittingRequest {
  readonly messages: readonly ChatMessage[]
  /** Numbers of the results that are not shown whole. */
  readonly shortened: ReadonlySet<number>
  /** As estimated. */
  tokens(): number
}

/** The part of the context reserved for the model's answer. */
const ANSWER_TOKENS_MAX = 4096
/** The template text around a message, and around data. */
const MESSAGE_TOKENS = 8
const FENCE_TOKENS = 60
/** The sentence on what is missing. */
const NOTE_TOKENS = 60
/** The part kept of a result that was seen in an earlier turn. */
const HEAD_TOKENS = 300
const HEAD_TOKENS_MIN = 100
/** The part kept of the model's text before a call, if space is short. */
const OWN_TEXT_TOKENS = 500
/** How far a provider's own count may move the estimate. */
const FACTOR_MIN = 0.5
const FACTOR_MAX = 4

/**
 * Makes a conversation fit into what its model can read. Old results are shortened first, then left out, then the oldest
 * turns of the history, at last the newest results. The instruction and the question stay whole. A note replaces each part
 * left out.
 */
export class ContextWindow {
  readonly #fence: string | undefined
  readonly #entryTokens = new WeakMap<Entry, number>()
  #contextTokens: number
  #tools: { readonly specs: readonly ToolSpec[]; readonly tokens: number } | null = null
  #toolTokens = 0
  /** The provider's tokens per token of this estimate. */
  #factor = 1

  constructor(contextTokens: number | undefined, fence: string | undefined) {
    this.#contextTokens = contextTokens ?? Number.POSITIVE_INFINITY
    this.#fence = fence
  }

  /** @param historyEnd where the history ends, after the instruction; the question is there */
  fit(entries: readonly Entry[], historyEnd: number, tools: readonly ToolSpec[]): FittingRequest {
    const toolTokens = this.#tokensOfTools(tools)
    this.#toolTokens = toolTokens
    const chars = sum(entries.map(charsIn))
    if (mostTokens(chars) <= this.#room) {
      // Most conversations: no need to count.
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

  /** Our tokens that may be sent. */
  get #room(): number {
    const answer = Math.min(ANSWER_TOKENS_MAX, this.#contextTokens / 4)
    return (this.#contextTokens - answer) / this.#factor - this.#toolTokens
  }

  /** The provider has counted what was sent: from now on the estimate follows it. */
  counted(request: FittingRequest, inputTokens: number): void {
    // A model without a limit needs no estimate.
    if (inputTokens <= 0 || this.#contextTokens === Number.POSITIVE_INFINITY) return
    const factor = inputTokens / (request.tokens() + this.#toolTokens)
    this.#factor = Math.min(FACTOR_MAX, Math.max(FACTOR_MIN, factor))
  }

  /** After a refusal for its length: from now on the context is smaller than what was sent. */
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

/** A conversation while it is fitted. */
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

  /** For a turn of the history. */
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

const LEFT_OUT = '(The result is left out to save room; call the tool again if you need it.)'
export const FORGOTTEN = '(The oldest turns of this conversation are left out to save room.)'

/** The same conversation with a sentence at the end of its instruction. */
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

/** Whole lines from the start, if one fits: the column names and the first rows. */
function shortResult(result: ToolResult, tokensMax: number): ToolResult {
  const { data, note } = result
  const end = charsWithin(data, tokensMax)
  if (end >= data.length) return result
  const lineEnd = data.lastIndexOf('\n', end)
  const head = lineEnd > 0 ? data.slice(0, lineEnd) : firstChars(data, end)
  const left = data.length - head.length
  const said = `(Shortened to save room: ${left} of ${data.length} characters are missing. Call the tool again, asking for less, if you need them.)`
  return { ...result, data: head, note: note === '' ? said : `${note}\n${said}` }
}

function shortText(message: Extract<ChatMessage, { role: 'assistant' }>): ChatMessage {
  const end = charsWithin(message.content, OWN_TEXT_TOKENS)
  if (end >= message.content.length) return message
  return { ...message, content: `${firstChars(message.content, end)} (shortened to save room)` }
}

function tokensIn(entry: Entry): number {
  const around = entry.role === 'result' ? MESSAGE_TOKENS + FENCE_TOKENS : MESSAGE_TOKENS
  return around + estimatedTokens(entryText(entry))
}

/** Including the text around it. */
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

/** Whether a provider refused a request because there was too much in it. Each says so in its own words. */
export function isTooLong(error: unknown): boolean {
  const { code, message } = toAppError(error)
  const isRefusal = code === 'provider_refused' || code === 'provider_failed'
  return isRefusal && TOO_LONG.test(message) && !/rate.?limit|per min|quota/i.test(message)
}

/** The failure when nothing more can be left out. */
export function contextExceeded(error: unknown): AppError {
  const { message, cause } = toAppError(error)
  const how = 'ask for less, shorten the instruction, or take a model that reads more'
  return new AppError(
    'context_exceeded',
    `${message}. The model reads less than this needs: ${how}`,
    {
      cause,
    },
  )
}

/** "maximum context length is 8192 tokens", "210000 tokens > 200000 maximum", "context size (4096 tokens)". */
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
 * Hundredths of a token that a UTF-16 code unit makes. Measured on the vocabularies of several
 * makers over twenty scripts, code, numbers, base64 and emoji: rather too many than too few.
 */
function weightOf(unit: number): number {
  if (unit < 0x80) return ASCII_WEIGHTS[unit] ?? 0
  if (unit < 0x250) return 100
  // Greek and Cyrillic; Armenian, Hebrew and Arabic.
  if (unit < 0x530) return 75
  if (unit < 0x800) return 95
  // Scripts of India and of South-East Asia, Georgian; Ethiopic and its neighbours.
  if (unit < 0x1200) return 190
  if (unit < 0x2000) return 250
  // Half a character.
  if (unit >= 0xd800 && unit < 0xe000) return 200
  return 145
}

const ASCII_WEIGHTS: readonly number[] = Array.from({ length: 0x80 }, (_, unit) => {
  const char = String.fromCharCode(unit)
  if (/[a-z ]/.test(char)) return 25
  return /[0-9]/.test(char) ? 60 : 70
})

/** Tokens that a language model makes of a text, without knowing its vocabulary. */
export function estimatedTokens(text: string): number {
  let hundredths = 0
  for (let index = 0; index < text.length; index += 1)
    hundredths += weightOf(text.charCodeAt(index))
  return Math.ceil(hundredths / 100)
}

/** The most tokens this many code units can have. */
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
