import { PageHeader } from '../../components/page-header.tsx'

export function SqlView() {
  return <PageHeader title="SQL" />
}
