/** What runs now, of all projects. */
import { useEffect, useState } from 'preact/hooks'
import { refreshCatalog } from '../../api/catalog.ts'
import { listJobs } from '../../api/jobs.ts'
import { JobProgress } from '../../components/job-progress.tsx'
import { usePolling, useResource } from '../../components/resource.ts'
import { sampleLoading } from './load-sample.ts'

const SHOWN_MAX = 5
const ASK_AGAIN_MS = 5000

export function RunningJobs() {
  const { data, reload } = useResource(async (signal) => {
    const states = ['running', 'queued'] as const
    const lists = await Promise.all(
      states.map((state) => listJobs({ state, limit: SHOWN_MAX }, signal)),
    )
    return lists.flatMap(({ items }) => items)
  }, [])
  usePolling(reload, ASK_AGAIN_MS)
  // A job that is over stays until the view is left, so that nobody misses how it ended.
  const [seen, setSeen] = useState<readonly number[]>([])
  useEffect(() => {
    const ids = data?.map(({ id }) => id) ?? []
    setSeen((before) => [...new Set([...before, ...ids])].slice(-SHOWN_MAX))
  }, [data])
  const loading = sampleLoading.value
  const sampleJob = loading?.step === 'storing' ? loading.job.id : undefined
  const shown = seen.filter((id) => id !== sampleJob)
  if (shown.length === 0 || loading !== undefined) return null
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
          job={data?.find((job) => job.id === id)}
          onOver={() => {
            refreshCatalog().catch(() => {})
          }}
        />
      ))}
    </section>
  )
}
