/** A new project: its name alone. */
import { useState } from 'preact/hooks'
import { createProject } from '../../api/catalog.ts'
import { Field } from '../../components/field.tsx'
import { FormDialog } from '../../components/form-dialog.tsx'
import { tellDone } from '../../shell/notices.tsx'

export function NewProject({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState('')
  const create = async () => {
    await createProject(name)
    tellDone(`The project ${name} is there`)
    onClose()
  }
  return (
    <FormDialog title="New project" verb="Create" onSubmit={create} onClose={onClose}>
      <Field
        label="Name"
        hint="Knowledge bases, agents and views of a project stand under its name, and keys can be limited to it."
      >
        {(control) => (
          <input
            {...control}
            required
            dir="auto"
            value={name}
            onInput={(event) => setName(event.currentTarget.value)}
          />
        )}
      </Field>
    </FormDialog>
  )
}
