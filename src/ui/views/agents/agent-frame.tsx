/** What all views of one agent have around them: its name and the way to each of them. */
import type { ComponentChildren } from 'preact'
import { PageHeader } from '../../components/page-header.tsx'
import { Tabs } from '../../components/tabs.tsx'
import { addressOf } from '../../shell/addresses.ts'

export interface AgentAddress {
  readonly project: string
  readonly name: string
}

export function AgentFrame({
  project,
  name,
  children,
}: AgentAddress & { readonly children: ComponentChildren }) {
  const tabs = [
    { href: addressOf.agent(project, name), label: 'Ask', icon: 'chat' },
    { href: addressOf.agentTraces(project, name), label: 'Traces', icon: 'chart' },
    { href: addressOf.agentSettings(project, name), label: 'Settings', icon: 'settings' },
  ] as const
  const compare = `/compare?${new URLSearchParams({ agents: `${project}.${name}` })}`
  return (
    <>
      <PageHeader title={name} above={[{ label: 'Home', href: '/' }]}>
        <a class="button" href={compare}>
          Compare
        </a>
      </PageHeader>
      <Tabs label="Views of this agent" tabs={tabs} />
      {children}
    </>
  )
}
