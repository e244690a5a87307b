/** A new source: what it is, where it is, and when it is read. */

import { useState } from 'preact/hooks'
import { addSource, runSource, type SourceDefinition } from '../../api/kept-sources.ts'
import { Failure } from '../../components/failure.tsx'
import { Field } from '../../components/field.tsx'
import { useAction } from '../../components/resource.ts'
import type { WayInProps } from './use-begin.ts'

const KINDS = {
  site: { label: 'A site, by its links', place: 'Address', of: 'url' },
  url: { label: 'One page or file of the web', place: 'Address', of: 'url' },
  sitemap: { label: 'The pages of a sitemap', place: 'Address', of: 'url' },
  folder: { label: 'A folder of the server', place: 'Path', of: 'path' },
  query: { label: 'The rows of a SELECT', place: 'SELECT', of: 'query' },
  table: { label: 'A table', place: 'Name', of: 'table' },
} as const satisfies Record<
  SourceDefinition['kind'],
  { label: string; place: string; of: keyof SourceDefinition }
>

const SCHEDULES = [
  { value: '', label: 'When it is asked to' },
  { value: 'every 15 minutes', label: 'Every 15 minutes' },
  { value: 'every hour', label: 'Every hour' },
  { value: 'every day', label: 'Every day' },
  { value: 'every week', label: 'Every week' },
]

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
        <Field label="What it is">
          {(control) => (
            <select
              {...control}
              value={kind}
              onChange={(event) => {
                const { value } = event.currentTarget
                if (isKind(value)) setKind(value)
              }}
            >
              {Object.entries(KINDS).map(([value, { label }]) => (
                <option key={value} value={value}>
                  {label}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Field label="Its name here">
          {(control) => (
            <input
              {...control}
              required
              dir="auto"
              value={title}
              onInput={(event) => setTitle(event.currentTarget.value)}
            />
          )}
        </Field>
        <Field label="It is read">
          {(control) => (
            <select
              {...control}
              value={schedule}
              onChange={(event) => setSchedule(event.currentTarget.value)}
            >
              {SCHEDULES.map(({ value, label }) => (
                <option key={value} value={value}>
                  {label}
                </option>
              ))}
            </select>
          )}
        </Field>
      </div>
      <Field
        label={shown.place}
        hint={kind === 'folder' && 'In a folder that the setting EIDER_FOLDERS_DIR names.'}
      >
        {(control) => (
          <input
            {...control}
            required
            dir="auto"
            value={place}
            onInput={(event) => setPlace(event.currentTarget.value)}
          />
        )}
      </Field>
      {failure && <Failure error={failure} />}
      <div>
        <button type="submit" class="button primary" aria-disabled={isBusy}>
          Add and run it
        </button>
      </div>
    </form>
  )
}

function isKind(value: string): value is SourceDefinition['kind'] {
  return Object.hasOwn(KINDS, value)
}
