/** The ways into a knowledge base, and the jobs by which it is filled. */
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import type { KnowledgeBaseName } from '../../api/knowledge-bases.ts'
import type { Job } from '../../api/records.ts'
import { mayUpload } from '../../api/session.ts'
import { lastUploadJob } from '../../uploads/uploads.ts'
import { KnowledgeBaseFrame } from '../knowledge-base/knowledge-base-frame.tsx'
import { AddFiles } from './add-files.tsx'
import { AddPages } from './add-pages.tsx'
import { AddRows } from './add-rows.tsx'
import { AddText } from './add-text.tsx'
import { InsertJobs } from './insert-jobs.tsx'
import { Sources } from './source-list.tsx'

const WAYS = [
  { from: 'files', label: 'Files' },
  { from: 'pages', label: 'Web pages' },
  { from: 'sql', label: 'SQL' },
  { from: 'text', label: 'Paste text' },
  { from: 'sources', label: 'Keep in step' },
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
