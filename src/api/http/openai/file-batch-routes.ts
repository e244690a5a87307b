/** Batches of files added to a vector store together. */
import { type Static, t } from 'elysia'
import { isOver, type Job } from '../../../core/domain/flow/job.ts'
import type { KnowledgeBase } from '../../../core/domain/knowledge-base.ts'
import { fullName } from '../../../core/domain/names.ts'
import { AppError } from '../../../core/errors.ts'
import type { Attachment } from '../../../ingest/pipeline/attach-job.ts'
import { bodySchema } from '../bodies/body.ts'
import type { RouteContext } from '../request/route-context.ts'
import { integer, maybe, open } from '../request/schema-words.ts'
import { resource } from '../routes/operation.ts'
import {
  type AttachedFile,
  batchIdOf,
  FILE_COUNTS,
  FILE_STATUS,
  fileCounts,
  filesOfAttachment,
  filesToAttach,
  SENT_FILES_MAX,
} from './attached-files.ts'
import { ATTRIBUTES_SCHEMA } from './attributes.ts'
import { listSchema, POLL_AGAIN, pageOf, pageOrderOf, pageRecord, secondsOf } from './list-page.ts'
import { attachedRecord, STORE_FILE_SCHEMA } from './store-files.ts'
import { CHUNKING_SCHEMA, storeAt } from './store-record.ts'
import {
  howToAttach,
  ignoreState,
  readableFilesAt,
  STORE_FILES_QUERY,
} from './vector-store-file-routes.ts'

const BATCHES_PATH = '/v1/vector_stores/:vector_store_id/file_batches'
const BATCH_PATH = `${BATCHES_PATH}/:batch_id` as const

const HOW = {
  attributes: maybe(ATTRIBUTES_SCHEMA),
  chunking_strategy: maybe(CHUNKING_SCHEMA),
}
const LIMITS = { minItems: 1, maxItems: SENT_FILES_MAX }
const CREATE_SCHEMA = open({
  file_ids: maybe(t.Array(t.String(), LIMITS)),
  files: maybe(t.Array(open({ file_id: t.String(), ...HOW }), LIMITS), {
    description: 'Files with separate attributes, instead of file_ids',
  }),
  ...HOW,
})
const NEW_BATCH = bodySchema(CREATE_SCHEMA)

const BATCH = t.Object({
  id: t.String(),
  object: t.Literal('vector_store.file_batch'),
  vector_store_id: t.String(),
  created_at: integer({ description: 'Seconds since 1970' }),
  status: FILE_STATUS,
  file_counts: t.Object(FILE_COUNTS),
})

const one = { description: 'The batch', schema: BATCH }

export const fileBatchOperations = resource('OpenAI', (api, context) => {
  api.post(BATCHES_PATH, {
    id: 'createVectorStoreFileBatch',
    summary: 'Attach several uploaded files to a vector store',
    find: readableFilesAt,
    body: NEW_BATCH,
    answers: { 200: one, 400: 'A field is invalid' },
    async run({ body: sent, found: kb }) {
      const files = filesOf(context, kb, sent)
      return batchRecord(kb, await context.deps.attachments.attach({ kb, files, isBatch: true }))
    },
  })
  api.get(BATCH_PATH, {
    id: 'getVectorStoreFileBatch',
    summary: 'Get a file batch',
    find: storeAt,
    answers: { 200: one },
    async run({ params, found: kb }) {
      const batch = await batchAt(context, kb, params.batch_id)
      return Response.json(batchRecord(kb, batch), POLL_AGAIN)
    },
  })
  api.post(`${BATCH_PATH}/cancel`, {
    id: 'cancelVectorStoreFileBatch',
    summary: 'Cancel a file batch; stored files are kept',
    find: storeAt,
    answers: { 200: one },
    async run({ params, found: kb }) {
      const { job } = await batchAt(context, kb, params.batch_id)
      if (!isOver(job)) await context.deps.jobs.cancel(job.id).catch(ignoreState)
      return batchRecord(kb, await batchAt(context, kb, params.batch_id))
    },
  })
  api.get(`${BATCH_PATH}/files`, {
    id: 'listFilesOfVectorStoreFileBatch',
    summary: 'List the files of a file batch',
    query: STORE_FILES_QUERY,
    find: storeAt,
    answers: { 200: ['A page of items', listSchema(STORE_FILE_SCHEMA)] },
    async run({ params, query: { filter, ...sent }, found: kb }) {
      const batch = await batchAt(context, kb, params.batch_id)
      const files = filesOfAttachment(batch).filter(({ status }) => {
        return filter === undefined || status === filter
      })
      const page = pageOf(files, ({ id }) => id, pageOrderOf(sent))
      const items = page.items.map((file) => attachedRecord(kb, file))
      return pageRecord({ ...page, items })
    },
  })
})

/** @throws AppError `invalid_request`, `file_not_found` */
function filesOf(
  { snapshot }: RouteContext,
  kb: KnowledgeBase,
  { file_ids: ids, files, ...how }: Static<typeof CREATE_SCHEMA>,
) {
  if ((ids ?? null) === null && (files ?? null) === null) {
    const message = 'Must provide "file_ids", or "files"'
    throw new AppError('missing_parameter', message, { param: 'file_ids' })
  }
  if (ids && files) {
    const message = 'Send either "file_ids" or "files", not both'
    throw new AppError('invalid_request', message, { param: 'files' })
  }
  if (ids) return filesToAttach(snapshot(), ids, howToAttach(kb, how))
  const found = (files ?? []).flatMap(({ file_id: id, ...own }) => {
    return filesToAttach(snapshot(), [id], howToAttach(kb, { ...how, ...own }))
  })
  // If a file is listed twice, the last entry counts.
  return [...new Map(found.map((file) => [file.id, file])).values()]
}

/** @throws AppError `job_not_found` */
async function batchAt({ deps }: RouteContext, kb: KnowledgeBase, id: string): Promise<Attachment> {
  const found = (await deps.attachments.of(kb)).find(({ job, isBatch }) => {
    return isBatch && batchIdOf(job.id) === id
  })
  if (found !== undefined) return found
  const message = `The vector store has no batch "${id.slice(0, 200)}"; old batches are removed`
  throw new AppError('job_not_found', message, { param: 'batch_id' })
}

export function batchRecord(kb: KnowledgeBase, batch: Attachment) {
  const { job } = batch
  const files = filesOfAttachment(batch)
  const counts = fileCounts(files)
  return {
    id: batchIdOf(job.id),
    object: 'vector_store.file_batch',
    vector_store_id: fullName(kb),
    created_at: secondsOf(job.createdAt),
    status: statusOf(job, counts.in_progress),
    file_counts: { ...counts, total: files.length },
  }
}

/** OpenAI's clients poll until no file is in progress, so a job that is about to end has ended. */
function statusOf(job: Job, inProgressCount: number): AttachedFile['status'] {
  if (!isOver(job)) return inProgressCount > 0 ? 'in_progress' : 'completed'
  if (job.state === 'done') return 'completed'
  return job.state === 'cancelled' ? 'cancelled' : 'failed'
}
