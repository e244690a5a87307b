/** Lists jobs, watches them while they run, and changes them. */
import { seen } from './connection.ts'
import type { Job, JobList } from './records.ts'
import { ApiError, path, request } from './request.ts'

const ASK_AGAIN_MS = 700
/** The most ids in one request, because the length of a URL is limited. */
const IDS_MAX = 200

interface JobFilters {
  readonly ids?: readonly number[]
  readonly state?: Job['state']
  readonly kind?: Job['kind']
  readonly project?: string
  readonly knowledgeBase?: string
  readonly limit?: number
  readonly offset?: number
}

/** @throws ApiError */
export function listJobs(filters: JobFilters, signal?: AbortSignal): Promise<JobList> {
  const { knowledgeBase, ...rest } = filters
  const given = Object.entries({ ...rest, knowledge_base: knowledgeBase }).flatMap(
    ([name, value]) => (value === undefined ? [] : [[name, String(value)]]),
  )
  return request(`/api/jobs?${new URLSearchParams(given)}`, { signal })
}

/** @throws ApiError */
export function changeJob(id: number, change: 'cancel' | 'retry' | 'resume'): Promise<Job> {
  return request(`${addressOfJob(id)}/${change}`, { method: 'POST' })
}

/** Deletes a finished job. @throws ApiError */
export function forgetJob(id: number): Promise<void> {
  return request(addressOfJob(id), { method: 'DELETE' })
}

/**
 * Deletes the finished jobs in one state, or all finished jobs. @returns how many @throws ApiError
 */
export async function forgetJobs(state?: Job['state']): Promise<number> {
  const chosen = state === undefined ? '' : `?state=${state}`
  const answer = await request<{ deleted: number }>(`/api/jobs${chosen}`, { method: 'DELETE' })
  return answer.deleted
}

export function isJobOver({ state }: Job): boolean {
  return state === 'done' || state === 'failed' || state === 'cancelled'
}

/** A scheduled sync that found nothing to do, shown only with its source. */
export function isUnchangedSync({ kind, state, documents, error_count: leftOut }: Job): boolean {
  return kind === 'sync' && state === 'done' && documents + leftOut === 0
}

/** Until it ends, over lost connections; not while hidden. @throws ApiError; the reason */
export async function watchJob(
  id: number,
  show: (job: Job) => void,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    const job = await askedTogether(id).catch((error: unknown) => {
      if (error instanceof ApiError && error.code === 'unreachable') return null
      throw error
    })
    signal.throwIfAborted()
    // Requested again for the server's error message.
    if (job === undefined) await request(addressOfJob(id), { signal })
    else if (job !== null) show(job)
    if (job != null && isJobOver(job)) return
    await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS))
    await seen()
    signal.throwIfAborted()
  }
}

type JobsById = ReadonlyMap<number, Job>

/** Jobs to be read with the next request. */
const together: { ids: Set<number>; answer: Promise<JobsById> | undefined } = {
  ids: new Set(),
  answer: undefined,
}

/** Returns undefined for an unknown job. @throws ApiError */
async function askedTogether(id: number): Promise<Job | undefined> {
  together.ids.add(id)
  together.answer ??= askForAll()
  return (await together.answer).get(id)
}

async function askForAll(): Promise<JobsById> {
  // Calls from one view happen in the same turn of the event loop, so waiting one turn collects
  // them.
  await new Promise((resolve) => setTimeout(resolve))
  const ids = [...together.ids]
  together.ids = new Set()
  together.answer = undefined
  const parts: (readonly number[])[] = []
  for (let at = 0; at < ids.length; at += IDS_MAX) parts.push(ids.slice(at, at + IDS_MAX))
  const lists = await Promise.all(parts.map((part) => listJobs({ ids: part, limit: part.length })))
  return new Map(lists.flatMap(({ items }) => items.map((job) => [job.id, job])))
}

function addressOfJob(id: number): string {
  return path`/api/jobs/${String(id)}`
}
