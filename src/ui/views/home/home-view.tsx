/** The home view: ways to add data, running jobs, failures, and projects with their contents. */
import { useState } from 'preact/hooks'
import { quote } from '../../../core/domain/names.ts'
import {
  catalogFailure,
  createProject,
  type ProjectContents,
  projects,
  refreshCatalog,
} from '../../api/catalog.ts'
import { addressOfContent, addressOfFile, listFiles } from '../../api/files.ts'
import { isUnchangedSync, listJobs } from '../../api/jobs.ts'
import { usageByName } from '../../api/knowledge-bases.ts'
import type { Job, ServerStatus, UploadedFile } from '../../api/records.ts'
import { request } from '../../api/request.ts'
import { may, mayMakeProjects, mayName, mayUpload } from '../../api/session.ts'
import { Button, Icon } from '../../components/button.tsx'
import { DialogButton, RemoveButton } from '../../components/dialog.tsx'
import { Failure, Loading } from '../../components/failure.tsx'
import { TextField } from '../../components/form/field.tsx'
import { FormDialog } from '../../components/form/form.tsx'
import { JobProgress } from '../../components/job-progress.tsx'
import { counted, shownAge, shownBytes, shownCount, timeOf } from '../../components/numbers.ts'
import { PageHeader } from '../../components/page-header.tsx'
import { Section } from '../../components/record-list.tsx'
import { usePolling, useResource } from '../../components/resource.ts'
import { addressOf } from '../../shell/addresses.ts'
import { tellDone } from '../../shell/notices.tsx'
import { givenFiles } from '../../uploads/drop-anywhere.tsx'
import { FilePicker } from '../../uploads/picked-files.tsx'
import { SendingFiles } from '../../uploads/sending-progress.tsx'
import { HomeEntry, ProjectPanel } from './project-panel.tsx'
import { isSampleLoading, loadSample, SAMPLE, SampleProgress, sampleLoading } from './sample.tsx'

export function HomeView() {
  const all = projects.value
  const read = () => void refreshCatalog().catch(() => {})
  return (
    <>
      <PageHeader title="Home">{may('write') && <Make />}</PageHeader>
      {mayUpload() && <AddData />}
      <SampleProgress />
      <SendingFiles />
      <Activity />
      {all === undefined &&
        (catalogFailure.value ? (
          <Failure error={catalogFailure.value} onRetry={read} />
        ) : (
          <Loading what="projects" />
        ))}
      {all && <Projects all={all} />}
      <FileList />
    </>
  )
}

function AddData() {
  const canLoadSample = mayName(SAMPLE.project) && sampleLoading.value === undefined
  return (
    <section class="panel home-add" aria-labelledby="home-files">
      <Icon name="upload" />
      <div class="stack">
        <h2 id="home-files">Drop your files here</h2>
        <p class="small quiet">
          PDF, Word, slides, spreadsheets, CSV, Parquet, Markdown, HTML, mail, code. They stay on
          this machine.
        </p>
        <div class="row">
          <FilePicker
            onFiles={(files) => {
              if (files.length > 0) givenFiles.value = files
            }}
          />
          <a class="button quiet" href={addressOf.connections()}>
            Connect a database
          </a>
          {canLoadSample && (
            <Button
              look="quiet"
              label="Load the sample"
              title="240 paragraphs of Wikipedia, 96 questions, and an agent that answers from them"
              disabled={isSampleLoading()}
              onClick={loadSample}
            />
          )}
        </div>
      </div>
    </section>
  )
}

function Projects({ all }: { readonly all: readonly ProjectContents[] }) {
  // Reloads the counts as soon as something was created or filled.
  const { data: usage, reload } = useResource(usageByName, [], [all])
  usePolling(reload, 'seldom')
  return (
    <>
      {all.map((project) => (
        <ProjectPanel key={project.name} project={project} usage={usage} />
      ))}
    </>
  )
}

function Make() {
  return (
    <>
      <a class="button" href={addressOf.newKnowledgeBase()}>
        <Icon name="plus" />
        New knowledge base
      </a>
      <a class="button" href={addressOf.newAgent()}>
        <Icon name="plus" />
        New agent
      </a>
      {mayMakeProjects() && (
        <DialogButton icon="plus" label="New project">
          {(onClose) => <NewProject onClose={onClose} />}
        </DialogButton>
      )}
    </>
  )
}

function NewProject({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState('')
  const create = async () => {
    await createProject(name)
    tellDone(`Created the project ${name}`)
  }
  return (
    <FormDialog title="New project" verb="Create" onSubmit={create} onClose={onClose}>
      <TextField
        label="Name"
        hint="Contains knowledge bases, agents and views. You can limit keys to a project."
        required
        value={name}
        onText={setName}
      />
    </FormDialog>
  )
}

const READ_MAX = 20
const RUNNING_SHOWN_MAX = 5
const OVER_SHOWN_MAX = 3
/** Older failures are shown only in the list of all jobs. */
const FAILED_MS_MAX = 7 * 86_400_000

async function readActivity(signal: AbortSignal) {
  const of = (state: Job['state'], limit: number) => listJobs({ state, limit }, signal)
  const [running, queued, failed, done, status] = await Promise.all([
    of('running', RUNNING_SHOWN_MAX),
    of('queued', RUNNING_SHOWN_MAX),
    of('failed', OVER_SHOWN_MAX),
    of('done', READ_MAX),
    request<ServerStatus>('/api/status', { signal }),
  ])
  const going = [...running.items, ...queued.items].slice(0, RUNNING_SHOWN_MAX)
  return {
    going,
    moreCount: running.total + queued.total - going.length,
    failed: failed.items.filter(({ finished_at: end, created_at: begin }) => {
      return Date.now() - timeOf(end ?? begin).getTime() < FAILED_MS_MAX
    }),
    // Syncs without changes are shown only with their source.
    done: done.items.filter((job) => !isUnchangedSync(job)).slice(0, OVER_SHOWN_MAX),
    troubles: [
      status.disk?.full ? 'The disk is full. Nothing can be stored' : '',
      status.backups?.failed ? `The last backup failed: ${status.backups.failed.message}` : '',
    ].filter(Boolean),
  }
}

/** The jobs of all projects that run, failed or ended, and the server's problems. */
function Activity() {
  const { data, reload } = useResource(readActivity, [])
  usePolling(reload, 'often')
  if (data === undefined) return null
  const { going, moreCount, failed, done, troubles } = data
  return (
    <>
      {going.length > 0 && sampleLoading.value === undefined && (
        <Section title="Running now" class="panel stack" buttons={<AllJobs />}>
          {going.map((job) => (
            <JobProgress
              key={job.id}
              job={job}
              onOver={() => {
                reload()
                refreshCatalog().catch(() => {})
              }}
            />
          ))}
          {moreCount > 0 && <p class="small quiet">and {shownCount(moreCount)} more</p>}
        </Section>
      )}
      {failed.length + troubles.length > 0 && (
        <Section title="Failed" class="panel stack" buttons={<AllJobs state="failed" />}>
          {troubles.map((words) => (
            <p key={words} class="bad">
              {words} <a href="/operations">Operations</a>
            </p>
          ))}
          {failed.length > 0 && <JobEntries jobs={failed} />}
        </Section>
      )}
      {done.length > 0 && (
        <Section title="New" class="panel stack" buttons={<AllJobs />}>
          <JobEntries jobs={done} />
        </Section>
      )}
    </>
  )
}

/** Jobs that are over, each on one line. The list of all jobs can continue those that failed. */
function JobEntries({ jobs }: { readonly jobs: readonly Job[] }) {
  return (
    <ul class="home-entries wide">
      {jobs.map(({ id, project, knowledge_base: name, title, error, ...job }) => (
        <HomeEntry
          key={id}
          icon={job.state === 'failed' ? 'warning' : 'check'}
          name={title}
          href={name === null ? '/operations/jobs' : addressOf.knowledgeBase(project, name)}
        >
          <span class="home-about small quiet">
            {job.documents > 0 && <span>{counted(job.documents, 'document')}</span>}
            <span>{shownAge(job.finished_at ?? job.created_at, Date.now())}</span>
            {job.error_count > 0 && (
              <span class="bad">{counted(job.error_count, 'item')} left out</span>
            )}
            {error !== null && <span class="bad one-line">{error}</span>}
          </span>
        </HomeEntry>
      ))}
    </ul>
  )
}

function AllJobs({ state }: { readonly state?: Job['state'] }) {
  return (
    <a class="small" href={`/operations/jobs${state === undefined ? '' : `?state=${state}`}`}>
      All jobs
    </a>
  )
}

// The files on the server, newest first, each with links to open it in SQL, download it or delete
// it.

const FILES_SHOWN_MAX = 20
/** Formats with rows. A document would be a single row, which is not worth showing. */
const TABLES = /^(csv|jsonl?|parquet|xlsx|ods|table)$/

function FileList() {
  const { data = [], failure, reload } = useResource(listFiles, [sampleLoading.value?.step])
  usePolling(reload, 'seldom')
  if (failure && data.length === 0) return <Failure error={failure} onRetry={reload} />
  if (data.length === 0) return null
  const newest = data.toSorted((a, b) => b.id - a.id).slice(0, FILES_SHOWN_MAX)
  const rest = data.length - newest.length
  return (
    <Section title="Files" class="panel stack">
      <ul class="home-entries wide">
        {newest.map((file) => (
          <FileEntry key={file.id} file={file} onDeleted={reload} />
        ))}
      </ul>
      {rest > 0 && <p class="small quiet">and {shownCount(rest)} more, listed in SQL</p>}
    </Section>
  )
}

function tableAddress(table: string): string {
  return addressOf.statement(`SELECT * FROM files.${quote(table)}`)
}

function FileEntry(props: { readonly file: UploadedFile; readonly onDeleted: () => void }) {
  const { file, onDeleted } = props
  const { name, format, size_bytes: bytes, row_count: rows, sheets } = file
  // A table created by a statement has no original bytes.
  const isSent = bytes > 0
  return (
    <HomeEntry icon="file" name={name} href={tableAddress(name)}>
      <span class="home-about small quiet">
        {[format, isSent ? shownBytes(bytes) : '', TABLES.test(format) ? counted(rows, 'row') : '']
          .filter(Boolean)
          .join(' · ')}
        {sheets.slice(1).map(({ name: sheet, row_count: count }) => (
          <span key={sheet}>
            <a href={tableAddress(`${name}.${sheet}`)} title="Open in SQL">
              {sheet}
            </a>{' '}
            {counted(count, 'row')}
          </span>
        ))}
      </span>
      <span class="row small home-ways">
        {isSent && (
          <a
            href={addressOfContent(name)}
            download={file.original_file_name}
            aria-label={`Download ${name}`}
          >
            Download
          </a>
        )}
        {may('write') && (
          <RemoveButton
            verb="Delete"
            icon="trash"
            name={name}
            address={addressOfFile(name)}
            onDone={onDeleted}
          >
            Statements can no longer read it. Documents made from it are kept.
          </RemoveButton>
        )}
      </span>
    </HomeEntry>
  )
}
