/** Running jobs with their progress, finished jobs, and scheduled jobs. */

import { useLocation } from 'preact-iso/router'
import { isOver } from '../../../core/domain/flow/job.ts'
import { addressOfJob, forgetJobs, isUnchangedSync, listJobs } from '../../api/jobs.ts'
import type { Job } from '../../api/records.ts'
import { path, request } from '../../api/request.ts'
import { may, mayRunServer } from '../../api/session.ts'
import { runSql } from '../../api/sql.ts'
import { Button } from '../../components/button.tsx'
import { ActionButton, ConfirmButton, RemoveButton } from '../../components/dialog.tsx'
import { EmptyState } from '../../components/failure.tsx'
import { SelectField } from '../../components/form/field.tsx'
import { JOB_STATES, JobProgress, JobState } from '../../components/job-progress.tsx'
import { counted, shownAge, shownProject, shownTime } from '../../components/numbers.ts'
import { Entries, Entry, Loaded, Section } from '../../components/record-list.tsx'
import { useLongList, usePolling, useResource } from '../../components/resource.ts'
import { tellDone } from '../../shell/notices.tsx'

export function JobsPane() {
  const { query, route } = useLocation()
  const state = stateOf(query.state)
  const jobs = useLongList(
    (limit, signal) => listJobs({ ...(state === undefined ? {} : { state }), limit }, signal),
    [state],
  )
  const isGoing = jobs.data?.items.some(({ state }) => state === 'running')
  usePolling(jobs.reload, isGoing ? 'soon' : 'often')
  const clear = async () => {
    tellDone(`Deleted ${counted(await forgetJobs(state), 'job')}`)
    jobs.reload()
  }
  const canClear = may('write') && jobs.data?.items.some(isOver)
  return (
    <div class="stack">
      <div class="operations-filters">
        <SelectField
          label="Show"
          class="operations-narrow"
          value={state ?? ''}
          onChoose={(value) => route(`/operations/jobs${value && `?state=${value}`}`, true)}
          options={[
            ['', 'All jobs'],
            ...STATES.map((one) => [one, JOB_STATES[one].words] as const),
          ]}
        />
        {canClear && (
          <ConfirmButton
            label="Delete finished jobs"
            verb="Delete"
            asks={`Delete ${state === undefined ? 'all finished' : `the ${JOB_STATES[state].words.toLowerCase()}`} jobs?`}
            onConfirm={clear}
          >
            <p>Stored data is kept. Failed and cancelled jobs cannot be continued afterwards.</p>
          </ConfirmButton>
        )}
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
            {items
              .filter((job) => !isUnchangedSync(job))
              .map((job) => (
                <div key={job.id} class="panel">
                  <JobProgress
                    {...{ job, onOver: jobs.reload, onChanged: jobs.reload }}
                    isWatched={false}
                    about={`${shownProject(job.project)} · ${shownAge(job.created_at, Date.now())}`}
                  >
                    {isOver(job) && may('write') && <DeleteJob job={job} onDeleted={jobs.reload} />}
                  </JobProgress>
                </div>
              ))}
            {jobs.showMore && (
              <Button label={`Show more of ${counted(total, 'job')}`} onClick={jobs.showMore} />
            )}
          </>
        )}
      </Loaded>
      <ScheduleList />
    </div>
  )
}

const STATES = ['queued', 'running', 'done', 'failed', 'cancelled'] as const

function stateOf(text: string | null | undefined): Job['state'] | undefined {
  return STATES.find((one) => one === text)
}

/** Asks first, unless completed: another job could still be continued. */
function DeleteJob(props: { readonly job: Job; readonly onDeleted: () => void }) {
  const { id, state, title: name } = props.job
  const address = addressOfJob(id)
  if (state !== 'done') {
    return (
      <RemoveButton verb="Delete" {...{ name, address }} onDone={props.onDeleted}>
        Stored data is kept, but the job cannot be continued.
      </RemoveButton>
    )
  }
  const forget = () => request<void>(address, { method: 'DELETE' }).then(props.onDeleted)
  return <ActionButton look="small" label="Delete" work={forget} />
}

/** Reads the schedules of all projects at once. */
const SCHEDULES = `SELECT j.PROJECT, j.NAME, j.QUERY, j.SCHEDULE_STR, j.NEXT_RUN_AT, h.STATE, h.ERROR, h.STARTED
  FROM information_schema.jobs j LEFT JOIN (
    SELECT PROJECT, NAME, arg_max(STATE, RUN_START) AS STATE, arg_max(ERROR, RUN_START) AS ERROR,
      max(RUN_START) AS STARTED
    FROM information_schema.jobs_history GROUP BY PROJECT, NAME
  ) h ON h.PROJECT = j.PROJECT AND h.NAME = j.NAME
  ORDER BY j.PROJECT, j.NAME`

/** `every` is null for a schedule that runs once; the last three are null before its first run. */
async function loadSchedules(signal: AbortSignal) {
  const { rows } = await runSql({ sql: SCHEDULES, signal })
  const textOf = (cell: unknown) => (cell === null ? null : String(cell))
  return rows.map((row) => {
    const [project, name, query, ...others] = row
    const [every = null, nextAt = null, state = null, error = null, ranAt = null] =
      others.map(textOf)
    const texts = { project: String(project), name: String(name), query: String(query) }
    return { ...texts, every, nextAt, state, error, ranAt }
  })
}

type ShownSchedule = Awaited<ReturnType<typeof loadSchedules>>[number]

/** The scheduled jobs of all projects, with the result of the last run of each. */
function ScheduleList() {
  const schedules = useResource(loadSchedules, [])
  usePolling(schedules.reload, 'seldom')
  return (
    <Section title="Scheduled jobs">
      <Entries of={schedules} what="the scheduled jobs" empty={<NoSchedules />}>
        {(one) => <Row key={`${one.project}.${one.name}`} of={one} onDeleted={schedules.reload} />}
      </Entries>
    </Section>
  )
}

function NoSchedules() {
  return (
    <p class="quiet">
      None yet. Create one in SQL, with <a href="/docs/jobs">CREATE JOB</a>.
    </p>
  )
}

function Row(props: { readonly of: ShownSchedule; readonly onDeleted: () => void }) {
  const { project, name, query, every, nextAt, state, error, ranAt } = props.of
  const last = stateOf(state)
  const beside = (
    <>
      {last && <JobState state={last} />}
      {mayRunServer() && (
        <RemoveButton
          verb="Delete"
          name={name}
          address={path`/api/projects/${project}/jobs/${name}`}
          onDone={props.onDeleted}
        >
          It stops running. Stored data is kept.
        </RemoveButton>
      )}
    </>
  )
  return (
    <Entry title={`${project}.${name}`} beside={beside}>
      <code class="pre">{query}</code>
      <p class="small quiet">
        {every === null ? 'Once' : `Every ${every}`} ·{' '}
        {nextAt === null ? 'no longer runs' : `next ${shownTime(nextAt)}`} ·{' '}
        {ranAt === null ? 'has not run yet' : `ran ${shownAge(ranAt, Date.now())}`}
      </p>
      {error !== null && <p class="small pre bad">{error}</p>}
    </Entry>
  )
}
