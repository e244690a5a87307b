/** Shows documents of a knowledge base as files of a vector store in OpenAI's API. */
import { type Static, t } from 'elysia'
import type { KnowledgeBase, Preprocessing } from '../../../core/domain/knowledge-base.ts'
import { fullName } from '../../../core/domain/names.ts'
import type { StoredDocument } from '../../../core/domain/ports/document-ports.ts'
import { AppError } from '../../../core/errors.ts'
import type { RouteContext } from '../request/route-context.ts'
import { integer, orNull } from '../request/schema-words.ts'
import { type AttachedFile, attachedFiles, FILE_STATUS, findFileOfId } from './attached-files.ts'
import { ATTRIBUTES_SCHEMA, attributesOf } from './attributes.ts'
import { notListed, type Page, type PageOrder, pageOf, secondsOf } from './list-page.ts'
import { chunkingRecord, findDocument, SHOWN_CHUNKING_SCHEMA, vectorBytes } from './store-record.ts'

export const STORE_FILE_SCHEMA = t.Object({
  id: t.String({ description: 'The id of the document; `file-…` for an uploaded file' }),
  object: t.Literal('vector_store.file'),
  vector_store_id: t.String(),
  created_at: integer({ description: 'Seconds since 1970' }),
  status: FILE_STATUS,
  last_error: orNull(
    t.Object({
      code: t.Union([
        t.Literal('server_error'),
        t.Literal('unsupported_file'),
        t.Literal('invalid_file'),
      ]),
      message: t.String(),
    }),
  ),
  usage_bytes: integer({ description: 'Size of its chunks’ vectors' }),
  attributes: ATTRIBUTES_SCHEMA,
  chunking_strategy: SHOWN_CHUNKING_SCHEMA,
})

type StoreFileRecord = Static<typeof STORE_FILE_SCHEMA>

/** @param own the fields that differ from a complete file without attributes */
function fileRecord(
  kb: KnowledgeBase,
  own: Pick<StoreFileRecord, 'id' | 'created_at'> & Partial<StoreFileRecord>,
  preprocessing: Preprocessing | null | undefined,
): StoreFileRecord {
  return {
    object: 'vector_store.file',
    vector_store_id: fullName(kb),
    status: 'completed',
    last_error: null,
    usage_bytes: 0,
    attributes: {},
    chunking_strategy: chunkingRecord(preprocessing ?? kb.preprocessing),
    ...own,
  }
}

export function attachedRecord(kb: KnowledgeBase, file: AttachedFile): StoreFileRecord {
  const { id, status, attributes, createdAt, error, preprocessing } = file
  const message = error ?? 'The file could not be stored'
  const last_error = status === 'failed' ? { code: 'invalid_file' as const, message } : null
  return fileRecord(
    kb,
    { id, status, attributes, created_at: createdAt, last_error },
    preprocessing,
  )
}

/** @param attached how the document was added; undefined if not as a file, or long ago */
function documentRecord(
  { snapshot }: RouteContext,
  kb: KnowledgeBase,
  { id, metadata, chunkCount }: StoredDocument,
  attached: AttachedFile | undefined,
): StoreFileRecord {
  const sent = findFileOfId(snapshot(), id)
  const own = {
    id,
    created_at: attached?.createdAt ?? secondsOf(sent?.createdAt ?? kb.createdAt),
    usage_bytes: vectorBytes(kb, chunkCount),
    attributes: attributesOf(metadata),
  }
  return fileRecord(kb, own, attached?.preprocessing)
}

/** In progress, failed, or a document. @throws AppError `document_not_found` */
export async function storeFile(
  context: RouteContext,
  kb: KnowledgeBase,
  id: string,
  signal: AbortSignal,
): Promise<StoreFileRecord> {
  const attached = attachedFiles(await context.deps.attachments.of(kb)).get(id)
  if (attached !== undefined && attached.status !== 'completed') return attachedRecord(kb, attached)
  const document = await findDocument(context.deps.documents, { kb, id }, signal)
  if (document !== undefined) return documentRecord(context, kb, document, attached)
  throw noSuchFile(id)
}

export function noSuchFile(id: string): AppError {
  const message = `The vector store has no file "${id.slice(0, 200)}"`
  return new AppError('document_not_found', message, { param: 'file_id' })
}

/** Files in progress and failed ones come first. @param status null for all @throws AppError */
export async function storeFilesPage(
  context: RouteContext,
  given: {
    readonly kb: KnowledgeBase
    readonly order: PageOrder
    readonly status: AttachedFile['status'] | null
  },
  signal: AbortSignal,
): Promise<Page<StoreFileRecord>> {
  const { kb, order, status } = given
  const files = attachedFiles(await context.deps.attachments.of(kb))
  const unfinished = [...files.values()]
    .filter((file) => file.status !== 'completed')
    .filter((file) => status === null || file.status === status)
    .map((file) => attachedRecord(kb, file))
  if (status !== null && status !== 'completed') return pageOf(unfinished, ({ id }) => id, order)
  const others = status === null ? unfinished : []
  const skipped = new Set(others.map(({ id }) => id))
  // A page before an id is the page after it in reverse order.
  const { before, limit } = order
  const isAscending = order.isAscending !== (before !== null)
  const cursor = before ?? order.after
  const documentsAfter = (afterId: string | null, wanted: number) => {
    const page = { isAscending, afterId, limit: wanted }
    const param = before === null ? 'after' : 'before'
    return documentsPage(context, { kb, files, skipped, param }, page, signal)
  }
  const othersAfter = (after: string | null, wanted: number) => {
    return pageOf(others, ({ id }) => id, { limit: wanted, isAscending, after, before: null }).items
  }
  const [first, second] = isAscending
    ? [documentsAfter, othersAfter]
    : [othersAfter, documentsAfter]
  const isInSecond = cursor !== null && skipped.has(cursor) === isAscending
  const found = isInSecond ? [] : [...(await first(cursor, limit + 1))]
  const rest = limit + 1 - found.length
  if (rest > 0) found.push(...(await second(isInSecond ? cursor : null, rest)))
  const items = found.slice(0, limit)
  return { items: before === null ? items : items.toReversed(), hasMore: found.length > limit }
}

async function documentsPage(
  context: RouteContext,
  given: {
    readonly kb: KnowledgeBase
    readonly files: ReadonlyMap<string, AttachedFile>
    readonly skipped: ReadonlySet<string>
    /** The parameter that named the first id. */
    readonly param: 'after' | 'before'
  },
  wanted: {
    readonly isAscending: boolean
    readonly afterId: string | null
    readonly limit: number
  },
  signal: AbortSignal,
): Promise<readonly StoreFileRecord[]> {
  const { isAscending, afterId, limit } = wanted
  const { kb, files, skipped } = given
  const last =
    afterId === null
      ? null
      : await findDocument(context.deps.documents, { kb, id: afterId }, signal)
  if (last === undefined) throw notListed(given.param, afterId ?? '')
  const backwards = isAscending ? {} : { isBackwards: true }
  const found: StoredDocument[] = []
  let afterKey = last?.firstKey ?? 0n
  for (;;) {
    const order = { limit, afterKey, offset: 0, ...backwards }
    const { items } = await context.deps.documents.list(kb, order, signal)
    found.push(...items.filter(({ id }) => !skipped.has(id)))
    const end = items.at(-1)
    if (end === undefined || items.length < limit || found.length >= limit) break
    afterKey = end.firstKey
  }
  return found
    .slice(0, limit)
    .map((document) => documentRecord(context, kb, document, files.get(document.id)))
}
