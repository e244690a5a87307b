/**
 * A question of a stored conversation while it is answered, for all its watchers: late ones receive everything from the
 * start.
 */
import {
  type CompletionEvent,
  conversationTitle,
  type DeltaEvent,
} from '../../core/domain/agents/completion-event.ts'
import type { ConversationSummary } from '../../core/domain/ports/conversation-ports.ts'
import { AppError } from '../../core/errors.ts'
import { abortable } from '../../core/runtime/cancellation.ts'

/** An event for a watcher, and its time. */
export interface WatchedEvent {
  readonly event: CompletionEvent
  /** Since the start of the question. */
  readonly atMs: number
}

/** The turn so far, before it joins the stored ones. */
export interface TurnInProgress {
  readonly traceId: string
  readonly question: string
  /** `YYYY-MM-DD HH:MM:SS.ffffff`. */
  readonly startedAt: string
  /** Since then. */
  readonly seconds: number
}

export interface LiveQuestion {
  readonly conversationId: string
  readonly agentId: number
  readonly question: string
  /** Who asked the first question of the conversation. */
  readonly askedBy: string | null
  /** It starts the conversation. */
  readonly isFirst: boolean
  readonly startedAt: string
}

/** Pieces of text are joined up to this length, because some models send single letters. */
const DELTA_CHARS = 1_000

const NO_WATCHERS = 'The clients watching this question went away'

export class LiveTurn {
  readonly question: LiveQuestion
  /** From its `start` event; null: waiting for a slot. */
  traceId: string | null = null
  isKept = false
  readonly #beganMs = performance.now()
  readonly #told: WatchedEvent[] = []
  #isOver = false
  #failure: unknown = null
  #changed = Promise.withResolvers<void>()

  constructor(question: LiveQuestion) {
    this.question = question
  }

  /** null: not started, or already stored. */
  get progress(): TurnInProgress | null {
    const { traceId, isKept } = this
    if (traceId === null || isKept) return null
    const { question, startedAt } = this.question
    return { traceId, question, startedAt, seconds: this.#atMs() / 1000 }
  }

  /** For a conversation with only this turn. */
  get summary(): ConversationSummary {
    const { conversationId, question, startedAt } = this.question
    const times = { startedAt, endedAt: startedAt }
    return { conversationId, title: conversationTitle(question), turnCount: 0, ...times }
  }

  tell(event: CompletionEvent): void {
    if ('type' in event && event.type === 'start') this.traceId = event.trace_id
    const last = this.#told.at(-1)
    const grown = last === undefined ? null : grownPiece(last.event, event)
    if (last !== undefined && grown !== null) this.#told.splice(-1, 1, { ...last, event: grown })
    else this.#told.push({ event, atMs: Math.round(this.#atMs()) })
    this.#wake()
  }

  /** @param failure that ended it; null: none */
  end(failure: unknown): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#failure = failure
    this.#wake()
  }

  /** All that happened and happens, to the end. @throws what ended the question; the signal's reason */
  async *watch(signal: AbortSignal): AsyncGenerator<WatchedEvent, void> {
    let index = 0
    /** The characters sent of a text that still grows. */
    let chars = 0
    // Bounded: the deadline ends every question.
    for (;;) {
      const { promise: changed } = this.#changed
      const one = this.#told[index]
      const rest = one === undefined ? null : restOf(one, chars)
      if (rest !== null) {
        yield rest
        chars += pieceLength(rest.event)
        if (!isPiece(rest.event)) index += 1
      } else if (index + 1 < this.#told.length) {
        index += 1
        chars = 0
      } else {
        if (this.#isOver) break
        await abortable(changed, signal).catch((error) => {
          throw error instanceof AppError ? error : new AppError('cancelled', NO_WATCHERS)
        })
      }
    }
    if (this.#failure !== null) throw this.#failure
  }

  #atMs(): number {
    return performance.now() - this.#beganMs
  }

  #wake(): void {
    const { resolve } = this.#changed
    this.#changed = Promise.withResolvers()
    resolve()
  }
}

/** @returns null if they cannot be merged */
function grownPiece(last: CompletionEvent, event: CompletionEvent): DeltaEvent | null {
  if (!isPiece(last) || !isPiece(event) || last.content.length >= DELTA_CHARS) return null
  return { ...event, content: last.content + event.content }
}

/** @returns null: everything was sent */
function restOf(one: WatchedEvent, chars: number): WatchedEvent | null {
  const { event } = one
  if (!isPiece(event)) return one
  const content = event.content.slice(chars)
  return content === '' ? null : { ...one, event: { ...event, content } }
}

function pieceLength(event: CompletionEvent): number {
  return isPiece(event) ? event.content.length : 0
}

function isPiece(event: CompletionEvent): event is DeltaEvent {
  return 'type' in event && event.type === 'delta'
}
