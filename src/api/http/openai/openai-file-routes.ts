/** OpenAI's `/v1/files`: uploaded files. */
import { type Static, t } from 'elysia'
import { mayName, type Principal, requireNamespace } from '../../../core/domain/access/principal.ts'
import { FILES_DATABASE } from '../../../core/domain/names.ts'
import { fileKey, type UploadedFile } from '../../../core/domain/uploaded-file.ts'
import { AppError } from '../../../core/errors.ts'
import { attachedId } from '../../../ingest/pipeline/attach-job.ts'
import { fileContentResponse } from '../answers/static-file.ts'
import { queryParameters, text } from '../bodies/query-parameters.ts'
import { type ReceivedFile, receivedFiles } from '../bodies/received-files.ts'
import type { RouteContext } from '../request/route-context.ts'
import { integer, oneOf } from '../request/schema-words.ts'
import { resource } from '../routes/operation.ts'
import { requireFileOfId } from './attached-files.ts'
import {
  deletedSchema,
  listSchema,
  PAGE_READING,
  pageOf,
  pageOrderOf,
  pageParameters,
  pageRecord,
  secondsOf,
} from './list-page.ts'

const FILES_PATH = '/v1/files'
const FILE_PATH = `${FILES_PATH}/:file_id` as const

const FILE_SCHEMA = t.Object({
  id: t.String(),
  object: t.Literal('file'),
  bytes: integer(),
  created_at: integer({ description: 'Seconds since 1970' }),
  filename: t.String(),
  purpose: t.Literal('assistants'),
  status: t.Literal('processed'),
  status_details: t.Null(),
  expires_at: t.Null(),
})

const PURPOSE = 'assistants'
const PURPOSES: ReadonlySet<string> = new Set([PURPOSE, 'user_data'])

const FILES_QUERY = queryParameters(
  {
    ...pageParameters({ unset: 10_000, max: 10_000 }),
    purpose: text({ description: 'Files with this purpose' }),
  },
  PAGE_READING,
)
const UPLOAD = t.Object({
  file: t.String({ format: 'binary', description: 'The file, with its name' }),
  purpose: oneOf([...PURPOSES], {
    description: '`assistants` or `user_data`; both have the same effect',
  }),
})

export const openAiFileOperations = resource('OpenAI', (api, context) => {
  const incoming = new IncomingNames()
  api.get(FILES_PATH, {
    id: 'listOpenaiFiles',
    summary: 'List uploaded files',
    query: FILES_QUERY,
    answers: { 200: ['A page of items', listSchema(FILE_SCHEMA)] },
    run({ request, query: { purpose = PURPOSE, ...sent } }) {
      requireFiles(context, request)
      const isOurs = PURPOSES.has(purpose)
      const files = isOurs ? context.snapshot().files.toSorted((a, b) => a.id - b.id) : []
      const order = pageOrderOf(sent)
      const page = pageOf(files, ({ id }) => attachedId(id), order)
      return pageRecord({ ...page, items: page.items.map(openAiFileRecord) })
    },
  })
  api.post(FILES_PATH, {
    id: 'createOpenaiFile',
    summary: 'Upload a file',
    description:
      'Send a form with the part `file` and the field `purpose` (`assistants` or `user_data`). Two files can have the same name; in SQL the second is `name (2)`. Unreadable files are refused.',
    takes: ['multipart/form-data'],
    form: UPLOAD,
    answers: {
      200: ['The file', FILE_SCHEMA],
      400: 'The file cannot be read, or a field is invalid',
    },
    async run({ request }) {
      requireFiles(context, request)
      return openAiFileRecord(await uploaded(context, request, incoming))
    },
  })
  const fileAt = (request: Request, id: string): UploadedFile => {
    requireFiles(context, request)
    return requireFileOfId(context.snapshot(), id)
  }
  api.get(FILE_PATH, {
    id: 'getOpenaiFile',
    summary: 'Get an uploaded file',
    answers: { 200: ['The file', FILE_SCHEMA] },
    run: ({ request, params }) => openAiFileRecord(fileAt(request, params.file_id)),
  })
  api.get(`${FILE_PATH}/content`, {
    id: 'getOpenaiFileContent',
    summary: 'Download an uploaded file',
    produces: 'application/octet-stream',
    answers: { 200: 'The file’s bytes' },
    run: ({ request, params }) =>
      fileContentResponse(context, request, fileAt(request, params.file_id)),
  })
  api.delete(FILE_PATH, {
    id: 'deleteOpenaiFile',
    summary: 'Delete an uploaded file and its documents in vector stores',
    answers: { 200: ['Deleted', deletedSchema('file')] },
    async run({ request, params, principal }) {
      const file = fileAt(request, params.file_id)
      await context.deps.dropFile(file)
      const id = attachedId(file.id)
      await detachEverywhere(context, principal, id)
      return { id, object: 'file', deleted: true }
    },
  })
})

/** Removes the file's documents from all knowledge bases the principal may use. */
async function detachEverywhere(
  { deps, snapshot }: RouteContext,
  principal: Principal,
  documentId: string,
): Promise<void> {
  for (const kb of snapshot().knowledgeBases) {
    if (!mayName(principal, kb.projectName)) continue
    await deps.documents.remove(kb, documentId).catch((error: unknown) => {
      const isGone = error instanceof AppError && GONE.has(error.code)
      if (!isGone) throw error
    })
  }
}

const GONE: ReadonlySet<string> = new Set(['document_not_found', 'knowledge_base_not_found'])

function requireFiles(context: RouteContext, request: Request): void {
  requireNamespace(context.scopeOf(request).principal, FILES_DATABASE)
}

/** @throws AppError `unsupported_media_type`, `missing_parameter`, those of an upload */
async function uploaded(
  context: RouteContext,
  request: Request,
  incoming: IncomingNames,
): Promise<UploadedFile> {
  const contentType = request.headers.get('content-type') ?? ''
  if (!/^multipart\/form-data\b/i.test(contentType)) {
    const message = 'Send the file as the part "file" of multipart/form-data'
    throw new AppError('unsupported_media_type', message)
  }
  const { fileBytes, uploadFiles, settings, dropFile } = context.deps
  return fileBytes.withFolder(async (folder) => {
    const { files, fields } = await receivedFiles(context, request, folder)
    const file = onlyFile(files)
    checkFields(fields)
    const { signal } = context.scopeOf(request)
    const taken = context.snapshot().files.map(({ name }) => name)
    return incoming.during(plainNameOf(file.sentName ?? 'file'), taken, async (name) => {
      const sentName = lastPart(file.sentName ?? name)
      const outcome = await uploadFiles(
        {
          name,
          files: [{ ...file, sentName }],
          fields: new Map(),
          folder,
          bytesMax: settings.fileBytesMax,
        },
        signal,
      )
      const [stored, ...others] = outcome.files
      if (stored !== undefined && others.length === 0 && !outcome.isList) return stored
      for (const member of outcome.files) await dropFile(member)
      const message = 'This ZIP contains other files: send each one separately'
      throw new AppError('file_unreadable', message, { param: 'file' })
    })
  })
}

function onlyFile(files: readonly ReceivedFile[]): ReceivedFile {
  const [file, ...others] = files
  if (file === undefined) {
    const message = 'Must provide the part "file", with a file name, in the form'
    throw new AppError('missing_parameter', message, { param: 'file' })
  }
  if (others.length === 0) return file
  const message = `Send one file at a time; there are ${files.length}`
  throw new AppError('invalid_request', message, { param: 'file' })
}

function checkFields(fields: ReadonlyMap<string, string>): void {
  const purpose = fields.get('purpose')
  if (purpose === undefined) {
    const message = 'Must provide the field "purpose" in the form: "assistants" or "user_data"'
    throw new AppError('missing_parameter', message, { param: 'purpose' })
  }
  if (!PURPOSES.has(purpose)) {
    const message = `Field "purpose" must be "assistants" or "user_data", not "${purpose.slice(0, 100)}": fine-tuning and batches are not supported`
    throw new AppError('invalid_request', message, { param: 'purpose' })
  }
  const expiry = [...fields.keys()].find((name) => name.startsWith('expires_after'))
  if (expiry === undefined) return
  const message = 'Files do not expire here: leave out "expires_after"'
  throw new AppError('invalid_request', message, { param: 'expires_after' })
}

const NAME_CHARS_MAX = 200

/** Makes a valid file name of any name that a client sends. */
function plainNameOf(sent: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it looks for control characters
  const plain = lastPart(sent.toWellFormed()).replaceAll(/[\u0000-\u001f\u007f-\u009f]+/gu, ' ')
  const chars = [...plain.normalize('NFC').trim()]
  // Keeps the end, because the extension tells the format.
  const short = chars.length > NAME_CHARS_MAX ? chars.slice(-NAME_CHARS_MAX) : chars
  const name = short.join('').trim()
  return /^\.*$/.test(name) ? 'file' : name
}

function lastPart(path: string): string {
  return path.split(/[/\\]/).at(-1) || 'file'
}

/** Names of files being added, so that two requests never choose the same one. */
class IncomingNames {
  readonly #chosen = new Set<string>()

  async during<T>(
    wanted: string,
    taken: readonly string[],
    use: (name: string) => Promise<T>,
  ): Promise<T> {
    const known = new Set([...taken.map(fileKey), ...this.#chosen])
    const name = freeName(wanted, known)
    const key = fileKey(name)
    this.#chosen.add(key)
    try {
      return await use(name)
    } finally {
      this.#chosen.delete(key)
    }
  }
}

/** Finds an unused name: `report.pdf`, `report (2).pdf`, … */
function freeName(wanted: string, known: ReadonlySet<string>): string {
  const dot = wanted.lastIndexOf('.')
  const [stem, ending] = dot > 0 ? [wanted.slice(0, dot), wanted.slice(dot)] : [wanted, '']
  for (let count = 1; ; count += 1) {
    const name = count === 1 ? wanted : `${stem} (${count})${ending}`
    if (!known.has(fileKey(name))) return name
  }
}

function openAiFileRecord(file: UploadedFile): Static<typeof FILE_SCHEMA> {
  return {
    id: attachedId(file.id),
    object: 'file',
    bytes: file.sizeBytes,
    created_at: secondsOf(file.createdAt),
    filename: file.originalName || file.name,
    purpose: PURPOSE,
    status: 'processed',
    status_details: null,
    expires_at: null,
  }
}
