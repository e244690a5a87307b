/** The sources that a knowledge base is kept in step with: run now, removed, and added. */
import { useState } from 'preact/hooks'
import { listSources, removeSource, runSource } from '../../api/kept-sources.ts'
import type { Job, Source } from '../../api/records.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Failure } from '../../components/failure.tsx'
import { Loading } from '../../components/progress.tsx'
import { useAction, usePolling, useResource } from '../../components/resource.ts'
import { counted, shownAge, shownTime } from '../../format/numbers.ts'
import { NewSource } from './new-source.tsx'
import type { WayInProps } from './use-begin.ts'

const ASK_AGAIN_MS = 15_000
/** While one of them runs. */
const LOOK_AGAIN_MS = 1000

export function Sources({ project, name, onBegun }: WayInProps) {
  const { data, failure, reload } = useResource(
    (signal) => listSources(project, name, signal),
    [project, name],
  )
  const isRunning = data?.some(({ job_id: id, last_run: last }) => {
    return id !== null || last?.state === 'running'
  })
  usePolling(reload, isRunning ? LOOK_AGAIN_MS : ASK_AGAIN_MS)
  const begun = (job: Job) => {
    onBegun(job)
    reload()
  }
  return (
    <>
      <p class="quiet">
        A source is read again and again: what changed there is updated here, what is gone there is
        deleted here.
      </p>
      {failure && data === undefined && <Failure error={failure} onRetry={reload} />}
      {data === undefined && failure === undefined && <Loading what="sources" />}
      {data?.length === 0 && <p>No sources yet.</p>}
      {data !== undefined && data.length > 0 && (
        <ul class="add-files" aria-label="Sources">
          {data.map((source) => (
            <SourceEntry key={source.id} source={source} onBegun={begun} onRemoved={reload} />
          ))}
        </ul>
      )}
      <NewSource project={project} name={name} onBegun={begun} />
    </>
  )
}

interface SourceEntryProps {
  readonly source: Source
  readonly onBegun: (job: Job) => void
  readonly onRemoved: () => void
}

function SourceEntry({ source, onBegun, onRemoved }: SourceEntryProps) {
  const { act, failure: refusal } = useAction()
  const [isRemoving, setIsRemoving] = useState(false)
  const run = async () => {
    await act(async () => {
      onBegun(await runSource(source))
    })
  }
  const { name, kind, last_run: last } = source
  return (
    <li>
      <div class="row">
        <strong class="grow" dir="auto">
          {name}
        </strong>
        <span class="badge">{kind}</span>
        <Button
          look="small"
          icon="play"
          label="Run now"
          aria-label={`Run now: ${name}`}
          onClick={run}
        />
        <Button
          look="small icon-only quiet"
          icon="trash"
          aria-label={`Remove ${name}`}
          onClick={() => setIsRemoving(true)}
        />
      </div>
      <p class="small quiet" dir="auto">
        {source.path ?? source.url ?? source.query ?? source.table}
      </p>
      <p class="small quiet">{whenOf(source)}</p>
      {last && (
        <p class={`small ${last.state === 'failed' ? 'bad' : 'quiet'}`}>
          <span title={shownTime(last.started_at)}>{shownAge(last.started_at, Date.now())}</span>:{' '}
          {last.error ?? changesOf(last)}
        </p>
      )}
      {refusal && <Failure error={refusal} />}
      {isRemoving && (
        <ConfirmDialog
          title={`Remove the source ${name}?`}
          verb="Remove"
          onConfirm={async () => {
            await removeSource(source)
            onRemoved()
          }}
          onClose={() => setIsRemoving(false)}
        >
          It is no longer read. Its documents stay.
        </ConfirmDialog>
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
    `${counted(run.added, 'document')} added`,
    `${run.changed} changed`,
    `${run.removed} removed`,
    run.failed > 0 ? `${run.failed} could not be read` : '',
  ]
  return changes.filter((words) => words !== '').join(', ')
}
