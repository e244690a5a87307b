/** What is asked here by another window, or was by this one before it was loaded again: it is watched, or read. */
import { useEffect, useRef } from 'preact/hooks'
import type { AgentName } from '../../../api/agents.ts'
import type { ConversationList } from '../../../api/records.ts'
import type { KeptTurns } from './kept-turns.ts'
import { forgetCut, placeOf, readFromServer, turnsAt, watch } from './running-turns.ts'

export type Listed = ConversationList['items'][number]

/** @param listed the conversation as the list has it, another object each time that it was read */
export function useOtherWindows(
  agent: AgentName,
  id: string,
  kept: KeptTurns,
  listed: Listed | undefined,
): void {
  const place = placeOf(agent, id)
  const running = kept.newest?.running
  const isHere = id !== 'new'
  useEffect(() => {
    if (isHere && running) void watch(agent, id, running, kept.reload)
  }, [running])
  useEffect(() => {
    forgetCut(place, kept.turns)
  }, [kept.turns])
  const wasListed = useRef('')
  /** What was read for. What it does not explain, such as a question that was never kept, is not read for again. */
  const read = useRef('')
  const cutCount = turnsAt(place).filter(({ state }) => state === 'cut').length
  useEffect(() => {
    // What was read before the stream broke off does not explain it.
    if (cutCount > 0) read.current = ''
  }, [place, cutCount])
  useEffect(() => {
    if (!isHere || kept.isLoading) return
    if (listed === undefined) {
      // It may have been deleted.
      if (wasListed.current === place) {
        readFromServer(place)
        kept.reload()
      }
      wasListed.current = ''
      return
    }
    wasListed.current = place
    const live = turnsAt(place)
    if (live.some(({ state }) => state === 'running')) return
    const mark = `${place} ${listed.turn_count} ${listed.ended_at} ${listed.is_running}`
    const isKnown = !listed.is_running && listed.turn_count === knownCount(place, kept)
    if (isKnown || read.current === mark) return
    read.current = mark
    readFromServer(place)
    kept.reload()
  }, [listed])
}

/** How many questions the conversation has, as far as this window knows. */
function knownCount(place: string, { newest, turns }: KeptTurns): number {
  const ids = new Set(turns.map((turn) => turn.trace_id))
  const others = turnsAt(place).filter(({ state, traceId }) => {
    return state !== 'cut' && traceId !== undefined && !ids.has(traceId)
  })
  return (newest?.turn_count ?? 0) + others.length
}
