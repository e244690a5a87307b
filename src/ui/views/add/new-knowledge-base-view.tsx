import { PageHeader } from '../../components/page-header.tsx'

export function NewKnowledgeBaseView() {
  return <PageHeader title="New knowledge base" />
}
