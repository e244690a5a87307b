/** The backups there are, and one more at once. */
import type { Backup } from '../../api/records.ts'
import { request } from '../../api/request.ts'
import { Button } from '../../components/button.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Failure } from '../../components/failure.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Progress } from '../../components/progress.tsx'
import { useAction, useResource } from '../../components/resource.ts'
import { shownBytes, shownCount, shownTime } from '../../format/numbers.ts'
import { tellDone } from '../../shell/notices.tsx'

export function BackupsPane() {
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
