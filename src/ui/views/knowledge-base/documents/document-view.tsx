/** One document as it is stored: its text with the borders of its chunks, its metadata; changed or deleted. */
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { deleteDocuments, getDocument, patchDocument, putDocument } from '../../../api/documents.ts'
import { getKnowledgeBase, type KnowledgeBaseName } from '../../../api/knowledge-bases.ts'
import type { DocumentTexts } from '../../../api/records.ts'
import { may } from '../../../api/session.ts'
import { Button, CopyButton } from '../../../components/button.tsx'
import { ConfirmButton, Dialog } from '../../../components/dialog.tsx'
import { Failure, Loading } from '../../../components/failure.tsx'
import { TextAreaField } from '../../../components/form/field.tsx'
import { FormDialog } from '../../../components/form/form.tsx'
import { counted } from '../../../components/numbers.ts'
import { useResource } from '../../../components/resource.ts'
import { addressOf } from '../../../shell/addresses.ts'
import { tellDone } from '../../../shell/notices.tsx'
import { KnowledgeBaseFrame } from '../knowledge-base-frame.tsx'
import { areMadeOfJson } from './chunk-marks.ts'
import { ColumnText } from './column-text.tsx'
import {
  changesOf,
  type DraftField,
  differences,
  draftOf,
  overStored,
  textsOver,
} from './metadata-draft.ts'
import { MetadataFields } from './metadata-fields.tsx'

export function DocumentView({ project, name, id }: KnowledgeBaseName & { readonly id: string }) {
  const { query, route } = useLocation()
  const [isEdited, setIsEdited] = useState(false)
  const of = { project, name }
  const { data, failure, reload } = useResource(
    (signal) => getDocument(of, id, signal),
    [project, name, id],
  )
  const remove = async () => {
    await deleteDocuments(of, { id: { in: [id] } })
    tellDone('Deleted the document')
    route(addressOf.knowledgeBase(project, name))
  }
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
                <Button look="small" icon="edit" label="Edit" onClick={() => setIsEdited(true)} />
                <ConfirmButton
                  look="small"
                  icon="trash"
                  label="Delete"
                  asks="Delete this document?"
                  onConfirm={remove}
                >
                  It is deleted with all of its chunks. This cannot be undone.
                </ConfirmButton>
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
      {data && isEdited && (
        <DocumentForm of={of} document={data} onSaved={reload} onClose={() => setIsEdited(false)} />
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

interface DocumentFormProps {
  readonly of: KnowledgeBaseName
  readonly document: DocumentTexts
  readonly onSaved: () => void
  readonly onClose: () => void
}

/** Changes the text and the metadata of a document. What is stored is compared first: somebody else may have changed it. */
function DocumentForm(props: DocumentFormProps) {
  const { of, onClose } = props
  const { data, failure, reload } = useResource(
    (signal) => getKnowledgeBase(of.project, of.name, signal),
    ['types', of],
  )
  if (data) return <OpenedForm {...props} types={data.metadata_types} />
  return (
    <Dialog title="Edit the document" size="wide" onClose={onClose}>
      {failure ? <Failure error={failure} onRetry={reload} /> : <Loading what="the columns" />}
    </Dialog>
  )
}

function OpenedForm({
  of,
  document: opened,
  types,
  onSaved,
  onClose,
}: DocumentFormProps & { readonly types: Readonly<Record<string, string>> }) {
  // What was opened stays what is compared with, even when the view reads it again behind this window.
  const [first] = useState(opened)
  const [before, setBefore] = useState(opened)
  const [content, setContent] = useState<Readonly<Record<string, string>>>(opened.content)
  const [draft, setDraft] = useState<readonly DraftField[]>(() => draftOf(opened.metadata, types))
  const isForced = before !== first
  const isTextSame = JSON.stringify(content) === JSON.stringify(first.content)
  const save = async () => {
    const changes = changesOf(draft)
    const now = await getDocument(of, before.id)
    const changed = differences(before, now)
    if (changed !== '') {
      setBefore(now)
      throw new Error(
        `Somebody changed ${changed} since you opened it. Save again to replace those with yours`,
      )
    }
    // Only what was typed over replaces what is stored: changes of others to the rest stay.
    if (isTextSame) await patchDocument(of, before.id, changes)
    else {
      await putDocument(of, before.id, {
        content: textsOver(now.content, first.content, content),
        metadata: overStored(now.metadata, changes),
      })
    }
    tellDone('Saved the document')
    onSaved()
    onClose()
  }
  return (
    <FormDialog
      title="Edit the document"
      size="wide"
      verb={isForced ? 'Replace what is stored' : 'Save'}
      onSubmit={save}
      onClose={onClose}
    >
      {Object.entries(content).map(([column, text]) => (
        <TextField
          key={column}
          column={column}
          text={text}
          isMade={areMadeOfJson(opened.chunks)}
          onText={(next) => setContent({ ...content, [column]: next })}
        />
      ))}
      <MetadataFields draft={draft} onChange={setDraft} />
    </FormDialog>
  )
}

interface TextFieldProps {
  readonly column: string
  readonly text: string
  /** Of JSON, which the text is not any more. */
  readonly isMade: boolean
  readonly onText: (text: string) => void
}

/** A field with more makes every key slow: it is opened by whoever wants it. */
const OPEN_CHARS_MAX = 200_000

function TextField({ column, text, isMade, onText }: TextFieldProps) {
  const [isOpen, setIsOpen] = useState(text.length <= OPEN_CHARS_MAX)
  if (!isOpen) {
    return (
      <div class="row">
        <span class="grow">
          The text of {column} has {counted(text.length, 'character')}.
        </span>
        <Button look="small" label="Edit it here" onClick={() => setIsOpen(true)} />
      </div>
    )
  }
  return (
    <TextAreaField
      label={`Text of ${column}`}
      hint={
        isMade
          ? 'Made from JSON, which is not stored. To change it, enter the whole JSON here.'
          : 'A changed text is split into chunks and embedded again'
      }
      rows={10}
      value={text}
      onText={onText}
    />
  )
}
