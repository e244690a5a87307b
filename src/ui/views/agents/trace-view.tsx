/** What one question left behind: calls of the model and of tools on one time axis, and what each read and wrote. */
import { useLocation } from 'preact-iso/router'
import { readTrace } from '../../api/agents.ts'
import type { Trace } from '../../api/records.ts'
import { ApiError } from '../../api/request.ts'
import { Failure } from '../../components/failure.tsx'
import { counted, shownDuration, shownTime } from '../../components/numbers.ts'
import { PageHeader } from '../../components/page-header.tsx'
import { Loaded } from '../../components/record-list.tsx'
import { useResource } from '../../components/resource.ts'
import { addressOf } from '../../shell/addresses.ts'
import { AnswerText } from './asking/answer-text.tsx'
import { usageOf } from './asking/asked-turn.ts'
import { Long, ToolInput } from './asking/step-list.tsx'
import { LiveRuns } from './live-runs.tsx'
import { ratingOf } from './trace-list.tsx'
import { type Call, callsOf, Waterfall } from './waterfall.tsx'

export function TraceView({ id }: { readonly id: string }) {
  const found = useResource((signal) => readTrace(id, signal), [id])
  const trace = found.data
  const isUnknown = found.failure instanceof ApiError && found.failure.code === 'trace_not_found'
  return (
    <>
      <PageHeader title="Trace" above={trace === undefined ? [] : aboveOf(trace)}>
        {trace && (
          <a class="button" href={comparisonOf(trace)}>
            Compare agents
          </a>
        )}
      </PageHeader>
      {isUnknown && found.failure && (
        <LiveRuns isShown={({ trace_id }) => trace_id === id} onEnd={() => found.reload()}>
          <Failure error={found.failure} onRetry={found.reload} />
        </LiveRuns>
      )}
      {!isUnknown && (
        <Loaded of={found} what="the trace">
          {(data) => <Shown trace={data} />}
        </Loaded>
      )}
    </>
  )
}

function aboveOf({ project, agent }: Trace) {
  return [
    { label: agent, href: addressOf.agent(project, agent) },
    { label: 'Traces', href: addressOf.agentTraces(project, agent) },
  ]
}

function comparisonOf({ project, agent, question }: Trace): string {
  return `/compare?${new URLSearchParams({ agents: `${project}.${agent}`, question })}`
}

function Shown({ trace }: { readonly trace: Trace }) {
  const { query, path, route } = useLocation()
  const calls = callsOf(trace)
  const at = query.at === undefined ? -1 : Number(query.at)
  const wholeMs = Math.max(trace.took_ms, ...calls.map((call) => call.startMs + call.tookMs), 1)
  return (
    <>
      <Summary trace={trace} />
      <section class="panel stack" aria-label="Calls">
        <h2>
          {counted(trace.turns.length, 'call')} of the model, {counted(trace.steps.length, 'call')}{' '}
          of tools
        </h2>
        {calls.length === 0 && <p class="quiet">It ended before anything was called.</p>}
        {calls.length > 0 && (
          <Waterfall
            calls={calls}
            wholeMs={wholeMs}
            at={at}
            onOpen={(index) => route(index === at ? path : `${path}?at=${index}`, true)}
            detailOf={(call) => <Detail call={call} project={trace.project} />}
          />
        )}
      </section>
    </>
  )
}

const OUTCOMES = { answered: 'good', failed: 'bad', cancelled: 'warn' } as const

function Summary({ trace }: { readonly trace: Trace }) {
  const { project, agent, conversation_id: conversation } = trace
  const rating = ratingOf(trace.feedback)
  return (
    <section class="panel stack" aria-label="The question">
      <p class="pre" dir="auto">
        <strong>{trace.question}</strong>
      </p>
      <p class="small quiet">
        <span class={`badge ${OUTCOMES[trace.outcome]}`}>{trace.outcome}</span> in{' '}
        {shownDuration(trace.took_ms)} · {trace.provider} {trace.model} · {usageOf(trace.usage)}
        {trace.cost === null ? '' : ` · cost ${trace.cost}`} · {shownTime(trace.started_at)}
        {conversation !== null && (
          <>
            {' · '}
            <a href={addressOf.conversation(project, agent, conversation)}>its conversation</a>
          </>
        )}
      </p>
      {rating !== '' && (
        <p class="small" dir="auto">
          Rated {rating}
        </p>
      )}
      {trace.answer !== null && <AnswerText text={trace.answer} citations={trace.citations} />}
      {trace.error !== null && (
        <p class="bad pre" dir="auto">
          {trace.error}
        </p>
      )}
      {trace.warnings.map((warning) => (
        <p key={warning} class="small" dir="auto">
          {warning}
        </p>
      ))}
    </section>
  )
}

function Detail({
  call: { step, turn },
  project,
}: {
  readonly call: Call
  readonly project: string
}) {
  if (step !== undefined) {
    return (
      <div class="stack">
        <ToolInput input={step.input} project={project} />
        <Long label="What came back" text={step.observation} />
      </div>
    )
  }
  if (turn === undefined) return null
  const first =
    turn.first_piece_ms === null ? '' : ` · first piece after ${shownDuration(turn.first_piece_ms)}`
  return (
    <div class="stack">
      <p class="small">
        {usageOf(turn.usage)} · ended by {turn.finish.replaceAll('_', ' ')} ·{' '}
        {counted(turn.tool_calls, 'tool call')}
        {first}
      </p>
      {turn.reasoning !== '' && <Long label="What the model thought" text={turn.reasoning} />}
    </div>
  )
}
