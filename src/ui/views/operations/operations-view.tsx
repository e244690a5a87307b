import { PageHeader } from '../../components/page-header.tsx'

export function OperationsView() {
  return <PageHeader title="Operations" />
}
