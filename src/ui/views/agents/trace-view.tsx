/** The trace of one question: model and tool calls on a time axis, with input and output. */

import { useState } from 'preact/hooks'
import { readTrace } from '../../api/agents.ts'
import type { Trace } from '../../api/records.ts'
import { ApiError } from '../../api/request.ts'
import { Icon } from '../../components/button.tsx'
import { Failure } from '../../components/failure.tsx'
import { counted, shownCount, shownDuration, shownTime } from '../../components/numbers.ts'
import { PageHeader } from '../../components/page-header.tsx'
import { Loaded } from '../../components/record-list.tsx'
import { useResource } from '../../components/resource.ts'
import { addressOf } from '../../shell/addresses.ts'
import { AnswerText } from './asking/answer-text.tsx'
import { usageOf } from './asking/asked-turn.ts'
import { Long, ToolInput } from './asking/step-list.tsx'
import { LiveRuns, ratingOf } from './traces-view.tsx'

export function TraceView({ id }: { readonly id: string }) {
  const found = useResource((signal) => readTrace(id, signal), [id])
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
        {calls.length > 0 && <Waterfall calls={calls} wholeMs={wholeMs} project={trace.project} />}
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
      {trace.warnings.map((warning) => (
        <p key={warning} class="small">
          {warning}
        </p>
      ))}
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

interface WaterfallProps {
  readonly calls: readonly Call[]
  readonly wholeMs: number
  /** For the links of statements. */
  readonly project: string
}

const TICKS = [0, 0.25, 0.5, 0.75]
const COLUMNS = 6

function Waterfall({ calls, ...shared }: WaterfallProps) {
  return (
    <table class="agents-waterfall">
      <thead>
        <tr>
          <th scope="col">Call</th>
          <th scope="col" class="agents-axis">
            <span class="visually-hidden">On the time axis</span>
            <span aria-hidden="true" class="agents-ticks">
              {TICKS.map((part) => (
                <span key={part}>{shownDuration(part * shared.wholeMs)}</span>
              ))}
            </span>
          </th>
          <th scope="col" class="number agents-wide-only">
            After
          </th>
          <th scope="col" class="number">
            Took
          </th>
          <th scope="col" class="number agents-wide-only">
            Tokens in
          </th>
          <th scope="col" class="number agents-wide-only">
            Tokens out
          </th>
        </tr>
      </thead>
      <tbody>
        {calls.map((call, index) => (
          <Row key={index} call={call} {...shared} />
        ))}
      </tbody>
    </table>
  )
}

interface RowProps extends Omit<WaterfallProps, 'calls'> {
  readonly call: Call
}

function Row({ call, wholeMs, project }: RowProps) {
  const [isOpen, setIsOpen] = useState(false)
  const { label, startMs, tookMs, turn } = call
  const usage = turn?.usage
  return (
    <>
      <tr class={isOpen ? 'open' : ''}>
        <td>
          <button
            type="button"
            class="text-button agents-call"
            aria-expanded={isOpen}
            onClick={() => setIsOpen(!isOpen)}
          >
            <Icon name="down" />
            <span class="one-line mono">{label}</span>
          </button>
        </td>
        <td class="agents-axis">
          <Bar call={call} wholeMs={wholeMs} />
        </td>
        <td class="number agents-wide-only">{shownDuration(startMs)}</td>
        <td class="number">{shownDuration(tookMs)}</td>
        <td class="number agents-wide-only">{usage ? shownCount(usage.input_tokens) : ''}</td>
        <td class="number agents-wide-only">{usage ? shownCount(usage.output_tokens) : ''}</td>
      </tr>
      {isOpen && (
        <tr class="agents-detail">
          <td colSpan={COLUMNS}>
            <Detail call={call} project={project} />
          </td>
        </tr>
      )}
    </>
  )
}

/** The part before the model's first token is paler. */
function Bar({ call: { startMs, tookMs, turn }, wholeMs }: Pick<RowProps, 'call' | 'wholeMs'>) {
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
