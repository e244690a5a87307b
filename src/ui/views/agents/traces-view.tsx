/** The runs of one agent or of all: running ones, which can be cancelled, and finished ones. */

import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { type AgentName, cancelRun, listTraces } from '../../api/agents.ts'
import { projects } from '../../api/catalog.ts'
import type { TraceList as Page, RunningQuestion } from '../../api/records.ts'
import { Button } from '../../components/button.tsx'
import { EmptyState } from '../../components/failure.tsx'
import { SelectField } from '../../components/form/field.tsx'
import { givenOf, type InputField, Inputs } from '../../components/form/form.tsx'
import { counted, shownCount, shownDuration, shownIn, shownTime } from '../../components/numbers.ts'
import { PageHeader } from '../../components/page-header.tsx'
import { Loaded, RecordTable, Section, type TableColumn } from '../../components/record-list.tsx'
import { useLongList, usePolling, useRequest } from '../../components/resource.ts'
import { addressOf } from '../../shell/addresses.ts'
import { tellFailed } from '../../shell/notices.tsx'
import { AgentFrame } from './agent-frame.tsx'

export function TracesView({ project, name }: Partial<AgentName>) {
  if (project === undefined || name === undefined) {
    return (
      <>
        <PageHeader title="Traces" above={[{ label: 'Home', href: '/' }]} />
        <Traces />
      </>
    )
  }
  return (
    <AgentFrame project={project} name={name}>
      <Traces agent={{ project, name }} />
    </AgentFrame>
  )
}

/** @param agent the agent in the address; if missing, all agents or the one in the query string */
function Traces({ agent }: { readonly agent?: AgentName }) {
  const { query, path, route } = useLocation()
  const [version, setVersion] = useState(0)
  const asked = givenOf(FILTERS, query)
  const project = agent?.project ?? query.project
  const name = agent?.name ?? query.agent
  const of = { ...(project ? { project } : {}), ...(name ? { agent: name } : {}) }
  const filters: Filters = { ...of, ...asked }
  return (
    <>
      <LiveRuns
        isShown={(run) => {
          return (!project || run.project === project) && (!name || run.agent === name)
        }}
        onEnd={() => setVersion((before) => before + 1)}
      />
      <Inputs
        class="operations-filters"
        fields={FILTERS}
        values={asked}
        onChange={(next) => {
          const given = { ...(agent === undefined ? of : {}), ...givenOf(FILTERS, next) }
          route(`${path}?${new URLSearchParams(given)}`, true)
        }}
      >
        <AgentSelect project={project} name={name} query={new URLSearchParams(asked)} />
      </Inputs>
      <TraceList filters={filters} hasAgentColumn={!name} version={version} />
    </>
  )
}

/** Each choice has its own address. */
function AgentSelect(props: {
  readonly project: string | undefined
  readonly name: string | undefined
  readonly query: URLSearchParams
}) {
  const { project, name, query } = props
  const { route } = useLocation()
  const known = (projects.value ?? []).flatMap((one) => {
    return one.agents.map((agent) => [one.name, agent.name] as const)
  })
  const chosen = project && name ? `${project}.${name}` : ''
  const named = project && name ? [[project, name] as const, ...known] : known
  const names = new Map(named.map(([of, agent]) => [`${of}.${agent}`, shownIn(of, agent)]))
  return (
    <SelectField
      label="Agent"
      value={chosen}
      options={[['', 'all agents'], ...names]}
      onChoose={(value) => {
        // Names contain no dots.
        const [of = '', agent = ''] = value.split('.')
        route(`${value === '' ? '/traces' : addressOf.agentTraces(of, agent)}?${query}`)
      }}
    />
  )
}

type Filters = Readonly<Record<string, string>>

export const OUTCOMES = { answered: 'good', failed: 'bad', cancelled: 'warn' } as const

const FILTERS: readonly InputField[] = [
  {
    ...{ name: 'outcome', label: 'Ended' },
    options: [['', 'any outcome'], ...Object.keys(OUTCOMES).map((one) => [one, one] as const)],
  },
  { name: 'from', label: 'Since', kind: 'date' },
  { name: 'q', label: 'Question contains', kind: 'search' },
]

export function TraceList(props: {
  readonly filters: Filters
  readonly hasAgentColumn: boolean
  /** Increases when there may be new runs. */
  readonly version: number
}) {
  const { filters, hasAgentColumn, version } = props
  const traces = useLongList(
    (limit, signal) => listTraces({ ...filters, limit: String(limit) }, signal),
    [filters],
    [version],
  )
  return (
    <Loaded of={traces} what="the traces">
      {({ items }) => (
        <>
          {items.length === 0 && (
            <EmptyState icon="chart" title="No traces">
              <p class="quiet">Every question has a trace. Ask an agent, or change the filters.</p>
            </EmptyState>
          )}
          {items.length > 0 && (
            <RecordTable
              label="Traces"
              rows={items}
              columns={COLUMNS.filter(({ title }) => hasAgentColumn || title !== 'Agent')}
            />
          )}
          {traces.showMore && <Button label="Show earlier traces" onClick={traces.showMore} />}
        </>
      )}
    </Loaded>
  )
}

const COLUMNS: readonly TableColumn<Page['items'][number]>[] = [
  {
    title: 'Question',
    look: 'stacked-first',
    cell: ({ trace_id: id, question }) => (
      <a href={addressOf.trace(id)}>{question.slice(0, 200)}</a>
    ),
  },
  { title: 'Agent', look: 'named', cell: ({ project, agent }) => shownIn(project, agent) },
  {
    title: 'Ended',
    cell: ({ outcome, error_code: code }) => (
      <>
        <span class={`badge ${OUTCOMES[outcome]}`}>{outcome}</span>{' '}
        {outcome === 'failed' && <span class="small quiet">{code}</span>}
      </>
    ),
  },
  { title: 'Took', look: 'number one-line', cell: ({ took_ms: ms }) => shownDuration(ms) },
  { title: 'Steps', look: 'number', label: 'Steps', cell: ({ step_count: count }) => count },
  {
    title: 'Tokens',
    look: 'number',
    label: 'Tokens',
    cell: ({ usage }) =>
      usage === null ? '–' : shownCount(usage.input_tokens + usage.output_tokens),
  },
  { title: 'Rated', cell: ({ feedback }) => ratingOf(feedback) },
  { title: 'When', look: 'one-line', cell: ({ started_at: at }) => shownTime(at) },
]

export function ratingOf(feedback: Page['items'][number]['feedback']): string {
  if (feedback === null) return ''
  const word = feedback.rating > 0 ? 'good' : 'bad'
  const shown = feedback.rating === 0 ? 'neither' : word
  return feedback.comment ? `${shown}: ${feedback.comment}` : shown
}

export function LiveRuns(props: {
  readonly isShown: (run: RunningQuestion) => boolean
  readonly onEnd: () => void
  /** Shown when no run is running. */
  readonly children?: ComponentChildren
}) {
  const { isShown, onEnd, children } = props
  const runs = useRequest<readonly RunningQuestion[]>('/api/agents/runs')
  usePolling(runs.reload, 'often')
  const mine = (runs.data ?? []).filter(isShown)
  const before = useRef<readonly string[]>([])
  useEffect(() => {
    if (runs.data === undefined) return
    const ids = mine.map((run) => run.trace_id)
    if (before.current.some((id) => !ids.includes(id))) onEnd()
    before.current = ids
  }, [runs.data])
  if (mine.length === 0) return <>{children}</>
  return (
    <Section title="Running" class="panel stack">
      {mine.map(({ trace_id: id, question, state, seconds, steps }) => (
        <div key={id} class="row">
          <span class="grow one-line">{question}</span>
          <span class="small quiet">
            {state}, {shownDuration(seconds * 1000)}, {counted(steps, 'step')}
          </span>
          <Button
            look="small"
            label="Cancel"
            onClick={() => void cancelRun(id).then(runs.reload, tellFailed)}
          />
        </div>
      ))}
    </Section>
  )
}
