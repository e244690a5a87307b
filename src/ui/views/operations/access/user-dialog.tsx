/** A user: a new one, or another role, other projects, another password of one that there is. */
import { useState } from 'preact/hooks'
import type { User } from '../../../api/records.ts'
import { path, request } from '../../../api/request.ts'
import { Field } from '../../../components/field.tsx'
import { FormDialog } from '../../../components/form-dialog.tsx'
import { ProjectChoice, widestChoice } from './project-choice.tsx'

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

export function UserDialog({ user, onSaved, onClose }: UserDialogProps) {
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
      verb={user === undefined ? 'Make the user' : 'Save'}
      isIncomplete={projects?.length === 0}
      onSubmit={save}
      onClose={onClose}
    >
      {user === undefined && (
        <Field label="Name">
          {(control) => (
            <input
              {...control}
              required
              autocomplete="off"
              value={name}
              onInput={({ currentTarget }) => setName(currentTarget.value)}
            />
          )}
        </Field>
      )}
      <Field label="Role">
        {(control) => (
          <select
            {...control}
            value={role}
            onChange={({ currentTarget }) => setRole(currentTarget.value)}
          >
            {ROLES.map(([value, words]) => (
              <option key={value} value={value}>
                {words}
              </option>
            ))}
          </select>
        )}
      </Field>
      <ProjectChoice chosen={projects} onChoose={setProjects} />
      <Field
        label="Password"
        hint={
          user === undefined
            ? 'At least 8 characters'
            : 'Empty: it stays. Another one ends their sessions'
        }
      >
        {(control) => (
          <input
            {...control}
            type="password"
            autocomplete="new-password"
            required={user === undefined}
            value={password}
            onInput={({ currentTarget }) => setPassword(currentTarget.value)}
          />
        )}
      </Field>
    </FormDialog>
  )
}
