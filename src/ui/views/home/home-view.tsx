/** All that there is: projects with what is in them, what runs, how the server is. An empty server offers two doors. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { createProject, type ProjectContents, projects, refreshCatalog } from '../../api/catalog.ts'
import { isJobOver, listJobs } from '../../api/jobs.ts'
import { usageByName } from '../../api/knowledge-bases.ts'
import type { Job } from '../../api/records.ts'
import { may, mayMakeProjects, mayName, mayUpload } from '../../api/session.ts'
import { Button, Icon } from '../../components/button.tsx'
import { Failure, Loading, Progress } from '../../components/failure.tsx'
import { TextField } from '../../components/form/field.tsx'
import { FormDialog } from '../../components/form/form.tsx'
import { JobProgress, JobState } from '../../components/job-progress.tsx'
import { counted, shownAge, shownCount } from '../../components/numbers.ts'
import { PageHeader } from '../../components/page-header.tsx'
import { Section } from '../../components/record-list.tsx'
import { usePolling, useResource } from '../../components/resource.ts'
import { addressOf } from '../../shell/addresses.ts'
import { tellDone } from '../../shell/notices.tsx'
import { givenFiles } from '../../uploads/drop-anywhere.tsx'
import type { NamedFile } from '../../uploads/picked-files.tsx'
import { FilePicker } from '../../uploads/picked-files.tsx'
import { SendingFiles } from '../../uploads/sending-progress.tsx'
import { FileList } from './file-list.tsx'
import { endSample, isSampleLoading, loadSample, SAMPLE, sampleLoading } from './load-sample.ts'
import { ProjectPanel } from './project-panel.tsx'
import { ServerSummary } from './server-summary.tsx'
import { shownJobs } from './shown-jobs.ts'

/** What others make, or this person in another window, appears by itself. */
const ASK_AGAIN_MS = 15_000

export function HomeView() {
  const [isNewProject, setIsNewProject] = useState(false)
  const all = projects.value
  const isEmpty = all?.every((one) => one.knowledgeBases.length + one.agents.length === 0) === true
  usePolling(() => {
    refreshCatalog().catch(() => {})
  }, ASK_AGAIN_MS)
  const canLoadSample = mayUpload() && mayName(SAMPLE.project) && sampleLoading.value === undefined
  return (
    <>
      <PageHeader title="Home">
        {may('write') && <Make onNewProject={() => setIsNewProject(true)} />}
      </PageHeader>
      <SampleProgress />
      {all === undefined && <Loading what="projects" />}
      {isEmpty && mayUpload() && (
        <FirstSteps
          canLoadSample={canLoadSample}
          onFiles={(files) => {
            givenFiles.value = files
          }}
        />
      )}
      <SendingFiles />
      <RunningJobs />
      {all && <Projects all={all} />}
      <FileList />
      <LastJobs />
      <ServerSummary />
      {!isEmpty && canLoadSample && (
        <p class="small quiet">
          Something to try:{' '}
          <Button
            look="small quiet"
            label="Load the sample"
            disabled={isSampleLoading()}
            onClick={loadSample}
          />
        </p>
      )}
      {isNewProject && <NewProject onClose={() => setIsNewProject(false)} />}
    </>
  )
}

function Projects({ all }: { readonly all: readonly ProjectContents[] }) {
  const { data: usage, reload } = useResource(usageByName, [])
  usePolling(reload, ASK_AGAIN_MS)
  // What was made or filled meanwhile is counted at once.
  const counted = useRef(all)
  useEffect(() => {
    if (counted.current !== all) reload()
    counted.current = all
  }, [all])
  return (
    <>
      {all.map((project) => (
        <ProjectPanel key={project.name} project={project} usage={usage} />
      ))}
    </>
  )
}

function Make({ onNewProject }: { readonly onNewProject: () => void }) {
  return (
    <>
      <a class="button primary" href={addressOf.newKnowledgeBase()}>
        <Icon name="plus" />
        New knowledge base
      </a>
      <a class="button" href={addressOf.newAgent()}>
        <Icon name="plus" />
        New agent
      </a>
      {mayMakeProjects() && <Button icon="plus" label="New project" onClick={onNewProject} />}
    </>
  )
}

/** A new project: its name alone. */
function NewProject({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState('')
  const create = async () => {
    await createProject(name)
    tellDone(`Created the project ${name}`)
    onClose()
  }
  return (
    <FormDialog title="New project" verb="Create" onSubmit={create} onClose={onClose}>
      <TextField
        label="Name"
        hint="Holds knowledge bases, agents and views. Keys can be limited to it."
        required
        value={name}
        onText={setName}
      />
    </FormDialog>
  )
}

interface FirstStepsProps {
  readonly canLoadSample: boolean
  readonly onFiles: (files: NamedFile[]) => void
}

/** What a server with nothing in it offers: text to try it with, and a place for one's own files. */
function FirstSteps({ canLoadSample, onFiles }: FirstStepsProps) {
  return (
    <div class="home-doors">
      {canLoadSample && <SampleDoor />}
      <section class="panel stack" aria-labelledby="home-files">
        <Icon name="upload" />
        <h2 id="home-files">Drop your files here</h2>
        <p class="quiet">
          PDF, Word, slides, spreadsheets, CSV, JSON, Markdown, HTML, mail, code and plain text.
          They stay on this machine.
        </p>
        <FilePicker onFiles={onFiles} />
      </section>
    </div>
  )
}

function SampleDoor() {
  return (
    <section class="panel stack" aria-labelledby="home-sample">
      <Icon name="book" />
      <h2 id="home-sample">Try it with real text</h2>
      <p class="quiet">
        240 paragraphs of Wikipedia, 96 questions, and an agent that answers from them. It takes a
        few seconds, and you can delete it again.
      </p>
      <div>
        <Button
          look="primary"
          icon="download"
          label="Load the sample"
          disabled={isSampleLoading()}
          onClick={loadSample}
        />
      </div>
    </section>
  )
}

/** The sample while it is loaded, and where to go when it is there. */
function SampleProgress() {
  const loading = sampleLoading.value
  if (loading === undefined) return null
  return (
    <section class="panel stack" aria-label="The sample">
      <h2>The sample</h2>
      {loading.step === 'preparing' && <Progress label="Making the knowledge base and its agent" />}
      {loading.step === 'storing' && (
        <JobProgress id={loading.job.id} job={loading.job} onOver={endSample} />
      )}
      {loading.step === 'failed' && <Failure error={loading.failure} onRetry={loadSample} />}
      {loading.step === 'done' && <WhereToGo />}
    </section>
  )
}

function WhereToGo() {
  const { project, knowledgeBase, agent, questions } = SAMPLE
  const search = `${addressOf.searchLab(project, knowledgeBase)}?${new URLSearchParams({ q: QUESTION })}`
  return (
    <div class="stack" role="status">
      <p>
        240 paragraphs of Wikipedia are in <code>{knowledgeBase}</code>, the agent{' '}
        <code>{agent}</code> answers from them, and 96 questions with their right paragraphs are in
        the file <code>{questions}</code>.
      </p>
      <div class="row">
        <a class="button primary" href={search}>
          <Icon name="search" />
          Search it
        </a>
        <a class="button" href={addressOf.map(project, knowledgeBase)}>
          <Icon name="map" />
          See its map
        </a>
        <a class="button" href={addressOf.agent(project, agent)}>
          <Icon name="agent" />
          Ask the agent
        </a>
        <Button
          look="quiet"
          label="Close"
          onClick={() => {
            sampleLoading.value = undefined
          }}
        />
      </div>
      <p class="small quiet">
        From{' '}
        <a href="https://github.com/google-deepmind/xquad" target="_blank" rel="noreferrer">
          XQuAD
        </a>{' '}
        and the authors of Wikipedia,{' '}
        <a href="https://creativecommons.org/licenses/by-sa/4.0/" target="_blank" rel="noreferrer">
          CC BY-SA 4.0
        </a>
      </p>
    </div>
  )
}

const QUESTION = 'Why does the rainforest matter for the climate?'

const READ_MAX = 10
const SHOWN_MAX = 3
const LAST_JOBS_AGAIN_MS = 15_000

/** The jobs that were over last, of all projects, and how they ended. */
function LastJobs() {
  const { data, reload } = useResource((signal) => listJobs({ limit: READ_MAX }, signal), [])
  usePolling(reload, LAST_JOBS_AGAIN_MS)
  const over = (data?.items ?? []).filter(isJobOver).slice(0, SHOWN_MAX)
  if (over.length === 0) return null
  return (
    <Section title="Last jobs" class="panel stack" buttons={<AllJobs />}>
      <ul class="home-entries wide home-jobs">
        {over.map((job) => (
          <JobEntry key={job.id} job={job} />
        ))}
      </ul>
    </Section>
  )
}

function JobEntry({ job }: { readonly job: Job }) {
  const { state, title, finished_at: end, error, error_count: leftOut } = job
  return (
    <li>
      <JobState state={state} />
      <span class="one-line" dir="auto">
        {title}
      </span>
      <span class="home-about small quiet">
        {end !== null && <span>{shownAge(end, Date.now())}</span>}
        {leftOut > 0 && <span class="bad">{counted(leftOut, 'item')} left out</span>}
        {state === 'failed' && error !== null && (
          <span class="bad one-line" dir="auto">
            {error}
          </span>
        )}
      </span>
    </li>
  )
}

const RUNNING_SHOWN_MAX = 5
const RUNNING_JOBS_AGAIN_MS = 5000

/** What runs now, of all projects. */
function RunningJobs() {
  const { data, reload } = useResource(readUnderWay, [])
  usePolling(reload, RUNNING_JOBS_AGAIN_MS)
  // A job that is over stays until the view is left, so that nobody misses how it ended.
  const [seen, setSeen] = useState<readonly number[]>([])
  useEffect(() => {
    if (data) setSeen((before) => shownJobs(before, data, RUNNING_SHOWN_MAX))
  }, [data])
  const loading = sampleLoading.value
  const sampleJob = loading?.step === 'storing' ? loading.job.id : undefined
  const shown = seen.filter((id) => id !== sampleJob)
  if (shown.length === 0 || loading !== undefined) return null
  const going = [...(data?.running ?? []), ...(data?.queued ?? [])]
  const moreCount = (data?.total ?? 0) - going.filter((id) => seen.includes(id)).length
  return (
    <Section title="Running now" class="panel stack" buttons={<AllJobs />}>
      {shown.map((id) => (
        <JobProgress
          key={id}
          id={id}
          job={data?.jobs.find((job) => job.id === id)}
          onOver={() => {
            reload()
            refreshCatalog().catch(() => {})
          }}
        />
      ))}
      {moreCount > 0 && <p class="small quiet">and {shownCount(moreCount)} more</p>}
    </Section>
  )
}

async function readUnderWay(signal: AbortSignal) {
  const states = ['running', 'queued'] as const
  const [running, queued] = await Promise.all(
    states.map((state) => listJobs({ state, limit: RUNNING_SHOWN_MAX }, signal)),
  )
  return {
    running: running?.items.map(({ id }) => id) ?? [],
    queued: queued?.items.map(({ id }) => id) ?? [],
    jobs: [...(running?.items ?? []), ...(queued?.items ?? [])],
    total: (running?.total ?? 0) + (queued?.total ?? 0),
  }
}

function AllJobs() {
  return (
    <a class="small" href="/operations/jobs">
      All jobs
    </a>
  )
}
