/** One document as it is stored: its text with the borders of its chunks, its metadata; changed or deleted. */
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { deleteDocuments, getDocument } from '../../../api/documents.ts'
import type { DocumentTexts } from '../../../api/records.ts'
import { ConfirmDialog } from '../../../components/confirm-dialog.tsx'
import { CopyButton } from '../../../components/copy-button.tsx'
import { Failure } from '../../../components/failure.tsx'
import { Icon } from '../../../components/icon.tsx'
import { Loading } from '../../../components/progress.tsx'
import { useResource } from '../../../components/resource.ts'
import { counted, shownCount } from '../../../format/numbers.ts'
import { addressOf } from '../../../shell/addresses.ts'
import { tellDone } from '../../../shell/notices.tsx'
import { type KnowledgeBaseAddress, KnowledgeBaseFrame } from '../knowledge-base-frame.tsx'
import { ChunkedText } from './chunked-text.tsx'
import { DocumentForm } from './document-form.tsx'

export function DocumentView({
  project,
  name,
  id,
}: KnowledgeBaseAddress & { readonly id: string }) {
  const { query, route } = useLocation()
  const [open, setOpen] = useState<'edit' | 'delete'>()
  const of = { project, name }
  const { data, failure, reload } = useResource(
    (signal) => getDocument(of, id, signal),
    [project, name, id],
  )
  const start = Number(query.start)
  const end = Number(query.end)
  const marked = query.start !== undefined && end > start ? { start, end } : undefined
  return (
    <KnowledgeBaseFrame project={project} name={name} part={id}>
      {failure && <Failure error={failure} onRetry={reload} />}
      {!data && !failure && <Loading what="the document" />}
      {data && (
        <>
          <div class="row">
            <h2 class="grow" dir="auto">
              {data.title ?? data.id}
            </h2>
            <CopyButton text={data.id} label="Copy id" />
            <button type="button" class="button small" onClick={() => setOpen('edit')}>
              <Icon name="edit" />
              Edit
            </button>
            <button type="button" class="button small" onClick={() => setOpen('delete')}>
              <Icon name="trash" />
              Delete
            </button>
          </div>
          <Metadata document={data} />
          {Object.entries(data.content).map(([column, text]) => (
            <ColumnText
              key={column}
              document={data}
              column={column}
              text={text}
              marked={(query.column ?? data.content_columns[0]) === column ? marked : undefined}
              addressOfChunk={(place) =>
                addressOf.chunk(project, name, { documentId: id, column, ...place })
              }
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
          It is gone with all of its chunks. This cannot be undone.
        </ConfirmDialog>
      )}
    </KnowledgeBaseFrame>
  )
}

function Metadata({ document: { metadata, exact } }: { readonly document: DocumentTexts }) {
  const entries = Object.entries(metadata).filter(([, value]) => value !== null)
  return (
    <>
      {!exact && (
        <p class="small quiet">
          White space between chunks is not stored, so that it may differ here.
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

interface ColumnTextProps {
  readonly document: DocumentTexts
  readonly column: string
  readonly text: string
  readonly marked: { readonly start: number; readonly end: number } | undefined
  readonly addressOfChunk: (place: { start: number; end: number }) => string
}

const LISTED_MAX = 200

function ColumnText({ document, column, text, marked, addressOfChunk }: ColumnTextProps) {
  const [pointed, setPointed] = useState<number>()
  const chunks = document.chunks
    .filter(({ content_column: own }) => own === column)
    .map(({ start_char: start, end_char: end }) => ({ start, end }))
  const at = marked ? chunks.findIndex(({ start }) => start === marked.start) : -1
  const shown = pointed ?? (at < 0 ? 0 : at)
  const first = Math.max(0, Math.min(at - 20, chunks.length - LISTED_MAX))
  const now = chunks[shown]
  return (
    <section class="kb-document" aria-label={column}>
      <ChunkedText text={text} chunks={chunks} marked={marked} onPoint={setPointed} />
      <aside class="panel kb-chunks" aria-label={`Chunks of ${column}`}>
        <h3>{counted(chunks.length, 'chunk')}</h3>
        {now && (
          <p class="small quiet">
            Chunk {shown + 1}: {counted(now.end - now.start, 'character')}, {shownCount(now.start)}–
            {shownCount(now.end)}
          </p>
        )}
        <ol class="kb-values">
          {chunks.slice(first, first + LISTED_MAX).map((chunk, index) => (
            <li key={chunk.start}>
              <a
                class="small"
                href={addressOfChunk(chunk)}
                aria-current={first + index === at ? 'true' : undefined}
              >
                {first + index + 1}: {shownCount(chunk.start)}–{shownCount(chunk.end)}
              </a>
            </li>
          ))}
        </ol>
        {chunks.length > LISTED_MAX && <p class="small quiet">{LISTED_MAX} of them are listed.</p>}
      </aside>
    </section>
  )
}
