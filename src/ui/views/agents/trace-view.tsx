import { PageHeader } from '../../components/page-header.tsx'

export function TraceView() {
  return <PageHeader title="Trace" />
}
