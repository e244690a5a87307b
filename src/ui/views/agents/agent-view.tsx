/** Asking an agent, in a conversation that is kept. */
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { deleteTurnsFrom, readConversation } from '../../api/agents.ts'
import type { Conversation } from '../../api/records.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Failure } from '../../components/failure.tsx'
import { Loading } from '../../components/progress.tsx'
import { useResource } from '../../components/resource.ts'
import { addressOf } from '../../shell/addresses.ts'
import { tellFailed } from '../../shell/notices.tsx'
import { type AgentAddress, AgentFrame } from './agent-frame.tsx'
import type { AskedTurn } from './asking/asked-turn.ts'
import { Composer } from './asking/composer.tsx'
import { ConversationList } from './asking/conversation-list.tsx'
import {
  ask,
  changes,
  forgetTurns,
  isWhole,
  placeOf,
  stopAsking,
  turnsAt,
} from './asking/running-turns.ts'
import { TurnCard } from './asking/turn-card.tsx'

type KeptTurn = Conversation['turns'][number]

interface AgentViewProps extends AgentAddress {
  readonly conversation?: string
}

export function AgentView({ project, name, conversation }: AgentViewProps) {
  const { route } = useLocation()
  const [version, setVersion] = useState(0)
  const [edited, setEdited] = useState<{ traceId: string; question: string }>()
  const agent = { project, name }
  const id = conversation ?? 'new'
  const place = placeOf(agent, id)
  const live = turnsAt(place)
  const kept = useResource(
    async (signal) => {
      return id === 'new' || isWhole(place) ? undefined : readConversation(agent, id, signal)
    },
    [project, name, id],
  )
  const seen = new Set(live.map(({ traceId }) => traceId))
  const earlier = (kept.data?.turns ?? []).filter(({ trace_id }) => !seen.has(trace_id))
  const isRunning = live.some(({ state }) => state === 'running')
  const onAsk = async (question: string, begun: () => void = () => {}) => {
    const moved = (to: string | undefined) => {
      begun()
      setVersion((before) => before + 1)
      const isHere = location.pathname === addressOf.agent(project, name)
      if (id === 'new' && to !== undefined && isHere) {
        route(addressOf.conversation(project, name, to), true)
      }
    }
    await ask({ agent, conversation: id, isKept: true, question, begun: moved })
    setVersion((before) => before + 1)
  }
  const askOtherwise = async ({ traceId, question }: { traceId: string; question: string }) => {
    await deleteTurnsFrom(agent, id, traceId)
    forgetTurns(place)
    const isFirst = [...earlier.map((turn) => turn.trace_id), ...seen][0] === traceId
    sessionStorage.setItem(`eider.question.${isFirst ? placeOf(agent, 'new') : place}`, question)
    if (isFirst) route(addressOf.agent(project, name))
    else {
      kept.reload()
      setVersion((before) => before + 1)
    }
  }
  const actionsOf = (question: string, traceId: string | undefined) => (
    <>
      <button
        type="button"
        class="button small"
        disabled={isRunning}
        onClick={() => void onAsk(question).catch(tellFailed)}
      >
        Ask again
      </button>
      {traceId !== undefined && (
        <button
          type="button"
          class="button small"
          disabled={isRunning}
          onClick={() => setEdited({ traceId, question })}
        >
          Edit
        </button>
      )}
    </>
  )
  return (
    <AgentFrame project={project} name={name}>
      <div class="agents-ask">
        <ConversationList
          project={project}
          name={name}
          open={conversation}
          version={version + changes.value}
        />
        <div class="stack" aria-live="polite">
          {kept.failure && <Failure error={kept.failure} onRetry={kept.reload} />}
          {kept.isLoading && kept.data === undefined && id !== 'new' && live.length === 0 && (
            <Loading what="the conversation" />
          )}
          {id === 'new' && live.length === 0 && (
            <EmptyState icon="chat" title={`Ask ${name}`}>
              <p class="quiet">
                The answer comes with its steps and its sources, and the conversation is kept.
              </p>
            </EmptyState>
          )}
          {earlier.map((turn) => (
            <TurnCard
              key={turn.trace_id}
              turn={watchedTurn(turn)}
              citations={turn.citations}
              project={project}
              actions={actionsOf(turn.question, turn.trace_id)}
            />
          ))}
          {live.map((turn, index) => (
            <TurnCard
              key={turn.traceId ?? index}
              turn={turn}
              project={project}
              actions={actionsOf(turn.question, turn.traceId)}
            />
          ))}
          <Composer
            key={`${place} ${kept.data?.turn_count ?? 0}`}
            place={place}
            isRunning={isRunning}
            onAsk={onAsk}
            onStop={() => stopAsking(place)}
          />
        </div>
      </div>
      {edited !== undefined && (
        <ConfirmDialog
          title="Ask this otherwise?"
          verb="Delete and edit"
          onConfirm={() => askOtherwise(edited)}
          onClose={() => setEdited(undefined)}
        >
          This question, its answer and all that followed are deleted from the conversation. The
          question comes back to the field below, to be changed and asked.
        </ConfirmDialog>
      )}
    </AgentFrame>
  )
}

const STATES = { answered: 'answered', failed: 'failed', cancelled: 'stopped' } as const

function watchedTurn(turn: KeptTurn): AskedTurn {
  const { question, answer, outcome, error_code: code, trace_id: traceId } = turn
  const failure = { words: `It failed with ${code ?? 'an error'}.`, kind: 'general' }
  return {
    question,
    traceId,
    text: answer ?? '',
    state: STATES[outcome],
    startedAtMs: 0,
    steps: [],
    ...(outcome === 'failed' ? { failure } : {}),
  }
}
