/** Jobs: what runs as it goes on, what is over, and the scheduled jobs. */
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { changeJob, forgetJob, forgetJobs, isJobOver, listJobs } from '../../api/jobs.ts'
import type { Job } from '../../api/records.ts'
import { path, request } from '../../api/request.ts'
import { may, mayRunServer } from '../../api/session.ts'
import { runSql } from '../../api/sql.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Failure } from '../../components/failure.tsx'
import { SelectField } from '../../components/form/select-field.tsx'
import { JobProgress, JobState, LeftOut, wordsOf } from '../../components/job-progress.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { counted, shownAge, shownCount, shownTime } from '../../components/numbers.ts'
import { useAction, usePolling, useResource } from '../../components/resource.ts'
import { tellDone } from '../../shell/notices.tsx'

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

/** A job that is over: what came of it, and what can be done with it. */
function OverJob({ job, onChange }: { readonly job: Job; readonly onChange: () => void }) {
  const { act, failure, isBusy } = useAction()
  const [isDeleting, setIsDeleting] = useState(false)
  const change = async (how: () => Promise<unknown>) => {
    await act(async () => {
      await how()
      onChange()
    })
  }
  const isDone = job.state === 'done'
  const forget = () => {
    // One that is done is not needed any more; another could still go on.
    if (isDone) change(() => forgetJob(job.id))
    else setIsDeleting(true)
  }
  const buttons = [
    ...(isDone
      ? []
      : [
          { words: 'Continue', press: () => change(() => changeJob(job.id, 'resume')) },
          { words: 'Start over', press: () => change(() => changeJob(job.id, 'retry')) },
        ]),
    { words: 'Delete', press: forget },
  ]
  return (
    <section class="panel operations-job" aria-label={job.title}>
      <div class="row">
        <strong class="grow" dir="auto">
          {job.title}
        </strong>
        <JobState state={job.state} />
        {may('write') &&
          buttons.map(({ words, press }) => (
            <Button look="small" label={words} key={words} aria-disabled={isBusy} onClick={press} />
          ))}
      </div>
      <p class="small quiet">
        <span dir="auto">{job.project}</span> · {wordsOf(job)} ·{' '}
        {shownAge(job.created_at, Date.now())}
      </p>
      {job.error !== null && (
        <p class="small pre bad" dir="auto">
          {job.error}
        </p>
      )}
      <LeftOut job={job} />
      {failure && <Failure error={failure} />}
      {isDeleting && (
        <ConfirmDialog
          title={`Delete ${job.title}?`}
          verb="Delete"
          onClose={() => setIsDeleting(false)}
          onConfirm={async () => {
            await forgetJob(job.id)
            onChange()
          }}
        >
          <p>What it stored stays. It can no longer be continued.</p>
        </ConfirmDialog>
      )}
    </section>
  )
}

const SCHEDULES_AGAIN_MS = 15_000

/** Of all projects at once, however many there are. */
const SCHEDULES = `SELECT j.PROJECT, j.NAME, j.QUERY, j.SCHEDULE_STR, j.NEXT_RUN_AT, h.STATE, h.ERROR, h.STARTED
  FROM information_schema.jobs j LEFT JOIN (
    SELECT PROJECT, NAME, arg_max(STATE, RUN_START) AS STATE, arg_max(ERROR, RUN_START) AS ERROR,
      max(RUN_START) AS STARTED
    FROM information_schema.jobs_history GROUP BY PROJECT, NAME
  ) h ON h.PROJECT = j.PROJECT AND h.NAME = j.NAME
  ORDER BY j.PROJECT, j.NAME`

interface ShownSchedule {
  readonly project: string
  readonly name: string
  readonly query: string
  /** null: it runs once. */
  readonly every: string | null
  readonly nextAt: string | null
  /** Of its last run; null: there was none. */
  readonly state: string | null
  readonly error: string | null
  readonly ranAt: string | null
}

async function loadSchedules(signal: AbortSignal): Promise<readonly ShownSchedule[]> {
  const { rows } = await runSql({ sql: SCHEDULES, signal })
  return rows.map((row) => {
    const [project, name, query, every, nextAt, state, error, ranAt] = row.map(textOf)
    return {
      ...{ project: project ?? '', name: name ?? '', query: query ?? '', every: every ?? null },
      ...{ nextAt: nextAt ?? null, state: state ?? null, error: error ?? null },
      ranAt: ranAt ?? null,
    }
  })
}

function textOf(cell: unknown): string | null {
  return cell === null ? null : String(cell)
}

/** Jobs that run by themselves, of all projects, with how the last run of each ended. */
function ScheduleList() {
  const schedules = useResource(loadSchedules, [])
  usePolling(schedules.reload, SCHEDULES_AGAIN_MS)
  const [dropped, setDropped] = useState<ShownSchedule>()
  return (
    <section class="stack" aria-labelledby="operations-schedules">
      <h2 id="operations-schedules">Scheduled jobs</h2>
      <Loaded of={schedules} what="the scheduled jobs">
        {(items) =>
          items.length === 0 ? (
            <p class="quiet">
              None yet. Create one in SQL, with <a href="/docs/jobs">CREATE JOB</a>.
            </p>
          ) : (
            <ul class="operations-list">
              {items.map((one) => (
                <Row key={`${one.project}.${one.name}`} of={one} onDelete={() => setDropped(one)} />
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
          <p>It no longer runs. What it stored stays.</p>
        </ConfirmDialog>
      )}
    </section>
  )
}

const LOOKS: Readonly<Record<string, string>> = {
  ...{ done: 'good', failed: 'bad', running: 'accent', cancelled: 'warn' },
}

interface RowProps {
  readonly of: ShownSchedule
  readonly onDelete: () => void
}

function Row({ of: schedule, onDelete }: RowProps) {
  const { project, name, query, every, nextAt, state, error, ranAt } = schedule
  const now = Date.now()
  return (
    <li class="panel operations-job">
      <div class="row">
        <strong class="grow" dir="auto">
          {project}.{name}
        </strong>
        {state !== null && <span class={`badge ${LOOKS[state] ?? ''}`}>Last run: {state}</span>}
        {mayRunServer() && (
          <Button look="small" label="Delete" aria-label={`Delete ${name}`} onClick={onDelete} />
        )}
      </div>
      <code class="pre" dir="auto">
        {query}
      </code>
      <p class="small quiet">
        {every === null ? 'Once' : `Every ${every}`} ·{' '}
        {nextAt === null ? 'no longer runs' : `next ${shownTime(nextAt)}`} ·{' '}
        {ranAt === null ? 'has not run yet' : `ran ${shownAge(ranAt, now)}`}
      </p>
      {error !== null && (
        <p class="small pre bad" dir="auto">
          {error}
        </p>
      )}
    </li>
  )
}
