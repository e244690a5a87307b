/** Questions that this page has asked. They go on while another view is open. */
import { signal } from '@preact/signals'
import { type AgentName, askAgent } from '../../../api/agents.ts'
import { ApiError } from '../../../api/request.ts'
import { type AskedTurn, endedTurn, newTurn, withEvent } from './asked-turn.ts'

/** By the place where they were asked: an agent, a conversation. */
const turnsByPlace = signal<ReadonlyMap<string, readonly AskedTurn[]>>(new Map())
/** Rises with each question that began or ended: lists of conversations are read again. */
export const changes = signal(0)
const aborts = new Map<string, AbortController>()
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

function show(place: string, turns: readonly AskedTurn[]): void {
  turnsByPlace.value = new Map(turnsByPlace.value).set(place, turns)
}

export function forgetTurns(place: string): void {
  whole.delete(place)
  show(place, [])
}

export function stopAsking(place: string): void {
  aborts.get(place)?.abort(new DOMException('It was stopped', 'AbortError'))
}

interface Asked {
  readonly agent: AgentName
  /** The id of a conversation, `new`, or a name of the caller's for one that is not kept. */
  readonly conversation: string
  readonly isKept: boolean
  readonly question: string
  /** Called once it is under way: with the place to which it has moved. */
  readonly begun?: (conversationId: string | undefined) => void
}

/**
 * Ends with the answer, however it ended.
 * @throws ApiError where it did not even begin: nothing is shown of it then
 */
export async function ask({ agent, conversation, isKept, question, begun }: Asked): Promise<void> {
  let place = placeOf(agent, conversation)
  const before = turnsAt(place)
  const abort = new AbortController()
  aborts.set(place, abort)
  let turn = newTurn(question, Date.now())
  const update = (next: AskedTurn) => {
    turn = next
    show(place, [...turnsAt(place).slice(0, before.length), turn])
  }
  update(turn)
  try {
    const conversationId = isKept ? conversation : undefined
    const hasEnded = await askAgent(
      { ...agent, text: question, conversationId },
      (event) => {
        const next = withEvent(turn, event, Date.now())
        const isBegin = turn.traceId === undefined && next.traceId !== undefined
        if (isBegin && conversation === 'new' && next.conversationId !== undefined) {
          show(place, before)
          aborts.delete(place)
          place = placeOf(agent, next.conversationId)
          aborts.set(place, abort)
          if (before.length === 0) whole.add(place)
        }
        update(next)
        if (isBegin) begun?.(next.conversationId)
      },
      abort.signal,
    )
    update(endedTurn(turn, hasEnded ? 'failed' : 'cut', Date.now()))
  } catch (error) {
    if (abort.signal.aborted) return update(endedTurn(turn, 'stopped', Date.now()))
    if (turn.traceId !== undefined && error instanceof ApiError) {
      return update(endedTurn(turn, 'cut', Date.now()))
    }
    show(place, before)
    throw error
  } finally {
    changes.value += 1
    aborts.delete(place)
  }
}
