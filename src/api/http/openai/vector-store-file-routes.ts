/** Files of OpenAI's vector stores, which are documents of knowledge bases. */
import { type Static, t } from 'elysia'
import { requireNamespace, requireScope } from '../../../core/domain/access/principal.ts'
import type { Row } from '../../../core/domain/document.ts'
import type { KnowledgeBase } from '../../../core/domain/knowledge-base.ts'
import { FILES_DATABASE } from '../../../core/domain/names.ts'
import { AppError, hasCode } from '../../../core/errors.ts'
import type { Attachment } from '../../../ingest/pipeline/attach-job.ts'
import { preprocessingOf } from '../../../query/definitions/preprocessing-fields.ts'
import { bodySchema } from '../bodies/body.ts'
import { choice, queryParameters } from '../bodies/query-parameters.ts'
import { maybe, open, orNull } from '../request/schema-words.ts'
import { resource } from '../routes/operation.ts'
import { attachedFiles, batchIdOf, FILE_STATUSES, requireFileOfId } from './attached-files.ts'
import { ATTRIBUTES_SCHEMA, checkedAttributes } from './attributes.ts'
import {
  deletedSchema,
  listSchema,
  PAGE_READING,
  POLL_AGAIN,
  pageOrderOf,
  pageParameters,
  pageRecord,
  wholePage,
} from './list-page.ts'
import {
  attachedRecord,
  noSuchFile,
  STORE_FILE_SCHEMA,
  storeFile,
  storeFilesPage,
} from './store-files.ts'
import { CHUNKING_SCHEMA, preprocessingFieldOf, storeAt } from './store-record.ts'

const STORE_FILES_PATH = '/v1/vector_stores/:vector_store_id/files'
const STORE_FILE_PATH = `${STORE_FILES_PATH}/:file_id` as const

const ATTACH = bodySchema(
  open({
    file_id: t.String(),
    attributes: maybe(ATTRIBUTES_SCHEMA),
    chunking_strategy: maybe(CHUNKING_SCHEMA),
  }),
)
const UPDATE = bodySchema(open({ attributes: orNull(ATTRIBUTES_SCHEMA) }))

const CONTENT = t.Object({
  object: t.Literal('vector_store.file_content.page'),
  data: t.Array(t.Object({ type: t.Literal('text'), text: t.String() })),
  has_more: t.Literal(false),
  next_page: t.Null(),
})

export const vectorStoreFileOperations = resource('OpenAI', (api, context) => {
  api.get(STORE_FILES_PATH, {
    id: 'listVectorStoreFiles',
    summary: 'List a vector store’s files, which are the knowledge base’s documents',
    query: STORE_FILES_QUERY,
    find: storeAt,
    answers: { 200: ['A page of items', listSchema(STORE_FILE_SCHEMA)] },
    async run({ query: sent, signal, found: kb }) {
      const order = { kb, status: sent.filter ?? null, order: pageOrderOf(sent) }
      return pageRecord(await storeFilesPage(context, order, signal))
    },
  })
  api.post(STORE_FILES_PATH, {
    id: 'createVectorStoreFile',
    summary: 'Attach an uploaded file to a vector store',
    description:
      'Adds the file in the background, as one document with the file’s id. Get the file to see its status.',
    find: readableFilesAt,
    body: ATTACH,
    answers: { 200: ['The file, in progress', STORE_FILE_SCHEMA], 400: 'A field is invalid' },
    async run({ body: sent, found: kb }) {
      const { id } = requireFileOfId(context.snapshot(), sent.file_id)
      const files = [{ id, ...howToAttach(kb, sent) }]
      const attachment = await context.deps.attachments.attach({ kb, files, isBatch: false })
      const [file] = attachedFiles([attachment]).values()
      if (file === undefined) throw noSuchFile(sent.file_id)
      return attachedRecord(kb, file)
    },
  })
  const { documents, attachments, jobs } = context.deps
  api.get(STORE_FILE_PATH, {
    id: 'getVectorStoreFile',
    summary: 'Get a vector store’s file',
    find: storeAt,
    answers: { 200: ['The file', STORE_FILE_SCHEMA] },
    async run({ params, signal, found: kb }) {
      return Response.json(await storeFile(context, kb, params.file_id, signal), POLL_AGAIN)
    },
  })
  api.post(STORE_FILE_PATH, {
    id: 'updateVectorStoreFile',
    summary: 'Replace the attributes of a vector store’s file',
    find: storeAt,
    body: UPDATE,
    answers: { 200: ['The file', STORE_FILE_SCHEMA], 400: 'A field is invalid' },
    async run({ params, body: sent, signal, principal, found: kb }) {
      // Required because the answer shows more about the file than the caller sent.
      requireScope(principal, 'read')
      const attributes = checkedAttributes(kb, sent.attributes)
      const { attributes: known } = await storeFile(context, kb, params.file_id, signal)
      // Replaces the existing attributes; metadata from the file itself is kept.
      const gone = Object.keys(known).filter((key) => !OWN.has(key) && !(key in attributes))
      const removed = Object.fromEntries(gone.map((key) => [key, null]))
      const metadata: Row = { ...removed, ...attributes }
      await documents.patch(kb, { id: params.file_id, metadata })
      return await storeFile(context, kb, params.file_id, signal)
    },
  })
  api.delete(STORE_FILE_PATH, {
    id: 'deleteVectorStoreFile',
    summary: 'Detach a file from a vector store; the uploaded file is kept',
    find: storeAt,
    answers: {
      200: ['Detached', deletedSchema('vector_store.file.deleted')],
      409: 'The file is still being attached',
    },
    async run({ params, found: kb }) {
      const { file_id: id } = params
      const attached = attachedFiles(await attachments.of(kb)).get(id)
      const attachment = (await attachments.of(kb)).find(({ job }) => job.id === attached?.jobId)
      const isAlone = attachment?.files.length === 1
      if (attachment !== undefined && attached?.status === 'in_progress' && !isAlone) {
        throw comesWithOthers(attachment)
      }
      const isKnown = attached !== undefined && attached.status !== 'completed'
      if (isKnown && isAlone) {
        // A finished file is a document by now; a failed one may still have a running job.
        await jobs.cancel(attached.jobId).catch(ignoreState)
        await jobs.remove(attached.jobId).catch(ignoreState)
      }
      await documents.remove(kb, id).catch((error: unknown) => {
        if (!hasCode(error, 'document_not_found')) throw error
        if (!isKnown) throw noSuchFile(id)
      })
      return { id, object: 'vector_store.file.deleted', deleted: true }
    },
  })
  api.get(`${STORE_FILE_PATH}/content`, {
    id: 'getVectorStoreFileContent',
    summary: 'Get the text of a vector store’s file',
    find: storeAt,
    answers: { 200: ['The text', CONTENT] },
    async run({ params, signal, found: kb }) {
      const { texts } = await documents.read(kb, params.file_id, signal)
      const data = texts.map(({ text }) => ({ type: 'text', text }))
      return wholePage('vector_store.file_content.page', data)
    },
  })
})

/** @throws AppError `forbidden`, because attaching a file makes it readable in the vector store */
export function readableFilesAt(place: Parameters<typeof storeAt>[0]): KnowledgeBase {
  const { principal } = place
  const kb = storeAt(place)
  requireScope(principal, 'read')
  requireNamespace(principal, FILES_DATABASE)
  return kb
}

/** Reads how files are attached. @throws AppError `invalid_request` */
export function howToAttach(
  kb: KnowledgeBase,
  sent: {
    readonly attributes?: Readonly<Record<string, unknown>> | null
    readonly chunking_strategy?: Static<typeof CHUNKING_SCHEMA> | null
  },
) {
  const preprocessing = preprocessingFieldOf(sent.chunking_strategy)
  return {
    attributes: checkedAttributes(kb, sent.attributes),
    preprocessing: preprocessing === null ? null : preprocessingOf(preprocessing),
  }
}

export const STORE_FILES_QUERY = queryParameters(
  { ...pageParameters(), filter: choice(FILE_STATUSES, { description: 'Files with this status' }) },
  PAGE_READING,
)

/** If it were removed while its batch runs, the batch would add it again. */
function comesWithOthers({ job, isBatch }: Attachment): AppError {
  const which = isBatch ? `the batch ${batchIdOf(job.id)}` : `the job ${job.id}`
  const message = `The file is being added by ${which}: wait for that, or cancel it`
  return new AppError('job_state', message)
}

/** Metadata that comes from the file itself. */
const OWN: ReadonlySet<string> = new Set(['title', 'format', 'filename'])

/** Jobs that have ended by now or are gone. */
export function ignoreState(error: unknown): void {
  const isState = error instanceof AppError && ['job_state', 'job_not_found'].includes(error.code)
  if (!isState) throw error
}
