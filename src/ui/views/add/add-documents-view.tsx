/** Ways to fill a knowledge base, and the jobs that do it. */
import { useEffect, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { refreshCatalog } from '../../api/catalog.ts'
import { documentChanges } from '../../api/documents.ts'
import { isUnchangedSync, listJobs } from '../../api/jobs.ts'
import type { KnowledgeBaseName } from '../../api/knowledge-bases.ts'
import type { Job, JobList } from '../../api/records.ts'
import { mayUpload } from '../../api/session.ts'
import { Failure } from '../../components/failure.tsx'
import { JobProgress } from '../../components/job-progress.tsx'
import { useResource } from '../../components/resource.ts'
import { addressOf } from '../../shell/addresses.ts'
import { lastUploadJob } from '../../uploads/uploads.ts'
import { KnowledgeBaseFrame } from '../knowledge-base/knowledge-base-frame.tsx'
import { AddFiles } from './add-files.tsx'
import { AddPages, AddRows, AddText } from './add-forms.tsx'
import { Sources } from './source-list.tsx'

const WAYS = [
  { from: 'files', label: 'Files' },
  { from: 'pages', label: 'Web pages' },
  { from: 'sql', label: 'SQL' },
  { from: 'text', label: 'Paste text' },
  { from: 'sources', label: 'Sync' },
] as const

export function AddDocumentsView({ project, name }: KnowledgeBaseName) {
  const { query, path } = useLocation()
  const [begun, setBegun] = useState<Job>()
  const ways = mayUpload() ? WAYS : WAYS.filter(({ from }) => from !== 'files')
  const shown = ways.find(({ from }) => from === query.from)?.from ?? ways[0]?.from
  const way = { project, name, onBegun: setBegun }
  return (
    <KnowledgeBaseFrame project={project} name={name}>
      <nav class="add-ways" aria-label="Where from">
        {ways.map(({ from, label }) => (
          <a
            key={from}
            class="button"
            href={`${path}?from=${from}`}
            aria-current={from === shown ? 'true' : undefined}
          >
            {label}
          </a>
        ))}
      </nav>
      <section class="panel stack" aria-label={WAYS.find(({ from }) => from === shown)?.label}>
        {shown === 'files' && <AddFiles project={project} name={name} />}
        {shown === 'pages' && <AddPages {...way} />}
        {shown === 'sql' && <AddRows {...way} />}
        {shown === 'text' && <AddText {...way} />}
        {shown === 'sources' && <Sources {...way} />}
      </section>
      <InsertJobs
        project={project}
        name={name}
        newest={Math.max(begun?.id ?? 0, lastUploadJob.value?.id ?? 0)}
      />
    </KnowledgeBaseFrame>
  )
}

const SHOWN_MAX = 5
const OTHERS: ReadonlySet<Job['kind']> = new Set(['rechunk', 'move'])

/** No re-chunking (in the settings), moves, or syncs without changes (with the source). */
async function lastInserts({ project, name }: KnowledgeBaseName, signal: AbortSignal) {
  const found: Job[] = []
  for (let offset: number | null = 0; offset !== null && found.length < SHOWN_MAX; ) {
    const page = { project, knowledgeBase: name, limit: 4 * SHOWN_MAX, offset }
    const { items, next }: JobList = await listJobs(page, signal)
    found.push(...items.filter((job) => !OTHERS.has(job.kind) && !isUnchangedSync(job)))
    offset = next
  }
  return { items: found.slice(0, SHOWN_MAX) }
}

/** They run on the server, so they continue without this page. */
function InsertJobs(
  props: KnowledgeBaseName & {
    /** The id of a job that has just started; 0 if none has. */
    readonly newest: number
  },
) {
  const { project, name, newest } = props
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
