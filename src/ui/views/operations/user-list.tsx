/** People who log in: made, changed, removed. */
import { useState } from 'preact/hooks'
import type { User } from '../../api/records.ts'
import { path, request } from '../../api/request.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { FormDialog } from '../../components/form/form-dialog.tsx'
import { SelectField } from '../../components/form/select-field.tsx'
import { TextField } from '../../components/form/text-field.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { useResource } from '../../components/resource.ts'
import { ProjectChoice, widestChoice } from './project-choice.tsx'

export function UserList({ isLoginOn }: { readonly isLoginOn: boolean }) {
  const users = useResource((signal) => request<readonly User[]>('/api/users', { signal }), [])
  const [edited, setEdited] = useState<User | 'new'>()
  const [removed, setRemoved] = useState<User>()
  return (
    <section class="stack" aria-labelledby="operations-users">
      <div class="row">
        <h2 id="operations-users" class="grow">
          Users
        </h2>
        {isLoginOn && <Button label="New user" onClick={() => setEdited('new')} />}
      </div>
      {isLoginOn ? (
        <Loaded of={users} what="the users">
          {(items) => (
            <ul class="operations-list">
              {items.map((one) => (
                <UserRow
                  key={one.id}
                  user={one}
                  onEdit={() => setEdited(one)}
                  onRemove={() => setRemoved(one)}
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
      {removed && (
        <ConfirmDialog
          title={`Delete ${removed.name}?`}
          verb="Delete"
          onClose={() => setRemoved(undefined)}
          onConfirm={async () => {
            await request(path`/api/users/${String(removed.id)}`, { method: 'DELETE' })
            users.reload()
          }}
        >
          <p>Their sessions end at once. Keys that they made still work: revoke them separately.</p>
        </ConfirmDialog>
      )}
    </section>
  )
}

interface UserRowProps {
  readonly user: User
  readonly onEdit: () => void
  readonly onRemove: () => void
}

function UserRow({ user, onEdit, onRemove }: UserRowProps) {
  return (
    <li class="panel operations-job">
      <div class="row">
        <strong class="grow" dir="auto">
          {user.name}
        </strong>
        <span class="badge">{user.role}</span>
        {user.id === 0 ? (
          <span class="small quiet">changed in the settings</span>
        ) : (
          <>
            <Button
              look="small"
              label="Change"
              aria-label={`Change ${user.name}`}
              onClick={onEdit}
            />
            <Button
              look="small"
              label="Delete"
              aria-label={`Delete ${user.name}`}
              onClick={onRemove}
            />
          </>
        )}
      </div>
      <p class="small quiet" dir="auto">
        {user.projects === null ? 'All projects' : user.projects.join(', ')}
      </p>
    </li>
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
