/**
 * Edits a document's text and metadata. If another window has changed them, nothing is overwritten.
 */
import { useState } from 'preact/hooks'
import { getDocument, patchDocument, putDocument } from '../../api/documents.ts'
import type { KnowledgeBaseName } from '../../api/knowledge-bases.ts'
import type { DocumentTexts } from '../../api/records.ts'
import { Button } from '../../components/button.tsx'
import { SelectField, TextAreaField, TextField } from '../../components/form/field.tsx'
import { FormDialog } from '../../components/form/form.tsx'
import { knownOf } from '../../components/known-name.ts'
import { counted } from '../../components/numbers.ts'
import { tellDone } from '../../shell/notices.tsx'
import { areMadeOfJson } from './chunk-marks.ts'

export function DocumentForm(props: {
  readonly of: KnowledgeBaseName
  readonly document: DocumentTexts
  readonly onSaved: () => void
  readonly onClose: () => void
}) {
  const { of, document: opened, onSaved, onClose } = props
  // The document as it was opened, even if the view behind the dialog reloads it.
  const [first] = useState(opened)
  const [before, setBefore] = useState(opened)
  const [content, setContent] = useState<Readonly<Record<string, string>>>(opened.content)
  const [draft, setDraft] = useState<readonly DraftField[]>(() => {
    return draftOf(opened.metadata, knownOf('knowledgeBases', of)?.metadata_types ?? {})
  })
  const isTextSame = JSON.stringify(content) === JSON.stringify(first.content)
  const save = async () => {
    const changes = changesOf(draft)
    const now = await getDocument(of, before.id)
    const changed = differences(before, now)
    if (changed !== '') {
      setBefore(now)
      throw new Error(
        `Another user changed ${changed} since you opened it. Save again to replace those with yours`,
      )
    }
    // Only edited fields are replaced, so that other users' changes to the rest are kept.
    if (isTextSame) await patchDocument(of, before.id, changes)
    else {
      await putDocument(of, before.id, {
        content: textsOver(now.content, first.content, content),
        metadata: overStored(now.metadata, changes),
      })
    }
    tellDone('Saved the document')
    onSaved()
  }
  return (
    <FormDialog
      title="Edit the document"
      size="wide"
      verb={before === first ? 'Save' : 'Replace what is stored'}
      onSubmit={save}
      onClose={onClose}
    >
      {Object.entries(content).map(([column, text]) => (
        <ContentField
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

/** A longer text would slow down each key press, so its field opens only on request. */
const OPEN_CHARS_MAX = 200_000

function ContentField(props: {
  readonly column: string
  readonly text: string
  readonly isMade: boolean
  readonly onText: (text: string) => void
}) {
  const { column, text, isMade, onText } = props
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
          : 'Changed text is chunked and embedded again'
      }
      rows={10}
      value={text}
      onText={onText}
    />
  )
}

function MetadataFields(props: {
  readonly draft: readonly DraftField[]
  readonly onChange: (draft: readonly DraftField[]) => void
}) {
  const { draft, onChange } = props
  return (
    <fieldset>
      <legend>Metadata</legend>
      <p class="small quiet">Leave empty for no value. Changing metadata re-embeds nothing.</p>
      <div class="grid">
        {draft.map((field) => (
          <MetadataField
            key={field.name}
            field={field}
            onText={(text) => {
              onChange(draft.map((one) => (one.name === field.name ? { ...one, text } : one)))
            }}
          />
        ))}
      </div>
      <NewField
        taken={draft.map(({ name }) => name)}
        onAdd={(field) => onChange([...draft, field])}
      />
    </fieldset>
  )
}

/** Longer values get a field with several lines. */
const LINE_CHARS = 60
const INPUT_TYPES = {
  text: 'text',
  number: 'number',
  date: 'date',
  time: 'datetime-local',
} as const

function MetadataField(props: {
  readonly field: DraftField
  readonly onText: (text: string) => void
}) {
  const {
    field: { name, kind, text, stored },
    onText,
  } = props
  const shared = { label: name, value: text }
  if (kind === 'boolean') {
    return <SelectField {...shared} options={['', 'true', 'false']} onChoose={onText} />
  }
  const isLong = String(stored ?? '').length > LINE_CHARS || String(stored ?? '').includes('\n')
  if (kind === 'json' || (kind === 'text' && isLong)) {
    const hint = kind === 'json' ? 'As JSON' : undefined
    return <TextAreaField {...shared} hint={hint} rows={3} onText={onText} />
  }
  const step = kind === 'number' ? 'any' : kind === 'time' ? '1' : undefined
  return <TextField {...shared} type={INPUT_TYPES[kind]} step={step} onText={onText} />
}

const KIND_WORDS: Readonly<Record<FieldKind, string>> = {
  text: 'Text',
  number: 'Number',
  boolean: 'True or false',
  date: 'Date',
  time: 'Date and time',
  json: 'JSON',
}

function NewField(props: {
  readonly taken: readonly string[]
  readonly onAdd: (field: DraftField) => void
}) {
  const { taken, onAdd } = props
  const [name, setName] = useState('')
  const [kind, setKind] = useState<FieldKind>('text')
  const isTaken = taken.some((one) => one.toLowerCase() === name.trim().toLowerCase())
  return (
    <div class="row add-form">
      <TextField
        label="New field"
        error={isTaken && name.trim() !== '' ? 'It already exists' : undefined}
        value={name}
        onText={setName}
      />
      <SelectField
        label="Type"
        value={kind}
        options={FIELD_KINDS.map((one) => [one, KIND_WORDS[one]] as const)}
        onChoose={(value) => setKind(FIELD_KINDS.find((one) => one === value) ?? 'text')}
      />
      <Button
        look="small"
        icon="plus"
        label="Add the field"
        disabled={name.trim() === '' || isTaken}
        onClick={() => {
          onAdd({ name: name.trim(), kind, text: '', stored: undefined })
          setName('')
        }}
      />
    </div>
  )
}

/** Metadata values as typed text. Each keeps its type: a number stays a number, a date a date. */

const FIELD_KINDS = ['text', 'number', 'boolean', 'date', 'time', 'json'] as const
type FieldKind = (typeof FIELD_KINDS)[number]

export interface DraftField {
  readonly name: string
  readonly kind: FieldKind
  readonly text: string
  /** The stored value; undefined if there is none. */
  readonly stored: unknown
}

type Fields = Readonly<Record<string, unknown>>
type Texts = Readonly<Record<string, string>>

/** All columns of the knowledge base, and the document's other metadata. */
export function draftOf(metadata: Fields, types: Readonly<Record<string, string>>): DraftField[] {
  const names = [...new Set([...Object.keys(metadata), ...Object.keys(types)])]
  return names.map((name) => {
    const stored = metadata[name]
    const kind = kindOf(types[name], stored)
    return { name, kind, text: textOf(kind, stored), stored }
  })
}

const DATE = /^\d{4}-\d\d-\d\d$/
const TIME = /^\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?)?$/

/** A value that the control for its type cannot show is edited as text or JSON. */
function kindOf(type: string | undefined, value: unknown): FieldKind {
  const isEmpty = value === null || value === undefined
  if (typeof value === 'object' && !isEmpty) return 'json'
  if (typeof value === 'boolean') return 'boolean'
  if (typeof value === 'number') return 'number'
  if (type === undefined) return 'text'
  const isText = typeof value === 'string'
  if (type === 'DATE') return isEmpty || (isText && DATE.test(value)) ? 'date' : 'text'
  if (/^TIMESTAMP(_S|_MS)?$/.test(type)) {
    return isEmpty || (isText && TIME.test(value)) ? 'time' : 'text'
  }
  if (isText) return type === 'JSON' ? 'json' : 'text'
  if (type === 'BOOLEAN') return 'boolean'
  if (type === 'JSON' || type.endsWith(']') || /^(STRUCT|MAP)/.test(type)) return 'json'
  return /INT$|^(DOUBLE|FLOAT|REAL|DECIMAL)/.test(type) ? 'number' : 'text'
}

function textOf(kind: FieldKind, value: unknown): string {
  if (value === null || value === undefined) return ''
  if (kind === 'json') return JSON.stringify(value, null, 2)
  if (kind === 'time') return String(value).replace(' ', 'T')
  return String(value)
}

/** Returns null for no value. @throws Error naming the field */
function typedValue({ name, kind, text, stored }: DraftField): unknown {
  if (text === textOf(kind, stored)) return stored ?? null
  if (text.trim() === '') return null
  if (kind === 'boolean') return text === 'true'
  if (kind === 'number') return numberOf(name, text)
  if (kind === 'time') return text.replace('T', ' ')
  if (kind !== 'json') return text
  try {
    return JSON.parse(text)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new Error(`"${name}" is not JSON: ${why}`)
  }
}

function numberOf(name: string, text: string): unknown {
  const value = Number(text)
  if (!Number.isFinite(value)) throw new Error(`"${name}" is not a number: ${text.slice(0, 40)}`)
  // A larger integer is sent as a string, because JSON numbers cannot hold it exactly but the
  // server reads all digits of a string.
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? text.trim() : value
}

/** Applies changes to the currently stored metadata, for replacing a document. */
export function overStored(stored: Fields, changes: Fields): Fields {
  const values = Object.entries({ ...stored, ...changes })
  return Object.fromEntries(values.filter(([, value]) => value !== null))
}

/** The currently stored texts, except for those edited since the document was opened. */
export function textsOver(stored: Texts, opened: Texts, typed: Texts): Texts {
  const changed = Object.entries(typed).filter(([column, text]) => text !== opened[column])
  return { ...stored, ...Object.fromEntries(changed) }
}

/** The edited fields; null removes a value. @throws Error like `typedValue` */
export function changesOf(draft: readonly DraftField[]): Fields {
  const changed = draft.filter(({ kind, text, stored }) => text !== textOf(kind, stored))
  return Object.fromEntries(changed.map((field) => [field.name, typedValue(field)]))
}

/** Describes how two states of a document differ, such as `its text, "price"`. */
export function differences(
  one: { readonly content: Fields; readonly metadata: Fields },
  other: { readonly content: Fields; readonly metadata: Fields },
): string {
  const names = new Set([...Object.keys(one.metadata), ...Object.keys(other.metadata)])
  const changed = [...names].filter((name) => {
    return JSON.stringify(one.metadata[name]) !== JSON.stringify(other.metadata[name])
  })
  const isTextOther = JSON.stringify(one.content) !== JSON.stringify(other.content)
  return [...(isTextOther ? ['its text'] : []), ...changed.map((name) => `"${name}"`)].join(', ')
}
