import type { Asker } from '../../core/domain/access/principal.ts'
import type { ConversationTurn } from '../../core/domain/agents/agent.ts'
import type { Citation, CompletionEvent } from '../../core/domain/agents/completion-event.ts'
import type {
  ConversationStore,
  KeptHistory,
  NewTurn,
  Owner,
} from '../../core/domain/ports/conversation-ports.ts'
import { AppError, toAppError } from '../../core/errors.ts'
import {
  abortOrigin,
  callerOf,
  onAbort,
  setCaller,
  setOrigin,
} from '../../core/runtime/cancellation.ts'
import { returned } from '../../core/runtime/serial-queue.ts'
import { timestampOfMillis } from '../../core/time.ts'
import type { AgentPool } from './agent-pool.ts'
import { type AgentQuestion, failedRun, type OpenConversation } from './agent-question.ts'
import type { Answer } from './completion-stream.ts'
import { keptFindings } from './kept-findings.ts'
import type { LiveTurn, LiveTurns } from './live-turns.ts'

/** The value with which a client starts a stored conversation. */
export const NEW_CONVERSATION = 'new'

export interface AskedQuestion extends Omit<AgentQuestion, 'conversation' | 'askedBy'> {
  readonly asker: Asker
  /** The id of a conversation with this agent, or `new`. If missing, the question is not stored. */
  readonly conversationId?: string
  /** Whether the question continues if the client disconnects. Only in a conversation. */
  readonly isBackground?: boolean
}

interface ConversationDeps {
  readonly pool: Pick<AgentPool, 'ask'>
  readonly store: ConversationStore
  readonly live: Pick<LiveTurns, 'begin' | 'end' | 'has'>
  readonly turnsMax: number
  newId(): string
  /** Milliseconds since 1970. */
  now(): number
  /** Called for a failure that no client sees: a failed question that could not be stored. */
  onFailure(error: unknown): void
}

/** A conversation takes one question at a time. */
export class Conversations {
  readonly #deps: ConversationDeps
  readonly #busy = new Set<string>()
  readonly #answering = new Set<Promise<Answer>>()

  constructor(deps: ConversationDeps) {
    this.#deps = deps
  }

  /** Like `AgentPool.complete`. @throws AppError like `ask` */
  async complete(asked: AskedQuestion, signal: AbortSignal): Promise<Answer> {
    // Ends in any case, because every question has a deadline.
    return await returned(this.ask(asked, signal))
  }

  /**
   * Like `AgentPool.ask`. A conversation's turn is on disk before its output is sent.
   * @throws AppError before the first event: `conversation_not_found`, `conversation_busy`,
   * `conversation_full`, or `invalid_request` for a history in addition to the stored one, or for
   * background work whose result could never be read
   */
  async *ask(asked: AskedQuestion, signal: AbortSignal): AsyncGenerator<CompletionEvent, Answer> {
    const { conversationId: sent, asker, isBackground = false, ...rest } = asked
    const question = { ...rest, askedBy: asker.by }
    if (sent === undefined) {
      if (isBackground) throw unreadableLater()
      return yield* this.#deps.pool.ask(question, signal)
    }
    if (question.history.length > 0) throw historyTwice()
    const { agent } = question
    const isNew = sent === NEW_CONVERSATION
    const id = isNew ? this.#deps.newId() : sent
    // Checked first, so that others neither learn about the conversation nor block its owner.
    if (!isNew) await this.#requireOwn(agent, id, asker)
    this.#refuseBusy(agent, id)
    const key = conversationKey(agent, id)
    this.#busy.add(key)
    let leave = () => {
      this.#busy.delete(key)
    }
    try {
      const none = { ...NO_HISTORY, askedBy: asker.by }
      const known = isNew ? none : await this.#deps.store.history(agent, id, asker)
      this.#refuseFull(known)
      signal.throwIfAborted()
      const turn = new TurnUnderWay(
        id,
        known,
        this.#deps.live.begin(this.#asLive(question, id, known)),
      )
      const work = workFor(signal, () => isBackground && turn.traceId !== null)
      const answer = this.#told(question, turn, work.signal).finally(() => {
        work.end()
        this.#busy.delete(key)
      })
      leave = () => {}
      this.#note(answer)
      // A question that ends with its client reports its own end.
      const watching = isBackground ? signal : new AbortController().signal
      try {
        for await (const { event } of turn.live.watch(watching)) yield event
        return await answer
      } finally {
        if (!isBackground) await work.abort(answer)
      }
    } finally {
      leave()
    }
  }

  /** Resolves once no question is running and every outcome is stored. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#answering)
  }

  #asLive({ agent, question }: AgentQuestion, conversationId: string, known: KeptHistory) {
    const { askedBy, turnCount } = known
    const isFirst = turnCount === 0
    const startedAt = this.#now()
    return { conversationId, agentId: agent.id, question, askedBy, isFirst, startedAt }
  }

  /**
   * @throws AppError `conversation_not_found`, or `conversation_busy` while a question is running
   */
  async remove(owner: Owner, conversationId: string, asker: Asker): Promise<void> {
    await this.#requireOwn(owner, conversationId, asker)
    this.#refuseBusy(owner, conversationId)
    await this.#deps.store.remove(owner, conversationId)
  }

  /** Also removes later turns. @throws AppError like `remove`; `trace_not_found` */
  async removeFrom(
    owner: Owner,
    conversationId: string,
    traceId: string,
    asker: Asker,
  ): Promise<void> {
    await this.#requireOwn(owner, conversationId, asker)
    this.#refuseBusy(owner, conversationId)
    const key = conversationKey(owner, conversationId)
    this.#busy.add(key)
    try {
      await this.#deps.store.removeFrom(owner, conversationId, traceId)
    } finally {
      this.#busy.delete(key)
    }
  }

  #note(answer: Promise<Answer>): void {
    this.#answering.add(answer)
    // Other watchers get the failure from the turn itself.
    answer.catch(() => {}).finally(() => this.#answering.delete(answer))
  }

  /** At full speed: the asking client watches like any other, and does not delay the answer. */
  async #told(question: AgentQuestion, turn: TurnUnderWay, signal: AbortSignal): Promise<Answer> {
    const { live } = turn
    const events = this.#kept(question, turn, signal)
    let failure: unknown = null
    try {
      // Ends in any case, because every question has a deadline.
      for (;;) {
        const { done, value } = await events.next()
        if (done) return value
        live.tell(value)
      }
    } catch (error) {
      failure = error
      throw error
    } finally {
      this.#deps.live.end(live, failure)
    }
  }

  async *#kept(
    question: AgentQuestion,
    turn: TurnUnderWay,
    signal: AbortSignal,
  ): AsyncGenerator<CompletionEvent, Answer> {
    const { history, conversation } = turn
    const events = this.#deps.pool.ask({ ...question, history, conversation }, signal)
    const startedAt = this.#now()
    const keep = (end: TurnEnd) => this.#keep(question, turn, { ...end, startedAt })
    let failure = new AppError('cancelled', 'The question was cancelled')
    try {
      // Ends in any case, because every question has a deadline.
      for (;;) {
        const { done, value } = await events.next()
        if (done) return value
        turn.notes(value)
        if ('output' in value) {
          const { output: answer, citations } = value
          const findings = keptFindings(value)
          const end = { answer, citations, findings, outcome: 'answered', errorCode: null } as const
          await keep(end).catch((error) => {
            // So that the trace records the failure too.
            return events.throw(error)
          })
        }
        yield value
      }
    } catch (error) {
      failure = toAppError(error)
      throw error
    } finally {
      await events.return(UNREAD_ANSWER).catch(() => {})
      if (turn.traceId !== null && !turn.isKept) {
        const { outcome, errorCode } = failedRun(failure)
        const answer = outcome === 'cancelled' && turn.text !== '' ? turn.text : null
        const end = { answer, citations: [], findings: null, outcome, errorCode }
        await keep(end).catch((error) => this.#deps.onFailure(error))
      }
    }
  }

  async #keep(
    { agent: { id, projectId }, question }: AgentQuestion,
    turn: TurnUnderWay,
    end: TurnEnd & { readonly startedAt: string },
  ): Promise<void> {
    const { conversation, traceId, summary, askedBy } = turn
    await this.#deps.store.add({
      ...end,
      conversationId: conversation.id,
      owner: { id, projectId },
      askedBy,
      traceId: traceId ?? '',
      question,
      summary,
      endedAt: this.#now(),
    })
    turn.isKept = true
    turn.live.isKept = true
  }

  #now(): string {
    return timestampOfMillis(this.#deps.now())
  }

  #refuseBusy(owner: Owner, conversationId: string): void {
    if (!this.#busy.has(conversationKey(owner, conversationId))) return
    const next = 'Wait for its answer, or cancel it: GET /api/agents/runs lists it'
    const message = `A question of the conversation ${conversationId} is being answered. ${next}`
    throw new AppError('conversation_busy', message)
  }

  /** A conversation is stored once its first question is answered, so a running one counts too. */
  async #requireOwn(owner: Owner, conversationId: string, asker: Asker): Promise<void> {
    if (asker.seesAll || this.#deps.live.has(owner, conversationId, asker)) return
    await this.#deps.store.requireOwn(owner, conversationId, asker)
  }

  #refuseFull({ turnCount }: KeptHistory): void {
    const { turnsMax } = this.#deps
    if (turnCount < turnsMax) return
    const limit = `${turnsMax} questions (EIDER_CONVERSATION_TURNS_MAX)`
    const next = `start another with "conversation_id": "${NEW_CONVERSATION}"`
    throw new AppError('conversation_full', `This conversation has ${limit}: ${next}`)
  }
}

/** Work that ends with its client, unless it may continue in the background. */
function workFor(asked: AbortSignal, maySurvive: () => boolean) {
  const work = new AbortController()
  setCaller(work.signal, callerOf(asked))
  setOrigin(work.signal, abortOrigin(asked))
  const end = onAbort(asked, () => {
    if (asked.reason instanceof AppError || !maySurvive()) work.abort(asked.reason)
  })
  const abort = async (over: Promise<unknown>) => {
    work.abort(new AppError('cancelled', 'The question was cancelled'))
    await over.catch(() => {})
  }
  return { signal: work.signal, end, abort }
}

/** Includes the agent, because another agent's conversation with the same id is a different one. */
function conversationKey({ id }: Owner, conversationId: string): string {
  return `${id} ${conversationId}`
}

type TurnEnd = Pick<NewTurn, 'answer' | 'citations' | 'findings' | 'outcome' | 'errorCode'>

const NO_HISTORY: Omit<KeptHistory, 'askedBy'> = { turnCount: 0, summary: null, turns: [] }

/** Returned by a generator that is left early. Nothing reads it. */
const UNREAD_ANSWER: Answer = {
  content: '',
  traceId: '',
  citations: [] as readonly Citation[],
  evidence: 'none',
  warnings: [],
  usage: null,
  seconds: 0,
}

/** One question of a conversation, until it is stored. */
class TurnUnderWay {
  readonly conversation: OpenConversation
  /** Two entries for each earlier question. */
  readonly history: readonly ConversationTurn[]
  summary: NewTurn['summary'] = null
  readonly askedBy: string | null
  readonly live: LiveTurn
  /** null if not started yet. */
  traceId: string | null = null
  /** The answer so far, if it is streamed. */
  text = ''
  isKept = false

  constructor(id: string, known: KeptHistory, live: LiveTurn) {
    this.live = live
    this.askedBy = known.askedBy
    this.history = known.turns.flatMap(({ question, answer }) => [
      { role: 'user', content: question },
      { role: 'assistant', content: answer },
    ])
    this.conversation = {
      id,
      summary: known.summary?.text ?? null,
      summarised: ({ text, turnCount }) => {
        const last = known.turns[turnCount / 2 - 1]
        if (last !== undefined) this.summary = { text, lastTurn: last.number }
      },
    }
  }

  notes(event: CompletionEvent): void {
    if ('actions' in event) this.text = ''
    if (!('type' in event)) return
    if (event.type === 'start') this.traceId = event.trace_id
    if (event.type === 'delta') this.text += event.content
  }
}

function historyTwice(): AppError {
  const message =
    '"messages" holds earlier turns, which a conversation with a "conversation_id" stores itself: send only the question, or leave out "conversation_id"'
  return new AppError('invalid_request', message)
}

function unreadableLater(): AppError {
  const message = `"background" needs a "conversation_id", where the answer can be read later: "${NEW_CONVERSATION}" starts a conversation`
  return new AppError('invalid_request', message)
}
