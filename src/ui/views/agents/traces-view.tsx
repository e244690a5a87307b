/** The runs of an agent, or of all: those under way, which can be cancelled, and those that are over. */
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import type { AgentName } from '../../api/agents.ts'
import { projects } from '../../api/catalog.ts'
import { PageHeader } from '../../components/page-header.tsx'
import { addressOf } from '../../shell/addresses.ts'
import { AgentFrame } from './agent-frame.tsx'
import { LiveRuns } from './live-runs.tsx'
import { TraceList } from './trace-list.tsx'

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

/** @param agent that of the address; missing: all, or what the query says */
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
      <form class="row agents-filters" onSubmit={(event) => event.preventDefault()}>
        <AgentSelect project={project} name={name} query={new URLSearchParams(asked)} />
        <label class="field">
          Ended
          <select
            value={query.outcome ?? ''}
            onChange={(event) => set('outcome', event.currentTarget.value)}
          >
            <option value="">any outcome</option>
            <option value="answered">answered</option>
            <option value="failed">failed</option>
            <option value="cancelled">cancelled</option>
          </select>
        </label>
        <label class="field">
          Since
          <input
            type="date"
            value={query.from ?? ''}
            onChange={(event) => set('from', event.currentTarget.value)}
          />
        </label>
        <label class="field grow">
          In the question
          <input
            type="search"
            value={query.q ?? ''}
            onInput={(event) => set('q', event.currentTarget.value)}
          />
        </label>
      </form>
      <TraceList filters={filters} hasAgentColumn={!name} version={version} />
    </>
  )
}

/** Another choice is another address. */
function AgentSelect({
  project = '',
  name = '',
  query,
}: {
  readonly project?: string | undefined
  readonly name?: string | undefined
  readonly query: URLSearchParams
}) {
  const { route } = useLocation()
  const known = (projects.value ?? []).flatMap((one) => {
    return one.agents.map((agent) => ({ project: one.name, name: agent.name }))
  })
  const isKnown = known.some((one) => one.project === project && one.name === name)
  const all = name === '' || isKnown ? known : [{ project, name }, ...known]
  return (
    <label class="field">
      Agent
      <select
        value={name === '' ? '' : JSON.stringify([project, name])}
        onChange={({ currentTarget: { value } }) => {
          const chosen = all.find((one) => JSON.stringify([one.project, one.name]) === value)
          const address =
            chosen === undefined ? '/traces' : addressOf.agentTraces(chosen.project, chosen.name)
          route(`${address}?${query}`)
        }}
      >
        <option value="">all agents</option>
        {all.map((one) => (
          <option
            key={`${one.project}.${one.name}`}
            value={JSON.stringify([one.project, one.name])}
          >
            {one.project}.{one.name}
          </option>
        ))}
      </select>
    </label>
  )
}
