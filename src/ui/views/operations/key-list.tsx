/** Keys of programs: made, shown once, revoked. */
import { useState } from 'preact/hooks'
import type { Key, NewKey as MadeKey, NewKey } from '../../api/records.ts'
import { path, request } from '../../api/request.ts'
import { Button, CopyButton } from '../../components/button.tsx'
import { ConfirmButton, Dialog } from '../../components/dialog.tsx'
import { EmptyState } from '../../components/failure.tsx'
import { Check, TextField } from '../../components/form/field.tsx'
import { FormDialog } from '../../components/form/form.tsx'
import { counted, shownAge, shownTime, timeOf } from '../../components/numbers.ts'
import { RecordList, Section } from '../../components/record-list.tsx'
import { useRequest } from '../../components/resource.ts'
import { ProjectChoice, widestChoice } from './project-choice.tsx'

export function KeyList() {
  const keys = useRequest<readonly Key[]>('/api/keys')
  const [isMaking, setIsMaking] = useState(false)
  const [made, setMade] = useState<MadeKey>()
  return (
    <Section title="Keys" buttons={<Button label="New key" onClick={() => setIsMaking(true)} />}>
      <RecordList of={keys} what="the keys" empty={<NoKeys />}>
        {(items) => (
          <ul class="operations-list">
            {items.map((one) => (
              <KeyRow key={one.id} of={one} onRevoked={keys.reload} />
            ))}
          </ul>
        )}
      </RecordList>
      {isMaking && (
        <NewKeyDialog
          onClose={() => setIsMaking(false)}
          onMade={(one) => {
            setIsMaking(false)
            setMade(one)
            keys.reload()
          }}
        />
      )}
      {made && <MadeKeyDialog made={made} onClose={() => setMade(undefined)} />}
    </Section>
  )
}

function NoKeys() {
  return (
    <EmptyState icon="key" title="No keys yet">
      <p>A key lets a program in: a notebook, a chat client, a script.</p>
    </EmptyState>
  )
}

function KeyRow({ of: key, onRevoked }: { readonly of: Key; readonly onRevoked: () => void }) {
  const now = Date.now()
  const uses = key.last_used_at === null ? 'never used' : `used ${shownAge(key.last_used_at, now)}`
  const hasEnded = key.expires_at !== null && timeOf(key.expires_at).getTime() <= now
  const ends =
    key.expires_at === null
      ? 'never expires'
      : `${hasEnded ? 'expired' : 'expires'} ${shownTime(key.expires_at)}`
  const revoke = async () => {
    await request(path`/api/keys/${String(key.id)}`, { method: 'DELETE' })
    onRevoked()
  }
  return (
    <li class="panel operations-job">
      <div class="row">
        <span class="grow">
          <strong dir="auto">{key.name}</strong> <code>{key.prefix}…</code>
        </span>
        {hasEnded && <span class="badge bad">expired</span>}
        {key.scopes.map((scope) => (
          <span key={scope} class="badge">
            {scope}
          </span>
        ))}
        <ConfirmButton
          look="small"
          label="Revoke"
          aria-label={`Revoke ${key.name}`}
          asks={`Revoke ${key.name}?`}
          onConfirm={revoke}
        >
          <p>Programs that use it are refused from their next request on. This cannot be undone.</p>
        </ConfirmButton>
      </div>
      <p class="small quiet" dir="auto">
        {key.projects === null ? 'All projects' : key.projects.join(', ')} · {uses} · {ends} ·{' '}
        {limitWords(key)}made by {key.created_by} {shownAge(key.created_at, now)}
      </p>
    </li>
  )
}

function limitWords({ requests_per_minute: limit }: Key): string {
  if (limit === null) return ''
  return limit === 0
    ? 'as many requests as it wants · '
    : `${counted(limit, 'request')} a minute · `
}

interface MadeKeyProps {
  readonly made: MadeKey
  readonly onClose: () => void
}

function MadeKeyDialog({ made, onClose }: MadeKeyProps) {
  return (
    <Dialog title={`Key ${made.name}`} onClose={onClose} staysOnClickBeside>
      <div class="stack">
        <p>Copy it now: it is shown only this once.</p>
        <p>
          <code class="operations-secret">{made.key}</code>
        </p>
        <p class="small quiet">
          Programs send it as <code>Authorization: Bearer …</code>
        </p>
        <div class="row end">
          <CopyButton text={made.key} label="Copy the key" />
          <Button look="primary" label="Done" onClick={onClose} />
        </div>
      </div>
    </Dialog>
  )
}

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

/** What a new key may do, and for how long. */
function NewKeyDialog({ onMade, onClose }: NewKeyProps) {
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
          <Check key={scope} checked={scopes.includes(scope)} onCheck={() => toggle(scope)}>
            {words}
          </Check>
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
