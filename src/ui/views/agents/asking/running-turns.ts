/** Questions that this page has asked. They go on while another view is open. */
import { effect, signal } from '@preact/signals'
import { type AgentName, askAgent, cancelRun } from '../../../api/agents.ts'
import { ApiError } from '../../../api/request.ts'
import { type AskedTurn, endedTurn, newTurn, withEvent } from './asked-turn.ts'

/** By the place where they were asked: an agent, a conversation. */
const turnsByPlace = signal<ReadonlyMap<string, readonly AskedTurn[]>>(new Map())
/** Rises with each question that began or ended: lists of conversations are read again. */
export const changes = signal(0)
const lastKey = signal(0)
/** What stops the question that is under way at a place. */
const stops = new Map<string, () => void>()
/** A run that was cancelled ends its stream by itself, or the stream is left after this time. */
const STOP_MS_MAX = 3000
/** Conversations that began on this page: nothing of them has to be read. */
const whole = new Set<string>()

export function isWhole(place: string): boolean {
  return whole.has(place)
}

export function placeOf({ project, name }: AgentName, conversation: string): string {
  return JSON.stringify([project, name, conversation])
}

export function turnsAt(place: string): readonly AskedTurn[] {
  return turnsByPlace.value.get(place) ?? []
}

/** Adds a turn to a place, or shows it as it is now. */
function show(place: string, turn: AskedTurn): void {
  const turns = turnsByPlace.peek().get(place) ?? []
  const index = turns.findIndex(({ key }) => key === turn.key)
  replace(place, index < 0 ? [...turns, turn] : turns.with(index, turn))
}

function hide(place: string, { key }: AskedTurn): void {
  const turns = turnsByPlace.peek().get(place) ?? []
  replace(
    place,
    turns.filter((turn) => turn.key !== key),
  )
}

function replace(place: string, turns: readonly AskedTurn[]): void {
  turnsByPlace.value = new Map(turnsByPlace.peek()).set(place, turns)
}

export function forgetTurns(place: string): void {
  whole.delete(place)
  replace(place, [])
}

export function stopAsking(place: string): void {
  stops.get(place)?.()
}

/** Stops what is under way there, and waits until it is over. */
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
  /** The id of a conversation, `new`, or a name of the caller's for one that is not kept. */
  readonly conversation: string
  readonly isKept: boolean
  readonly question: string
  /** Where it is shown until it has a conversation; missing: the place of the conversation. */
  readonly place?: string
  /** Called once it is under way: with the conversation to which it has moved. */
  readonly begun?: (conversationId: string | undefined) => void
}

/**
 * Ends with the answer, however it ended.
 * @throws ApiError where it did not even begin, a DOMException where it was stopped before: nothing is shown of it then
 */
export async function ask(asked: Asked): Promise<void> {
  const { agent, conversation, isKept, question, begun } = asked
  let place = asked.place ?? placeOf(agent, conversation)
  const abort = new AbortController()
  const { stop, wasStopped } = stopper(abort, () => turn.traceId)
  stops.set(place, stop)
  lastKey.value += 1
  let turn = newTurn(question, Date.now(), lastKey.peek())
  const paint = oncePerFrame(() => show(place, turn))
  const update = (next: AskedTurn) => {
    turn = next
    paint.now()
  }
  const begin = (conversationId: string | undefined) => {
    if (conversation === 'new' && conversationId !== undefined) {
      const next = placeOf(agent, conversationId)
      replace(next, turnsAt(place))
      forgetTurns(place)
      stops.delete(place)
      place = next
      stops.set(place, stop)
      whole.add(place)
    }
    paint.now()
    begun?.(conversationId)
  }
  update(turn)
  try {
    const conversationId = isKept ? conversation : undefined
    const hasEnded = await askAgent(
      { ...agent, text: question, conversationId },
      (event) => {
        const isBegin = turn.traceId === undefined
        const isCancelled = wasStopped() && 'type' in event && event.type === 'error'
        turn = isCancelled
          ? endedTurn(turn, 'stopped', Date.now())
          : withEvent(turn, event, Date.now())
        if (isBegin && turn.traceId !== undefined) begin(turn.conversationId)
        else if ('type' in event && event.type === 'delta') paint.soon()
        else paint.now()
      },
      abort.signal,
    )
    update(endedTurn(turn, hasEnded ? 'failed' : 'cut', Date.now()))
  } catch (error) {
    const hasBegun = turn.traceId !== undefined || !isKept
    if (abort.signal.aborted && hasBegun) return update(endedTurn(turn, 'stopped', Date.now()))
    if (turn.traceId !== undefined && error instanceof ApiError) {
      return update(endedTurn(turn, 'cut', Date.now()))
    }
    hide(place, turn)
    throw error
  } finally {
    paint.close()
    changes.value += 1
    if (stops.get(place) === stop) stops.delete(place)
  }
}

/** Cancels the run. What it leaves is kept before its stream says that it is over: what is asked next finds it so. */
function stopper(abort: AbortController, traceIdOf: () => string | undefined) {
  let isStopped = false
  const leave = () => abort.abort(new DOMException('It was stopped', 'AbortError'))
  return {
    wasStopped: () => isStopped,
    stop: () => {
      isStopped = true
      const traceId = traceIdOf()
      if (traceId === undefined) return leave()
      cancelRun(traceId).catch(leave)
      setTimeout(leave, STOP_MS_MAX)
    },
  }
}

/** A model may send a thousand pieces a second: they are shown as often as the screen is drawn. */
function oncePerFrame(work: () => void) {
  let frame: number | undefined
  const close = () => {
    if (frame !== undefined) cancelAnimationFrame(frame)
    frame = undefined
  }
  const now = () => {
    close()
    work()
  }
  return {
    close,
    now,
    soon: () => {
      frame ??= requestAnimationFrame(now)
    },
  }
}
