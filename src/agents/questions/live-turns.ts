/** Conversations as they are shown: the stored part, and the running question. */
import { type Asker, maySeeAsked } from '../../core/domain/access/principal.ts'
import type {
  ConversationStore,
  ConversationSummary,
  KeptConversation,
  Owner,
  Page,
} from '../../core/domain/ports/conversation-ports.ts'
import { AppError, toAppError } from '../../core/errors.ts'
import { type LiveQuestion, LiveTurn, type TurnInProgress, type WatchedEvent } from './live-turn.ts'

export interface ListedConversation extends ConversationSummary {
  /** One of its questions is running. */
  readonly isRunning: boolean
}

export interface ShownConversation extends KeptConversation {
  /** The running turn; null: none, or already stored. */
  readonly running: TurnInProgress | null
}

/** Running questions of stored conversations, besides the stored turns. */
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

  /** @param failure that ended it; null: none */
  end(turn: LiveTurn, failure: unknown): void {
    turn.end(failure)
    this.#all.delete(turn)
  }

  /** Whether one of its questions is running that this asker may see. */
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
   * The running question of a conversation, from its start to its end.
   * @throws AppError before the first event: `conversation_not_found`, `run_not_found`; after it: as the question failed
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

  /** Started but not yet stored, newest first. */
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
