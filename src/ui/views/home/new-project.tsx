/** A new project: its name alone. */
import { useState } from 'preact/hooks'
import { createProject } from '../../api/catalog.ts'
import { Dialog } from '../../components/dialog.tsx'
import { Field } from '../../components/field.tsx'
import { useAction } from '../../components/resource.ts'
import { tellDone } from '../../shell/notices.tsx'

export function NewProject({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState('')
  const { act, failure, isBusy } = useAction()
  const create = (event: Event) => {
    event.preventDefault()
    void act(async () => {
      await createProject(name)
      tellDone(`The project ${name} is there`)
      onClose()
    })
  }
  return (
    <Dialog title="New project" onClose={onClose} staysOnClickBeside>
      <form class="stack" onSubmit={create}>
        <Field
          label="Name"
          error={failure?.message}
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
        <div class="row end">
          <button type="button" class="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="button primary" aria-disabled={isBusy}>
            Create
          </button>
        </div>
      </form>
    </Dialog>
  )
}
