/** A new project: its name alone. */
import { useState } from 'preact/hooks'
import { createProject } from '../../api/catalog.ts'
import { FormDialog } from '../../components/form/form-dialog.tsx'
import { TextField } from '../../components/form/text-field.tsx'
import { tellDone } from '../../shell/notices.tsx'

export function NewProject({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState('')
  const create = async () => {
    await createProject(name)
    tellDone(`Created the project ${name}`)
    onClose()
  }
  return (
    <FormDialog title="New project" verb="Create" onSubmit={create} onClose={onClose}>
      <TextField
        label="Name"
        hint="Holds knowledge bases, agents and views. Keys can be limited to it."
        required
        value={name}
        onText={setName}
      />
    </FormDialog>
  )
}
