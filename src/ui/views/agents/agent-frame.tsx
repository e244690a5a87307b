/** The frame around all views of an agent: its name, model, data, and links. */
import type { ComponentChildren } from 'preact'
import { useLocation } from 'preact-iso/router'
import type { AgentName } from '../../api/agents.ts'
import type { Agent } from '../../api/records.ts'
import { EmptyState } from '../../components/failure.tsx'
import { knownOf, useIsMissing } from '../../components/known-name.ts'
import { shownProject } from '../../components/numbers.ts'
import { PageHeader } from '../../components/page-header.tsx'
import { Tabs, useTabOf } from '../../components/tabs.tsx'
import { addressOf, tabsOf } from '../../shell/addresses.ts'

export function AgentFrame({
  project,
  name,
  children,
}: AgentName & { readonly children: ComponentChildren }) {
  const { path } = useLocation()
  const agent = knownOf('agents', { project, name })
  const isMissing = useIsMissing('agents', { project, name })
  const [ask, ...others] = tabsOf.agent(project, name)
  const isAsking = !others.some(({ href }) => decodeURI(href) === decodeURI(path))
  // A conversation has its own address.
  const tabs = [...(ask ? [{ ...ask, isCurrent: isAsking }] : []), ...others]
  const tab = useTabOf(tabs)
  if (isMissing) return <Missing project={project} name={name} />
  return (
    <>
      <PageHeader
        title={name}
        part={tab?.label}
        above={[{ label: 'Home', href: '/' }]}
        lead={agent && <About agent={agent} project={project} />}
      />
      <Tabs label="Pages of this agent" tabs={tabs} />
      {children}
    </>
  )
}

function Missing({ project, name }: AgentName) {
  return (
    <>
      <PageHeader title={name} above={[{ label: 'Home', href: '/' }]} />
      <EmptyState icon="agent" title="There is no agent with this name">
        <p class="quiet">
          {name} is not in {shownProject(project)}. It may have been deleted; its traces are kept.
        </p>
        <div class="row">
          <a
            class="button primary"
            href={`${addressOf.newAgent()}?${new URLSearchParams({ project })}`}
          >
            New agent
          </a>
          <a class="button" href={`/traces?${new URLSearchParams({ project, agent: name })}`}>
            Its traces
          </a>
        </div>
      </EmptyState>
    </>
  )
}

const NAMED_MAX = 4

function About({ agent, project }: { readonly agent: Agent; readonly project: string }) {
  const { knowledge_bases: knowledgeBases = [], tables = [], mcp = [] } = agent.data
  const model = 'provider' in agent.model ? agent.model.model_name : ''
  const names = [...knowledgeBases, ...tables, ...mcp.map(({ name }) => name)]
  const all = names.map((one) => {
    return one.startsWith(`${project}.`) ? one.slice(project.length + 1) : one
  })
  const more = all.length - NAMED_MAX
  return (
    <span class="small">
      {model === '' ? '' : `${model} · `}
      {all.length === 0 ? 'reads nothing yet' : 'reads '}
      {all.slice(0, NAMED_MAX).join(', ')}
      {more > 0 && ` and ${more} more`}
    </span>
  )
}
