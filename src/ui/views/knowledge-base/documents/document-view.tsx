/** One document as it is stored: its text with the borders of its chunks, its metadata; changed or deleted. */
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { deleteDocuments, getDocument } from '../../../api/documents.ts'
import type { KnowledgeBaseName } from '../../../api/knowledge-bases.ts'
import type { DocumentTexts } from '../../../api/records.ts'
import { may } from '../../../api/session.ts'
import { Button } from '../../../components/button.tsx'
import { ConfirmDialog } from '../../../components/confirm-dialog.tsx'
import { CopyButton } from '../../../components/copy-button.tsx'
import { Failure } from '../../../components/failure.tsx'
import { Loading } from '../../../components/progress.tsx'
import { useResource } from '../../../components/resource.ts'
import { addressOf } from '../../../shell/addresses.ts'
import { tellDone } from '../../../shell/notices.tsx'
import { KnowledgeBaseFrame } from '../knowledge-base-frame.tsx'
import { areMadeOfJson } from './chunk-marks.ts'
import { ColumnText } from './column-text.tsx'
import { DocumentForm } from './document-form.tsx'

export function DocumentView({ project, name, id }: KnowledgeBaseName & { readonly id: string }) {
  const { query, route } = useLocation()
  const [open, setOpen] = useState<'edit' | 'delete'>()
  const of = { project, name }
  const { data, failure, reload } = useResource(
    (signal) => getDocument(of, id, signal),
    [project, name, id],
  )
  const start = Number(query.start)
  const end = Number(query.end)
  const number = query.chunk === undefined ? undefined : Number(query.chunk)
  const marked = query.start !== undefined && end > start ? { start, end, number } : undefined
  const shownColumn = query.column ?? data?.content_columns[0]
  return (
    <KnowledgeBaseFrame project={project} name={name} part={id}>
      {failure && <Failure error={failure} onRetry={reload} />}
      {!data && !failure && <Loading what="the document" />}
      {data && (
        <>
          <div class="row">
            <h2 class="grow kb-title" dir="auto" title={data.id}>
              {data.title ?? data.id}
            </h2>
            <CopyButton text={data.id} label="Copy id" />
            {may('write') && (
              <>
                <Button look="small" icon="edit" label="Edit" onClick={() => setOpen('edit')} />
                <Button
                  look="small"
                  icon="trash"
                  label="Delete"
                  onClick={() => setOpen('delete')}
                />
              </>
            )}
          </div>
          <Metadata document={data} />
          {Object.entries(data.content).map(([column, text]) => (
            <ColumnText
              key={column}
              of={of}
              document={data}
              column={column}
              text={text}
              marked={shownColumn === column ? marked : undefined}
              hasKeys={shownColumn === column}
            />
          ))}
        </>
      )}
      {data && open === 'edit' && (
        <DocumentForm of={of} document={data} onSaved={reload} onClose={() => setOpen(undefined)} />
      )}
      {open === 'delete' && (
        <ConfirmDialog
          title="Delete this document?"
          verb="Delete"
          onConfirm={async () => {
            await deleteDocuments(of, { id: { in: [id] } })
            tellDone('Deleted the document')
            route(addressOf.knowledgeBase(project, name))
          }}
          onClose={() => setOpen(undefined)}
        >
          It is deleted with all of its chunks. This cannot be undone.
        </ConfirmDialog>
      )}
    </KnowledgeBaseFrame>
  )
}

function Metadata({ document: { metadata, exact, chunks } }: { readonly document: DocumentTexts }) {
  const entries = Object.entries(metadata).filter(([, value]) => value !== null)
  return (
    <>
      {!exact && (
        <p class="small quiet">
          {areMadeOfJson(chunks)
            ? 'Its chunks are made of JSON, which is not stored itself.'
            : 'White space between chunks is not stored, so it may differ here.'}
        </p>
      )}
      {entries.length > 0 && (
        <dl class="kb-metadata small">
          {entries.map(([name, value]) => (
            <div key={name}>
              <dt class="quiet" dir="auto">
                {name}
              </dt>
              {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long value scrolls, so keys must reach it */}
              <dd dir="auto" tabIndex={0}>
                <Value value={value} />
              </dd>
            </div>
          ))}
        </dl>
      )}
    </>
  )
}

/** Only addresses of the web become links: others could run something. */
function Value({ value }: { readonly value: unknown }) {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  if (!/^https?:\/\/\S+$/.test(text)) return <>{text.slice(0, 2000)}</>
  return (
    <a href={text} target="_blank" rel="noreferrer">
      {text}
    </a>
  )
}
