/** The frame around all views of an agent: its name, model, data, and links. */
import type { ComponentChildren } from 'preact'
import { useLocation } from 'preact-iso/router'
import type { AgentName } from '../../api/agents.ts'
import type { Agent } from '../../api/records.ts'
import { knownOf, wordsOfData } from '../../components/known-name.ts'
import { PlaceFrame } from '../../components/tabs.tsx'
import { tabsOf } from '../../shell/addresses.ts'

export function AgentFrame(props: AgentName & { readonly children: ComponentChildren }) {
  const { project, name, children } = props
  const { path } = useLocation()
  const agent = knownOf('agents', { project, name })
  const [ask, ...others] = tabsOf.agent(project, name)
  const isAsking = !others.some(({ href }) => decodeURI(href) === decodeURI(path))
  // A conversation has its own address.
  const tabs = [...(ask ? [{ ...ask, isCurrent: isAsking }] : []), ...others]
  const traces = (
    <a class="button" href={`/traces?${new URLSearchParams({ project, agent: name })}`}>
      Its traces
    </a>
  )
  return (
    <PlaceFrame
      kind="agents"
      {...{ project, name, tabs, children }}
      lead={agent && aboutOf(agent, project)}
      rest={traces}
    />
  )
}

function aboutOf(agent: Agent, project: string): string {
  const model = 'provider' in agent.model ? agent.model.model_name : ''
  return [model, wordsOfData(agent, project)].filter(Boolean).join(' · ')
}
