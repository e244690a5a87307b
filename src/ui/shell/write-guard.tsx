/** Whoever may look and not change is told so before anything is typed, and who may. */
import type { ComponentChildren } from 'preact'
import { may } from '../api/session.ts'
import { EmptyState } from '../components/empty-state.tsx'
import { PageHeader } from '../components/page-header.tsx'
import { isForWriting } from './addresses.ts'

/** Addresses that show how something is, to be changed. */
const WITH_FORMS = /^\/projects\/[^/]+\/(knowledge_bases|agents)\/[^/]+\/settings$/

interface WriteGuardProps {
  readonly path: string
  readonly children: ComponentChildren
}

export function WriteGuard({ path, children }: WriteGuardProps) {
  if (may('write')) return <>{children}</>
  if (isForWriting(path)) {
    return (
      <>
        <PageHeader title="Not for your account" above={[{ label: 'Home', href: '/' }]} />
        <EmptyState icon="key" title="You may look, not change">
          <p>Editors and admins add and create. Whoever runs this server can make you one.</p>
        </EmptyState>
      </>
    )
  }
  if (!WITH_FORMS.test(path)) return <>{children}</>
  return (
    <>
      <p class="connection-banner newer" role="note">
        You may look at these settings, not change them: that is for editors and admins.
      </p>
      <fieldset class="only-shown" disabled>
        <legend class="visually-hidden">Settings</legend>
        {children}
      </fieldset>
    </>
  )
}
