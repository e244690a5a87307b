/** A new project: its name alone. */
import { useState } from 'preact/hooks'
import { createProject } from '../../api/catalog.ts'
import { Dialog } from '../../components/dialog.tsx'
import { Field } from '../../components/field.tsx'
import { tellDone } from '../../shell/notices.tsx'

export function NewProject({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState('')
  const [failure, setFailure] = useState<string>()
  const [isBusy, setIsBusy] = useState(false)
  const create = async (event: Event) => {
    event.preventDefault()
    setIsBusy(true)
    try {
      await createProject(name)
      tellDone(`The project ${name} is there`)
      onClose()
    } catch (error) {
      setFailure(error instanceof Error ? error.message : String(error))
      setIsBusy(false)
    }
  }
  return (
    <Dialog title="New project" onClose={onClose} staysOnClickBeside>
      <form class="stack" onSubmit={create}>
        <Field
          label="Name"
          error={failure}
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
          <button type="submit" class="button primary" disabled={isBusy}>
            Create
          </button>
        </div>
      </form>
    </Dialog>
  )
}
