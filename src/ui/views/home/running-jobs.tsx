/** What runs now, of all projects. */
import { useEffect, useState } from 'preact/hooks'
import { refreshCatalog } from '../../api/catalog.ts'
import { listJobs } from '../../api/jobs.ts'
import { JobProgress } from '../../components/job-progress.tsx'
import { shownCount } from '../../components/numbers.ts'
import { usePolling, useResource } from '../../components/resource.ts'
import { sampleLoading } from './load-sample.ts'
import { shownJobs } from './shown-jobs.ts'

const SHOWN_MAX = 5
const RUNNING_JOBS_AGAIN_MS = 5000

export function RunningJobs() {
  const { data, reload } = useResource(readUnderWay, [])
  usePolling(reload, RUNNING_JOBS_AGAIN_MS)
  // A job that is over stays until the view is left, so that nobody misses how it ended.
  const [seen, setSeen] = useState<readonly number[]>([])
  useEffect(() => {
    if (data) setSeen((before) => shownJobs(before, data, SHOWN_MAX))
  }, [data])
  const loading = sampleLoading.value
  const sampleJob = loading?.step === 'storing' ? loading.job.id : undefined
  const shown = seen.filter((id) => id !== sampleJob)
  if (shown.length === 0 || loading !== undefined) return null
  const going = [...(data?.running ?? []), ...(data?.queued ?? [])]
  const moreCount = (data?.total ?? 0) - going.filter((id) => seen.includes(id)).length
  return (
    <section class="panel stack" aria-label="Running now">
      <div class="row">
        <h2 class="grow">Running now</h2>
        <a class="small" href="/operations/jobs">
          All jobs
        </a>
      </div>
      {shown.map((id) => (
        <JobProgress
          key={id}
          id={id}
          job={data?.jobs.find((job) => job.id === id)}
          onOver={() => {
            reload()
            refreshCatalog().catch(() => {})
          }}
        />
      ))}
      {moreCount > 0 && <p class="small quiet">and {shownCount(moreCount)} more</p>}
    </section>
  )
}

async function readUnderWay(signal: AbortSignal) {
  const states = ['running', 'queued'] as const
  const [running, queued] = await Promise.all(
    states.map((state) => listJobs({ state, limit: SHOWN_MAX }, signal)),
  )
  return {
    running: running?.items.map(({ id }) => id) ?? [],
    queued: queued?.items.map(({ id }) => id) ?? [],
    jobs: [...(running?.items ?? []), ...(queued?.items ?? [])],
    total: (running?.total ?? 0) + (queued?.total ?? 0),
  }
}
