/** Jobs: what runs as it goes on, what is over, and the scheduled jobs. */
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { forgetJobs, isJobOver, listJobs } from '../../api/jobs.ts'
import type { Job } from '../../api/records.ts'
import { may } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { SelectField } from '../../components/form/select-field.tsx'
import { JobProgress } from '../../components/job-progress.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { usePolling, useResource } from '../../components/resource.ts'
import { counted, shownCount } from '../../format/numbers.ts'
import { tellDone } from '../../shell/notices.tsx'
import { OverJob } from './over-job.tsx'
import { ScheduleList } from './schedule-list.tsx'

const ASK_AGAIN_MS = 3000
const PAGE = 50
/** Those that run are followed row by row, but no more than these: each is a connection. The others are asked for together. */
const WATCHED_MAX = 2
const STATES = {
  queued: 'Waiting',
  running: 'Running',
  done: 'Done',
  failed: 'Failed',
  cancelled: 'Cancelled',
}

/** Which jobs are shown; it stands in the address. */
function useShownJobs() {
  const { query, route } = useLocation()
  const state = stateOf(query.state)
  const offset = Math.max(0, Math.floor(Number(query.offset) || 0))
  const show = (next: { state?: string | undefined; offset?: number }) => {
    const given = {
      ...(next.state ? { state: next.state } : {}),
      ...(next.offset ? { offset: String(next.offset) } : {}),
    }
    const words = new URLSearchParams(given).toString()
    route(words === '' ? '/operations/jobs' : `/operations/jobs?${words}`, true)
  }
  return { state, offset, show }
}

export function JobsPane() {
  const { state, offset, show } = useShownJobs()
  const [isClearing, setIsClearing] = useState(false)
  const jobs = useResource(
    (signal) => {
      return listJobs({ ...(state === undefined ? {} : { state }), limit: PAGE, offset }, signal)
    },
    [state, offset],
  )
  usePolling(jobs.reload, ASK_AGAIN_MS)
  const canClear = may('write') && jobs.data?.items.some(isJobOver)
  return (
    <div class="stack">
      <div class="operations-filters">
        <SelectField
          label="Show"
          class="operations-narrow"
          value={state ?? ''}
          onChoose={(value) => show({ state: value })}
          options={[['', 'All jobs'], ...Object.entries(STATES)]}
        />
        {canClear && <Button label="Delete finished jobs" onClick={() => setIsClearing(true)} />}
      </div>
      <Loaded of={jobs} what="the jobs">
        {({ items, total }) => (
          <>
            {items.length === 0 && (
              <EmptyState
                icon="clock"
                title={state === undefined ? 'No jobs yet' : 'No jobs in this state'}
              >
                <p>Adding many documents, syncing a source or evaluating starts a job.</p>
              </EmptyState>
            )}
            {items.map((job) =>
              isJobOver(job) ? (
                <OverJob key={job.id} job={job} onChange={jobs.reload} />
              ) : (
                <div key={job.id} class="panel">
                  <JobProgress
                    {...{ id: job.id, job, onOver: jobs.reload }}
                    isWatched={isWatched(job, items)}
                  />
                </div>
              ),
            )}
            <Pages
              {...{ offset, total, count: items.length }}
              onShow={(next) => show({ state, offset: next })}
            />
          </>
        )}
      </Loaded>
      <ScheduleList />
      {isClearing && (
        <ConfirmDialog
          title={`Delete ${state === undefined ? 'all finished' : `the ${STATES[state].toLowerCase()}`} jobs?`}
          verb="Delete"
          onClose={() => setIsClearing(false)}
          onConfirm={async () => {
            tellDone(`Deleted ${counted(await forgetJobs(state), 'job')}`)
            show({ state })
            jobs.reload()
          }}
        >
          <p>
            What they stored stays. Those that failed or were cancelled can no longer be continued.
          </p>
        </ConfirmDialog>
      )}
    </div>
  )
}

interface PagesProps {
  readonly offset: number
  readonly count: number
  readonly total: number
  readonly onShow: (offset: number) => void
}

function Pages({ offset, count, total, onShow }: PagesProps) {
  if (total <= PAGE && offset === 0) return null
  const isLast = offset + count >= total
  return (
    <div class="row">
      <span class="quiet">
        {count === 0 ? 'None here' : `${shownCount(offset + 1)}–${shownCount(offset + count)}`} of{' '}
        {counted(total, 'job')}
      </span>
      <Button
        look="small"
        label="Newer"
        aria-disabled={offset === 0}
        onClick={() => offset > 0 && onShow(Math.max(0, offset - PAGE))}
      />
      <Button
        look="small"
        label="Older"
        aria-disabled={isLast}
        onClick={() => !isLast && onShow(offset + PAGE)}
      />
    </div>
  )
}

function isWatched(job: Job, items: readonly Job[]): boolean {
  return items
    .filter(({ state }) => state === 'running')
    .slice(0, WATCHED_MAX)
    .includes(job)
}

function stateOf(text: string | undefined): Job['state'] | undefined {
  const states = ['queued', 'running', 'done', 'failed', 'cancelled'] as const
  return states.find((one) => one === text)
}
