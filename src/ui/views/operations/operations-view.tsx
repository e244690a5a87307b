/** What the server does, and who may use it: each part has an address of its own. */
import type { FunctionComponent } from 'preact'
import { useState } from 'preact/hooks'
import { useRoute } from 'preact-iso/router'
import type { AuditList as AuditPage, Backup, RunningRequest } from '../../api/records.ts'
import { ApiError, path, request } from '../../api/request.ts'
import { account, loginState, may, mayRunServer } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Failure } from '../../components/failure.tsx'
import { TextField } from '../../components/form/text-field.tsx'
import type { IconName } from '../../components/icon.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { shownBytes, shownCount, shownDuration, shownTime } from '../../components/numbers.ts'
import { PageHeader } from '../../components/page-header.tsx'
import { Progress } from '../../components/progress.tsx'
import { useAction, usePolling, useResource } from '../../components/resource.ts'
import { Tabs } from '../../components/tabs.tsx'
import { NotFoundView } from '../../shell/not-found-view.tsx'
import { tellDone, tellFailed } from '../../shell/notices.tsx'
import { JobsPane } from './jobs-pane.tsx'
import { KeyList } from './key-list.tsx'
import { OverviewPane } from './overview-pane.tsx'
import { RequestsPane } from './requests-pane.tsx'
import { SettingsPane } from './settings-pane.tsx'
import { UserList } from './user-list.tsx'

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

/** Who may use the server: keys, users, the own password, and what was changed by whom. */
function AccessPane() {
  const here = account.value
  const isOn = loginState.value !== 'off'
  return (
    <div class="stack">
      {isOn && here?.kind === 'user' && here.id !== '0' && <OwnPassword />}
      {isOn && here?.kind === 'user' && here.id === '0' && (
        <p class="quiet">Your password comes from the server's settings. Change it there.</p>
      )}
      {may('admin') ? (
        <>
          <KeyList />
          <UserList isLoginOn={isOn} />
        </>
      ) : (
        <p class="quiet">Keys and users are shown to admins.</p>
      )}
      {mayRunServer() && <AuditList />}
    </div>
  )
}

/** Another password for whoever is logged in. */
function OwnPassword() {
  const [current, setCurrent] = useState('')
  const [next, setNext] = useState('')
  const { act, failure, isBusy } = useAction()
  const change = () =>
    act(async () => {
      const json = { current_password: current, password: next }
      await request('/api/password', { method: 'POST', json })
      setCurrent('')
      setNext('')
      tellDone('Your password is changed, and your other sessions have ended')
    })
  return (
    <form
      class="panel stack operations-form"
      aria-labelledby="operations-password"
      onSubmit={(event) => {
        event.preventDefault()
        change()
      }}
    >
      <h2 id="operations-password">Your password</h2>
      <TextField
        label="Current password"
        type="password"
        required
        autocomplete="current-password"
        value={current}
        onText={setCurrent}
      />
      <TextField
        label="New password"
        hint="At least 8 characters"
        type="password"
        required
        autocomplete="new-password"
        value={next}
        onText={setNext}
      />
      {failure && <Failure error={failure} />}
      <div class="row end">
        <Button type="submit" label="Change password" aria-disabled={isBusy} />
      </div>
    </form>
  )
}

/** The backups there are, and one more at once. */
function BackupsPane() {
  const backups = useResource(
    (signal) => request<readonly Backup[]>('/api/backups', { signal }),
    [],
  )
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
          A copy of everything at one moment. Others can read and write meanwhile.{' '}
          <a href="/docs/backup">How to restore one</a>
        </p>
        <Button look="primary" label="Back up now" aria-disabled={isBusy} onClick={backUp} />
      </div>
      {isBusy && <Progress label="Backing up; it continues if you leave" />}
      {failure && <Failure error={failure} />}
      <Loaded of={backups} what="the backups">
        {(items) =>
          items.length === 0 ? (
            <EmptyState icon="disk" title="No backups yet">
              <p>
                Create one now, or let <code>EIDER_BACKUP_SCHEDULE</code> make them every night.
              </p>
            </EmptyState>
          ) : (
            <BackupTable backups={items} />
          )
        }
      </Loaded>
    </div>
  )
}

function BackupTable({ backups }: { readonly backups: readonly Backup[] }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard
    <section class="panel flush" tabIndex={0} aria-label="Backups">
      <table>
        <thead>
          <tr>
            <th>Name</th>
            <th>Made</th>
            <th class="number">Size</th>
            <th class="number">Rows</th>
            <th>Keys</th>
          </tr>
        </thead>
        <tbody>
          {backups.map((one) => (
            <tr key={one.name}>
              <td class="mono">{one.name}</td>
              <td>{shownTime(one.created_at)}</td>
              <td class="number">{shownBytes(one.size_bytes)}</td>
              <td class="number">{shownCount(one.row_count)}</td>
              <td>{one.has_keys ? 'Included' : 'Left out'}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

const ASK_AGAIN_MS = 1000

/** Requests under way with their statements: each can be ended. */
function RunningPane() {
  const running = useResource(
    (signal) => request<readonly RunningRequest[]>('/api/requests/running', { signal }),
    [],
  )
  usePolling(running.reload, ASK_AGAIN_MS)
  const cancel = async (number: number) => {
    try {
      await request(path`/api/requests/${String(number)}`, { method: 'DELETE' })
      tellDone('Cancelled')
    } catch (error) {
      const isOver = error instanceof ApiError && error.code === 'request_not_found'
      if (isOver) tellDone('It was over already')
      else tellFailed(error)
    }
    running.reload()
  }
  return (
    <div class="stack">
      <p class="quiet">
        Statements, searches, questions and uploads under way
        {mayRunServer() ? '' : ', those of your own'}. Work without a request is a{' '}
        <a href="/operations/jobs">job</a>.
      </p>
      <Loaded of={running} what="what runs">
        {(items) =>
          items.length === 0 ? (
            <EmptyState icon="check" title="Nothing runs now">
              <p>What takes longer than a moment appears here by itself.</p>
            </EmptyState>
          ) : (
            <ul class="operations-list">
              {items.map((one) => (
                <RunningRow key={one.number} running={one} onCancel={() => cancel(one.number)} />
              ))}
            </ul>
          )
        }
      </Loaded>
    </div>
  )
}

interface RunningRowProps {
  readonly running: RunningRequest
  readonly onCancel: () => void
}

function RunningRow({ running, onCancel }: RunningRowProps) {
  const { method, path: address, statement, ms, principal } = running
  return (
    <li class="panel operations-job">
      <div class="row">
        <strong class="grow" dir="auto">
          {method} {address}
        </strong>
        <span class="badge accent">{shownDuration(ms)}</span>
        <Button
          look="small"
          icon="stop"
          label="Cancel"
          aria-label={`Cancel ${statement ?? `${method} ${address}`}`}
          onClick={onCancel}
        />
      </div>
      {statement !== null && (
        <code class="pre" dir="auto">
          {statement}
        </code>
      )}
      {principal !== null && (
        <p class="small quiet" dir="auto">
          {principal}
        </p>
      )}
    </li>
  )
}

const PAGE = 50
const PAGES_MAX = 1000

/** What was changed by whom, the newest first. */
function AuditList() {
  const [limit, setLimit] = useState(PAGE)
  const audit = useResource(
    (signal) => request<AuditPage>(`/api/audit?limit=${limit}`, { signal }),
    [limit],
  )
  return (
    <section class="stack" aria-labelledby="operations-audit">
      <div class="row">
        <h2 id="operations-audit" class="grow">
          Audit log
        </h2>
        <Button look="small" label="Refresh" onClick={audit.reload} />
      </div>
      <Loaded of={audit} what="the audit log">
        {({ items, next }) => (
          <>
            {items.length === 0 ? (
              <p class="quiet">Nothing has been changed yet.</p>
            ) : (
              <AuditTable items={items} />
            )}
            {next !== null && limit < PAGES_MAX && (
              <Button label="Show more" onClick={() => setLimit(Math.min(limit * 4, PAGES_MAX))} />
            )}
          </>
        )}
      </Loaded>
    </section>
  )
}

function AuditTable({ items }: { readonly items: AuditPage['items'] }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard
    <section class="panel flush" tabIndex={0} aria-label="Entries">
      <table class="stacked">
        <thead>
          <tr>
            <th>When</th>
            <th>Who</th>
            <th>Action</th>
            <th>On</th>
            <th>Outcome</th>
          </tr>
        </thead>
        <tbody>
          {items.map((one) => (
            <tr key={one.number}>
              <td class="operations-when">{shownTime(one.happened_at)}</td>
              <td dir="auto">{one.principal.name || one.principal.kind}</td>
              <td>
                {one.action}
                {one.occurrences > 1 && <span class="quiet"> ×{one.occurrences}</span>}
              </td>
              <td class="stacked-first" dir="auto">
                {one.targets.join(', ')}
              </td>
              <td>
                <span class={`badge ${one.outcome === 'ok' ? 'good' : 'bad'}`}>{one.outcome}</span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
