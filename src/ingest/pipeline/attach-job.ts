/** Turns uploaded files into one document each, in the background and across restarts. */

import { requireJobTarget } from '../../core/domain/access/catalog-snapshot.ts'
import { type Row, shownValue } from '../../core/domain/document.ts'
import { INGEST_LIMITS } from '../../core/domain/flow/ingest-limits.ts'
import type { Job } from '../../core/domain/flow/job.ts'
import type { KnowledgeBase, Preprocessing } from '../../core/domain/knowledge-base.ts'
import type { JobDraft, JobWork } from '../../core/domain/ports/job-ports.ts'
import {
  isDocumentFormat,
  tablesOfFile,
  type UploadedFile,
} from '../../core/domain/uploaded-file.ts'
import { AppError, type ErrorCode, notFound, toAppError } from '../../core/errors.ts'
import { isObject } from '../../core/json.ts'
import { TimeSlice } from '../../core/runtime/serial-queue.ts'
import {
  columnMappingOf,
  documentRow,
  LAYOUT_COLUMN,
  rowText,
  textOf,
} from '../sources/document-of-row.ts'
import type { InsertDeps, StoredCounts } from '../sources/insert-request.ts'
import { storeRows } from './store-rows.ts'

export interface FileToAttach {
  readonly id: number
  /** Metadata of its document. */
  readonly attributes: Readonly<Record<string, string | number | boolean>>
  /** How to chunk it; null: as the knowledge base does. */
  readonly preprocessing: Preprocessing | null
}

export interface AttachRequest {
  readonly kb: KnowledgeBase
  readonly files: readonly FileToAttach[]
  /** Whether the files were sent together, and are read back together. */
  readonly isBatch: boolean
}

export interface Attachment extends Pick<AttachRequest, 'files' | 'isBatch'> {
  readonly job: Job
  /** Indexes of files that failed. The job itself keeps only the first messages. */
  readonly failed: ReadonlySet<number>
}

interface StoredAttach extends Pick<AttachRequest, 'files' | 'isBatch'> {
  readonly source: 'attach'
  /** The id, because a later knowledge base may have the same name. */
  readonly knowledgeBaseId: number
}

const TITLE = 'Attach '

export function attachJobOf({ kb, files, isBatch }: AttachRequest): JobDraft {
  const request: StoredAttach = { source: 'attach', knowledgeBaseId: kb.id, files, isBatch }
  const what = files.length === 1 ? '1 file' : `${files.length} files`
  const { projectName, name } = kb
  const title = `${TITLE}${what} to ${name}`
  return { kind: 'insert', projectName, knowledgeBase: name, title, request }
}

/** Whether the job may be an attach job. Only its request shows that for certain. */
export function mayBeAttachJob({ kind, title }: Pick<Job, 'kind' | 'title'>): boolean {
  return kind === 'insert' && title.startsWith(TITLE)
}

export function isStoredAttach(request: unknown): request is StoredAttach {
  return isObject(request) && request.source === 'attach'
}

/** Returns the indexes of failed files from a job's checkpoint. */
export function failedPlacesOf(checkpoint: unknown): readonly number[] {
  const failed = isObject(checkpoint) ? checkpoint.failed : []
  return Array.isArray(failed) ? failed.filter((place) => typeof place === 'number') : []
}

/** The id of the file's document, and of the file in OpenAI's API. */
export function attachedId(fileId: number): string {
  return `file-${fileId}`
}

/** @throws AppError, keeping the files stored before; `knowledge_base_not_found` */
export async function runAttachJob(
  work: JobWork,
  request: StoredAttach,
  deps: InsertDeps & AttachDeps,
  signal: AbortSignal,
): Promise<void> {
  const kb = requireJobTarget(deps.snapshot(), work.job, request.knowledgeBaseId)
  const { documents, chunks, rows: done } = work.job.progress
  const counts: StoredCounts = { storedDocuments: documents, chunks, skippedRows: 0, readRows: 0 }
  const failed = [...failedPlacesOf(work.checkpoint)]
  for (const [index, file] of request.files.entries()) {
    if (index < done) continue
    try {
      await attach({ kb, file, counts, onEmbedded: work.noteEmbedded }, deps, signal)
    } catch (error) {
      signal.throwIfAborted()
      const { code, message } = toAppError(error)
      if (!OF_ONE_FILE.has(code)) throw error
      work.leaveOut({ item: attachedId(file.id), message })
      failed.push(index)
    }
    const progress = { documents: counts.storedDocuments, chunks: counts.chunks }
    const total = request.files.length
    await work.mark({ progress: { rows: index + 1, ...progress, total }, checkpoint: { failed } })
  }
}

/** Failures that do not affect other files. */
const OF_ONE_FILE: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'file_not_found',
  'file_changed',
  'file_unreadable',
  'insert_failed',
  'out_of_memory',
])

export interface AttachDeps {
  readonly removal: {
    removeDocuments(kb: KnowledgeBase, ids: readonly string[]): Promise<number>
  }
}

async function attach(
  {
    kb,
    file: { id, attributes, preprocessing },
    counts,
    onEmbedded,
  }: {
    readonly kb: KnowledgeBase
    readonly file: FileToAttach
    readonly counts: StoredCounts
    readonly onEmbedded: (chunkCount: number) => void
  },
  deps: InsertDeps & AttachDeps,
  signal: AbortSignal,
): Promise<void> {
  const find = () => deps.snapshot().files.find((file) => file.id === id)
  const file = find()
  if (file === undefined) throw notFound('file', attachedId(id))
  const { content, columns } = await wholeText(file, deps, signal)
  if (content.trim() === '') throw new AppError('file_unreadable', 'The file holds no text')
  const filename = file.originalName || file.name
  const known = { title: null, format: file.format, ...columns, filename, ...attributes }
  const mapping = columnMappingOf(kb)
  const row = documentRow({ id: attachedId(id), content, columns: known }, mapping)
  const cut = preprocessing === null ? kb : { ...kb, preprocessing }
  const target = { kb: cut, source: filename, rows: [row], isUnbounded: true, counts }
  await storeRows(target, deps, signal, { onEmbedded })
  if (find() !== undefined) return
  // A document that was deleted in the meantime needs no removal.
  await deps.removal.removeDocuments(kb, [attachedId(id)])
  throw notFound('file', attachedId(id))
}

/** Larger files should be added row by row. */
const TEXT_CHARS_MAX = 50_000_000

/** Joins all texts or rows of the file. A single text keeps its metadata. */
async function wholeText(
  file: UploadedFile,
  deps: Pick<InsertDeps, 'files'>,
  signal: AbortSignal,
): Promise<{ readonly content: string; readonly columns: Row }> {
  const slice = new TimeSlice(INGEST_LIMITS.loopSliceMs)
  const isDocument = isDocumentFormat(file.format)
  const isSingle = isDocument && file.rowCount === 1
  const texts: string[] = []
  let columns: Row = {}
  let chars = 0
  for (const table of tablesOfFile(file)) {
    for await (const row of deps.files.rows(table, signal)) {
      const { id: _, content = null, links: __, [LAYOUT_COLUMN]: layout = null, ...others } = row
      const text = isDocument ? textOf(content) : rowText(row)
      if (isSingle) columns = { ...others, [LAYOUT_COLUMN]: shownValue(layout) }
      texts.push(text)
      chars += text.length
      if (chars > TEXT_CHARS_MAX) {
        const what = `The file has more than ${TEXT_CHARS_MAX} characters, too many for one document`
        throw new AppError('file_unreadable', `${what}; insert its rows into the knowledge base`)
      }
      await slice.yieldIfSpent(signal)
    }
  }
  return { content: texts.join(isDocument ? '\n\n' : '\n'), columns }
}
