/** The runs of one agent or of all: running ones, which can be cancelled, and finished ones. */

import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { type AgentName, cancelRun, listRuns, listTraces } from '../../api/agents.ts'
import { projects } from '../../api/catalog.ts'
import type { TraceList as Page, RunningQuestion } from '../../api/records.ts'
import { Button } from '../../components/button.tsx'
import { EmptyState } from '../../components/failure.tsx'
import { SelectField, TextField } from '../../components/form/field.tsx'
import { counted, shownCount, shownDuration, shownIn, shownTime } from '../../components/numbers.ts'
import { PageHeader } from '../../components/page-header.tsx'
import { Loaded, RecordTable, Section, type TableColumn } from '../../components/record-list.tsx'
import { useLongList, usePolling, useResource } from '../../components/resource.ts'
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
  const asked = Object.fromEntries(
    ['outcome', 'q', 'from'].flatMap((one) => (query[one] ? [[one, query[one]]] : [])),
  )
  const project = agent?.project ?? query.project
  const name = agent?.name ?? query.agent
  const filters: Record<string, string> = {
    ...(project ? { project } : {}),
    ...(name ? { agent: name } : {}),
    ...asked,
  }
  const set = (field: string, value: string) => {
    const next = new URLSearchParams({ ...(agent === undefined ? filters : asked), [field]: value })
    if (value === '') next.delete(field)
    route(`${path}?${next}`, true)
  }
  return (
    <>
      <LiveRuns
        isShown={(run) => {
          return (!project || run.project === project) && (!name || run.agent === name)
        }}
        onEnd={() => setVersion((before) => before + 1)}
      />
      <form class="operations-filters" onSubmit={(event) => event.preventDefault()}>
        <AgentSelect project={project} name={name} query={new URLSearchParams(asked)} />
        <SelectField
          label="Ended"
          value={query.outcome ?? ''}
          onChoose={(outcome) => set('outcome', outcome)}
          options={[['', 'any outcome'], ...Object.keys(OUTCOMES)]}
        />
        <TextField
          label="Since"
          type="date"
          value={query.from ?? ''}
          onText={(from) => set('from', from)}
        />
        <TextField
          label="Question contains"
          type="search"
          value={query.q ?? ''}
          onText={(text) => set('q', text)}
        />
      </form>
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

const OUTCOMES = { answered: 'good', failed: 'bad', cancelled: 'warn' } as const

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
  const runs = useResource((signal) => listRuns(signal), [])
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
