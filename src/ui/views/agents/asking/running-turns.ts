/** Questions that this page has asked or is watching. They continue while other views are open. */
import { effect, signal } from '@preact/signals'
import type { CompletionEvent } from '../../../../core/domain/agents/completion-event.ts'
import { type AgentName, askAgent, cancelRun, watchAnswer } from '../../../api/agents.ts'
import type { Conversation } from '../../../api/records.ts'
import { ApiError } from '../../../api/request.ts'
import { type AskedTurn, endedTurn, newTurn, withEvent } from './asked-turn.ts'

const turnsByPlace = signal<ReadonlyMap<string, readonly AskedTurn[]>>(new Map())
/** Increases when a question starts or ends, so that lists of conversations are reloaded. */
export const changes = signal(0)
const lastKey = signal(0)
/** How to stop the running question of each place. */
const stops = new Map<string, () => void>()
/** After a run is cancelled, its stream normally ends by itself; after this time, it is closed. */
const STOP_MS_MAX = 3000
/** The delay before cancelling again, because a busy server may refuse. */
const CANCEL_AGAIN_MS = 500
/** Conversations that started on this page, so that nothing must be read from the server. */
const whole = signal<ReadonlySet<string>>(new Set())

export function isWhole(place: string): boolean {
  return whole.value.has(place)
}

/** Another window asked there, or the end of a question is unknown. */
export function readFromServer(place: string): void {
  whole.value = new Set([...whole.peek()].filter((one) => one !== place))
}

export function placeOf({ project, name }: AgentName, conversation: string): string {
  return JSON.stringify([project, name, conversation])
}

export function turnsAt(place: string): readonly AskedTurn[] {
  return turnsByPlace.value.get(place) ?? []
}

function replace(place: string, turns: readonly AskedTurn[]): void {
  turnsByPlace.value = new Map(turnsByPlace.peek()).set(place, turns)
}

export function forgetTurns(place: string): void {
  readFromServer(place)
  replace(place, [])
}

/** Drops turns that were cut off or stopped too late, because the server has the complete ones. */
export function forgetCut(place: string, kept: Conversation['turns']): void {
  const turns = turnsByPlace.peek().get(place) ?? []
  const left = turns.filter(({ state, traceId }) => {
    const outcome = kept.find((one) => one.trace_id === traceId)?.outcome
    if (outcome === undefined) return true
    return state !== 'cut' && (state !== 'stopped' || outcome === 'cancelled')
  })
  if (left.length < turns.length) replace(place, left)
}

export function stopAsking(place: string): void {
  stops.get(place)?.()
}

/** Stops the running question and waits until it ends. */
export async function stopped(place: string): Promise<void> {
  stopAsking(place)
  const over = Promise.withResolvers<void>()
  const unsubscribe = effect(() => {
    if (turnsAt(place).every(({ state }) => state !== 'running')) over.resolve()
  })
  await over.promise
  unsubscribe()
}

interface Asked {
  readonly agent: AgentName
  /**
   * A conversation's id, `new`, or a name chosen by the caller if the conversation is not stored.
   */
  readonly conversation: string
  readonly isKept: boolean
  readonly question: string
  /** Where the question is shown until its conversation exists; by default, its place. */
  readonly place?: string
  /** Called once the question has started, with the conversation's id. */
  readonly begun?: (conversationId: string | undefined) => void
}

/** When the answer ends. @throws ApiError, DOMException before the start: nothing is shown */
export async function ask(asked: Asked): Promise<void> {
  const { agent, conversation, isKept, question, begun } = asked
  lastKey.value += 1
  const place = asked.place ?? placeOf(agent, conversation)
  const shown = new ShownTurn(place, newTurn(question, Date.now(), lastKey.peek()))
  const begin = () => {
    const { conversationId } = shown.turn
    if (conversation === 'new' && conversationId !== undefined) {
      shown.moveTo(placeOf(agent, conversationId))
      whole.value = new Set([...whole.peek(), shown.place])
    }
    begun?.(conversationId)
  }
  try {
    const conversationId = isKept ? conversation : undefined
    const hasEnded = await askAgent(
      { ...agent, text: question, conversationId },
      (event) => {
        const isBegin = shown.turn.traceId === undefined
        shown.tell(event)
        if (isBegin && shown.turn.traceId !== undefined) begin()
      },
      shown.abort.signal,
    )
    shown.end(hasEnded ? 'failed' : 'cut')
  } catch (error) {
    const hasBegun = shown.turn.traceId !== undefined || !isKept
    // Unless it was cancelled, a stored question continues on the server.
    const isOver = shown.isCancelled || shown.turn.traceId === undefined || !isKept
    if (shown.abort.signal.aborted && hasBegun) return shown.end(isOver ? 'stopped' : 'cut')
    if (shown.turn.traceId !== undefined && error instanceof ApiError) return shown.end('cut')
    shown.hide()
    throw error
  } finally {
    shown.close()
    // The question may still be running, so ask the server.
    if (shown.turn.state === 'cut') readFromServer(shown.place)
    changes.value += 1
  }
}

type Running = NonNullable<Conversation['running']>

/** Of another window or before a reload. @param over called if it has already ended */
export async function watch(
  agent: AgentName,
  conversationId: string,
  { trace_id: traceId, question, seconds }: Running,
  over: () => void,
): Promise<void> {
  const place = placeOf(agent, conversationId)
  const known = turnsAt(place).find((turn) => turn.traceId === traceId)
  if (known !== undefined && known.state !== 'cut') return
  lastKey.value += 1
  const turn = newTurn(question, Date.now() - seconds * 1000, known?.key ?? lastKey.peek())
  const shown = new ShownTurn(place, { ...turn, traceId, conversationId })
  const { signal: left } = shown.abort
  try {
    const hasEnded = await watchAnswer(agent, conversationId, (event) => shown.tell(event), left)
    shown.end(hasEnded ? 'failed' : 'cut')
  } catch (error) {
    if (left.aborted) return shown.end(shown.isCancelled ? 'stopped' : 'cut')
    if (!(error instanceof ApiError) || error.status !== 404) return shown.end('cut')
    shown.hide()
    over()
  } finally {
    shown.close()
    // A turn that was cut off is looked up when the list is next read. Doing so right away could
    // loop forever.
    if (shown.turn.state !== 'cut') changes.value += 1
  }
}

/** A running turn at a place, and how to stop it. */
class ShownTurn {
  readonly abort = new AbortController()
  place: string
  turn: AskedTurn
  /** Whether the server confirmed the cancellation. */
  isCancelled = false
  #isStopping = false
  #frame: number | undefined
  readonly #stop = () => void this.#cancel()

  constructor(place: string, turn: AskedTurn) {
    this.place = place
    this.turn = turn
    stops.set(place, this.#stop)
    this.#paint()
  }

  tell(event: CompletionEvent): void {
    const { turn } = this
    // Events of a watched question include their time.
    const atMs = 'at_ms' in event ? event.at_ms : undefined
    const nowMs = atMs === undefined ? Date.now() : turn.startedAtMs + atMs
    this.turn = withEvent(turn, event, nowMs)
    if ('type' in event && event.type === 'delta') this.#paintSoon()
    else this.#paint()
  }

  /** @param state how the turn ended, if no event said so */
  end(state: 'failed' | 'stopped' | 'cut'): void {
    this.turn = endedTurn(this.turn, state, Date.now())
    this.#paint()
  }

  /** Called once the question has a conversation. */
  moveTo(next: string): void {
    const turns = turnsByPlace.peek().get(this.place) ?? []
    stops.delete(this.place)
    replace(next, turns)
    forgetTurns(this.place)
    this.place = next
    stops.set(next, this.#stop)
    this.#paint()
  }

  hide(): void {
    const turns = turnsByPlace.peek().get(this.place) ?? []
    replace(
      this.place,
      turns.filter(({ key }) => key !== this.turn.key),
    )
  }

  close(): void {
    this.#forgetFrame()
    if (stops.get(this.place) === this.#stop) stops.delete(this.place)
  }

  /** The server stores the partial answer first, for the next question to refer to. */
  async #cancel(): Promise<void> {
    if (this.#isStopping) return
    this.#isStopping = true
    const leave = () => this.abort.abort(new DOMException('It was stopped', 'AbortError'))
    const { traceId } = this.turn
    if (traceId === undefined) return leave()
    setTimeout(leave, STOP_MS_MAX)
    while (!this.abort.signal.aborted && this.turn.state === 'running') {
      try {
        await cancelRun(traceId)
        this.isCancelled = true
        return
      } catch (error) {
        // The run has already ended; its stream reports how.
        if (error instanceof ApiError && error.status === 404) return
      }
      await new Promise((resolve) => setTimeout(resolve, CANCEL_AGAIN_MS))
    }
  }

  #paint(): void {
    this.#forgetFrame()
    const turns = turnsByPlace.peek().get(this.place) ?? []
    const index = turns.findIndex(({ key }) => key === this.turn.key)
    replace(this.place, index < 0 ? [...turns, this.turn] : turns.with(index, this.turn))
  }

  /** Renders once per frame, because a model may send a thousand pieces per second. */
  #paintSoon(): void {
    this.#frame ??= requestAnimationFrame(() => this.#paint())
  }

  #forgetFrame(): void {
    if (this.#frame !== undefined) cancelAnimationFrame(this.#frame)
    this.#frame = undefined
  }
}
