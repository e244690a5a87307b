import { t } from 'elysia'
import { requireFile } from '../../../core/domain/access/catalog-snapshot.ts'
import { requireNamespace } from '../../../core/domain/access/principal.ts'
import { FILES_DATABASE } from '../../../core/domain/names.ts'
import type { UploadedFile } from '../../../core/domain/uploaded-file.ts'
import type { UploadOutcome } from '../../../ingest/pipeline/upload-files.ts'
import { FILE, FILE_LIST } from '../answers/records/server-schemas.ts'
import { fileContentResponse } from '../answers/static-file.ts'
import { fileRecord } from '../answers/wire.ts'
import { receivedFiles, UPLOAD_FORM, UPLOAD_QUERY, UPLOADS_FORM } from '../bodies/received-files.ts'
import type { RouteContext } from '../request/route-context.ts'
import { type At, resource } from './operation.ts'

const FILES_PATH = '/api/files'
const FILE_PATH = '/api/files/:file_name'

const READING_OPTIONS = 'Send options as query parameters or form fields.'

const SEVERAL = { 409: 'Add the extension: several files have this name' }

export const fileOperations = resource('Files', (api, context) => {
  const { deps } = context
  api.get(FILES_PATH, {
    id: 'listFiles',
    summary: 'List the files',
    answers: { 200: ['The files', t.Array(FILE)] },
    run: ({ snapshot }) => snapshot.files.map(fileRecord),
  })
  api.get(FILE_PATH, {
    id: 'getFile',
    summary: 'Get a file’s format, columns and warnings',
    answers: {
      200: ['The file', FILE],
      ...SEVERAL,
    },
    find: fileAt,
    run: ({ found: file }) => fileRecord(file),
  })
  api.put(FILE_PATH, {
    id: 'uploadFile',
    summary: 'Upload a file as a form part "file", as the body, or by URL',
    description: READING_OPTIONS,
    takes: ['multipart/form-data', 'application/octet-stream', 'application/json'],
    query: UPLOAD_QUERY,
    form: UPLOAD_FORM,
    answers: {
      200: [
        'The stored file; for a ZIP file, a list that includes unreadable members',
        t.Union([FILE, FILE_LIST]),
      ],
      400: 'The file cannot be read, or the name is already in use',
    },
    run: async ({ request, params: { file_name: name } }) =>
      outcomeRecord(await uploaded(context, request, name)),
  })
  api.post(FILES_PATH, {
    id: 'uploadFiles',
    summary: 'Upload several files',
    description: READING_OPTIONS,
    takes: ['multipart/form-data'],
    form: UPLOADS_FORM,
    answers: {
      201: ['The stored files and the unreadable ones', FILE_LIST],
      400: 'No file could be stored',
    },
    async run({ request, principal }) {
      requireNamespace(principal, FILES_DATABASE)
      const outcome = await uploaded(context, request, null)
      return listRecord(outcome)
    },
  })
  api.delete(FILE_PATH, {
    id: 'deleteFile',
    summary: 'Delete a file',
    answers: SEVERAL,
    find: fileAt,
    run: ({ found: file }) => deps.dropFile(file),
  })
  api.get(`${FILE_PATH}/content`, {
    id: 'downloadFile',
    summary: 'Download a file',
    produces: 'application/octet-stream',
    headers: { Range: 'A range of bytes: `bytes=0-1023`' },
    answers: {
      200: 'The file’s bytes',
      206: {
        description: 'The requested bytes',
        headers: { 'Content-Range': 'The range and the total size' },
      },
      416: 'The range is outside the file',
      ...SEVERAL,
    },
    find: fileAt,
    run: ({ request, found: file }) => fileContentResponse(context, request, file),
  })
})

function fileAt({ params, snapshot }: At<'file_name'>): UploadedFile {
  return requireFile(snapshot, params.file_name)
}

/** @param name null if each file keeps its own name */
function uploaded(
  context: RouteContext,
  request: Request,
  name: string | null,
): Promise<UploadOutcome> {
  const { fileBytes, uploadFiles, settings } = context.deps
  return fileBytes.withFolder(async (folder) => {
    const received = await receivedFiles(context, request, folder)
    const { signal } = context.scopeOf(request)
    return uploadFiles({ ...received, name, folder, bytesMax: settings.fileBytesMax }, signal)
  })
}

function outcomeRecord(outcome: UploadOutcome) {
  const [file, ...others] = outcome.files
  const isOne = file !== undefined && others.length === 0 && !outcome.isList
  return isOne ? fileRecord(file) : listRecord(outcome)
}

function listRecord({ files, failed, skipped }: UploadOutcome) {
  return { files: files.map(fileRecord), failed, skipped }
}
