/** The metadata of a document as fields, each with the control of its type; more can be added. */
import { useState } from 'preact/hooks'
import { Button } from '../../../components/button.tsx'
import { Field } from '../../../components/form/field.tsx'
import { type DraftField, FIELD_KINDS, type FieldKind } from './metadata-draft.ts'

interface MetadataFieldsProps {
  readonly draft: readonly DraftField[]
  readonly onChange: (draft: readonly DraftField[]) => void
}

export function MetadataFields({ draft, onChange }: MetadataFieldsProps) {
  const set = (name: string, text: string) => {
    onChange(draft.map((field) => (field.name === name ? { ...field, text } : field)))
  }
  return (
    <fieldset class="kb-fields">
      <legend>Metadata</legend>
      <p class="small quiet">
        Leave empty for no value. Changing metadata costs nothing: no text is embedded.
      </p>
      <div class="grid">
        {draft.map((field) => (
          <Field
            key={field.name}
            label={field.name}
            hint={field.kind === 'json' ? 'As JSON' : undefined}
          >
            {(control) => (
              <Control control={control} field={field} onText={(text) => set(field.name, text)} />
            )}
          </Field>
        ))}
      </div>
      <NewField
        taken={draft.map(({ name }) => name)}
        onAdd={(field) => onChange([...draft, field])}
      />
    </fieldset>
  )
}

interface ControlProps {
  readonly control: { readonly id: string; readonly 'aria-describedby': string }
  readonly field: DraftField
  readonly onText: (text: string) => void
}

const INPUTS = {
  text: { type: 'text' },
  number: { type: 'number', step: 'any' },
  date: { type: 'date' },
  time: { type: 'datetime-local', step: '1' },
} as const

/** Longer texts have room to be read. */
const LINE_CHARS = 60

function Control({ control, field: { kind, text, stored }, onText }: ControlProps) {
  const shared = { ...control, value: text, dir: 'auto' as const }
  if (kind === 'boolean') {
    return (
      <select {...control} value={text} onChange={(event) => onText(event.currentTarget.value)}>
        <option value="">no value</option>
        <option value="true">true</option>
        <option value="false">false</option>
      </select>
    )
  }
  const isLong = String(stored ?? '').length > LINE_CHARS || String(stored ?? '').includes('\n')
  if (kind === 'json' || (kind === 'text' && isLong)) {
    return (
      <textarea
        {...shared}
        class={kind === 'json' ? 'mono' : ''}
        rows={3}
        onInput={(event) => onText(event.currentTarget.value)}
      />
    )
  }
  return (
    <input {...shared} {...INPUTS[kind]} onInput={(event) => onText(event.currentTarget.value)} />
  )
}

const KIND_WORDS: Readonly<Record<FieldKind, string>> = {
  text: 'Text',
  number: 'Number',
  boolean: 'True or false',
  date: 'Date',
  time: 'Date and time',
  json: 'JSON',
}

interface NewFieldProps {
  readonly taken: readonly string[]
  readonly onAdd: (field: DraftField) => void
}

function NewField({ taken, onAdd }: NewFieldProps) {
  const [name, setName] = useState('')
  const [kind, setKind] = useState<FieldKind>('text')
  const isTaken = taken.some((one) => one.toLowerCase() === name.trim().toLowerCase())
  const add = () => {
    if (name.trim() === '' || isTaken) return
    onAdd({ name: name.trim(), kind, text: '', stored: undefined })
    setName('')
  }
  return (
    <div class="row kb-new-field">
      <input
        class="grow"
        aria-label="Name of a new field"
        placeholder="New field"
        value={name}
        onInput={(event) => setName(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter') return
          // Enter sends the form otherwise.
          event.preventDefault()
          add()
        }}
      />
      <select
        class="kb-within"
        aria-label="Type of the new field"
        value={kind}
        onChange={(event) =>
          setKind(FIELD_KINDS.find((one) => one === event.currentTarget.value) ?? 'text')
        }
      >
        {FIELD_KINDS.map((one) => (
          <option key={one} value={one}>
            {KIND_WORDS[one]}
          </option>
        ))}
      </select>
      <Button look="small" icon="plus" label="Add the field" onClick={add} />
      {isTaken && name.trim() !== '' && <span class="small bad">It already exists</span>}
    </div>
  )
}
