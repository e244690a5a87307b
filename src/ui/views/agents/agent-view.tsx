import { PageHeader } from '../../components/page-header.tsx'

export function AgentView() {
  return <PageHeader title="Agent" />
}
