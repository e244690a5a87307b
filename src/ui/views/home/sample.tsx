/**
 * Loads the sample through the public API: a knowledge base, an agent for it, and questions for
 * measuring searches. Every step can be repeated, so loading can be restarted at any point.
 */

import { signal } from '@preact/signals'
import { isOver } from '../../../core/domain/flow/job.ts'
import { DEFAULT_PROJECT } from '../../../core/domain/names.ts'
import { ensureAgent } from '../../api/agents.ts'
import { refreshCatalog, SAMPLE_NAME } from '../../api/catalog.ts'
import { sendFile } from '../../api/files.ts'
import { listJobs } from '../../api/jobs.ts'
import {
  createKnowledgeBase,
  getKnowledgeBase,
  insertInBackground,
} from '../../api/knowledge-bases.ts'
import type { Job } from '../../api/records.ts'
import { ApiError, asError } from '../../api/request.ts'
import { Button, Icon } from '../../components/button.tsx'
import { Failure, Progress } from '../../components/failure.tsx'
import { JobProgress } from '../../components/job-progress.tsx'
import { Section } from '../../components/record-list.tsx'
import { addressOf } from '../../shell/addresses.ts'
import { tellFailed } from '../../shell/notices.tsx'

export const SAMPLE = {
  project: DEFAULT_PROJECT,
  knowledgeBase: SAMPLE_NAME,
  agent: 'guide',
  questions: 'sample_questions',
} as const

const COLUMNS = ['title', 'article', 'subject', 'words']

type SampleLoading =
  | { readonly step: 'preparing' }
  | { readonly step: 'storing'; readonly job: Job }
  | { readonly step: 'done' }
  | { readonly step: 'failed'; readonly failure: Error }

/** Loading continues while other views are open. */
export const sampleLoading = signal<SampleLoading | undefined>(undefined)

export function isSampleLoading(): boolean {
  const step = sampleLoading.value?.step
  return step === 'preparing' || step === 'storing'
}

/** Never throws; a failure replaces the progress. Resolves when the job has started. */
export async function loadSample(): Promise<void> {
  if (sampleLoading.peek()?.step === 'preparing') return
  sampleLoading.value = { step: 'preparing' }
  try {
    const { rows, questions } = (await import('../../../../assets/sample/encyclopedia.json'))
      .default
    await ensureKnowledgeBase()
    const content = new Blob([JSON.stringify(questions)], { type: 'application/json' })
    const signal = new AbortController().signal
    await sendFile({ name: SAMPLE.questions, content, replaces: true, signal })
    const guide = { project: SAMPLE.project, name: SAMPLE.agent }
    await ensureAgent(guide, { knowledge_bases: [PLACE.join('.')] })
    const job = (await jobUnderWay()) ?? (await insertInBackground(...PLACE, { rows }))
    sampleLoading.value = { step: 'storing', job }
    await refreshCatalog()
  } catch (error) {
    const failure = asError(error)
    sampleLoading.value = { step: 'failed', failure }
  }
}

/** Called when the sample's job has ended. */
function endSample({ state }: Job): void {
  if (state === 'done') sampleLoading.value = { step: 'done' }
  refreshCatalog().catch(tellFailed)
}

const PLACE = [SAMPLE.project, SAMPLE.knowledgeBase] as const

async function ensureKnowledgeBase(): Promise<void> {
  try {
    await createKnowledgeBase(SAMPLE.project, {
      name: SAMPLE.knowledgeBase,
      metadata_columns: COLUMNS,
      language: 'english',
    })
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 'knowledge_base_exists')) throw error
    const { metadata_columns: found } = await getKnowledgeBase(...PLACE)
    if (COLUMNS.every((column) => found.includes(column))) return
    throw new ApiError({
      code: 'knowledge_base_exists',
      status: 409,
      title: "The sample's name is taken",
      message: `There is another knowledge base with the name ${SAMPLE.knowledgeBase}. Delete it, then load the sample`,
    })
  }
}

/** The job that was started before the page was reloaded, if any. */
async function jobUnderWay(): Promise<Job | undefined> {
  const { project, knowledgeBase } = SAMPLE
  const { items } = await listJobs({ project, knowledgeBase, kind: 'insert', limit: 5 })
  return items.find((job) => !isOver(job))
}

/** Shows the loading sample, and links to it once it is there. */
export function SampleProgress() {
  const loading = sampleLoading.value
  if (loading === undefined) return null
  return (
    <Section title="The sample" class="panel stack">
      {loading.step === 'preparing' && (
        <Progress label="Creating the knowledge base and its agent" />
      )}
      {loading.step === 'storing' && <JobProgress job={loading.job} onOver={endSample} />}
      {loading.step === 'failed' && <Failure error={loading.failure} onRetry={loadSample} />}
      {loading.step === 'done' && <WhereToGo />}
    </Section>
  )
}

function WhereToGo() {
  const { project, knowledgeBase, agent } = SAMPLE
  const search = `${addressOf.searchLab(project, knowledgeBase)}?${new URLSearchParams({ q: QUESTION })}`
  return (
    <div class="stack" role="status">
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
