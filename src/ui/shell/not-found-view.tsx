import { EmptyState } from '../components/failure.tsx'
import { PageHeader } from '../components/page-header.tsx'

export function NotFoundView() {
  return (
    <>
      <PageHeader title="There is no such view" />
      <EmptyState icon="search" title="Nothing is at this address">
        <p>
          It may have been renamed or deleted. <a href="/">Home</a> shows everything there is.
        </p>
      </EmptyState>
    </>
  )
}
