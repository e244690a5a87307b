/** Uploaded files by the ids that OpenAI's API gives them. */

import type { CatalogSnapshot } from '../../../core/domain/access/catalog-snapshot.ts'
import { mayName, type Principal } from '../../../core/domain/access/principal.ts'
import { FILES_DATABASE } from '../../../core/domain/project.ts'
import type { UploadedFile } from '../../../core/domain/uploaded-file.ts'
import { AppError } from '../../../core/errors.ts'
import { attachedId, type FileToAttach } from '../../../ingest/pipeline/attach-job.ts'

/** Of one request, as in OpenAI's API. */
export const SENT_FILES_MAX = 500

/** null: no such file. */
export function findFileOfId(snapshot: CatalogSnapshot, id: string): UploadedFile | null {
  return snapshot.files.find((file) => attachedId(file.id) === id) ?? null
}

/** What the file of a document is called; null: there is none, or the principal may not name files. */
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

/** Each once. @throws AppError `file_not_found` */
export function filesToAttach(
  snapshot: CatalogSnapshot,
  ids: readonly string[],
  how: HowToAttach = AS_THEY_ARE,
): readonly FileToAttach[] {
  return [...new Set(ids)].map((id) => {
    return { id: requireFileOfId(snapshot, id, 'file_ids').id, ...how }
  })
}
