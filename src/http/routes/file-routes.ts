import { requireFile } from '../../domain/catalog-snapshot.ts'
import { AppError } from '../../errors.ts'
import type { FileUpload } from '../../ingest/upload-file.ts'
import { isJsonType, readBody } from '../body.ts'
import { parseJson } from '../json-text.ts'
import { route } from '../openapi.ts'
import type { AddRoutes } from '../route-context.ts'
import { fileRecord } from '../wire.ts'

const ONE = '/api/files/:file_name'

const tag = 'Files'
const missing = { 404: 'No such file' }

export const addFileRoutes: AddRoutes = (app, context) => {
  const { deps } = context
  app.get(
    '/api/files',
    () => Response.json(context.snapshot().files.map(fileRecord)),
    route({ summary: 'List the files', tag, answers: { 200: 'The files' } }),
  )
  app.get(
    ONE,
    ({ params }) => Response.json(fileRecord(requireFile(context.snapshot(), params.file_name))),
    route({
      summary: 'Get the description of a file',
      tag,
      answers: { 200: 'The description of the file', ...missing },
    }),
  )
  app.put(
    ONE,
    async ({ request, params: { file_name: name } }) => {
      const sentName = new URL(request.url).searchParams.get('original_file_name')
      const bytes = await readBody(context, request)
      const { signal } = context.scopeOf(request)
      const file = await uploadedFile({ request, bytes, fallbackName: sentName || name }, signal)
      await deps.uploadFile({ name, ...file }, signal)
      return Response.json('')
    },
    route({
      summary: 'Upload a file, as the part "file" of a form or as the body itself',
      tag,
      answers: {
        200: 'Stored; an empty JSON string',
        400: 'The file cannot be read, or the name is already in use',
      },
    }),
  )
  app.delete(
    ONE,
    async ({ params }) => {
      await deps.dropFile(requireFile(context.snapshot(), params.file_name))
      return new Response(null, { status: 204 })
    },
    route({ summary: 'Delete a file', tag, answers: { 204: 'Deleted', ...missing } }),
  )
}

type NamelessFile = Omit<FileUpload, 'name'>

interface UploadBody {
  readonly request: Request
  readonly bytes: Uint8Array<ArrayBuffer>
  /** Where the form does not name the file. */
  readonly fallbackName: string
}

/**
 * The file in a body: the part `file` of a form, or else the body itself.
 * @throws AppError `missing_parameter` for a form without a file, `invalid_request` for one that
 * cannot be read or for an upload by address
 */
async function uploadedFile(
  { request, bytes, fallbackName }: UploadBody,
  signal: AbortSignal,
): Promise<NamelessFile> {
  const contentType = request.headers.get('content-type') ?? ''
  if (/^multipart\/form-data\b/i.test(contentType)) {
    return formFile(await formOf(bytes, contentType), fallbackName)
  }
  if (isJsonType(contentType)) await refuseAddress(bytes, signal)
  return { originalName: fallbackName, bytes }
}

type Form = Awaited<ReturnType<Response['formData']>>

async function formOf(bytes: Uint8Array<ArrayBuffer>, contentType: string): Promise<Form> {
  try {
    return await new Response(bytes, { headers: { 'content-type': contentType } }).formData()
  } catch (cause) {
    const message = 'The body is not valid multipart/form-data'
    throw new AppError('invalid_request', message, { cause })
  }
}

async function formFile(form: Form, fallbackName: string): Promise<NamelessFile> {
  const file = form.get('file')
  if (file === null || typeof file === 'string') {
    if (form.get('source_type') === 'url') throw noAddresses()
    throw new AppError('missing_parameter', 'Must provide the part "file" in the form')
  }
  const given = form.get('original_file_name')
  const named = typeof given === 'string' && given !== '' ? given : file.name
  return { originalName: named || fallbackName, bytes: new Uint8Array(await file.arrayBuffer()) }
}

/** `{"source_type": "url", …}` asks the server to fetch the file; any other JSON is a file itself. */
async function refuseAddress(bytes: Uint8Array, signal: AbortSignal): Promise<void> {
  const head = new TextDecoder().decode(bytes.subarray(0, 4096))
  if (!/^\s*\{/.test(head) || !head.includes('"source_type"')) return
  const value = await parseJson(bytes, signal)
  const isAddress = typeof value === 'object' && value !== null && 'source_type' in value
  if (isAddress && value.source_type === 'url') throw noAddresses()
}

function noAddresses(): AppError {
  const instead = 'send its bytes, or insert "urls" into a knowledge base'
  return new AppError('invalid_request', `A file cannot be uploaded by its address; ${instead}`)
}
