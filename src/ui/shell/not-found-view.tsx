import { EmptyState } from '../components/failure.tsx'
import { PageHeader } from '../components/page-header.tsx'

export function NotFoundView() {
  return (
    <>
      <PageHeader title="Page not found" />
      <EmptyState icon="search" title="Nothing is at this address">
        <p>
          It may have been renamed or deleted. <a href="/">Home</a> lists everything.
        </p>
      </EmptyState>
    </>
  )
}
