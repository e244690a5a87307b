/** What the server does, and who may use it: each part has an address of its own. */
import type { FunctionComponent } from 'preact'
import { useRoute } from 'preact-iso/router'
import { mayRunServer } from '../../api/session.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import type { IconName } from '../../components/icon.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { Tabs } from '../../components/tabs.tsx'
import { NotFoundView } from '../../shell/not-found-view.tsx'
import { AccessPane } from './access/access-pane.tsx'
import { BackupsPane } from './backups-pane.tsx'
import { JobsPane } from './jobs-pane.tsx'
import { OverviewPane } from './overview-pane.tsx'
import { RequestsPane } from './requests-pane.tsx'
import { RunningPane } from './running-pane.tsx'
import { SettingsPane } from './settings-pane.tsx'

interface Part {
  readonly name: string
  readonly label: string
  readonly icon: IconName
  readonly pane: FunctionComponent
  /** For admins who are not limited to projects. */
  readonly isForAdmins: boolean
}

const OVERVIEW: Part = {
  ...{ name: '', label: 'Overview', icon: 'gauge' },
  ...{ pane: OverviewPane, isForAdmins: false },
}

const PARTS: readonly Part[] = [
  OVERVIEW,
  { name: 'jobs', label: 'Jobs', icon: 'clock', pane: JobsPane, isForAdmins: false },
  { name: 'running', label: 'Running', icon: 'play', pane: RunningPane, isForAdmins: false },
  { name: 'requests', label: 'Requests', icon: 'link', pane: RequestsPane, isForAdmins: true },
  { name: 'backups', label: 'Backups', icon: 'disk', pane: BackupsPane, isForAdmins: true },
  { name: 'access', label: 'Access', icon: 'key', pane: AccessPane, isForAdmins: false },
  { name: 'settings', label: 'Settings', icon: 'settings', pane: SettingsPane, isForAdmins: true },
]

export function OperationsView() {
  const { params } = useRoute()
  const part = PARTS.find(({ name }) => name === (params.part ?? ''))
  if (part === undefined) return <NotFoundView />
  const tabs = PARTS.map(({ name, label, icon }) => ({
    ...{ label, icon },
    href: name === '' ? '/operations' : `/operations/${name}`,
  }))
  const Pane = part.pane
  return (
    <>
      <PageHeader title={part === OVERVIEW ? 'Operations' : part.label} />
      <Tabs label="Parts of operations" tabs={tabs} />
      {part.isForAdmins && !mayRunServer() ? (
        <EmptyState icon="key" title="This is for admins">
          <p>It covers the whole server. Ask whoever runs it for access.</p>
        </EmptyState>
      ) : (
        <Pane />
      )}
    </>
  )
}
