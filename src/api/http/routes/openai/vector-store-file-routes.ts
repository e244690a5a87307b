/** Files of OpenAI's vector stores: documents of knowledge bases. */
import { type Static, t } from 'elysia'
import { requireNamespace, requireScope } from '../../../../core/domain/access/principal.ts'
import type { Row } from '../../../../core/domain/document.ts'
import type { KnowledgeBase } from '../../../../core/domain/knowledge-base.ts'
import { FILES_DATABASE } from '../../../../core/domain/project.ts'
import { AppError } from '../../../../core/errors.ts'
import type { Attachment } from '../../../../ingest/pipeline/attach-job.ts'
import { preprocessingOf } from '../../../../query/definitions/preprocessing-fields.ts'
import { bodySchema, readJson } from '../../bodies/body.ts'
import { choice, queryParameters } from '../../bodies/query-parameters.ts'
import { attachedFiles, batchIdOf, FILE_STATUSES } from '../../openai/attached-files.ts'
import { ATTRIBUTES_SCHEMA, checkedAttributes } from '../../openai/attributes.ts'
import { OPEN } from '../../openai/chat-request.ts'
import { filesToAttach } from '../../openai/files-to-attach.ts'
import {
  listSchema,
  PAGE_READING,
  POLL_AGAIN,
  pageOrderOf,
  pageParameters,
  pageRecord,
} from '../../openai/list-page.ts'
import {
  attachedRecord,
  noSuchFile,
  STORE_FILE_SCHEMA,
  storeFile,
  storeFilesPage,
} from '../../openai/store-files.ts'
import { CHUNKING_SCHEMA, preprocessingFieldOf, requireStore } from '../../openai/store-record.ts'
import { route } from '../../openapi/openapi.ts'
import type { AddRoutes, RouteContext } from '../../request/route-context.ts'

const ALL = '/v1/vector_stores/:vector_store_id/files'
const ONE = `${ALL}/:file_id` as const

const ATTACH = bodySchema(
  t.Object(
    {
      file_id: t.String(),
      attributes: t.Optional(t.Union([ATTRIBUTES_SCHEMA, t.Null()])),
      chunking_strategy: t.Optional(t.Union([CHUNKING_SCHEMA, t.Null()])),
    },
    OPEN,
  ),
)
const UPDATE = bodySchema(t.Object({ attributes: t.Union([ATTRIBUTES_SCHEMA, t.Null()]) }, OPEN))

const CONTENT = t.Object({
  object: t.Literal('vector_store.file_content.page'),
  data: t.Array(t.Object({ type: t.Literal('text'), text: t.String() })),
  has_more: t.Literal(false),
  next_page: t.Null(),
})
const DELETED = t.Object({
  id: t.String(),
  object: t.Literal('vector_store.file.deleted'),
  deleted: t.Literal(true),
})

const tag = 'OpenAI'
const missing = { 404: 'No such vector store or file' }

export const addVectorStoreFileRoutes: AddRoutes = (app, context) => {
  addListRoutes(app, context)
  addOneRoutes(app, context)
}

/** The knowledge base that a path names. @throws AppError `forbidden`, `knowledge_base_not_found` */
export function storeAt(
  context: RouteContext,
  request: Request,
  { vector_store_id: id }: { readonly vector_store_id: string },
): KnowledgeBase {
  return requireStore(context.snapshot(), context.scopeOf(request).principal, id)
}

/** @throws AppError `forbidden`: whoever attaches a file makes it readable in the vector store */
export function requireReadableFiles(context: RouteContext, request: Request): void {
  const { principal } = context.scopeOf(request)
  requireScope(principal, 'read')
  requireNamespace(principal, FILES_DATABASE)
}

/** How files are attached. @throws AppError `invalid_request` */
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

const LIST = queryParameters(
  { ...pageParameters(), filter: choice(FILE_STATUSES, { description: 'Those of a status' }) },
  PAGE_READING,
)

const addListRoutes: AddRoutes = (app, context) => {
  app.get(
    ALL,
    async ({ request, params }) => {
      const kb = storeAt(context, request, params)
      const sent = LIST.read(request)
      const { signal } = context.scopeOf(request)
      const order = { kb, status: sent.filter ?? null, order: pageOrderOf(sent) }
      return Response.json(pageRecord(await storeFilesPage(context, order, signal)))
    },
    route({
      needs: 'read',
      id: 'listVectorStoreFiles',
      summary: 'List the files of a vector store: the documents of the knowledge base',
      query: LIST,
      tag,
      answers: {
        200: { description: 'Those of the page', schema: listSchema(STORE_FILE_SCHEMA) },
        ...missing,
      },
    }),
  )
  app.post(
    ALL,
    async ({ request, params }) => {
      storeAt(context, request, params)
      requireReadableFiles(context, request)
      const sent = await readJson(context, request, ATTACH)
      const kb = storeAt(context, request, params)
      const files = filesToAttach(context.snapshot(), [sent.file_id], howToAttach(kb, sent))
      const attachment = await context.deps.attachments.attach({ kb, files, isBatch: false })
      const [file] = attachedFiles([attachment]).values()
      if (file === undefined) throw noSuchFile(sent.file_id)
      return Response.json(attachedRecord(kb, file))
    },
    route({
      needs: 'write',
      id: 'createVectorStoreFile',
      summary: 'Attach an uploaded file to a vector store',
      description:
        'The file becomes one document, whose id is that of the file, in the background: get it to see whether it is there.',
      tag,
      body: ATTACH,
      answers: {
        200: { description: 'The file, on its way', schema: STORE_FILE_SCHEMA },
        400: 'A field is wrong',
        ...missing,
      },
    }),
  )
}

const addOneRoutes: AddRoutes = (app, context) => {
  const { documents, attachments, jobs } = context.deps
  app.get(
    ONE,
    async ({ request, params }) => {
      const kb = storeAt(context, request, params)
      const { signal } = context.scopeOf(request)
      return Response.json(await storeFile(context, kb, params.file_id, signal), POLL_AGAIN)
    },
    route({
      needs: 'read',
      id: 'getVectorStoreFile',
      summary: 'Get a file of a vector store',
      tag,
      answers: { 200: { description: 'The file', schema: STORE_FILE_SCHEMA }, ...missing },
    }),
  )
  app.post(
    ONE,
    async ({ request, params }) => {
      storeAt(context, request, params)
      // Its answer tells what else is known of the file.
      requireScope(context.scopeOf(request).principal, 'read')
      const sent = await readJson(context, request, UPDATE)
      const kb = storeAt(context, request, params)
      const { signal } = context.scopeOf(request)
      const attributes = checkedAttributes(kb, sent.attributes)
      const { attributes: known } = await storeFile(context, kb, params.file_id, signal)
      // They take the place of those there are; what the file says of itself stays.
      const gone = Object.keys(known).filter((key) => !OWN.has(key) && !(key in attributes))
      const removed = Object.fromEntries(gone.map((key) => [key, null]))
      const metadata: Row = { ...removed, ...attributes }
      await documents.patch(kb, { id: params.file_id, metadata })
      return Response.json(await storeFile(context, kb, params.file_id, signal))
    },
    route({
      needs: 'write',
      id: 'updateVectorStoreFile',
      summary: 'Replace the attributes of a file of a vector store',
      tag,
      body: UPDATE,
      answers: {
        200: { description: 'The file', schema: STORE_FILE_SCHEMA },
        400: 'A field is wrong',
        ...missing,
      },
    }),
  )
  app.delete(
    ONE,
    async ({ request, params }) => {
      const kb = storeAt(context, request, params)
      const { file_id: id } = params
      const attached = attachedFiles(await attachments.of(kb)).get(id)
      const attachment = (await attachments.of(kb)).find(({ job }) => job.id === attached?.jobId)
      const isAlone = attachment?.files.length === 1
      if (attachment !== undefined && attached?.status === 'in_progress' && !isAlone) {
        throw comesWithOthers(attachment)
      }
      const isKnown = attached !== undefined && attached.status !== 'completed'
      if (isKnown && isAlone) {
        // One that ended meanwhile is a document now. One whose file has failed may not have ended yet.
        await jobs.cancel(attached.jobId).catch(ignoreState)
        await jobs.remove(attached.jobId).catch(ignoreState)
      }
      await documents.remove(kb, id).catch((error: unknown) => {
        const isMissing = error instanceof AppError && error.code === 'document_not_found'
        if (!isMissing) throw error
        if (!isKnown) throw noSuchFile(id)
      })
      return Response.json({ id, object: 'vector_store.file.deleted', deleted: true })
    },
    route({
      needs: 'write',
      id: 'deleteVectorStoreFile',
      summary: 'Take a file out of a vector store; the uploaded file stays',
      tag,
      answers: {
        200: { description: 'It is out', schema: DELETED },
        409: 'It comes in with others at the moment',
        ...missing,
      },
    }),
  )
  app.get(
    `${ONE}/content`,
    async ({ request, params }) => {
      const kb = storeAt(context, request, params)
      const { signal } = context.scopeOf(request)
      const { texts } = await documents.read(kb, params.file_id, signal)
      return Response.json({
        object: 'vector_store.file_content.page',
        data: texts.map(({ text }) => ({ type: 'text', text })),
        has_more: false,
        next_page: null,
      })
    },
    route({
      needs: 'read',
      id: 'getVectorStoreFileContent',
      summary: 'Get the text of a file of a vector store',
      tag,
      answers: { 200: { description: 'Its text', schema: CONTENT }, ...missing },
    }),
  )
}

/** Taken out now, it would come in all the same. */
function comesWithOthers({ job, isBatch }: Attachment): AppError {
  const which = isBatch ? `the batch ${batchIdOf(job.id)}` : `the job ${job.id}`
  const message = `The file comes in with ${which}: wait until that is over, or cancel it`
  return new AppError('job_state', message)
}

/** Metadata that a file brings with it. */
const OWN: ReadonlySet<string> = new Set(['title', 'format', 'filename'])

function ignoreState(error: unknown): void {
  const isState = error instanceof AppError && ['job_state', 'job_not_found'].includes(error.code)
  if (!isState) throw error
}
