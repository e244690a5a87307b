/** Files on their way into a vector store, and those that did not get there. */
import { isOver } from '../../../core/domain/flow/job.ts'
import type { Preprocessing } from '../../../core/domain/knowledge-base.ts'
import { type Attachment, attachedId } from '../../../ingest/pipeline/attach-job.ts'
import type { Attributes } from './attributes.ts'
import { secondsOf } from './list-page.ts'

export const FILE_STATUSES = ['in_progress', 'completed', 'cancelled', 'failed'] as const

export interface AttachedFile {
  /** `file-12`. */
  readonly id: string
  readonly status: (typeof FILE_STATUSES)[number]
  /** null: it did not fail. */
  readonly error: string | null
  /** Seconds since 1970. */
  readonly createdAt: number
  readonly attributes: Attributes
  readonly preprocessing: Preprocessing | null
  readonly jobId: number
  /** It was attached before, and may be a document already. */
  readonly isAgain: boolean
}

export function batchIdOf(jobId: number): string {
  return `vsfb_${jobId}`
}

/** What each file came to the last time, by its id; the oldest first. @param attachments the newest first */
export function attachedFiles(
  attachments: readonly Attachment[],
): ReadonlyMap<string, AttachedFile> {
  const files = new Map<string, AttachedFile>()
  for (const attachment of attachments.toReversed()) {
    for (const file of filesOfAttachment(attachment)) {
      const earlier = files.get(file.id)
      const isAgain = earlier?.isAgain === true || earlier?.status === 'completed'
      // The last one is the newest of all.
      files.delete(file.id)
      files.set(file.id, { ...file, isAgain })
    }
  }
  return files
}

export function filesOfAttachment({ job, files, failed }: Attachment): readonly AttachedFile[] {
  const failures = new Map(job.errors.map(({ item, message }) => [item, message]))
  return files.map(({ id: fileId, attributes, preprocessing }, index) => {
    const id = attachedId(fileId)
    const isDone = index < job.progress.rows
    const failure = failures.get(id)
    const own = {
      id,
      attributes,
      preprocessing,
      jobId: job.id,
      createdAt: secondsOf(job.createdAt),
      isAgain: false,
    }
    if (failure !== undefined) return { ...own, status: 'failed', error: failure }
    if (failed.has(index)) return { ...own, status: 'failed', error: null }
    if (isDone || job.state === 'done') return { ...own, status: 'completed', error: null }
    if (!isOver(job)) return { ...own, status: 'in_progress', error: null }
    if (job.state === 'cancelled') return { ...own, status: 'cancelled', error: null }
    return { ...own, status: 'failed', error: job.error ?? 'The job failed' }
  })
}
