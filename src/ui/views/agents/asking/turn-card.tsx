/** One question with its steps, its answer, where that comes from, and what can be done with it. */
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { Citation } from '../../../../domain/agents/completion-event.ts'
import { CopyButton } from '../../../components/copy-button.tsx'
import { Icon } from '../../../components/icon.tsx'
import { shownDuration } from '../../../format/numbers.ts'
import { addressOf } from '../../../shell/addresses.ts'
import { AnswerText, addressOfCitation, CitationChip } from './answer-text.tsx'
import { type AskedTurn, NEXT_STEPS } from './asked-turn.ts'
import { Feedback } from './feedback.tsx'
import { Findings } from './findings.tsx'
import { KeptSteps } from './kept-steps.tsx'
import type { TraceSummary } from './kept-turns.ts'
import { StepList } from './step-list.tsx'
import { usageOf } from './usage.ts'

interface TurnCardProps {
  readonly turn: AskedTurn
  readonly project: string
  /** What its trace says, where it was read. */
  readonly summary?: TraceSummary | undefined
  readonly sharedChunks?: ReadonlySet<string>
  readonly actions?: ComponentChildren
  /** The question, time and tokens stand somewhere else. */
  readonly isBare?: boolean
}

export function TurnCard(props: TurnCardProps) {
  const { turn, project, summary, sharedChunks, actions, isBare = false } = props
  const sources = turn.found?.citations ?? NO_CITATIONS
  const isRunning = turn.state === 'running'
  const { traceId } = turn
  return (
    <article class="agents-turn" aria-busy={isRunning}>
      {!isBare && (
        <p class="agents-question pre" dir="auto">
          {turn.question}
        </p>
      )}
      {turn.steps.length > 0 && <StepList steps={turn.steps} project={project} />}
      {turn.steps.length === 0 && summary !== undefined && summary.step_count > 0 && (
        <KeptSteps traceId={summary.trace_id} count={summary.step_count} project={project} />
      )}
      {turn.text !== '' && <AnswerText text={turn.text} citations={sources} />}
      {isRunning && <Clock since={turn.startedAtMs} hasText={turn.text !== ''} />}
      <HowItEnded turn={turn} />
      {(turn.found?.warnings ?? []).map((warning) => (
        <p key={warning} class="agents-warning small" dir="auto">
          <Icon name="warning" /> {warning}
        </p>
      ))}
      {turn.found && <Findings found={turn.found} project={project} />}
      <Sources citations={sources} shared={sharedChunks} />
      {!isRunning && (
        <div class="row small">
          {!isBare && <Spent turn={turn} summary={summary} />}
          {turn.text !== '' && <CopyButton text={turn.text} label="Copy the answer" />}
          {traceId !== undefined && <Feedback traceId={traceId} summary={summary} />}
          {traceId !== undefined && (
            <a class="button small quiet" href={addressOf.trace(traceId)}>
              <Icon name="chart" /> Trace
            </a>
          )}
          {actions}
        </div>
      )}
    </article>
  )
}

const NO_CITATIONS: readonly Citation[] = []

/** How long it took, and the tokens that the model counted. */
function Spent({
  turn,
  summary,
}: {
  readonly turn: AskedTurn
  readonly summary: TraceSummary | undefined
}) {
  const watchedMs = turn.endedAtMs === undefined ? undefined : turn.endedAtMs - turn.startedAtMs
  const tookMs = summary?.took_ms ?? watchedMs
  const words = [
    ...(tookMs === undefined ? [] : [shownDuration(tookMs)]),
    ...(summary?.usage ? [usageOf(summary.usage)] : []),
  ]
  return <span class="quiet grow">{words.join(' · ')}</span>
}

function Clock({ since, hasText }: { readonly since: number; readonly hasText: boolean }) {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 100)
    return () => clearInterval(timer)
  }, [])
  return (
    <p class="small quiet">
      {hasText ? 'Answering' : 'Working'} … {shownDuration(Math.max(0, now - since))}
    </p>
  )
}

function HowItEnded({ turn }: { readonly turn: AskedTurn }) {
  if (turn.state === 'stopped') {
    return (
      <p>
        <span class="badge warn">Stopped</span>
      </p>
    )
  }
  if (turn.state === 'cut') {
    return (
      <p class="agents-warning" role="alert">
        <Icon name="warning" />{' '}
        {turn.conversationId === undefined
          ? 'The connection broke off. What had come stays here; ask again for the whole answer.'
          : 'The connection broke off. What had come stays here, and the rest comes when the server is back. If it does not, ask again.'}
      </p>
    )
  }
  if (turn.state !== 'failed') return null
  return (
    <div class="failure" role="alert">
      <Icon name="warning" />
      <div>
        <strong>{turn.text === '' ? 'There is no answer' : 'The answer broke off'}</strong>
        <p class="pre" dir="auto">
          {turn.failure?.words}
        </p>
        <p>{NEXT_STEPS[turn.failure?.kind ?? 'general'] ?? NEXT_STEPS.general}</p>
      </div>
    </div>
  )
}

function Sources({
  citations,
  shared,
}: {
  readonly citations: readonly Citation[]
  readonly shared: ReadonlySet<string> | undefined
}) {
  if (citations.length === 0) return null
  const ids = [...new Set(citations.map(({ chunk_id }) => chunk_id))]
  return (
    <ol class="agents-sources small" aria-label="Sources">
      {citations.map((citation, index) => (
        <li key={index}>
          <CitationChip
            number={ids.indexOf(citation.chunk_id) + 1}
            citation={citation}
            isShared={shared?.has(`${citation.knowledge_base} ${citation.chunk_id}`) ?? false}
          />
          <a href={addressOfCitation(citation)} dir="auto">
            {citation.document_id}
          </a>
          {citation.page !== null && <span class="quiet">page {citation.page}</span>}
          {shared?.has(`${citation.knowledge_base} ${citation.chunk_id}`) && (
            <span class="badge accent">In both</span>
          )}
          <q class="quiet" dir="auto">
            {citation.text}
          </q>
        </li>
      ))}
    </ol>
  )
}
