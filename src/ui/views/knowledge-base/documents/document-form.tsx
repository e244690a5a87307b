/** Changes the text and the metadata of a document. What is stored is compared first: somebody else may have changed it. */

import { useState } from 'preact/hooks'
import {
  getDocument,
  type KnowledgeBaseName,
  patchDocument,
  putDocument,
} from '../../../api/documents.ts'
import { isFields } from '../../../api/filters.ts'
import type { DocumentTexts } from '../../../api/records.ts'
import { Field } from '../../../components/field.tsx'
import { FormDialog } from '../../../components/form-dialog.tsx'
import { tellDone } from '../../../shell/notices.tsx'

interface DocumentFormProps {
  readonly of: KnowledgeBaseName
  readonly document: DocumentTexts
  readonly onSaved: () => void
  readonly onClose: () => void
}

export function DocumentForm({ of, document: opened, onSaved, onClose }: DocumentFormProps) {
  // What was opened stays what is compared with, even when the view reads it again behind this window.
  const [before] = useState(opened)
  const [content, setContent] = useState<Readonly<Record<string, string>>>(before.content)
  const [metadata, setMetadata] = useState(() => JSON.stringify(before.metadata, null, 2))
  const [isForced, setIsForced] = useState(false)
  const save = async () => {
    const fields = fieldsIn(metadata)
    const now = await getDocument(of, before.id)
    if (!isForced && stateOf(now) !== stateOf(before)) {
      setIsForced(true)
      throw new Error(
        'Somebody changed this document since you opened it. Save again to replace their changes by yours.',
      )
    }
    if (JSON.stringify(content) === JSON.stringify(now.content)) {
      const gone = Object.keys(now.metadata).filter((name) => !Object.hasOwn(fields, name))
      const nulls = Object.fromEntries(gone.map((name) => [name, null]))
      await patchDocument(of, before.id, { ...nulls, ...fields })
    } else await putDocument(of, before.id, { content, metadata: fields })
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
        <Field
          key={column}
          label={`Text of ${column}`}
          hint="A new text is cut into chunks and embedded again"
        >
          {(control) => (
            <textarea
              {...control}
              rows={10}
              dir="auto"
              value={text}
              onInput={(event) => setContent({ ...content, [column]: event.currentTarget.value })}
            />
          )}
        </Field>
      ))}
      <Field
        label="Metadata"
        hint="As JSON. Metadata alone costs nothing: no text is embedded again"
      >
        {(control) => (
          <textarea
            {...control}
            class="mono"
            rows={6}
            value={metadata}
            onInput={(event) => setMetadata(event.currentTarget.value)}
          />
        )}
      </Field>
    </FormDialog>
  )
}

/** @throws Error where it is not an object of JSON */
function fieldsIn(text: string): Readonly<Record<string, unknown>> {
  const parsed: unknown = JSON.parse(text)
  if (isFields(parsed)) return parsed
  throw new Error('The metadata must be an object: {"name": "value"}')
}

function stateOf({ content, metadata }: DocumentTexts): string {
  return JSON.stringify([content, metadata])
}
