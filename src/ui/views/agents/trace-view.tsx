/** What one question left behind: calls of the model and of tools on one time axis, and what each read and wrote. */
import { useLocation } from 'preact-iso/router'
import { readTrace } from '../../api/agents.ts'
import type { Trace } from '../../api/records.ts'
import { Failure } from '../../components/failure.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { Loading } from '../../components/progress.tsx'
import { useResource } from '../../components/resource.ts'
import { counted, shownDuration, shownTime } from '../../format/numbers.ts'
import { addressOf } from '../../shell/addresses.ts'
import { AnswerText } from './asking/answer-text.tsx'
import { Long, ToolInput } from './asking/step-list.tsx'
import { usageOf } from './asking/usage.ts'

interface Bar {
  readonly label: string
  readonly kind: 'model' | 'tool'
  readonly startMs: number
  readonly tookMs: number
  readonly turn?: Trace['turns'][number]
  readonly step?: Trace['steps'][number]
}

export function TraceView({ id }: { readonly id: string }) {
  const found = useResource((signal) => readTrace(id, signal), [id])
  const trace = found.data
  return (
    <>
      <PageHeader title="Trace" above={trace === undefined ? [] : aboveOf(trace)} />
      {found.failure && <Failure error={found.failure} onRetry={found.reload} />}
      {found.isLoading && trace === undefined && <Loading what="the trace" />}
      {trace !== undefined && <Shown trace={trace} />}
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
  const { query, path, route } = useLocation()
  const bars = barsOf(trace)
  const at = Number(query.at ?? -1)
  const wholeMs = Math.max(trace.took_ms, ...bars.map((bar) => bar.startMs + bar.tookMs), 1)
  return (
    <>
      <section class="panel stack" aria-label="The question">
        <p class="pre" dir="auto">
          <strong>{trace.question}</strong>
        </p>
        <p class="small quiet">
          {trace.outcome} in {shownDuration(trace.took_ms)} · {trace.provider} {trace.model} ·{' '}
          {usageOf(trace.usage)}
          {trace.cost === null ? '' : ` · cost ${trace.cost}`} · {shownTime(trace.started_at)}
        </p>
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
      <section class="panel stack" aria-label="Steps">
        <h2>
          {counted(trace.turns.length, 'call')} of the model, {counted(trace.steps.length, 'call')}{' '}
          of tools
        </h2>
        <ol class="agents-bars">
          {bars.map((bar, index) => (
            <li key={index}>
              <button
                type="button"
                class="agents-bar"
                aria-pressed={index === at}
                onClick={() => route(index === at ? path : `${path}?at=${index}`, true)}
              >
                <span class="one-line mono">{bar.label}</span>
                <span class="agents-lane">
                  <span
                    class={bar.kind}
                    style={{
                      insetInlineStart: `${(bar.startMs / wholeMs) * 100}%`,
                      width: `${(bar.tookMs / wholeMs) * 100}%`,
                    }}
                  />
                </span>
                <span class="visually-hidden">after {shownDuration(bar.startMs)}, took</span>
                <span class="small quiet">{shownDuration(bar.tookMs)}</span>
              </button>
              {index === at && <Detail bar={bar} project={trace.project} />}
            </li>
          ))}
        </ol>
      </section>
    </>
  )
}

function Detail({ bar, project }: { readonly bar: Bar; readonly project: string }) {
  if (bar.step !== undefined) {
    return (
      <div class="stack">
        <ToolInput input={bar.step.input} project={project} />
        <Long label="What came back" text={bar.step.observation} />
      </div>
    )
  }
  const { turn } = bar
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

function barsOf({ turns, steps }: Trace): readonly Bar[] {
  const models = turns.map((turn, index): Bar => {
    const { start_ms: startMs, took_ms: tookMs } = turn
    return { label: `Model, turn ${index + 1}`, kind: 'model', startMs, tookMs, turn }
  })
  const tools = steps.map((step): Bar => {
    const { start_ms: startMs, took_ms: tookMs } = step
    return { label: step.tool, kind: 'tool', startMs, tookMs, step }
  })
  return [...models, ...tools].sort((a, b) => a.startMs - b.startMs)
}
