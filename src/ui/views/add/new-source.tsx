/** A new source: what it is, where it is, and when it is read. */
import { useState } from 'preact/hooks'
import { addSource, runSource, type SourceDefinition } from '../../api/kept-sources.ts'
import { Button } from '../../components/button.tsx'
import { Failure } from '../../components/failure.tsx'
import { SelectField } from '../../components/form/select-field.tsx'
import { TextField } from '../../components/form/text-field.tsx'
import { useAction } from '../../components/resource.ts'
import type { WayInProps } from './use-begin.ts'

const KINDS = {
  site: { label: 'A website, by following its links', place: 'Address', of: 'url' },
  url: { label: 'One web page or file', place: 'Address', of: 'url' },
  sitemap: { label: 'The pages of a sitemap', place: 'Address', of: 'url' },
  folder: { label: 'A folder on the server', place: 'Path', of: 'path' },
  query: { label: 'The rows of a SELECT', place: 'SELECT', of: 'query' },
  table: { label: 'A table', place: 'Name', of: 'table' },
} as const satisfies Record<
  SourceDefinition['kind'],
  { label: string; place: string; of: keyof SourceDefinition }
>

const SCHEDULES = [
  ['', 'Only when you run it'],
  ['every 15 minutes', 'Every 15 minutes'],
  ['every hour', 'Every hour'],
  ['every day', 'Every day'],
  ['every week', 'Every week'],
] as const

export function NewSource({ project, name, onBegun }: WayInProps) {
  const [kind, setKind] = useState<SourceDefinition['kind']>('site')
  const [title, setTitle] = useState('')
  const [place, setPlace] = useState('')
  const [schedule, setSchedule] = useState('every day')
  const { act, failure, isBusy } = useAction()
  const shown = KINDS[kind]
  const add = async (event: Event) => {
    event.preventDefault()
    const when = schedule === '' ? {} : { schedule }
    await act(async () => {
      const definition = { name: title.trim(), kind, [shown.of]: place.trim(), ...when }
      const source = await addSource(project, name, definition)
      setTitle('')
      setPlace('')
      onBegun(await runSource(source))
    })
  }
  return (
    <form class="stack" onSubmit={add}>
      <h2>Add a source</h2>
      <div class="grid">
        <SelectField
          label="Kind"
          value={kind}
          onChoose={(value) => {
            if (isKind(value)) setKind(value)
          }}
          options={Object.entries(KINDS).map(([value, { label }]) => [value, label] as const)}
        />
        <TextField label="Name" required value={title} onText={setTitle} />
        <SelectField
          label="How often it is read"
          value={schedule}
          onChoose={setSchedule}
          options={SCHEDULES}
        />
      </div>
      <TextField
        label={shown.place}
        hint={kind === 'folder' && 'Within the folder that the setting EIDER_FOLDERS_DIR names'}
        required
        value={place}
        onText={setPlace}
      />
      {failure && <Failure error={failure} />}
      <div>
        <Button type="submit" look="primary" label="Add and run" aria-disabled={isBusy} />
      </div>
    </form>
  )
}

function isKind(value: string): value is SourceDefinition['kind'] {
  return Object.hasOwn(KINDS, value)
}
