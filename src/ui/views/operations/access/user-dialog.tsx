/** A user: a new one, or another role, other projects, another password of one that there is. */
import { useState } from 'preact/hooks'
import type { User } from '../../../api/records.ts'
import { path, request } from '../../../api/request.ts'
import { FormDialog } from '../../../components/form/form-dialog.tsx'
import { SelectField } from '../../../components/form/select-field.tsx'
import { TextField } from '../../../components/form/text-field.tsx'
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
