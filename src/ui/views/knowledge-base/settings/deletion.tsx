/** The knowledge base out into a file, or gone. */
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { refreshCatalog } from '../../../api/catalog.ts'
import { request } from '../../../api/request.ts'
import { Button } from '../../../components/button.tsx'
import { Dialog } from '../../../components/dialog.tsx'
import { Failure } from '../../../components/failure.tsx'
import { TextField } from '../../../components/form/text-field.tsx'
import { Icon } from '../../../components/icon.tsx'
import { useAction } from '../../../components/resource.ts'
import { tellDone } from '../../../shell/notices.tsx'

export function Deletion({ at, name }: { readonly at: string; readonly name: string }) {
  const { route } = useLocation()
  const [isOpen, setIsOpen] = useState(false)
  const [typed, setTyped] = useState('')
  const { act, failure } = useAction()
  const remove = async (event: SubmitEvent) => {
    event.preventDefault()
    await act(async () => {
      await request(at, { method: 'DELETE' })
      tellDone(`Deleted ${name}`)
      route('/')
      // It is gone, whether the list of all can be read now or not.
      await refreshCatalog().catch(() => {})
    })
  }
  return (
    <section class="panel stack">
      <h2>Export or delete</h2>
      <div class="row">
        <a class="button" href={`${at}/export`} download>
          <Icon name="download" />
          Export with its vectors
        </a>
        <Button icon="trash" label="Delete the knowledge base" onClick={() => setIsOpen(true)} />
      </div>
      {isOpen && (
        <Dialog title={`Delete ${name}?`} onClose={() => setIsOpen(false)} staysOnClickBeside>
          <form class="stack" onSubmit={remove}>
            <p>
              All its documents, chunks and vectors are deleted for good. Agents that read it stay.
            </p>
            <TextField
              label={`Type ${name} to delete it`}
              value={typed}
              autocomplete="off"
              onText={setTyped}
            />
            {failure && <Failure error={failure} />}
            <Button type="submit" look="danger" label="Delete" disabled={typed !== name} />
          </form>
        </Dialog>
      )}
    </section>
  )
}
