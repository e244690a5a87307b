/** Files being added to a vector store, and those that failed. */
import { t } from 'elysia'
import type { CatalogSnapshot } from '../../../core/domain/access/catalog-snapshot.ts'
import { mayName, type Principal } from '../../../core/domain/access/principal.ts'
import { isOver } from '../../../core/domain/flow/job.ts'
import type { Preprocessing } from '../../../core/domain/knowledge-base.ts'
import { FILES_DATABASE } from '../../../core/domain/names.ts'
import type { UploadedFile } from '../../../core/domain/uploaded-file.ts'
import { AppError } from '../../../core/errors.ts'
import {
  type Attachment,
  attachedId,
  type FileToAttach,
} from '../../../ingest/pipeline/attach-job.ts'
import { integer } from '../request/schema-words.ts'
import type { Attributes } from './attributes.ts'
import { secondsOf } from './list-page.ts'

export const FILE_STATUSES = ['in_progress', 'completed', 'cancelled', 'failed'] as const
export const FILE_STATUS = t.Union(FILE_STATUSES.map((status) => t.Literal(status)))
export const FILE_COUNTS = {
  in_progress: integer(),
  completed: integer(),
  failed: integer(),
  cancelled: integer(),
  total: integer(),
}

/** How many files have each status. */
export function fileCounts(files: Iterable<AttachedFile>) {
  const counts = { in_progress: 0, completed: 0, failed: 0, cancelled: 0 }
  for (const { status } of files) counts[status] += 1
  return counts
}

export interface AttachedFile {
  /** For example `file-12`. */
  readonly id: string
  readonly status: (typeof FILE_STATUSES)[number]
  readonly error: string | null
  /** Seconds since 1970. */
  readonly createdAt: number
  readonly attributes: Attributes
  readonly preprocessing: Preprocessing | null
  readonly jobId: number
  /** Whether the file was attached before, so that it may already be a document. */
  readonly isAgain: boolean
}

export function batchIdOf(jobId: number): string {
  return `vsfb_${jobId}`
}

/** The latest outcome for each file id, oldest first. @param attachments newest first */
export function attachedFiles(
  attachments: readonly Attachment[],
): ReadonlyMap<string, AttachedFile> {
  const files = new Map<string, AttachedFile>()
  for (const attachment of attachments.toReversed()) {
    for (const file of filesOfAttachment(attachment)) {
      const earlier = files.get(file.id)
      const isAgain = earlier?.isAgain === true || earlier?.status === 'completed'
      // Re-inserted at the end, because the latest attachment is the newest.
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

/** The limit for one request, as in OpenAI's API. */
export const SENT_FILES_MAX = 500

export function findFileOfId(snapshot: CatalogSnapshot, id: string): UploadedFile | null {
  return snapshot.files.find((file) => attachedId(file.id) === id) ?? null
}

/** The file name of a document; null if it has none or the principal may not use files. */
export function filenameFor(
  principal: Principal,
  snapshot: CatalogSnapshot,
  id: string,
): string | null {
  const file = mayName(principal, FILES_DATABASE) ? findFileOfId(snapshot, id) : null
  return file === null ? null : file.originalName || file.name
}

/** @throws AppError `file_not_found` */
export function requireFileOfId(
  snapshot: CatalogSnapshot,
  id: string,
  param: 'file_id' | 'file_ids' = 'file_id',
): UploadedFile {
  const file = findFileOfId(snapshot, id)
  if (file !== null) return file
  const message = `No file has the id "${id.slice(0, 200)}"; GET /v1/files lists them`
  throw new AppError('file_not_found', message, { param })
}

type HowToAttach = Pick<FileToAttach, 'attributes' | 'preprocessing'>

const AS_THEY_ARE: HowToAttach = { attributes: {}, preprocessing: null }

/** The files without repetitions. @throws AppError `file_not_found` */
export function filesToAttach(
  snapshot: CatalogSnapshot,
  ids: readonly string[],
  how: HowToAttach = AS_THEY_ARE,
): readonly FileToAttach[] {
  return [...new Set(ids)].map((id) => {
    return { id: requireFileOfId(snapshot, id, 'file_ids').id, ...how }
  })
}
