import { useState } from 'preact/hooks'
import type { AuditList, User } from '../../api/records.ts'
import { path, request } from '../../api/request.ts'
import { account, loginState, may, mayRunServer } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { DialogButton, RemoveButton } from '../../components/dialog.tsx'
import { SelectField, TextField } from '../../components/form/field.tsx'
import { Form, FormDialog, useFields } from '../../components/form/form.tsx'
import { shownProjects, shownTime } from '../../components/numbers.ts'
import {
  Entries,
  Entry,
  Loaded,
  RecordTable,
  Section,
  type TableColumn,
} from '../../components/record-list.tsx'
import { useLongList, useRequest } from '../../components/resource.ts'
import { tellDone } from '../../shell/notices.tsx'
import { KeyList, ProjectChoice, widestChoice } from './key-list.tsx'

export function AccessPane() {
  const here = account.value
  const isOn = loginState.value !== 'off'
  const isUser = isOn && here?.kind === 'user'
  return (
    <div class="stack">
      {isUser && here.id !== '0' && <OwnPassword />}
      {isUser && here.id === '0' && (
        <p class="quiet">Your password comes from the server's settings. Change it there.</p>
      )}
      {may('admin') ? (
        <>
          <KeyList />
          {isOn ? <UserList /> : <NoLogin />}
        </>
      ) : (
        <p class="quiet">Only admins see keys and users.</p>
      )}
      {mayRunServer() && <Audit />}
    </div>
  )
}

function OwnPassword() {
  const { typed, bind, clear } = useFields({ current_password: '', password: '' })
  const change = async () => {
    await request('/api/password', { method: 'POST', json: typed })
    clear()
    tellDone('Your password is changed, and your other sessions have ended')
  }
  return (
    <Section title="Your password" class="panel stack operations-narrow">
      <Form verb="Change password" look="" onSend={change}>
        <TextField
          label="Current password"
          type="password"
          required
          autocomplete="current-password"
          {...bind('current_password')}
        />
        <TextField
          label="New password"
          hint="At least 8 characters"
          type="password"
          required
          autocomplete="new-password"
          {...bind('password')}
        />
      </Form>
    </Section>
  )
}

function NoLogin() {
  return (
    <Section title="Users">
      <p class="quiet">
        The login is off, so there are no users. <code>EIDER_USERNAME</code> and{' '}
        <code>EIDER_PASSWORD</code> turn it on.
      </p>
    </Section>
  )
}

function UserList() {
  const users = useRequest<readonly User[]>('/api/users')
  const button = (
    <DialogButton label="New user">
      {(onClose) => <UserDialog user={undefined} onClose={onClose} onSaved={users.reload} />}
    </DialogButton>
  )
  return (
    <Section title="Users" buttons={button}>
      <Entries of={users} what="the users" empty={null}>
        {(one) => <UserEntry key={one.id} of={one} onChanged={users.reload} />}
      </Entries>
    </Section>
  )
}

function UserEntry(props: { readonly of: User; readonly onChanged: () => void }) {
  const { of: user, onChanged } = props
  const { id, name, role, projects } = user
  const beside = (
    <>
      <span class="badge">{role}</span>
      {id === 0 ? (
        <span class="small quiet">changed in the settings</span>
      ) : (
        <>
          <DialogButton look="small" label="Change" aria-label={`Change ${name}`}>
            {(onClose) => <UserDialog user={user} onClose={onClose} onSaved={onChanged} />}
          </DialogButton>
          <RemoveButton verb="Delete" name={name} address={`/api/users/${id}`} onDone={onChanged}>
            Their sessions end immediately. Keys they created still work; revoke them separately.
          </RemoveButton>
        </>
      )}
    </>
  )
  return (
    <Entry title={name} beside={beside}>
      <p class="small quiet">{shownProjects(projects)}</p>
    </Entry>
  )
}

const ROLES = [
  ['viewer', 'Viewer: reads and asks'],
  ['editor', 'Editor: reads, asks and changes'],
  ['admin', 'Admin: everything'],
] as const

function UserDialog(props: {
  /** Undefined for a new user. */
  readonly user: User | undefined
  readonly onSaved: () => void
  readonly onClose: () => void
}) {
  const { user, onSaved, onClose } = props
  const { typed, bind } = useFields({ name: '', password: '' })
  const [role, setRole] = useState<string>(user?.role ?? 'viewer')
  const [projects, setProjects] = useState(() => (user ? user.projects : widestChoice()))
  const save = async () => {
    const { name, password } = typed
    const json = { role, projects, ...(password === '' ? {} : { password }) }
    if (user === undefined) await request('/api/users', { method: 'POST', json: { name, ...json } })
    else await request(path`/api/users/${String(user.id)}`, { method: 'PATCH', json })
    onSaved()
  }
  return (
    <FormDialog
      title={user?.name ?? 'New user'}
      verb={user === undefined ? 'Create the user' : 'Save'}
      isIncomplete={projects?.length === 0}
      onSubmit={save}
      onClose={onClose}
    >
      {user === undefined && (
        <TextField label="Name" required autocomplete="off" {...bind('name')} />
      )}
      <SelectField label="Role" value={role} onChoose={setRole} options={ROLES} />
      <ProjectChoice chosen={projects} onChoose={setProjects} />
      <TextField
        label="Password"
        hint={
          user === undefined
            ? 'At least 8 characters'
            : 'Leave empty to keep the password. A new one ends their sessions.'
        }
        type="password"
        autocomplete="new-password"
        required={user === undefined}
        {...bind('password')}
      />
    </FormDialog>
  )
}

function Audit() {
  const audit = useLongList((limit, signal) =>
    request<AuditList>(`/api/audit?limit=${limit}`, { signal }),
  )
  return (
    <Section
      title="Audit log"
      buttons={<Button look="small" label="Refresh" onClick={audit.reload} />}
    >
      <Loaded of={audit} what="the audit log">
        {({ items }) => (
          <>
            {items.length === 0 && <p class="quiet">Nothing has been changed yet.</p>}
            {items.length > 0 && (
              <RecordTable label="Entries" rows={items} columns={AUDIT_COLUMNS} />
            )}
            {audit.showMore && <Button label="Show more" onClick={audit.showMore} />}
          </>
        )}
      </Loaded>
    </Section>
  )
}

const AUDIT_COLUMNS: readonly TableColumn<AuditList['items'][number]>[] = [
  { title: 'When', look: 'one-line', cell: (one) => shownTime(one.happened_at) },
  { title: 'Who', look: 'named', cell: ({ principal }) => principal.name || principal.kind },
  {
    title: 'Action',
    cell: ({ action, occurrences }) => (
      <>
        {action}
        {occurrences > 1 && <span class="quiet"> ×{occurrences}</span>}
      </>
    ),
  },
  { title: 'On', look: 'stacked-first', cell: ({ targets }) => targets.join(', ') },
  {
    title: 'Outcome',
    cell: ({ outcome }) => (
      <span class={`badge ${outcome === 'ok' ? 'good' : 'bad'}`}>{outcome}</span>
    ),
  },
]
