/** What a new key may do, and for how long. */
import { useState } from 'preact/hooks'
import type { NewKey } from '../../../api/records.ts'
import { request } from '../../../api/request.ts'
import { FormDialog } from '../../../components/form/form-dialog.tsx'
import { TextField } from '../../../components/form/text-field.tsx'
import { ProjectChoice, widestChoice } from './project-choice.tsx'

const SCOPES = [
  ['read', 'Read: search, SELECT, documents, files'],
  ['write', 'Write: change what projects and files hold'],
  ['ask', 'Ask: questions to agents'],
  ['admin', 'Admin: all of these and everything else'],
] as const

interface NewKeyProps {
  readonly onMade: (key: NewKey) => void
  readonly onClose: () => void
}

export function NewKeyDialog({ onMade, onClose }: NewKeyProps) {
  const [name, setName] = useState('')
  const [scopes, setScopes] = useState<readonly string[]>(['read'])
  const [projects, setProjects] = useState(widestChoice)
  const [expires, setExpires] = useState('')
  const [perMinute, setPerMinute] = useState('')
  const make = async () => {
    const json = {
      ...{ name, scopes, projects },
      expires_at: expires === '' ? null : new Date(expires).toISOString(),
      requests_per_minute: perMinute === '' ? null : Number(perMinute),
    }
    onMade(await request<NewKey>('/api/keys', { method: 'POST', json }))
  }
  const toggle = (scope: string) => {
    const has = scopes.includes(scope)
    setScopes(has ? scopes.filter((one) => one !== scope) : [...scopes, scope])
  }
  return (
    <FormDialog
      title="New key"
      verb="Create the key"
      isIncomplete={scopes.length === 0 || projects?.length === 0}
      onSubmit={make}
      onClose={onClose}
    >
      <TextField
        label="Name"
        hint="What it is for, such as notebook"
        required
        value={name}
        onText={setName}
      />
      <fieldset class="operations-scopes">
        <legend>It may</legend>
        {SCOPES.map(([scope, words]) => (
          <label key={scope} class="check">
            <input
              type="checkbox"
              checked={scopes.includes(scope)}
              onChange={() => toggle(scope)}
            />
            {words}
          </label>
        ))}
      </fieldset>
      <ProjectChoice chosen={projects} onChoose={setProjects} />
      <TextField
        label="Expires"
        hint="In the time of your computer. Leave empty for never."
        type="datetime-local"
        value={expires}
        onText={setExpires}
      />
      <TextField
        label="Requests per minute"
        hint="Leave empty for the limit in EIDER_KEY_REQUESTS_PER_MINUTE. 0 means no limit."
        type="number"
        inputMode="numeric"
        min="0"
        max="1000000"
        value={perMinute}
        onText={setPerMinute}
      />
    </FormDialog>
  )
}
