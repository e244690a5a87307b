/** Jobs: what runs as it goes on, what is over, and what runs by itself. */

import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { changeJob, forgetJob, isJobOver, listJobs } from '../../api/jobs.ts'
import type { Job } from '../../api/records.ts'
import { may } from '../../api/session.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import { Field } from '../../components/field.tsx'
import { JobProgress, JobState, wordsOf } from '../../components/job-progress.tsx'
import { usePolling, useResource } from '../../components/resource.ts'
import { counted, shownAge } from '../../format/numbers.ts'
import { tellFailed } from '../../shell/notices.tsx'
import { Loaded } from './loaded.tsx'
import { ScheduleList } from './schedule-list.tsx'

const ASK_AGAIN_MS = 3000
const PAGE = 50
const STATES = {
  queued: 'Waiting',
  running: 'Running',
  done: 'Done',
  failed: 'Failed',
  cancelled: 'Cancelled',
}

export function JobsPane() {
  const { query, route } = useLocation()
  const state = stateOf(query.state)
  const [limit, setLimit] = useState(PAGE)
  const jobs = useResource(
    (signal) => listJobs({ ...(state === undefined ? {} : { state }), limit }, signal),
    [state, limit],
  )
  usePolling(jobs.reload, ASK_AGAIN_MS)
  const show = (next: string) => {
    route(next === '' ? '/operations/jobs' : `/operations/jobs?state=${next}`, true)
  }
  return (
    <div class="stack">
      <Field label="Show">
        {(control) => (
          <select
            {...control}
            class="operations-narrow"
            value={state ?? ''}
            onChange={({ currentTarget }) => show(currentTarget.value)}
          >
            <option value="">All jobs</option>
            {Object.entries(STATES).map(([value, words]) => (
              <option key={value} value={value}>
                {words}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Loaded of={jobs} what="the jobs">
        {({ items, total }) => (
          <>
            {items.length === 0 && (
              <EmptyState
                icon="clock"
                title={state === undefined ? 'No jobs yet' : 'No jobs in this state'}
              >
                <p>Adding many documents, syncing a source or an evaluation begins a job.</p>
              </EmptyState>
            )}
            {items.map((job) =>
              isJobOver(job) ? (
                <OverJob key={job.id} job={job} onChange={jobs.reload} />
              ) : (
                <div key={job.id} class="panel">
                  <JobProgress id={job.id} job={job} onOver={jobs.reload} />
                </div>
              ),
            )}
            {items.length < total && (
              <div class="row">
                <span class="quiet">
                  {items.length} of {counted(total, 'job')}
                </span>
                <button type="button" class="button" onClick={() => setLimit(limit + PAGE)}>
                  Show more
                </button>
              </div>
            )}
          </>
        )}
      </Loaded>
      <ScheduleList />
    </div>
  )
}

function stateOf(text: string | undefined): Job['state'] | undefined {
  const states = ['queued', 'running', 'done', 'failed', 'cancelled'] as const
  return states.find((one) => one === text)
}

interface OverJobProps {
  readonly job: Job
  readonly onChange: () => void
}

function OverJob({ job, onChange }: OverJobProps) {
  const [isBusy, setIsBusy] = useState(false)
  const change = async (how: () => Promise<unknown>) => {
    if (isBusy) return
    setIsBusy(true)
    try {
      await how()
      onChange()
    } catch (error) {
      tellFailed(error)
    } finally {
      setIsBusy(false)
    }
  }
  const buttons = [
    ...(job.state === 'done'
      ? []
      : [
          { words: 'Go on', act: () => changeJob(job.id, 'resume') },
          { words: 'Start over', act: () => changeJob(job.id, 'retry') },
        ]),
    { words: 'Forget', act: () => forgetJob(job.id) },
  ]
  return (
    <section class="panel operations-job" aria-label={job.title}>
      <div class="row">
        <strong class="grow" dir="auto">
          {job.title}
        </strong>
        <JobState state={job.state} />
        {may('write') &&
          buttons.map(({ words, act }) => (
            <button
              key={words}
              type="button"
              class="button small"
              aria-disabled={isBusy}
              onClick={() => change(act)}
            >
              {words}
            </button>
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
      {job.error_count > 0 && (
        <details>
          <summary class="small bad">{counted(job.error_count, 'item')} left out</summary>
          <ul class="operations-list small">
            {job.errors.map(({ item, message }, index) => (
              <li key={`${index} ${item}`}>
                <strong dir="auto">{item}</strong>: <span dir="auto">{message}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
    </section>
  )
}
