/** What can be done in one conversation: ask, and take back what was asked. */
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { type AgentName, deleteTurnsFrom } from '../../../api/agents.ts'
import { ApiError } from '../../../api/request.ts'
import { addressOf } from '../../../shell/addresses.ts'
import { draftAt, keepDraft } from './composer.tsx'
import type { KeptTurns } from './kept-turns.ts'
import { ask, changes, forgetTurns, placeOf } from './running-turns.ts'

/** A question that is to be deleted with what followed; `isEdited`: it comes back to the field. */
export interface Doomed {
  readonly traceId: string
  readonly question: string
  readonly isFirst: boolean
  readonly isEdited: boolean
}

export function useConversation(agent: AgentName, id: string, kept: KeptTurns) {
  const { route } = useLocation()
  /** Another one when the field is to show its draft anew. */
  const [draftCount, setDraftCount] = useState(0)
  const place = placeOf(agent, id)
  const onAsk = async (question: string, begun: (to: string) => void = () => {}) => {
    const here = addressAt(agent, id)
    const moved = (to: string | undefined) => {
      begun(to === undefined ? place : placeOf(agent, to))
      changes.value += 1
      if (to !== undefined && to !== id && location.pathname === here) {
        route(addressAt(agent, to), true)
      }
    }
    const asked = { agent, isKept: true, question, begun: moved }
    try {
      await ask({ ...asked, conversation: id })
    } catch (error) {
      // The server ended before it kept what began here, or it was deleted elsewhere: it goes on as a new one.
      if (!isMissing(error) || id === 'new') throw error
      await ask({ ...asked, conversation: 'new', place })
    }
  }
  const remove = async ({ traceId, question, isFirst, isEdited }: Doomed) => {
    await deleteTurnsFrom(agent, id, traceId).catch((error: unknown) => {
      if (!isMissing(error)) throw error
    })
    // What is in the field, and where the conversation goes with all its turns, in the next one's.
    const target = isFirst ? placeOf(agent, 'new') : place
    const texts = [isEdited ? question : '', draftAt(place), draftAt(target)]
    keepDraft(place, '')
    keepDraft(target, [...new Set(texts)].filter(Boolean).join('\n'))
    forgetTurns(place)
    changes.value += 1
    if (isFirst) return route(addressAt(agent, 'new'))
    kept.reload()
    setDraftCount(draftCount + 1)
  }
  return { onAsk, remove, draftCount }
}

/** The server knows no such conversation, or no such turn of it. */
export function isMissing(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404 && error.code !== 'agent_not_found'
}

function addressAt({ project, name }: AgentName, id: string): string {
  return id === 'new' ? addressOf.agent(project, name) : addressOf.conversation(project, name, id)
}
