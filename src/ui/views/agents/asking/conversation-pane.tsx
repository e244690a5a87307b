/** One conversation: its turns, the running question, and the field for the next one. */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { type AgentName, deleteTurnsFrom } from '../../../api/agents.ts'
import { isLost } from '../../../api/connection.ts'
import type { ConversationList } from '../../../api/records.ts'
import { ApiError } from '../../../api/request.ts'
import { draftAt, keepDraft } from '../../../components/browser-storage.ts'
import { Button, Icon } from '../../../components/button.tsx'
import { ActionButton, ConfirmDialog } from '../../../components/dialog.tsx'
import { EmptyState, Failure, Loading } from '../../../components/failure.tsx'
import { usePolling } from '../../../components/resource.ts'
import { addressOf } from '../../../shell/addresses.ts'
import { tellFailed } from '../../../shell/notices.tsx'
import type { AskedTurn } from './asked-turn.ts'
import { Composer, HeldQuestion, useHeldQuestion } from './composer.tsx'
import {
  type KeptTurn,
  type KeptTurns,
  useKeptTurns,
  useSummaries,
  watchedTurn,
} from './kept-turns.ts'
import {
  ask,
  changes,
  forgetCut,
  forgetTurns,
  isWhole,
  placeOf,
  readFromServer,
  stopAsking,
  turnsAt,
  watch,
} from './running-turns.ts'
import { TurnCard } from './turn-card.tsx'

interface ConversationPaneProps {
  readonly agent: AgentName
  /** `new` if its first question will create it. */
  readonly id: string
  /** Whether the agent has any data to read. */
  readonly hasData: boolean
  readonly listed: Listed | undefined
  /** Whether files are being added to that data. */
  readonly isReading: boolean
}

export function ConversationPane(props: ConversationPaneProps) {
  const { agent, id, hasData, listed, isReading } = props
  const [doomed, setDoomed] = useState<Doomed>()
  const place = placeOf(agent, id)
  const live = turnsAt(place)
  const kept = useKeptTurns(agent, id === 'new' || isWhole(place) ? undefined : id)
  useOtherWindows(agent, id, kept, listed)
  const summaries = useSummaries(id)
  const isRunning = live.some(({ state }) => state === 'running')
  const isGone = kept.failure !== undefined && isMissing(kept.failure)
  const hasTurns = live.length > 0 || kept.turns.length > 0
  const following = useFollowing([live.at(-1), kept.turns.at(-1)])
  const { onAsk, remove, draftCount } = useConversation(agent, id, kept)
  const { held, untilRead } = useHeldQuestion(isReading)
  const askHere = async (question: string, begun?: (to: string) => void) => {
    following.follow()
    await untilRead(question)
    return onAsk(question, begun)
  }
  const firstId = kept.readEarlier ? undefined : (kept.turns[0]?.trace_id ?? live[0]?.traceId)
  const cardOf = (turn: AskedTurn, key: string | number) => {
    const { question, traceId } = turn
    const removed = (isEdited: boolean) => {
      setDoomed({ traceId: traceId ?? '', question, isFirst: traceId === firstId, isEdited })
    }
    return (
      <TurnCard
        key={key}
        turn={turn}
        project={agent.project}
        summary={summaries.get(traceId ?? '')}
        isDisabled={isRunning}
        onAsk={() => void askHere(question).catch(tellUnlessStopped)}
        onRemove={traceId === undefined ? undefined : removed}
      />
    )
  }
  const over = live.filter(({ state }) => state !== 'running')
  const running = live.filter(({ state }) => state === 'running')
  // Memoized, because stored turns do not change with each piece of a streamed answer.
  const cards = useMemo(
    () => inOrder(kept.turns, live).map((turn) => cardOf(turn, turn.key || turn.traceId || '')),
    [kept.turns, over.map(({ key, state }) => `${key} ${state}`).join(), summaries, isRunning, id],
  )
  return (
    <div class="stack">
      {kept.failure && !isGone && !isLost.value && (
        <Failure error={kept.failure} onRetry={kept.reload} />
      )}
      {isGone && !hasTurns && <MissingConversation agent={agent} onRetry={kept.reload} />}
      {kept.isLoading && live.length === 0 && <Loading what="the conversation" />}
      {id === 'new' && live.length === 0 && held === undefined && (
        <Invitation agent={agent} hasData={hasData} />
      )}
      {kept.readEarlier && (
        <div class="row">
          <ActionButton look="small" label="Show earlier questions" work={kept.readEarlier} />
        </div>
      )}
      {[...cards, ...running.map((turn) => cardOf(turn, turn.key))]}
      {held && <HeldQuestion of={held} />}
      {isGone && hasTurns && !isRunning && (
        <p class="warning">
          <Icon name="warning" /> This conversation was deleted, or the server stopped before it was
          stored. Your next question starts a new one.
        </p>
      )}
      <p class="visually-hidden" role="status">
        {saidOf(live.at(-1))}
      </p>
      <Composer
        key={`${place} ${draftCount}`}
        place={place}
        isRunning={isRunning || held !== undefined}
        onAsk={askHere}
        onStop={() => (held === undefined ? stopAsking(place) : held.stop())}
        onDown={following.isAway ? following.follow : undefined}
      />
      {doomed !== undefined && (
        <ConfirmDialog
          title={doomed.isEdited ? 'Edit this question?' : 'Delete this question?'}
          verb={doomed.isEdited ? 'Delete and edit' : 'Delete'}
          onConfirm={() => remove(doomed)}
          onClose={() => setDoomed(undefined)}
        >
          This question, its answer and everything after it are deleted from the conversation.
          {doomed.isEdited &&
            ' The question returns to the field below, where you can change it and ask again.'}
        </ConfirmDialog>
      )}
    </div>
  )
}

/** Stored turns, with those watched here in their live form, then turns that were not read yet. */
function inOrder(kept: readonly KeptTurn[], live: readonly AskedTurn[]): readonly AskedTurn[] {
  const watched = new Map(live.map((turn) => [turn.traceId, turn]))
  const known = new Set(kept.map((turn) => turn.trace_id))
  const rest = live.filter(({ traceId }) => traceId === undefined || !known.has(traceId))
  const all = [...kept.map((turn) => watched.get(turn.trace_id) ?? watchedTurn(turn)), ...rest]
  // Running turns are shown below them.
  return all.filter(({ state }) => state !== 'running')
}

function tellUnlessStopped(error: unknown): void {
  if (!(error instanceof DOMException && error.name === 'AbortError')) tellFailed(error)
}

/** Not the streamed text: screen readers would announce every piece. */
function saidOf(turn: AskedTurn | undefined): string {
  if (turn === undefined) return ''
  if (turn.state === 'stopped') return 'Stopped'
  if (turn.state === 'answered') return 'The answer is complete'
  if (turn.state !== 'running') return ''
  if (turn.text !== '') return 'Answering'
  const step = turn.steps.at(-1)
  return step === undefined ? 'Working' : `Step ${turn.steps.length}: ${step.action.tool}`
}

const END_PX = 120

/** Unless the user has scrolled away. @param grown values that change when it grows */
function useFollowing(grown: readonly unknown[]) {
  const isFollowing = useRef(true)
  const [isAway, setIsAway] = useState(false)
  useEffect(() => {
    const look = () => {
      const { scrollHeight, clientHeight, scrollTop } = document.documentElement
      isFollowing.current = scrollHeight - clientHeight - scrollTop < END_PX
      setIsAway(!isFollowing.current)
    }
    addEventListener('scroll', look, { passive: true })
    return () => removeEventListener('scroll', look)
  }, [])
  const follow = () => {
    isFollowing.current = true
    scrollTo({ top: document.documentElement.scrollHeight })
  }
  useLayoutEffect(() => {
    if (isFollowing.current && grown.some((one) => one !== undefined)) follow()
  }, grown)
  return { isAway, follow }
}

type Listed = ConversationList['items'][number]

/** From another window or before a reload. @param listed new each time the list is read */
function useOtherWindows(
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
  /** Not read again for the same reason: a question may never have been stored. */
  const read = useRef('')
  const cutCount = turnsAt(place).filter(({ state }) => state === 'cut').length
  useEffect(() => {
    // A read from before the stream broke off does not count.
    if (cutCount > 0) read.current = ''
  }, [place, cutCount])
  useEffect(() => {
    if (!isHere || kept.isLoading) return
    if (listed === undefined) {
      // The conversation may have been deleted.
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

/** The number of questions in the conversation, as far as this window knows. */
function knownCount(place: string, { newest, turns }: KeptTurns): number {
  const ids = new Set(turns.map((turn) => turn.trace_id))
  const others = turnsAt(place).filter(({ state, traceId }) => {
    return state !== 'cut' && traceId !== undefined && !ids.has(traceId)
  })
  return (newest?.turn_count ?? 0) + others.length
}

/** A question to delete, with all that follow. With `isEdited`, its text returns to the field. */
interface Doomed {
  readonly traceId: string
  readonly question: string
  readonly isFirst: boolean
  readonly isEdited: boolean
}

function useConversation(agent: AgentName, id: string, kept: KeptTurns) {
  const { route } = useLocation()
  /** Increased to make the field show its draft again. */
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
      // The server stopped before it stored the conversation, or another client deleted it, so
      // continue with a new one.
      if (!isMissing(error) || id === 'new') throw error
      await ask({ ...asked, conversation: 'new', place })
    }
  }
  const remove = async ({ traceId, question, isFirst, isEdited }: Doomed) => {
    await deleteTurnsFrom(agent, id, traceId).catch((error: unknown) => {
      if (!isMissing(error)) throw error
    })
    // The draft, and the conversation with all its turns, move to the new place.
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

/** Whether the server does not know the conversation or the turn. */
function isMissing(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404 && error.code !== 'agent_not_found'
}

function addressAt({ project, name }: AgentName, id: string): string {
  return id === 'new' ? addressOf.agent(project, name) : addressOf.conversation(project, name, id)
}

function Invitation({ agent, hasData }: Pick<ConversationPaneProps, 'agent' | 'hasData'>) {
  return (
    <EmptyState icon="chat" title={`Ask ${agent.name}`}>
      <p class="quiet">
        {hasData
          ? 'Answers come with their steps and sources, and the conversation is stored.'
          : 'This agent has no data yet, so it cannot answer.'}
      </p>
      {!hasData && (
        <a class="button" href={addressOf.agentSettings(agent.project, agent.name)}>
          Choose its data
        </a>
      )}
    </EmptyState>
  )
}

function MissingConversation(props: { readonly agent: AgentName; readonly onRetry: () => void }) {
  const { agent, onRetry } = props
  usePolling(onRetry, 'often')
  return (
    <EmptyState icon="chat" title="There is no such conversation">
      <p class="quiet">
        It was deleted or has expired, or its first question is still being answered.
      </p>
      <div class="row">
        <Button label="Check again" onClick={onRetry} />
        <a class="button" href={addressOf.agent(agent.project, agent.name)}>
          New conversation
        </a>
      </div>
    </EmptyState>
  )
}
