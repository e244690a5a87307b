/** The jobs that were over last, of all projects, and how they ended. */
import { isJobOver, listJobs } from '../../api/jobs.ts'
import type { Job } from '../../api/records.ts'
import { JobState } from '../../components/job-progress.tsx'
import { usePolling, useResource } from '../../components/resource.ts'
import { counted, shownAge } from '../../format/numbers.ts'

const READ_MAX = 10
const SHOWN_MAX = 3
const ASK_AGAIN_MS = 15_000

export function LastJobs() {
  const { data, reload } = useResource((signal) => listJobs({ limit: READ_MAX }, signal), [])
  usePolling(reload, ASK_AGAIN_MS)
  const over = (data?.items ?? []).filter(isJobOver).slice(0, SHOWN_MAX)
  if (over.length === 0) return null
  return (
    <section class="panel stack" aria-labelledby="home-last-jobs">
      <div class="row">
        <h2 id="home-last-jobs" class="grow">
          Last jobs
        </h2>
        <a class="small" href="/operations/jobs">
          All jobs
        </a>
      </div>
      <ul class="home-entries wide home-jobs">
        {over.map((job) => (
          <JobEntry key={job.id} job={job} />
        ))}
      </ul>
    </section>
  )
}

function JobEntry({ job }: { readonly job: Job }) {
  const { state, title, finished_at: end, error, error_count: leftOut } = job
  return (
    <li>
      <JobState state={state} />
      <span class="one-line" dir="auto">
        {title}
      </span>
      <span class="home-about small quiet">
        {end !== null && <span>{shownAge(end, Date.now())}</span>}
        {leftOut > 0 && <span class="bad">{counted(leftOut, 'item')} left out</span>}
        {state === 'failed' && error !== null && (
          <span class="bad one-line" dir="auto">
            {error}
          </span>
        )}
      </span>
    </li>
  )
}
