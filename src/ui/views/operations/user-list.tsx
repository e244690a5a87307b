/** People who log in: made, changed, removed. */
import { useState } from 'preact/hooks'
import type { User } from '../../api/records.ts'
import { path, request } from '../../api/request.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmButton } from '../../components/dialog.tsx'
import { SelectField, TextField } from '../../components/form/field.tsx'
import { FormDialog } from '../../components/form/form.tsx'
import { Entry, Loaded, Section } from '../../components/record-list.tsx'
import { useRequest } from '../../components/resource.ts'
import { ProjectChoice, widestChoice } from './project-choice.tsx'

export function UserList({ isLoginOn }: { readonly isLoginOn: boolean }) {
  const users = useRequest<readonly User[]>('/api/users')
  const [edited, setEdited] = useState<User | 'new'>()
  return (
    <Section
      title="Users"
      buttons={isLoginOn && <Button label="New user" onClick={() => setEdited('new')} />}
    >
      {isLoginOn ? (
        <Loaded of={users} what="the users">
          {(items) => (
            <ul class="operations-list">
              {items.map((one) => (
                <UserRow
                  key={one.id}
                  user={one}
                  onEdit={() => setEdited(one)}
                  onRemoved={users.reload}
                />
              ))}
            </ul>
          )}
        </Loaded>
      ) : (
        <p class="quiet">
          The login is off: there are no users. <code>EIDER_USERNAME</code> and{' '}
          <code>EIDER_PASSWORD</code> turn it on.
        </p>
      )}
      {edited && (
        <UserDialog
          user={edited === 'new' ? undefined : edited}
          onClose={() => setEdited(undefined)}
          onSaved={() => {
            setEdited(undefined)
            users.reload()
          }}
        />
      )}
    </Section>
  )
}

interface UserRowProps {
  readonly user: User
  readonly onEdit: () => void
  readonly onRemoved: () => void
}

function UserRow({ user, onEdit, onRemoved }: UserRowProps) {
  const { id, name, role, projects } = user
  const remove = async () => {
    await request(path`/api/users/${String(id)}`, { method: 'DELETE' })
    onRemoved()
  }
  const buttons = (
    <>
      <Button look="small" label="Change" aria-label={`Change ${name}`} onClick={onEdit} />
      <ConfirmButton
        look="small"
        label="Delete"
        aria-label={`Delete ${name}`}
        asks={`Delete ${name}?`}
        onConfirm={remove}
      >
        <p>Their sessions end at once. Keys that they made still work: revoke them separately.</p>
      </ConfirmButton>
    </>
  )
  const beside = (
    <>
      <span class="badge">{role}</span>
      {id === 0 ? <span class="small quiet">changed in the settings</span> : buttons}
    </>
  )
  return (
    <Entry title={name} beside={beside}>
      <p class="small quiet" dir="auto">
        {projects === null ? 'All projects' : projects.join(', ')}
      </p>
    </Entry>
  )
}

const ROLES = [
  ['viewer', 'Viewer: reads and asks'],
  ['editor', 'Editor: reads, asks and changes'],
  ['admin', 'Admin: everything'],
] as const

interface UserDialogProps {
  /** Not given: a new one. */
  readonly user: User | undefined
  readonly onSaved: () => void
  readonly onClose: () => void
}

/** A user: a new one, or another role, other projects, another password of one that there is. */
function UserDialog({ user, onSaved, onClose }: UserDialogProps) {
  const [name, setName] = useState(user?.name ?? '')
  const [role, setRole] = useState<string>(user?.role ?? 'viewer')
  const [projects, setProjects] = useState(() =>
    user === undefined ? widestChoice() : user.projects,
  )
  const [password, setPassword] = useState('')
  const save = async () => {
    const secret = password === '' ? {} : { password }
    const json = { role, projects, ...secret }
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
        <TextField label="Name" required autocomplete="off" value={name} onText={setName} />
      )}
      <SelectField label="Role" value={role} onChoose={setRole} options={ROLES} />
      <ProjectChoice chosen={projects} onChoose={setProjects} />
      <TextField
        label="Password"
        hint={
          user === undefined
            ? 'At least 8 characters'
            : 'Leave empty to keep it. A new one ends their sessions.'
        }
        type="password"
        autocomplete="new-password"
        required={user === undefined}
        value={password}
        onText={setPassword}
      />
    </FormDialog>
  )
}
