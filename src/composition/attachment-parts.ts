import type { Attachments } from '../http/route-context.ts'
import {
  type Attachment,
  attachJobOf,
  type FileToAttach,
  failedPlacesOf,
  isStoredAttach,
  mayBeAttachJob,
} from '../ingest/jobs/attach-job.ts'
import type { JobRunner } from '../jobs/job-runner.ts'
import type { Store } from '../store/store.ts'

interface Known {
  readonly knowledgeBaseId: number
  readonly files: readonly FileToAttach[]
  readonly isBatch: boolean
}

/** What jobs attached: their requests do not change, so each is read once. */
export function attachmentsOf(jobs: JobRunner, store: Store['jobs']): Attachments {
  const known = new Map<number, Known | null>()
  const knownOf = async (id: number): Promise<Known | null> => {
    const found = known.get(id)
    if (found !== undefined) return found
    // One that was removed meanwhile has no request.
    const request = await store.workOf(id).then(
      (work) => work.request,
      () => null,
    )
    const own = isStoredAttach(request) ? request : null
    known.set(id, own)
    return own
  }
  /** All of them: the job itself names those that failed first. */
  const failedOf = async (id: number): Promise<ReadonlySet<number>> => {
    const { errors, errorCount } = jobs.get(id)
    if (errorCount <= errors.length) return new Set()
    const { checkpoint } = await store.workOf(id)
    return new Set(failedPlacesOf(checkpoint))
  }
  return {
    attach: async (request) => {
      const job = await jobs.start(attachJobOf(request))
      const { files, isBatch } = request
      known.set(job.id, { knowledgeBaseId: request.kb.id, files, isBatch })
      return { job, files, isBatch, failed: new Set() }
    },
    of: async (kb) => {
      const all = jobs.list()
      const ids = new Set(all.map(({ id }) => id))
      for (const id of known.keys()) if (!ids.has(id)) known.delete(id)
      const found: Attachment[] = []
      for (const job of all) {
        if (!mayBeAttachJob(job)) continue
        const own = await knownOf(job.id)
        if (own?.knowledgeBaseId === kb.id) {
          const { files, isBatch } = own
          const failed = await failedOf(job.id)
          found.push({ job: jobs.get(job.id), files, isBatch, failed })
        }
      }
      return found
    },
  }
}
