/** The last jobs that filled a knowledge base: they are the server's, so that nothing is lost when the page is. */
import { useEffect } from 'preact/hooks'
import { refreshCatalog } from '../../api/catalog.ts'
import { documentChanges } from '../../api/documents.ts'
import { listJobs } from '../../api/jobs.ts'
import type { KnowledgeBaseName } from '../../api/knowledge-bases.ts'
import type { Job, JobList } from '../../api/records.ts'
import { Failure } from '../../components/failure.tsx'
import { JobProgress } from '../../components/job-progress.tsx'
import { useResource } from '../../components/resource.ts'
import { addressOf } from '../../shell/addresses.ts'

const SHOWN_MAX = 5

/** The settings show those that cut what is there anew. */
async function lastInserts({ project, name }: KnowledgeBaseName, signal: AbortSignal) {
  const found: Job[] = []
  for (let offset: number | null = 0; offset !== null && found.length < SHOWN_MAX; ) {
    const page = { project, knowledgeBase: name, limit: 4 * SHOWN_MAX, offset }
    const { items, next }: JobList = await listJobs(page, signal)
    found.push(...items.filter(({ kind }) => kind !== 'rechunk'))
    offset = next
  }
  return { items: found.slice(0, SHOWN_MAX) }
}

interface InsertJobsProps extends KnowledgeBaseName {
  /** The id of one that has just begun; 0: none. */
  readonly newest: number
}

export function InsertJobs({ project, name, newest }: InsertJobsProps) {
  const { data, failure, reload } = useResource(
    (signal) => lastInserts({ project, name }, signal),
    [project, name],
  )
  useEffect(() => {
    if (newest > 0) reload()
  }, [newest])
  if (failure && data === undefined) return <Failure error={failure} onRetry={reload} />
  if (data === undefined || data.items.length === 0) return null
  return (
    <section class="panel stack" aria-labelledby="add-jobs">
      <div class="row">
        <h2 id="add-jobs" class="add-jobs-title">
          What was added
        </h2>
        {data.items.some(({ documents }) => documents > 0) && (
          <>
            <a class="button small" href={addressOf.searchLab(project, name)}>
              Search it
            </a>
            <a class="button small" href={addressOf.knowledgeBase(project, name)}>
              See the documents
            </a>
          </>
        )}
      </div>
      {data.items.map((job) => (
        <JobProgress
          key={job.id}
          id={job.id}
          job={job}
          onOver={() => {
            reload()
            documentChanges.value += 1
            refreshCatalog().catch(() => {})
          }}
        />
      ))}
    </section>
  )
}
