import { useState } from 'preact/hooks'
import { refreshCatalog } from '../../../api/catalog.ts'
import { path, request } from '../../../api/request.ts'
import { FormDialog } from '../../../components/form/form-dialog.tsx'
import { TextField } from '../../../components/form/text-field.tsx'
import { tellDone } from '../../../shell/notices.tsx'
import { catalogChanges } from '../runs.ts'
import { parametersOf } from '../statement-at.ts'

interface ViewDialogProps {
  readonly sql: string
  readonly project: string
  readonly onClose: () => void
}

/** Keeps a SELECT under a name, which others then read as a table. */
export function ViewDialog({ sql, project, onClose }: ViewDialogProps) {
  const [name, setName] = useState('')
  const parameters = parametersOf(sql)
  const save = async () => {
    const json = { view: { name, query: sql } }
    await request(path`/api/projects/${project}/views`, { method: 'POST', json })
    tellDone(`The view ${name} is saved in ${project}`)
    catalogChanges.value += 1
    void refreshCatalog().catch(() => {})
    onClose()
  }
  return (
    <FormDialog title="Save as a view" verb="Save" onSubmit={save} onClose={onClose}>
      <pre class="data-whole sql-excerpt" dir="auto">
        {sql.slice(0, 2000)}
      </pre>
      {parameters.length > 0 && (
        <p class="bad small">
          A view has no parameters: write values in place of{' '}
          {parameters.map((one) => `:${one}`).join(', ')}.
        </p>
      )}
      <TextField
        label="Name"
        hint={`SQL reads it as ${project}.${name || 'name'}`}
        required
        autocomplete="off"
        value={name}
        onText={setName}
      />
    </FormDialog>
  )
}
