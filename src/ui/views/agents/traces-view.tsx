import { PageHeader } from '../../components/page-header.tsx'

export function TracesView() {
  return <PageHeader title="Traces" />
}
