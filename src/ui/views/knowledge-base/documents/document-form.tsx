/** Changes the text and the metadata of a document. What is stored is compared first: somebody else may have changed it. */
import { useState } from 'preact/hooks'
import { getDocument, patchDocument, putDocument } from '../../../api/documents.ts'
import { getKnowledgeBase, type KnowledgeBaseName } from '../../../api/knowledge-bases.ts'
import type { DocumentTexts } from '../../../api/records.ts'
import { Button } from '../../../components/button.tsx'
import { Dialog } from '../../../components/dialog.tsx'
import { Failure } from '../../../components/failure.tsx'
import { FormDialog } from '../../../components/form/form-dialog.tsx'
import { TextAreaField } from '../../../components/form/text-area-field.tsx'
import { Loading } from '../../../components/progress.tsx'
import { useResource } from '../../../components/resource.ts'
import { counted } from '../../../format/numbers.ts'
import { tellDone } from '../../../shell/notices.tsx'
import { areMadeOfJson } from './chunk-marks.ts'
import {
  changesOf,
  type DraftField,
  differences,
  draftOf,
  overStored,
  textsOver,
} from './metadata-draft.ts'
import { MetadataFields } from './metadata-fields.tsx'

interface DocumentFormProps {
  readonly of: KnowledgeBaseName
  readonly document: DocumentTexts
  readonly onSaved: () => void
  readonly onClose: () => void
}

export function DocumentForm(props: DocumentFormProps) {
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
