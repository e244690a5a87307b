import { useState } from 'preact/hooks'
import { refreshCatalog } from '../../../api/catalog.ts'
import { path, request } from '../../../api/request.ts'
import { Dialog } from '../../../components/dialog.tsx'
import { Failure } from '../../../components/failure.tsx'
import { Field } from '../../../components/field.tsx'
import { useAction } from '../../../components/resource.ts'
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
  const { act, failure, isBusy } = useAction()
  const parameters = parametersOf(sql)
  const save = async (event: SubmitEvent) => {
    event.preventDefault()
    await act(async () => {
      const json = { view: { name, query: sql } }
      await request(path`/api/projects/${project}/views`, { method: 'POST', json })
      tellDone(`The view ${name} is saved in ${project}`)
      catalogChanges.value += 1
      void refreshCatalog().catch(() => {})
      onClose()
    })
  }
  return (
    <Dialog title="Save as a view" onClose={onClose} staysOnClickBeside>
      <form class="stack" onSubmit={save}>
        <pre class="data-whole sql-excerpt" dir="auto">
          {sql.slice(0, 2000)}
        </pre>
        {parameters.length > 0 && (
          <p class="bad small">
            A view has no parameters: write values in the place of{' '}
            {parameters.map((one) => `:${one}`).join(', ')}.
          </p>
        )}
        <Field label="Name" hint={`SQL reads it as ${project}.${name || 'name'}`}>
          {(control) => (
            <input
              {...control}
              required
              autocomplete="off"
              value={name}
              onInput={(event) => setName(event.currentTarget.value)}
            />
          )}
        </Field>
        {failure && <Failure error={failure} />}
        <button type="submit" class="button primary" aria-disabled={isBusy}>
          Save
        </button>
      </form>
    </Dialog>
  )
}
