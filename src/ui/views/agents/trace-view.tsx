/** The trace of one question: model and tool calls on a time axis, with input and output. */

import type { Trace } from '../../api/records.ts'
import { ApiError, path } from '../../api/request.ts'
import { Failure, Warnings } from '../../components/failure.tsx'
import { counted, shownDuration, shownTime } from '../../components/numbers.ts'
import { PageHeader } from '../../components/page-header.tsx'
import { Details, Loaded } from '../../components/record-list.tsx'
import { useRequest } from '../../components/resource.ts'
import { addressOf } from '../../shell/addresses.ts'
import { AnswerText } from './asking/answer-text.tsx'
import { usageOf } from './asking/asked-turn.ts'
import { Long, ToolInput } from './asking/step-list.tsx'
import { LiveRuns, OUTCOMES, ratingOf } from './traces-view.tsx'

export function TraceView({ id }: { readonly id: string }) {
  const found = useRequest<Trace>(path`/api/traces/${id}`)
  const trace = found.data
  const isUnknown = found.failure instanceof ApiError && found.failure.code === 'trace_not_found'
  return (
    <>
      <PageHeader title="Trace" above={trace === undefined ? [] : aboveOf(trace)} />
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

function Shown({ trace }: { readonly trace: Trace }) {
  const calls = callsOf(trace)
  const wholeMs = Math.max(trace.took_ms, ...calls.map((call) => call.startMs + call.tookMs), 1)
  return (
    <>
      <Summary trace={trace} />
      <section class="panel stack" aria-label="Calls">
        <h2>
          {counted(trace.turns.length, 'call')} of the model, {counted(trace.steps.length, 'call')}{' '}
          of tools
        </h2>
        {calls.length === 0 && (
          <p class="quiet">The run ended before it called a model or a tool.</p>
        )}
        <ol class="list agents-steps agents-calls">
          {calls.map((call, index) => (
            <ShownCall key={index} call={call} wholeMs={wholeMs} project={trace.project} />
          ))}
        </ol>
      </section>
    </>
  )
}

function Summary({ trace }: { readonly trace: Trace }) {
  const { project, agent, conversation_id: conversation } = trace
  const rating = ratingOf(trace.feedback)
  return (
    <section class="panel stack" aria-label="The question">
      <p class="pre">
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
      {rating !== '' && <p class="small">Rated {rating}</p>}
      {trace.answer !== null && <AnswerText text={trace.answer} citations={trace.citations} />}
      {trace.error !== null && <p class="bad pre">{trace.error}</p>}
      <Warnings of={trace.warnings} />
    </section>
  )
}

function Detail(props: { readonly call: Call; readonly project: string }) {
  const {
    call: { step, turn },
    project,
  } = props
  if (step !== undefined) {
    return (
      <div class="stack">
        <ToolInput input={step.input} project={project} />
        <Long label="Result" text={step.observation} />
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
      {turn.reasoning !== '' && <Long label="Reasoning" text={turn.reasoning} />}
    </div>
  )
}

export interface Call {
  readonly label: string
  readonly startMs: number
  readonly tookMs: number
  readonly turn?: Trace['turns'][number]
  readonly step?: Trace['steps'][number]
}

/** Calls in the order in which they started. */
export function callsOf({ turns, steps }: Pick<Trace, 'turns' | 'steps'>): readonly Call[] {
  const models = turns.map((turn, index): Call => {
    const { start_ms: startMs, took_ms: tookMs } = turn
    return { label: `Model, turn ${index + 1}`, startMs, tookMs, turn }
  })
  const tools = steps.map((step): Call => {
    const { start_ms: startMs, took_ms: tookMs } = step
    return { label: step.tool, startMs, tookMs, step }
  })
  return [...models, ...tools].sort((a, b) => a.startMs - b.startMs)
}

interface CallProps {
  readonly call: Call
  readonly wholeMs: number
  /** For the links of statements. */
  readonly project: string
}

function ShownCall({ call, wholeMs, project }: CallProps) {
  const { label, startMs, tookMs, turn } = call
  return (
    <li>
      <Details
        head={
          <summary>
            <span class="one-line mono">{label}</span>
            <Bar call={call} wholeMs={wholeMs} />
            <span class="small quiet">
              <span class="wide-words">
                {turn?.usage && `${usageOf(turn.usage)} · `}after {shownDuration(startMs)} ·{' '}
              </span>
              {shownDuration(tookMs)}
            </span>
          </summary>
        }
      >
        <Detail call={call} project={project} />
      </Details>
    </li>
  )
}

/** The part before the model's first token is paler. */
function Bar({ call: { startMs, tookMs, turn }, wholeMs }: Omit<CallProps, 'project'>) {
  const part = (ms: number) => `${(ms / wholeMs) * 100}%`
  const waitedMs = Math.min(tookMs, turn?.first_piece_ms ?? 0)
  return (
    <span class="agents-lane" aria-hidden="true">
      {waitedMs > 0 && (
        <span
          class="model waiting"
          style={{ insetInlineStart: part(startMs), width: part(waitedMs) }}
        />
      )}
      <span
        class={turn === undefined ? 'tool' : 'model'}
        style={{ insetInlineStart: part(startMs + waitedMs), width: part(tookMs - waitedMs) }}
      />
    </span>
  )
}
