/** Stored documents that are split again: how far the job is, or why it is not done. */
import { useEffect, useState } from 'preact/hooks'
import { isJobOver, listJobs } from '../../../api/jobs.ts'
import type { KnowledgeBaseName } from '../../../api/knowledge-bases.ts'
import { Failure } from '../../../components/failure.tsx'
import { JobProgress } from '../../../components/job-progress.tsx'
import { useResource } from '../../../components/resource.ts'

interface RechunkProgressProps {
  readonly of: KnowledgeBaseName
  /** Counts the jobs that were begun here. */
  readonly begun: number
  readonly onRunning: (isRunning: boolean) => void
  readonly onOver: () => void
}

export function RechunkProgress({ of, begun, onRunning, onOver }: RechunkProgressProps) {
  const { project, name } = of
  const { data, failure, reload } = useResource(
    async (signal) => {
      const filters = { project, knowledgeBase: name, kind: 'rechunk', limit: 1 } as const
      const [job] = (await listJobs(filters, signal)).items
      return { job }
    },
    [project, name, begun],
  )
  const job = data?.job
  const isRunning = job !== undefined && !isJobOver(job)
  const [isFollowed, setIsFollowed] = useState(false)
  useEffect(() => {
    onRunning(isRunning)
    if (isRunning) setIsFollowed(true)
  }, [isRunning])
  if (failure) return <Failure error={failure} onRetry={reload} />
  if (job === undefined) return null
  // One that went well long ago says nothing any more.
  const isNews = begun > 0 || isFollowed || job.state !== 'done' || job.error_count > 0
  if (!isNews) return null
  return (
    <section class="stack" aria-label="Stored documents split again">
      <JobProgress
        key={job.id}
        id={job.id}
        job={job}
        onChanged={reload}
        onOver={() => {
          setIsFollowed(true)
          reload()
          onOver()
        }}
      />
    </section>
  )
}
