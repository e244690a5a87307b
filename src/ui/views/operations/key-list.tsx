/** API keys for programs: create, show once, revoke; and which projects a key or user may use. */
import { useState } from 'preact/hooks'
import type { Key, NamedDatabase, NewKey } from '../../api/records.ts'
import { request } from '../../api/request.ts'
import { account } from '../../api/session.ts'
import { Button, CopyButton } from '../../components/button.tsx'
import { Dialog, DialogButton, RemoveButton } from '../../components/dialog.tsx'
import { EmptyState, Failure } from '../../components/failure.tsx'
import { Check, TextField } from '../../components/form/field.tsx'
import { FormDialog, useFields } from '../../components/form/form.tsx'
import {
  counted,
  shownAge,
  shownProject,
  shownProjects,
  shownTime,
  timeOf,
} from '../../components/numbers.ts'
import { Entries, Entry, Section } from '../../components/record-list.tsx'
import { useRequest } from '../../components/resource.ts'

export function KeyList() {
  const keys = useRequest<readonly Key[]>('/api/keys')
  const [made, setMade] = useState<NewKey>()
  const empty = (
    <EmptyState icon="key" title="No keys yet">
      <p>A key lets a program in: a notebook, a chat client, a script.</p>
    </EmptyState>
  )
  const keep = (one: NewKey) => {
    setMade(one)
    keys.reload()
  }
  const button = (
    <DialogButton label="New key">
      {(onClose) => <NewKeyDialog onClose={onClose} onMade={keep} />}
    </DialogButton>
  )
  return (
    <Section title="Keys" buttons={button}>
      <Entries of={keys} what="the keys" empty={empty}>
        {(one) => <KeyEntry key={one.id} of={one} onRevoked={keys.reload} />}
      </Entries>
      {made && <MadeKeyDialog made={made} onClose={() => setMade(undefined)} />}
    </Section>
  )
}

function KeyEntry({ of: key, onRevoked }: { readonly of: Key; readonly onRevoked: () => void }) {
  const now = Date.now()
  const hasEnded = key.expires_at !== null && timeOf(key.expires_at).getTime() <= now
  const limit = key.requests_per_minute
  const about = [
    shownProjects(key.projects),
    key.last_used_at === null ? 'never used' : `used ${shownAge(key.last_used_at, now)}`,
    key.expires_at === null
      ? 'never expires'
      : `${hasEnded ? 'expired' : 'expires'} ${shownTime(key.expires_at)}`,
    limit === null
      ? ''
      : limit === 0
        ? 'no request limit'
        : `${counted(limit, 'request')} a minute`,
    `made by ${key.created_by} ${shownAge(key.created_at, now)}`,
  ]
  const title = (
    <>
      {key.name} <code>{key.prefix}…</code>
    </>
  )
  const beside = (
    <>
      {hasEnded && <span class="badge bad">expired</span>}
      {key.scopes.map((scope) => (
        <span key={scope} class="badge">
          {scope}
        </span>
      ))}
      <RemoveButton
        verb="Revoke"
        name={key.name}
        address={`/api/keys/${key.id}`}
        onDone={onRevoked}
      >
        Programs that use it lose access immediately. This cannot be undone.
      </RemoveButton>
    </>
  )
  return (
    <Entry title={title} beside={beside}>
      <p class="small quiet">{about.filter(Boolean).join(' · ')}</p>
    </Entry>
  )
}

function MadeKeyDialog({ made, onClose }: { readonly made: NewKey; readonly onClose: () => void }) {
  return (
    <Dialog title={`Key ${made.name}`} onClose={onClose} staysOnClickBeside>
      <div class="stack">
        <p>Copy it now: it is shown only once.</p>
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
  ['write', 'Write: change the contents of projects and files'],
  ['ask', 'Ask: questions to agents'],
  ['admin', 'Admin: all of these and everything else'],
] as const

function NewKeyDialog(props: {
  readonly onMade: (key: NewKey) => void
  readonly onClose: () => void
}) {
  const { onMade, onClose } = props
  const { typed, bind } = useFields({ name: '', expires: '', perMinute: '' })
  const [scopes, setScopes] = useState<readonly string[]>(['read'])
  const [projects, setProjects] = useState(widestChoice)
  const make = async () => {
    const { name, expires, perMinute } = typed
    const json = {
      ...{ name, scopes, projects },
      expires_at: expires === '' ? null : new Date(expires).toISOString(),
      requests_per_minute: perMinute === '' ? null : Number(perMinute),
    }
    const made = await request<NewKey>('/api/keys', { method: 'POST', json })
    // First, so that the focus returns to the button from the next dialog.
    onClose()
    onMade(made)
  }
  return (
    <FormDialog
      title="New key"
      verb="Create the key"
      isIncomplete={scopes.length === 0 || projects?.length === 0}
      onSubmit={make}
      onClose={onClose}
    >
      <TextField label="Name" hint="What it is for, such as notebook" required {...bind('name')} />
      <fieldset>
        <legend>Rights</legend>
        {SCOPES.map(([scope, words]) => (
          <Check
            key={scope}
            checked={scopes.includes(scope)}
            onCheck={() => setScopes(toggled(scopes, scope))}
          >
            {words}
          </Check>
        ))}
      </fieldset>
      <ProjectChoice chosen={projects} onChoose={setProjects} />
      <TextField
        label="Expires"
        hint="In your computer's time zone. Leave empty for never."
        type="datetime-local"
        {...bind('expires')}
      />
      <TextField
        label="Requests per minute"
        hint="Leave empty for the limit in EIDER_KEY_REQUESTS_PER_MINUTE. 0 means no limit."
        type="number"
        inputMode="numeric"
        min="0"
        max="1000000"
        {...bind('perMinute')}
      />
    </FormDialog>
  )
}

function toggled(all: readonly string[], name: string): readonly string[] {
  return all.includes(name) ? all.filter((one) => one !== name) : [...all, name]
}

/** The initial choice. A key or user never gets more than its creator has. */
export function widestChoice(): readonly string[] | null {
  return account.value?.projects === null ? null : []
}

/** Which projects a key or user may use: all, including future ones, or only the chosen ones. */
export function ProjectChoice(props: {
  /** null means all. */
  readonly chosen: readonly string[] | null
  readonly onChoose: (names: readonly string[] | null) => void
}) {
  const { chosen, onChoose } = props
  const named = useRequest<readonly NamedDatabase[]>('/api/databases')
  const known = new Map(
    (named.data ?? [])
      .filter(({ type }) => type !== 'system')
      .map((one) => [one.name, kindOf(one)]),
  )
  const gone = (chosen ?? []).filter((name) => !known.has(name))
  const all = [...known, ...gone.map((name) => [name, 'deleted'] as const)]
  const radio = { type: 'radio', name: 'projects' } as const
  return (
    <fieldset>
      <legend>Projects</legend>
      <Check
        {...radio}
        checked={chosen === null}
        disabled={widestChoice() !== null}
        onCheck={() => onChoose(null)}
      >
        All, including future ones
      </Check>
      <Check {...radio} checked={chosen !== null} onCheck={() => onChoose([])}>
        Only some
      </Check>
      {chosen !== null && named.failure && <Failure error={named.failure} onRetry={named.reload} />}
      {chosen !== null && named.data && (
        <div class="indent operations-choices">
          {all.map(([name, kind]) => (
            <Check
              key={name}
              checked={chosen.includes(name)}
              onCheck={() => onChoose(toggled(chosen, name))}
            >
              <bdi>{shownProject(name)}</bdi>
              {kind !== '' && <span class="small quiet">{kind}</span>}
            </Check>
          ))}
        </div>
      )}
    </fieldset>
  )
}

function kindOf({ type, engine }: NamedDatabase): string {
  if (type === 'project') return ''
  return engine === 'files' ? 'uploaded files' : 'database'
}
