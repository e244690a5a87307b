/** Keys of programs: made, shown once, revoked. */
import { useState } from 'preact/hooks'
import type { Key, NewKey as MadeKey } from '../../../api/records.ts'
import { path, request } from '../../../api/request.ts'
import { Button } from '../../../components/button.tsx'
import { ConfirmDialog } from '../../../components/confirm-dialog.tsx'
import { CopyButton } from '../../../components/copy-button.tsx'
import { Dialog } from '../../../components/dialog.tsx'
import { EmptyState } from '../../../components/empty-state.tsx'
import { Loaded } from '../../../components/loaded.tsx'
import { useResource } from '../../../components/resource.ts'
import { counted, shownAge, shownTime, timeOf } from '../../../format/numbers.ts'
import { NewKeyDialog } from './new-key-dialog.tsx'

export function KeyList() {
  const keys = useResource((signal) => request<readonly Key[]>('/api/keys', { signal }), [])
  const [isMaking, setIsMaking] = useState(false)
  const [made, setMade] = useState<MadeKey>()
  const [revoked, setRevoked] = useState<Key>()
  return (
    <section class="stack" aria-labelledby="operations-keys">
      <div class="row">
        <h2 id="operations-keys" class="grow">
          Keys
        </h2>
        <Button label="New key" onClick={() => setIsMaking(true)} />
      </div>
      <Loaded of={keys} what="the keys">
        {(items) =>
          items.length === 0 ? (
            <EmptyState icon="key" title="No keys yet">
              <p>A key lets a program in: a notebook, a chat client, a script.</p>
            </EmptyState>
          ) : (
            <ul class="operations-list">
              {items.map((one) => (
                <KeyRow key={one.id} of={one} onRevoke={() => setRevoked(one)} />
              ))}
            </ul>
          )
        }
      </Loaded>
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
      {revoked && (
        <ConfirmDialog
          title={`Revoke ${revoked.name}?`}
          verb="Revoke"
          onClose={() => setRevoked(undefined)}
          onConfirm={async () => {
            await request(path`/api/keys/${String(revoked.id)}`, { method: 'DELETE' })
            keys.reload()
          }}
        >
          <p>Programs that use it are refused from their next request on. This cannot be undone.</p>
        </ConfirmDialog>
      )}
    </section>
  )
}

function KeyRow({ of: key, onRevoke }: { readonly of: Key; readonly onRevoke: () => void }) {
  const now = Date.now()
  const uses = key.last_used_at === null ? 'never used' : `used ${shownAge(key.last_used_at, now)}`
  const hasEnded = key.expires_at !== null && timeOf(key.expires_at).getTime() <= now
  const ends =
    key.expires_at === null
      ? 'never expires'
      : `${hasEnded ? 'expired' : 'expires'} ${shownTime(key.expires_at)}`
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
        <Button look="small" label="Revoke" aria-label={`Revoke ${key.name}`} onClick={onRevoke} />
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
