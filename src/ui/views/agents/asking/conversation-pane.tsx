/** One conversation: its turns, what is being answered, and the field for the next question. */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { AgentName } from '../../../api/agents.ts'
import { isLost } from '../../../api/connection.ts'
import { ConfirmDialog } from '../../../components/confirm-dialog.tsx'
import { Failure } from '../../../components/failure.tsx'
import { Icon } from '../../../components/icon.tsx'
import { Loading } from '../../../components/progress.tsx'
import { tellFailed } from '../../../shell/notices.tsx'
import type { AskedTurn } from './asked-turn.ts'
import { Composer } from './composer.tsx'
import { EarlierButton, Invitation, MissingConversation } from './conversation-states.tsx'
import { type KeptTurn, useKeptTurns, useSummaries, watchedTurn } from './kept-turns.ts'
import { isWhole, placeOf, stopAsking, turnsAt } from './running-turns.ts'
import { TurnActions } from './turn-actions.tsx'
import { TurnCard } from './turn-card.tsx'
import { type Doomed, isMissing, useConversation } from './use-conversation.ts'
import { type Listed, useOtherWindows } from './use-other-windows.ts'

interface ConversationPaneProps {
  readonly agent: AgentName
  /** `new`: it begins with the first question. */
  readonly id: string
  /** Whether the agent has anything to read. */
  readonly hasData: boolean
  readonly listed: Listed | undefined
}

export function ConversationPane({ agent, id, hasData, listed }: ConversationPaneProps) {
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
  const askHere = (question: string, begun?: (to: string) => void) => {
    following.follow()
    return onAsk(question, begun)
  }
  const firstId = kept.readEarlier ? undefined : (kept.turns[0]?.trace_id ?? live[0]?.traceId)
  const actionsOf = ({ question, traceId }: AskedTurn) => (
    <TurnActions
      isDisabled={isRunning}
      onAsk={() => void askHere(question).catch(tellUnlessStopped)}
      {...(traceId === undefined
        ? {}
        : {
            onRemove: (isEdited: boolean) => {
              setDoomed({ traceId, question, isFirst: traceId === firstId, isEdited })
            },
          })}
    />
  )
  const cardOf = (turn: AskedTurn, key: string | number) => (
    <TurnCard
      key={key}
      turn={turn}
      project={agent.project}
      summary={summaries.get(turn.traceId ?? '')}
      actions={actionsOf(turn)}
    />
  )
  const over = live.filter(({ state }) => state !== 'running')
  const underWay = live.filter(({ state }) => state === 'running')
  // Not with each piece of an answer that comes.
  const cards = useMemo(
    () => inOrder(kept.turns, live).map((turn) => cardOf(turn, turn.key || turn.traceId || '')),
    [kept.turns, over.map(({ key, state }) => `${key} ${state}`).join(), summaries, isRunning, id],
  )
  return (
    <div class="agents-pane">
      {kept.failure && !isGone && !isLost.value && (
        <Failure error={kept.failure} onRetry={kept.reload} />
      )}
      {isGone && !hasTurns && <MissingConversation agent={agent} onRetry={kept.reload} />}
      {kept.isLoading && live.length === 0 && <Loading what="the conversation" />}
      {id === 'new' && live.length === 0 && <Invitation agent={agent} hasData={hasData} />}
      {kept.readEarlier && <EarlierButton readEarlier={kept.readEarlier} />}
      {[...cards, ...underWay.map((turn) => cardOf(turn, turn.key))]}
      {isGone && hasTurns && !isRunning && (
        <p class="agents-warning">
          <Icon name="warning" /> This conversation was deleted, or the server ended before it was
          kept. What you ask now begins a new one.
        </p>
      )}
      <p class="visually-hidden" role="status">
        {saidOf(live.at(-1))}
      </p>
      <Composer
        key={`${place} ${draftCount}`}
        place={place}
        isRunning={isRunning}
        onAsk={askHere}
        onStop={() => stopAsking(place)}
        onDown={following.isAway ? following.follow : undefined}
      />
      {doomed !== undefined && (
        <ConfirmDialog
          title={doomed.isEdited ? 'Edit this question?' : 'Delete this question?'}
          verb={doomed.isEdited ? 'Delete and edit' : 'Delete'}
          onConfirm={() => remove(doomed)}
          onClose={() => setDoomed(undefined)}
        >
          This question, its answer and all that followed are deleted from the conversation.
          {doomed.isEdited &&
            ' The question returns to the field below, where you can change it and ask again.'}
        </ConfirmDialog>
      )}
    </div>
  )
}

/** The turns that are kept, those that were watched here as they were watched, then what was not read yet. */
function inOrder(kept: readonly KeptTurn[], live: readonly AskedTurn[]): readonly AskedTurn[] {
  const watched = new Map(live.map((turn) => [turn.traceId, turn]))
  const known = new Set(kept.map((turn) => turn.trace_id))
  const rest = live.filter(({ traceId }) => traceId === undefined || !known.has(traceId))
  const all = [...kept.map((turn) => watched.get(turn.trace_id) ?? watchedTurn(turn)), ...rest]
  // What is under way stands below them.
  return all.filter(({ state }) => state !== 'running')
}

function tellUnlessStopped(error: unknown): void {
  if (!(error instanceof DOMException && error.name === 'AbortError')) tellFailed(error)
}

/** For those who do not see it: not each piece of the text, which would never end. */
function saidOf(turn: AskedTurn | undefined): string {
  if (turn === undefined) return ''
  if (turn.state === 'stopped') return 'Stopped'
  if (turn.state === 'answered') return 'The answer is there'
  if (turn.state !== 'running') return ''
  if (turn.text !== '') return 'It is answering'
  const step = turn.steps.at(-1)
  return step === undefined ? 'It is working' : `Step ${turn.steps.length}: ${step.action.tool}`
}

const END_PX = 120

/** Keeps the end in sight while it grows, as long as the reader is there. @param grown other values when it has grown */
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
