import { PageHeader } from '../../components/page-header.tsx'

export function AgentSettingsView() {
  return <PageHeader title="Settings of the agent" />
}
