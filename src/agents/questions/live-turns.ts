/** Conversations as shown to users: the stored turns plus the running question. */
import { type Asker, maySeeAsked } from '../../core/domain/access/principal.ts'
import {
  type CompletionEvent,
  conversationTitle,
  type DeltaEvent,
} from '../../core/domain/agents/completion-event.ts'
import type {
  ConversationStore,
  ConversationSummary,
  KeptConversation,
  Owner,
  Page,
} from '../../core/domain/ports/conversation-ports.ts'
import { AppError, toAppError } from '../../core/errors.ts'
import { abortable } from '../../core/runtime/cancellation.ts'

interface ListedConversation extends ConversationSummary {
  readonly isRunning: boolean
}

interface ShownConversation extends KeptConversation {
  /** The running turn; null if there is none, or it is already stored. */
  readonly running: TurnInProgress | null
}

/** Adds running questions to stored conversations. */
export class LiveTurns {
  readonly #store: Pick<ConversationStore, 'list' | 'get' | 'requireOwn'>
  readonly #all = new Set<LiveTurn>()

  constructor(store: Pick<ConversationStore, 'list' | 'get' | 'requireOwn'>) {
    this.#store = store
  }

  begin(question: LiveQuestion): LiveTurn {
    const turn = new LiveTurn(question)
    this.#all.add(turn)
    return turn
  }

  /** @param failure why the turn failed; null if it did not */
  end(turn: LiveTurn, failure: unknown): void {
    turn.end(failure)
    this.#all.delete(turn)
  }

  /** Whether a question that this asker may see is running. */
  has(owner: Pick<Owner, 'id'>, conversationId: string, asker: Asker): boolean {
    return this.#find(owner, conversationId, asker) !== undefined
  }

  /** Conversations whose first question is running come first, on the first page. */
  async list(owner: Owner, page: Page, asker: Asker) {
    const running = this.#of(owner, asker)
    const { items, next } = await this.#store.list(owner, page, asker)
    const known = new Set(items.map(({ conversationId }) => conversationId))
    const begun = running.filter(({ question: { isFirst, conversationId } }) => {
      return page.before === null && isFirst && !known.has(conversationId)
    })
    const ids = new Set(running.map(({ question }) => question.conversationId))
    const listed = [...begun.map(({ summary }) => summary), ...items].map((item) => {
      return { ...item, isRunning: ids.has(item.conversationId) }
    })
    return { items: listed satisfies readonly ListedConversation[], next }
  }

  /** @throws AppError `conversation_not_found` */
  async get(owner: Owner, id: string, page: Page, asker: Asker): Promise<ShownConversation> {
    const live = this.#find(owner, id, asker)
    const running = live?.progress ?? null
    try {
      const found = await this.#store.get(owner, id, page, asker)
      const isKept = found.turns.some(({ traceId }) => traceId === running?.traceId)
      return { ...found, running: isKept ? null : running }
    } catch (error) {
      const isBegun = running !== null && live?.question.isFirst === true
      if (!isBegun || toAppError(error).code !== 'conversation_not_found') throw error
      return { ...live.summary, summary: null, turns: [], next: null, running }
    }
  }

  /**
   * @throws AppError first: `conversation_not_found`, `run_not_found`; later the question's failure
   */
  async *watch(
    owner: Owner,
    id: string,
    asker: Asker,
    signal: AbortSignal,
  ): AsyncGenerator<WatchedEvent, void> {
    const live = this.#find(owner, id, asker)
    if (live !== undefined) return yield* live.watch(signal)
    await this.#store.requireOwn(owner, id, asker)
    const next = 'GET …/conversations/{conversation_id} has its turns'
    throw new AppError(
      'run_not_found',
      `No question of this conversation is being answered: ${next}`,
    )
  }

  /** Started but not stored yet, newest first. */
  #of(owner: Pick<Owner, 'id'>, asker: Asker): readonly LiveTurn[] {
    return [...this.#all].reverse().filter(({ question, progress }) => {
      const isOwn = question.agentId === owner.id && maySeeAsked(asker, question.askedBy)
      return isOwn && progress !== null
    })
  }

  #find(owner: Pick<Owner, 'id'>, conversationId: string, asker: Asker): LiveTurn | undefined {
    return this.#of(owner, asker).find(({ question }) => question.conversationId === conversationId)
  }
}

/** A question of a stored conversation. Late watchers get everything from the start. */

export interface WatchedEvent {
  readonly event: CompletionEvent
  /** Milliseconds since the start of the question. */
  readonly atMs: number
}

/** The turn so far, before it is stored. */
export interface TurnInProgress {
  readonly traceId: string
  readonly question: string
  /** `YYYY-MM-DD HH:MM:SS.ffffff`. */
  readonly startedAt: string
  /** Seconds since the turn started. */
  readonly seconds: number
}

interface LiveQuestion {
  readonly conversationId: string
  readonly agentId: number
  readonly question: string
  /** Who asked the first question of the conversation. */
  readonly askedBy: string | null
  readonly isFirst: boolean
  readonly startedAt: string
}

/** Pieces of text are joined up to this length, because some models send single characters. */
const DELTA_CHARS = 1_000

const NO_WATCHERS = 'The clients watching this question went away'

export class LiveTurn {
  readonly question: LiveQuestion
  /** Set by the `start` event; null while waiting for a slot. */
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

  /** null if the turn has not started, or is already stored. */
  get progress(): TurnInProgress | null {
    const { traceId, isKept } = this
    if (traceId === null || isKept) return null
    const { question, startedAt } = this.question
    return { traceId, question, startedAt, seconds: this.#atMs() / 1000 }
  }

  /** The summary of a conversation that has only this turn. */
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

  /** @param failure why the turn failed; null if it did not */
  end(failure: unknown): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#failure = failure
    this.#wake()
  }

  /** Everything from the start. @throws the question's failure; the signal's reason */
  async *watch(signal: AbortSignal): AsyncGenerator<WatchedEvent, void> {
    let index = 0
    /** How many characters were sent of a piece that is still growing. */
    let chars = 0
    // Ends in any case, because every question has a deadline.
    for (;;) {
      const { promise: changed } = this.#changed
      const one = this.#told[index]
      const rest = one === undefined ? null : restOf(one, chars)
      if (rest !== null) {
        yield rest
        chars += isPiece(rest.event) ? rest.event.content.length : 0
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

/** @returns null if the events cannot be merged */
function grownPiece(last: CompletionEvent, event: CompletionEvent): DeltaEvent | null {
  if (!isPiece(last) || !isPiece(event) || last.content.length >= DELTA_CHARS) return null
  return { ...event, content: last.content + event.content }
}

/** @returns null if everything was sent */
function restOf(one: WatchedEvent, chars: number): WatchedEvent | null {
  const { event } = one
  if (!isPiece(event)) return one
  const content = event.content.slice(chars)
  return content === '' ? null : { ...one, event: { ...event, content } }
}

function isPiece(event: CompletionEvent): event is DeltaEvent {
  return 'type' in event && event.type === 'delta'
}
