/** The server's activity and its users. Each tab has its own address. */
import type { FunctionComponent } from 'preact'
import { useLocation, useRoute } from 'preact-iso/router'
import type { Backup, RunningRequest, ShownSetting } from '../../api/records.ts'
import { ApiError, path, request } from '../../api/request.ts'
import { mayRunServer } from '../../api/session.ts'
import { Button, type IconName } from '../../components/button.tsx'
import { ActionButton } from '../../components/dialog.tsx'
import { EmptyState, Failure, Progress } from '../../components/failure.tsx'
import { TextField } from '../../components/form/field.tsx'
import { shownBytes, shownCount, shownDuration, shownTime } from '../../components/numbers.ts'
import { PageHeader } from '../../components/page-header.tsx'
import {
  Entries,
  Entry,
  Loaded,
  RecordList,
  RecordTable,
  type TableColumn,
} from '../../components/record-list.tsx'
import { useAction, usePolling, useRequest } from '../../components/resource.ts'
import { Tabs } from '../../components/tabs.tsx'
import { NotFoundView } from '../../shell/not-found-view.tsx'
import { tellDone } from '../../shell/notices.tsx'
import { AccessPane } from './access-pane.tsx'
import { JobsPane } from './jobs-pane.tsx'
import { OverviewPane } from './overview-pane.tsx'
import { RequestsPane } from './requests-pane.tsx'

interface Part {
  readonly name: string
  readonly label: string
  readonly icon: IconName
  readonly pane: FunctionComponent
  /** Whether only admins of all projects see the tab. */
  readonly isForAdmins: boolean
}

const PARTS: readonly Part[] = [
  { name: '', label: 'Overview', icon: 'gauge', pane: OverviewPane, isForAdmins: false },
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
      <PageHeader title={part.name === '' ? 'Operations' : part.label} />
      <Tabs label="Parts of operations" tabs={tabs} />
      {part.isForAdmins && !mayRunServer() ? (
        <EmptyState icon="key" title="This is for admins">
          <p>It covers the whole server. Ask its administrator for access.</p>
        </EmptyState>
      ) : (
        <Pane />
      )}
    </>
  )
}

function BackupsPane() {
  const backups = useRequest<readonly Backup[]>('/api/backups')
  const { act, failure, isBusy } = useAction()
  const backUp = async () => {
    await act(async () => {
      const { name } = await request<Backup>('/api/backup', { method: 'POST' })
      tellDone(`Backed up as ${name}`)
      backups.reload()
    })
  }
  return (
    <div class="stack">
      <div class="row">
        <p class="grow quiet">
          A copy of everything from one point in time. Reads and writes continue.{' '}
          <a href="/docs/backup">How to restore one</a>
        </p>
        <Button look="primary" label="Back up now" aria-disabled={isBusy} onClick={backUp} />
      </div>
      {isBusy && <Progress label="Backing up; it continues if you leave" />}
      {failure && <Failure error={failure} />}
      <RecordList of={backups} what="the backups" empty={<NoBackups />}>
        {(items) => <RecordTable label="Backups" look="" rows={items} columns={BACKUP_COLUMNS} />}
      </RecordList>
    </div>
  )
}

function NoBackups() {
  return (
    <EmptyState icon="disk" title="No backups yet">
      <p>
        Create one now, or let <code>EIDER_BACKUP_SCHEDULE</code> make them every night.
      </p>
    </EmptyState>
  )
}

const BACKUP_COLUMNS: readonly TableColumn<Backup>[] = [
  { title: 'Name', look: 'mono', cell: (one) => one.name },
  { title: 'Created', cell: (one) => shownTime(one.created_at) },
  { title: 'Size', look: 'number', cell: (one) => shownBytes(one.size_bytes) },
  { title: 'Rows', look: 'number', cell: (one) => shownCount(one.row_count) },
  { title: 'Keys', cell: (one) => (one.has_keys ? 'Included' : 'Left out') },
]

/** Lists running requests with their statements. Each can be cancelled. */
function RunningPane() {
  const running = useRequest<readonly RunningRequest[]>('/api/requests/running')
  usePolling(running.reload, 'soon')
  return (
    <div class="stack">
      <p class="quiet">
        {mayRunServer() ? 'All' : 'Your'} running statements, searches, questions and uploads. Work
        without a request is a <a href="/operations/jobs">job</a>.
      </p>
      <Entries of={running} what="what runs" empty={<NothingRuns />}>
        {(one) => <RunningRow key={one.number} running={one} onCancelled={running.reload} />}
      </Entries>
    </div>
  )
}

function NothingRuns() {
  return (
    <EmptyState icon="check" title="Nothing is running">
      <p>Requests that take longer than a moment appear here.</p>
    </EmptyState>
  )
}

function RunningRow(props: { readonly running: RunningRequest; readonly onCancelled: () => void }) {
  const { running, onCancelled } = props
  const { method, path: address, statement, ms, principal } = running
  const cancel = async () => {
    try {
      await request(path`/api/requests/${String(running.number)}`, { method: 'DELETE' })
      tellDone('Cancelled')
    } catch (error) {
      const isOver = error instanceof ApiError && error.code === 'request_not_found'
      if (!isOver) throw error
      tellDone('It had already ended')
    }
    onCancelled()
  }
  const name = statement ?? `${method} ${address}`
  const beside = (
    <>
      <span class="badge accent">{shownDuration(ms)}</span>
      <ActionButton
        look="small"
        icon="stop"
        label="Cancel"
        aria-label={`Cancel ${name}`}
        work={cancel}
      />
    </>
  )
  return (
    <Entry title={`${method} ${address}`} beside={beside}>
      {statement !== null && <code class="pre">{statement}</code>}
      {principal !== null && <p class="small quiet">{principal}</p>}
    </Entry>
  )
}

/** The current settings. They are environment variables, so the page cannot change them. */
function SettingsPane() {
  const { query, route } = useLocation()
  const wanted = query.q ?? ''
  const settings = useRequest<readonly ShownSetting[]>('/api/settings')
  const find = (text: string) => {
    route(`/operations/settings?${new URLSearchParams(text === '' ? {} : { q: text })}`, true)
  }
  return (
    <div class="stack">
      <TextField
        label="Find a setting"
        hint="Settings are environment variables. Changes take effect after a restart"
        type="search"
        class="operations-narrow"
        value={wanted}
        onText={find}
      />
      <Loaded of={settings} what="the settings">
        {(items) => <SettingTable items={items.filter((one) => fits(one, wanted))} />}
      </Loaded>
    </div>
  )
}

function fits({ name, meaning }: ShownSetting, wanted: string): boolean {
  return `${name} ${meaning}`.toLowerCase().includes(wanted.trim().toLowerCase())
}

const COLUMNS: readonly TableColumn<ShownSetting>[] = [
  { title: 'Setting', look: 'mono stacked-first', cell: ({ name }) => name },
  { title: 'Value', look: 'named', cell: (one) => <Value setting={one} /> },
  { title: 'Meaning', look: 'small stacked-last', cell: ({ meaning }) => meaning },
]

function SettingTable({ items }: { readonly items: readonly ShownSetting[] }) {
  if (items.length > 0) return <RecordTable label="Settings" rows={items} columns={COLUMNS} />
  return (
    <EmptyState icon="settings" title="No such setting">
      <p>Try another word from its name or meaning.</p>
    </EmptyState>
  )
}

function Value({ setting }: { readonly setting: ShownSetting }) {
  const { value, default: usual, is_secret: isSecret, is_set: isSet } = setting
  if (!isSet) return <span class="quiet">not set</span>
  if (isSecret || value === null) return <span class="badge">set, not shown</span>
  return (
    <>
      <bdi class="mono">{value}</bdi>
      {value !== (usual ?? '') && <p class="small quiet">the default is {usual ?? 'nothing'}</p>}
    </>
  )
}
