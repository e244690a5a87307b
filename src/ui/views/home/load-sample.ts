/**
 * Loads the sample by the public API: a knowledge base, an agent over it, and questions to measure searches with. Each step
 * is the same whether it was done before or not, so that it can be begun again wherever it ended.
 */
import { signal } from '@preact/signals'
import { refreshCatalog } from '../../api/catalog.ts'
import { sendFile } from '../../api/files.ts'
import { isJobOver, listJobs } from '../../api/jobs.ts'
import {
  createKnowledgeBase,
  getKnowledgeBase,
  insertInBackground,
} from '../../api/knowledge-bases.ts'
import type { Job } from '../../api/records.ts'
import { ApiError, asError, path, request } from '../../api/request.ts'
import { tellFailed } from '../../shell/notices.tsx'

export const SAMPLE = {
  project: 'mindsdb',
  knowledgeBase: 'encyclopedia',
  agent: 'guide',
  questions: 'sample_questions',
} as const

const COLUMNS = ['title', 'article', 'subject', 'words']

type SampleLoading =
  | { readonly step: 'preparing' }
  | { readonly step: 'storing'; readonly job: Job }
  | { readonly step: 'done' }
  | { readonly step: 'failed'; readonly failure: Error }

/** It goes on when another view is opened. */
export const sampleLoading = signal<SampleLoading | undefined>(undefined)

export function isSampleLoading(): boolean {
  const step = sampleLoading.value?.step
  return step === 'preparing' || step === 'storing'
}

/** Never throws: what fails is shown where its progress would be. Ends when the job has begun. */
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
    await ensureAgent()
    const job = (await jobUnderWay()) ?? (await insertInBackground(...PLACE, { rows }))
    sampleLoading.value = { step: 'storing', job }
    await refreshCatalog()
  } catch (error) {
    const failure = asError(error)
    sampleLoading.value = { step: 'failed', failure }
  }
}

/** After its job was over. */
export function endSample({ state }: Job): void {
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
    if (!isThere(error, 'knowledge_base_exists')) throw error
    const { metadata_columns: found } = await getKnowledgeBase(...PLACE)
    if (COLUMNS.every((column) => found.includes(column))) return
    throw new ApiError({
      code: 'knowledge_base_exists',
      status: 409,
      title: 'The name of the sample is taken',
      message: `There is another knowledge base with the name ${SAMPLE.knowledgeBase}. Delete it, then load the sample`,
    })
  }
}

async function ensureAgent(): Promise<void> {
  const data = { knowledge_bases: [PLACE.join('.')] }
  const json = { agent: { name: SAMPLE.agent, data } }
  try {
    await request(path`/api/projects/${SAMPLE.project}/agents`, { method: 'POST', json })
  } catch (error) {
    if (!isThere(error, 'agent_exists')) throw error
  }
}

function isThere(error: unknown, code: ApiError['code']): boolean {
  return error instanceof ApiError && error.code === code
}

/** One that was begun before the page was loaded again. */
async function jobUnderWay(): Promise<Job | undefined> {
  const { project, knowledgeBase } = SAMPLE
  const { items } = await listJobs({ project, knowledgeBase, kind: 'insert', limit: 5 })
  return items.find((job) => !isJobOver(job))
}
