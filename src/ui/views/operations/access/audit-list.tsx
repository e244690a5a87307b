/** What was changed by whom, the newest first. */
import { useState } from 'preact/hooks'
import type { AuditList as AuditPage } from '../../../api/records.ts'
import { request } from '../../../api/request.ts'
import { Button } from '../../../components/button.tsx'
import { Loaded } from '../../../components/loaded.tsx'
import { useResource } from '../../../components/resource.ts'
import { shownTime } from '../../../format/numbers.ts'

const PAGE = 50
const PAGES_MAX = 1000

export function AuditList() {
  const [limit, setLimit] = useState(PAGE)
  const audit = useResource(
    (signal) => request<AuditPage>(`/api/audit?limit=${limit}`, { signal }),
    [limit],
  )
  return (
    <section class="stack" aria-labelledby="operations-audit">
      <div class="row">
        <h2 id="operations-audit" class="grow">
          Audit log
        </h2>
        <Button look="small" label="Refresh" onClick={audit.reload} />
      </div>
      <Loaded of={audit} what="the audit log">
        {({ items, next }) => (
          <>
            {items.length === 0 ? (
              <p class="quiet">Nothing has been changed yet.</p>
            ) : (
              <AuditTable items={items} />
            )}
            {next !== null && limit < PAGES_MAX && (
              <Button label="Show more" onClick={() => setLimit(Math.min(limit * 4, PAGES_MAX))} />
            )}
          </>
        )}
      </Loaded>
    </section>
  )
}

function AuditTable({ items }: { readonly items: AuditPage['items'] }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard
    <section class="panel flush" tabIndex={0} aria-label="Entries">
      <table class="stacked">
        <thead>
          <tr>
            <th>When</th>
            <th>Who</th>
            <th>Action</th>
            <th>On</th>
            <th>Outcome</th>
          </tr>
        </thead>
        <tbody>
          {items.map((one) => (
            <tr key={one.number}>
              <td class="operations-when">{shownTime(one.happened_at)}</td>
              <td dir="auto">{one.principal.name || one.principal.kind}</td>
              <td>
                {one.action}
                {one.occurrences > 1 && <span class="quiet"> ×{one.occurrences}</span>}
              </td>
              <td class="stacked-first" dir="auto">
                {one.targets.join(', ')}
              </td>
              <td>
                <span class={`badge ${one.outcome === 'ok' ? 'good' : 'bad'}`}>{one.outcome}</span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
