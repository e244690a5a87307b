import { PageHeader } from '../../components/page-header.tsx'

export function NewAgentView() {
  return <PageHeader title="New agent" />
}
