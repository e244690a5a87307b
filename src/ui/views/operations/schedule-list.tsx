/** Jobs that run by themselves, of all projects. */
import { useState } from 'preact/hooks'
import type { Project, Schedule } from '../../api/records.ts'
import { path, request } from '../../api/request.ts'
import { mayRunServer } from '../../api/session.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { useResource } from '../../components/resource.ts'
import { shownTime } from '../../format/numbers.ts'
import { Loaded } from './loaded.tsx'

export function ScheduleList() {
  const schedules = useResource(async (signal) => {
    const projects = await request<readonly Project[]>('/api/projects', { signal })
    const lists = await Promise.all(
      projects.map(({ name }) => {
        return request<readonly Schedule[]>(path`/api/projects/${name}/jobs`, { signal })
      }),
    )
    return lists.flat()
  }, [])
  const [dropped, setDropped] = useState<Schedule>()
  return (
    <section class="stack" aria-labelledby="operations-schedules">
      <h2 id="operations-schedules">Runs by itself</h2>
      <Loaded of={schedules} what="what runs by itself">
        {(items) =>
          items.length === 0 ? (
            <p class="quiet">
              Nothing does. <a href="/docs/jobs">CREATE JOB</a> in SQL makes one.
            </p>
          ) : (
            <ul class="operations-list">
              {items.map((one) => (
                <li key={one.id} class="panel operations-job">
                  <div class="row">
                    <strong class="grow" dir="auto">
                      {one.project}.{one.name}
                    </strong>
                    {mayRunServer() && (
                      <button type="button" class="button small" onClick={() => setDropped(one)}>
                        Delete
                      </button>
                    )}
                  </div>
                  <code class="pre" dir="auto">
                    {one.query}
                  </code>
                  <p class="small quiet">
                    {one.schedule_str === null ? 'Once' : `Every ${one.schedule_str}`} ·{' '}
                    {one.next_run_at === null
                      ? 'does not run any more'
                      : `next ${shownTime(one.next_run_at)}`}
                  </p>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
      {dropped && (
        <ConfirmDialog
          title={`Delete ${dropped.name}?`}
          verb="Delete"
          onClose={() => setDropped(undefined)}
          onConfirm={async () => {
            const address = path`/api/projects/${dropped.project}/jobs/${dropped.name}`
            await request(address, { method: 'DELETE' })
            schedules.reload()
          }}
        >
          <p>It does not run any more. What it stored stays.</p>
        </ConfirmDialog>
      )}
    </section>
  )
}
