import { t } from 'elysia'
import { requireFile } from '../../../../core/domain/access/catalog-snapshot.ts'
import { requireNamespace } from '../../../../core/domain/access/principal.ts'
import { FILES_DATABASE } from '../../../../core/domain/project.ts'
import type { UploadOutcome } from '../../../../ingest/pipeline/upload-files.ts'
import { fileContentResponse } from '../../answers/file-content.ts'
import { FILE, FILE_LIST } from '../../answers/records/server-schemas.ts'
import { fileRecord } from '../../answers/wire.ts'
import { receivedFiles } from '../../bodies/received-files.ts'
import { UPLOAD_FORM, UPLOAD_QUERY, UPLOADS_FORM } from '../../bodies/upload-fields.ts'
import { route } from '../../openapi/openapi.ts'
import type { AddRoutes, RouteContext } from '../../request/route-context.ts'

const ALL = '/api/files'
const ONE = '/api/files/:file_name'

const tag = 'Files'
const OPTIONS = 'What is said about a file is a query parameter, or a field of the form.'

const missing = { 404: 'No such file', 409: 'Several files have that name without its ending' }

export const addFileRoutes: AddRoutes = (app, context) => {
  const { deps } = context
  app.get(
    ALL,
    ({ request }) => Response.json(context.snapshotFor(request).files.map(fileRecord)),
    route({
      needs: 'read',
      id: 'listFiles',
      summary: 'List the files',
      tag,
      answers: { 200: { description: 'The files', schema: t.Array(FILE) } },
    }),
  )
  app.get(
    ONE,
    ({ params }) => Response.json(fileRecord(requireFile(context.snapshot(), params.file_name))),
    route({
      needs: 'read',
      id: 'getFile',
      summary: 'Get the description of a file',
      tag,
      answers: {
        200: {
          description: 'What was recognised in the file, and what was not read of it',
          schema: FILE,
        },
        ...missing,
      },
    }),
  )
  app.put(
    ONE,
    async ({ request, params: { file_name: name } }) => {
      return Response.json(outcomeRecord(await uploaded(context, request, name)))
    },
    route({
      needs: 'write',
      id: 'uploadFile',
      summary: 'Upload a file: as the part "file" of a form, as the body itself, or by its address',
      takes: ['multipart/form-data', 'application/octet-stream', 'application/json'],
      query: UPLOAD_QUERY,
      form: UPLOAD_FORM,
      description: OPTIONS,
      tag,
      answers: {
        200: {
          description: 'What was stored; of a ZIP file a list, with what of it could not be read',
          schema: t.Union([FILE, FILE_LIST]),
        },
        400: 'The file cannot be read, or the name is already in use',
        413: 'More than EIDER_FILE_BYTES_MAX',
      },
    }),
  )
  app.post(
    ALL,
    async ({ request }) => {
      requireNamespace(context.scopeOf(request).principal, FILES_DATABASE)
      const outcome = await uploaded(context, request, null)
      return Response.json(listRecord(outcome), { status: 201 })
    },
    route({
      needs: 'write',
      id: 'uploadFiles',
      summary: 'Upload the files of a form, each under its own name',
      takes: ['multipart/form-data'],
      form: UPLOADS_FORM,
      description: OPTIONS,
      tag,
      answers: {
        201: { description: 'What was stored, and what could not be read', schema: FILE_LIST },
        400: 'None of them could be stored',
        413: 'More than EIDER_FILE_BYTES_MAX',
      },
    }),
  )
  app.delete(
    ONE,
    async ({ params }) => {
      await deps.dropFile(requireFile(context.snapshot(), params.file_name))
      return new Response(null, { status: 204 })
    },
    route({
      needs: 'write',
      id: 'deleteFile',
      summary: 'Delete a file',
      tag,
      answers: { 204: 'Deleted', ...missing },
    }),
  )
  app.get(
    `${ONE}/content`,
    ({ request, params }) => {
      const file = requireFile(context.snapshot(), params.file_name)
      return fileContentResponse(context, request, file)
    },
    route({
      needs: 'read',
      id: 'downloadFile',
      summary: 'Get a file as it was sent',
      tag,
      produces: 'application/octet-stream',
      headers: { Range: 'Some of the bytes only: `bytes=0-1023`' },
      answers: {
        200: 'Its bytes',
        206: {
          description: 'The bytes that Range names',
          headers: { 'Content-Range': 'Which bytes of how many they are' },
        },
        416: 'The file has no such bytes',
        ...missing,
      },
    }),
  )
}

/** @param name null: each file has the one that it was sent under */
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

/** One file as itself. */
function outcomeRecord(outcome: UploadOutcome) {
  const [file, ...others] = outcome.files
  const isOne = file !== undefined && others.length === 0 && !outcome.isList
  return isOne ? fileRecord(file) : listRecord(outcome)
}

function listRecord({ files, failed, skipped }: UploadOutcome) {
  return { files: files.map(fileRecord), failed, skipped }
}
