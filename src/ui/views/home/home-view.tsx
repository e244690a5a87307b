import { PageHeader } from '../../components/page-header.tsx'

export function HomeView() {
  return <PageHeader title="Home" />
}
