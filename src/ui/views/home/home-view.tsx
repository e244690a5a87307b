/** All that there is: projects with what is in them, what runs, how the server is. An empty server offers two doors. */
import { useState } from 'preact/hooks'
import { projects } from '../../api/catalog.ts'
import { Icon } from '../../components/icon.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { Loading } from '../../components/progress.tsx'
import { addressOf } from '../../shell/addresses.ts'
import type { NamedFile } from '../add/picked-files.ts'
import { WindowDrop } from '../add/window-drop.tsx'
import { DropTarget } from './drop-target.tsx'
import { FileList } from './file-list.tsx'
import { FirstSteps } from './first-steps.tsx'
import { isSampleLoading, loadSample, sampleLoading } from './load-sample.ts'
import { NewProject } from './new-project.tsx'
import { ProjectPanel } from './project-panel.tsx'
import { RunningJobs } from './running-jobs.tsx'
import { SampleProgress } from './sample-progress.tsx'
import { ServerSummary } from './server-summary.tsx'

export function HomeView() {
  const [dropped, setDropped] = useState<readonly NamedFile[]>()
  const [isNewProject, setIsNewProject] = useState(false)
  const all = projects.value
  const isEmpty = all?.every((one) => one.knowledgeBases.length + one.agents.length === 0) === true
  const isSampleShown = sampleLoading.value !== undefined
  return (
    <>
      <PageHeader title="Home">
        <a class="button primary" href={addressOf.newKnowledgeBase()}>
          <Icon name="plus" />
          New knowledge base
        </a>
        <a class="button" href={addressOf.newAgent()}>
          <Icon name="plus" />
          New agent
        </a>
        <button type="button" class="button" onClick={() => setIsNewProject(true)}>
          <Icon name="plus" />
          New project
        </button>
      </PageHeader>
      <SampleProgress />
      {all === undefined && <Loading what="projects" />}
      {isEmpty && !isSampleShown && <FirstSteps onFiles={setDropped} />}
      <RunningJobs />
      {all?.map((project) => (
        <ProjectPanel key={project.name} project={project} />
      ))}
      <FileList />
      <ServerSummary />
      {!isEmpty && !isSampleShown && (
        <p class="small quiet">
          Something to try things with:{' '}
          <button
            type="button"
            class="button small quiet"
            disabled={isSampleLoading()}
            onClick={loadSample}
          >
            Load the sample
          </button>
        </p>
      )}
      <WindowDrop label="Drop to add to a knowledge base" onFiles={setDropped} />
      {dropped && <DropTarget files={dropped} onClose={() => setDropped(undefined)} />}
      {isNewProject && <NewProject onClose={() => setIsNewProject(false)} />}
    </>
  )
}
