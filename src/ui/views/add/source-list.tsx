/** The sources that a knowledge base syncs from, with buttons to run, remove and add them. */
import { useState } from 'preact/hooks'
import {
  addressOfSource,
  addSource,
  listSources,
  runSource,
  type SourceDefinition,
} from '../../api/knowledge-bases.ts'
import type { Job, Source } from '../../api/records.ts'
import { Button } from '../../components/button.tsx'
import { RemoveButton } from '../../components/dialog.tsx'
import { Failure } from '../../components/failure.tsx'
import { SelectField, TextField } from '../../components/form/field.tsx'
import { Form } from '../../components/form/form.tsx'
import { counted, shownAge, shownCount, shownTime } from '../../components/numbers.ts'
import { RecordList } from '../../components/record-list.tsx'
import { useAction, usePolling, useResource } from '../../components/resource.ts'
import type { WayInProps } from './add-forms.tsx'

export function Sources({ project, name, onBegun }: WayInProps) {
  const read = useResource((signal) => listSources(project, name, signal), [project, name])
  const { data, reload } = read
  // A failed refresh is ignored once there is data.
  const sources = { ...read, failure: data === undefined ? read.failure : undefined }
  const isRunning = data?.some(({ job_id: id, last_run: last }) => {
    return id !== null || last?.state === 'running'
  })
  usePolling(reload, isRunning ? 'soon' : 'seldom')
  const begun = (job: Job) => {
    onBegun(job)
    reload()
  }
  return (
    <>
      <p class="quiet">
        Sources are read on a schedule. New and changed documents are updated here, and documents
        removed at the source are deleted here.
      </p>
      <RecordList of={sources} what="sources" empty={<p>No sources yet.</p>}>
        {(items) => (
          <ul class="list add-files" aria-label="Sources">
            {items.map((source) => (
              <SourceEntry key={source.id} source={source} onBegun={begun} onRemoved={reload} />
            ))}
          </ul>
        )}
      </RecordList>
      <NewSource project={project} name={name} onBegun={begun} />
    </>
  )
}

function SourceEntry(props: {
  readonly source: Source
  readonly onBegun: (job: Job) => void
  readonly onRemoved: () => void
}) {
  const { source, onBegun, onRemoved } = props
  const { act, failure: refusal } = useAction()
  const run = async () => {
    await act(async () => {
      onBegun(await runSource(source))
    })
  }
  const { name, kind, last_run: last } = source
  return (
    <li>
      <div class="row">
        <strong class="grow">{name}</strong>
        <span class="badge">{kind}</span>
        <Button
          look="small"
          icon="play"
          label="Run now"
          aria-label={`Run now: ${name}`}
          onClick={run}
        />
        <RemoveButton
          verb="Remove"
          icon="trash"
          name={name}
          address={addressOfSource(source)}
          onDone={onRemoved}
        >
          The knowledge base stops syncing with it. Its documents are kept.
        </RemoveButton>
      </div>
      <p class="small quiet">{source.path ?? source.url ?? source.query ?? source.table}</p>
      <p class="small quiet">{whenOf(source)}</p>
      {last && (
        <p class={`small ${last.state === 'failed' ? 'bad' : 'quiet'}`}>
          Checked{' '}
          <span title={shownTime(last.started_at)}>{shownAge(last.started_at, Date.now())}</span>:{' '}
          {last.error ?? changesOf(last)}
        </p>
      )}
      {refusal && <Failure error={refusal} />}
    </li>
  )
}

function whenOf({ schedule, watch, next_run_at: next }: Source): string {
  if (watch) return 'Runs when something in the folder changes'
  if (schedule === null) return 'Runs only when you run it'
  return `Runs ${schedule}${next === null ? '' : `, ${shownAge(next, Date.now())}`}`
}

function changesOf(run: NonNullable<Source['last_run']>): string {
  const changes = [
    run.added > 0 ? `${counted(run.added, 'document')} added` : '',
    run.changed > 0 ? `${shownCount(run.changed)} changed` : '',
    run.removed > 0 ? `${shownCount(run.removed)} removed` : '',
    run.failed > 0 ? `${shownCount(run.failed)} could not be read` : '',
  ]
  return changes.filter(Boolean).join(', ') || 'nothing has changed'
}

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

export const SCHEDULES = [
  ['', 'Only when you run it'],
  ['every 15 minutes', 'Every 15 minutes'],
  ['every hour', 'Every hour'],
  ['every day', 'Every day'],
  ['every week', 'Every week'],
] as const

function NewSource({ project, name, onBegun }: WayInProps) {
  const [kind, setKind] = useState<SourceDefinition['kind']>('site')
  const [title, setTitle] = useState('')
  const [place, setPlace] = useState('')
  const [schedule, setSchedule] = useState('every day')
  const shown = KINDS[kind]
  const add = async () => {
    const when = schedule === '' ? {} : { schedule }
    const definition = { name: title.trim(), kind, [shown.of]: place.trim(), ...when }
    const source = await addSource(project, name, definition)
    setTitle('')
    setPlace('')
    onBegun(await runSource(source))
  }
  return (
    <Form verb="Add and run" onSend={add}>
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
        <SelectField label="Schedule" value={schedule} onChoose={setSchedule} options={SCHEDULES} />
      </div>
      <TextField
        label={shown.place}
        hint={kind === 'folder' && 'Path within a folder in EIDER_FOLDERS_DIR'}
        required
        value={place}
        onText={setPlace}
      />
    </Form>
  )
}

function isKind(value: string): value is SourceDefinition['kind'] {
  return Object.hasOwn(KINDS, value)
}
