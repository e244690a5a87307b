import { PageHeader } from '../../components/page-header.tsx'

export function CompareView() {
  return <PageHeader title="Compare agents" />
}
