/** Lists, reads and changes jobs. */
import type { Job, JobList } from './records.ts'
import { request } from './request.ts'

interface JobFilters {
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

/**
 * Deletes the finished jobs in one state, or all finished jobs. @returns how many @throws ApiError
 */
export async function forgetJobs(state?: Job['state']): Promise<number> {
  const chosen = state === undefined ? '' : `?state=${state}`
  const answer = await request<{ deleted: number }>(`/api/jobs${chosen}`, { method: 'DELETE' })
  return answer.deleted
}

/** A scheduled sync that found nothing to do, shown only with its source. */
export function isUnchangedSync({ kind, state, documents, error_count: leftOut }: Job): boolean {
  return kind === 'sync' && state === 'done' && documents + leftOut === 0
}

export function addressOfJob(id: number): string {
  return `/api/jobs/${id}`
}
