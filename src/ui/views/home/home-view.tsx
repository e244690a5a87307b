/** All that there is: projects with what is in them, what runs, how the server is. An empty server offers two doors. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { type ProjectContents, projects, refreshCatalog } from '../../api/catalog.ts'
import { usageByName } from '../../api/knowledge-bases.ts'
import { may, mayMakeProjects, mayName, mayUpload } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { Icon } from '../../components/icon.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { Loading } from '../../components/progress.tsx'
import { usePolling, useResource } from '../../components/resource.ts'
import { addressOf } from '../../shell/addresses.ts'
import { givenFiles } from '../../uploads/drop-anywhere.tsx'
import { SendingFiles } from '../../uploads/sending-progress.tsx'
import { FileList } from './file-list.tsx'
import { FirstSteps } from './first-steps.tsx'
import { LastJobs } from './last-jobs.tsx'
import { isSampleLoading, loadSample, SAMPLE, sampleLoading } from './load-sample.ts'
import { NewProject } from './new-project.tsx'
import { ProjectPanel } from './project-panel.tsx'
import { RunningJobs } from './running-jobs.tsx'
import { SampleProgress } from './sample-progress.tsx'
import { ServerSummary } from './server-summary.tsx'

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
