/** The frame around all views of a knowledge base: its name and links. */
import type { ComponentChildren } from 'preact'
import { documentChanges } from '../../api/documents.ts'
import { listJobs } from '../../api/jobs.ts'
import {
  countContents,
  getKnowledgeBase,
  indexStates,
  type KnowledgeBaseName,
} from '../../api/knowledge-bases.ts'
import type { Job } from '../../api/records.ts'
import { may } from '../../api/session.ts'
import { Icon } from '../../components/button.tsx'
import { counted, shownDuration } from '../../components/numbers.ts'
import { usePolling, useResource } from '../../components/resource.ts'
import { PlaceFrame } from '../../components/tabs.tsx'
import { addressOf, tabsOf } from '../../shell/addresses.ts'

interface KnowledgeBaseFrameProps extends KnowledgeBaseName {
  /** The part that is shown, if it has no tab. */
  readonly part?: string
  readonly children: ComponentChildren
}

export function KnowledgeBaseFrame({ part, children, ...place }: KnowledgeBaseFrameProps) {
  const tabs = tabsOf.knowledgeBase(place.project, place.name)
  return (
    <PlaceFrame
      kind="knowledgeBases"
      {...{ ...place, part, children }}
      tabs={may('write') ? tabs : tabs.filter(({ label }) => label !== 'Add')}
      lead={<KnowledgeBaseFacts {...place} />}
    />
  )
}

/** A knowledge base's contents and activity, on one line below its name in all its views. */
function KnowledgeBaseFacts({ project, name }: KnowledgeBaseName) {
  const changes = [documentChanges.value]
  const place = [project, name]
  const running = useResource((signal) => readRunning(project, name, signal), place, changes)
  const jobs = running.data ?? []
  const { data, reload } = useResource((signal) => readFacts(project, name, signal), place, [
    ...changes,
    jobs.length > 0,
  ])
  const isWorking = jobs.length > 0 || data?.kb.params.reembedding !== undefined
  // While nothing is running, only jobs are polled, because all other changes are made on this
  // page.
  usePolling(() => {
    running.reload()
    if (isWorking || data?.index?.state === 'building') reload()
  }, 'often')
  // A blank line reserves the space, so that the content below does not jump.
  if (data === undefined) return <span>&nbsp;</span>
  const { contents, kb, index } = data
  const { reembedding } = kb.params
  const addressOfJob = ({ kind }: Job) => {
    const isOfSettings = kind === 'rechunk' || kind === 'move'
    return addressOf[isOfSettings ? 'knowledgeBaseSettings' : 'addDocuments'](project, name)
  }
  return (
    <span class="kb-facts-line" dir="ltr">
      <span>{counted(contents.documents, 'document')}</span>
      <span>{counted(contents.chunks, 'chunk')}</span>
      <bdi>{kb.embedding_model.model_name}</bdi>
      {kb.reranking_model && (
        <bdi>reranked by {kb.reranking_model.model_name || kb.reranking_model.provider}</bdi>
      )}
      {index && <span title={index.detail}>{wordsOfIndex(index.type, index.state)}</span>}
      {jobs.map((job) => (
        <span key={job.id} class="kb-working">
          <a href={addressOfJob(job)}>
            <Icon name="clock" />
            {wordsOfJob(job)}
          </a>
        </span>
      ))}
      {reembedding && (
        <span class="kb-working">
          <a href={addressOf.knowledgeBaseSettings(project, name)}>
            <Icon name="clock" />
            {`Changing its model${shareOf(reembedding.done ?? 0, reembedding.total ?? null)}`}
          </a>
        </span>
      )}
    </span>
  )
}

async function readFacts(project: string, name: string, signal: AbortSignal) {
  const [kb, contents, indexOf] = await Promise.all([
    getKnowledgeBase(project, name, signal),
    countContents(project, name, signal),
    indexStates(signal),
  ])
  return { kb, contents, index: indexOf(project, name) }
}

async function readRunning(project: string, name: string, signal: AbortSignal) {
  const order = { state: 'running', project, knowledgeBase: name, limit: 3 } as const
  return (await listJobs(order, signal)).items
}

export function wordsOfIndex(type: string, state: string): string {
  if (state === 'building') return `${type} index is being built`
  if (state === 'unavailable') return `${type} index is not available here`
  return state === 'ready' ? `${type} index` : 'exact search'
}

function wordsOfJob({ title, rows, total, remaining_seconds: seconds }: Job): string {
  const left = seconds === null ? '' : `, ${shownDuration(seconds * 1000)} left`
  return `${title}${shareOf(rows, total)}${left}`
}

function shareOf(done: number, total: number | null): string {
  if (total === null || total === 0) return ''
  return `: ${Math.floor((Math.min(done, total) / total) * 100)}%`
}
