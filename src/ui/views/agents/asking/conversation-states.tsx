/** What stands where a conversation would: none yet, none any more, or more of it to read. */
import type { AgentName } from '../../../api/agents.ts'
import { Button } from '../../../components/button.tsx'
import { EmptyState, Failure } from '../../../components/failure.tsx'
import { useAction, usePolling } from '../../../components/resource.ts'
import { addressOf } from '../../../shell/addresses.ts'
import type { KeptTurns } from './kept-turns.ts'

export function Invitation({
  agent,
  hasData,
}: {
  readonly agent: AgentName
  readonly hasData: boolean
}) {
  return (
    <EmptyState icon="chat" title={`Ask ${agent.name}`}>
      <p class="quiet">
        {hasData
          ? 'The answer comes with its steps and its sources, and the conversation is kept.'
          : 'It has nothing to read yet, so it cannot answer anything.'}
      </p>
      {!hasData && (
        <a class="button" href={addressOf.agentSettings(agent.project, agent.name)}>
          Choose what it may read
        </a>
      )}
    </EmptyState>
  )
}

export function EarlierButton({
  readEarlier,
}: {
  readonly readEarlier: NonNullable<KeptTurns['readEarlier']>
}) {
  const { act, failure, isBusy } = useAction()
  return (
    <div class="row">
      <Button
        look="small"
        label="Show earlier questions"
        aria-disabled={isBusy}
        onClick={() => act(readEarlier)}
      />
      {failure && <Failure error={failure} />}
    </div>
  )
}

const POLL_MS = 2000

interface MissingProps {
  readonly agent: AgentName
  readonly onRetry: () => void
}

export function MissingConversation({ agent, onRetry }: MissingProps) {
  usePolling(onRetry, POLL_MS)
  return (
    <EmptyState icon="chat" title="This conversation is not there">
      <p class="quiet">
        It was deleted or has expired, or its first question is still being answered.
      </p>
      <div class="row">
        <Button label="Look again" onClick={onRetry} />
        <a class="button" href={addressOf.agent(agent.project, agent.name)}>
          New conversation
        </a>
      </div>
    </EmptyState>
  )
}
