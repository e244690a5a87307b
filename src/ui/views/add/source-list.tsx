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
import { ActionButton, RemoveButton } from '../../components/dialog.tsx'
import { Form, Inputs, type Values } from '../../components/form/form.tsx'
import { counted, shownAge, shownCount, shownTime } from '../../components/numbers.ts'
import { RecordList } from '../../components/record-list.tsx'
import { usePolling, useResource } from '../../components/resource.ts'
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
  const { name, kind, last_run: last } = source
  return (
    <li>
      <div class="row">
        <strong class="grow">{name}</strong>
        <span class="badge">{kind}</span>
        <ActionButton
          look="small"
          icon="play"
          label="Run now"
          aria-label={`Run now: ${name}`}
          work={async () => onBegun(await runSource(source))}
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

const FIRST: Values = { kind: 'site', schedule: 'every day' }

function NewSource({ project, name, onBegun }: WayInProps) {
  const [values, setValues] = useState(FIRST)
  const { kind: chosen = '', title = '', place = '', schedule = '' } = values
  const kind = isKind(chosen) ? chosen : 'site'
  const shown = KINDS[kind]
  const kinds = Object.entries(KINDS).map(([value, { label }]) => [value, label] as const)
  const hint = kind === 'folder' ? 'Path within a folder in EIDER_FOLDERS_DIR' : undefined
  const add = async () => {
    const when = schedule === '' ? {} : { schedule }
    const definition = { name: title.trim(), kind, [shown.of]: place.trim(), ...when }
    const source = await addSource(project, name, definition)
    setValues({ kind, schedule })
    onBegun(await runSource(source))
  }
  return (
    <Form verb="Add and run" onSend={add}>
      <h2>Add a source</h2>
      <Inputs
        fields={[
          { name: 'kind', label: 'Kind', options: kinds },
          { name: 'title', label: 'Name', isRequired: true },
          { name: 'schedule', label: 'Schedule', options: SCHEDULES },
          { name: 'place', label: shown.place, hint, isRequired: true },
        ]}
        values={values}
        onChange={setValues}
      />
    </Form>
  )
}

function isKind(value: string): value is SourceDefinition['kind'] {
  return Object.hasOwn(KINDS, value)
}
