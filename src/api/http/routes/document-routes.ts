import { t } from 'elysia'
import { mayDo, requireScope } from '../../../core/domain/access/principal.ts'
import { type Row, shownValue } from '../../../core/domain/document.ts'
import { nameKey } from '../../../core/domain/names.ts'
import type { StoredChunk, StoredDocument } from '../../../core/domain/ports/document-ports.ts'
import { AppError } from '../../../core/errors.ts'
import type { DocumentTexts } from '../../../query/documents/document-changes.ts'
import type { ListOrder, ListPage, Selection } from '../../../query/documents/list-documents.ts'
import { recordOf } from '../answers/record-of.ts'
import {
  CHUNK_LIST,
  DELETED_DOCUMENTS,
  DOCUMENT,
  DOCUMENT_CHUNK,
  DOCUMENT_LIST,
  DOCUMENT_TEXTS,
} from '../answers/records/knowledge-base-schemas.ts'
import { base64Of } from '../answers/wire.ts'
import { bodySchema } from '../bodies/body.ts'
import {
  filters,
  nextCursor,
  paging,
  queryParameters,
  text,
  truth,
  wholeNumber,
  wrongParameter,
} from '../bodies/query-parameters.ts'
import { anObject, maybe, orNull, strict } from '../request/schema-words.ts'
import { knowledgeBaseAt, resource } from './operation.ts'

const KB = '/api/projects/:project_name/knowledge_bases/:knowledge_base_name' as const
const DOCUMENTS_PATH = `${KB}/documents` as const
const DOCUMENT_PATH = `${DOCUMENTS_PATH}/:document_id` as const

const PUT = bodySchema(
  strict({
    content: t.Union([t.String(), t.Record(t.String(), orNull(t.String()))]),
    metadata: maybe(anObject()),
  }),
)
const PATCH = bodySchema(strict({ metadata: anObject() }))

const ORDER = {
  ...paging('Items per page'),
  offset: wholeNumber({
    min: 0,
    max: 1_000_000_000,
    unset: undefined,
    description:
      'Skips this many items; an alternative to `cursor`. Only a cursor stays consistent while others write',
  }),
  filters: filters({
    description: 'Search filters, as JSON',
    examples: ['{"year": {">": 2020}}'],
  }),
  q: text({ description: 'Part of the id or title, ignoring case', charsMax: 1000 }),
}

/** Empty values are kept: one may come from an unset variable and must not mean everything. */
const reading = { keepsEmpty: true }

const DOCUMENTS = queryParameters(ORDER, reading)

const CHUNKS = queryParameters(
  {
    ...ORDER,
    document_id: text({ description: 'Chunks of this document' }),
    vectors: truth({
      description: 'Adds `vector`, as little-endian 32-bit floats in base64',
    }),
  },
  reading,
)

const SELECTION = queryParameters(
  {
    filters: filters({
      description: 'Search filters, as JSON. Deletes every document with a matching chunk',
      examples: ['{"year": {"<": 2020}}'],
    }),
    all: truth({ description: 'Delete every document; required if there are no filters' }),
  },
  reading,
)

export const documentOperations = resource('Documents', (api, context) => {
  const { documents } = context.deps
  api.get(DOCUMENTS_PATH, {
    id: 'listDocuments',
    summary: 'List the documents of a knowledge base',
    query: DOCUMENTS,
    find: knowledgeBaseAt,
    answers: {
      200: ['A page of documents, in the order in which they were stored', DOCUMENT_LIST],
    },
    async run({ query, signal, found: kb }) {
      return pageRecord(await documents.list(kb, orderOf(query), signal), documentRecord)
    },
  })
  api.delete(DOCUMENTS_PATH, {
    id: 'deleteDocuments',
    summary: 'Delete the documents that match the filters',
    query: SELECTION,
    find: knowledgeBaseAt,
    answers: {
      200: ['Number of documents and chunks deleted', DELETED_DOCUMENTS],
      400: 'The request has neither filters nor all=true',
    },
    async run({ query, principal, signal, found: kb }) {
      const selection = selectionOf(query)
      // The number of deleted documents reveals what the filters matched.
      requireScope(principal, 'read')
      const { documents: deleted, chunks } = await documents.removeAll(kb, selection, signal)
      return { deleted, chunks }
    },
  })
  api.get(`${KB}/chunks`, {
    id: 'listChunks',
    summary: 'List the chunks of a knowledge base',
    query: CHUNKS,
    find: knowledgeBaseAt,
    answers: { 200: ['A page of chunks, in the order in which they were stored', CHUNK_LIST] },
    async run({
      query: { document_id: documentId, vectors: hasVectors, ...sent },
      signal,
      found: kb,
    }) {
      const order = { ...orderOf(sent), ...(documentId === undefined ? {} : { documentId }) }
      const page = await documents.chunks(kb, order, signal)
      const keys = hasVectors ? page.items.map(({ key }) => key) : []
      const vectors = await documents.vectors(kb, keys)
      return pageRecord(page, (chunk) => chunkRecord(chunk, vectors.get(chunk.key)))
    },
  })
  api.get(DOCUMENT_PATH, {
    id: 'getDocument',
    summary: 'Get a document: its text, metadata and chunks',
    find: knowledgeBaseAt,
    answers: { 200: ['The document', DOCUMENT_TEXTS] },
    async run({ params, signal, found: kb }) {
      return textsRecord(await documents.read(kb, params.document_id, signal))
    },
  })
  api.put(DOCUMENT_PATH, {
    id: 'putDocument',
    summary: 'Store a document, replacing one with the same id',
    find: knowledgeBaseAt,
    body: PUT,
    answers: {
      201: ['Stored', DOCUMENT],
      200: ['The document was replaced. Without the scope `read`, you always get this', DOCUMENT],
    },
    async run({ params, body: { content, metadata }, principal, signal, found: kb }) {
      // A JSON object contains only valid row values.
      const sent = { id: params.document_id, content, metadata: (metadata ?? {}) as Row }
      const stored = await documents.put(kb, sent, signal)
      const isToldNew = stored.isNew && mayDo(principal, 'read')
      return Response.json(documentRecord(stored.document), { status: isToldNew ? 201 : 200 })
    },
  })
  api.patch(DOCUMENT_PATH, {
    id: 'updateDocument',
    summary: 'Change a document’s metadata without embedding',
    find: knowledgeBaseAt,
    body: PATCH,
    answers: { 200: ['The changed document', DOCUMENT] },
    async run({ params, body: { metadata }, found: kb, principal }) {
      // Required because the answer is the complete document.
      requireScope(principal, 'read')
      // JSON too, see above.
      const change = { id: params.document_id, metadata: metadata as Row }
      return documentRecord(await documents.patch(kb, change))
    },
  })
  api.delete(DOCUMENT_PATH, {
    id: 'deleteDocument',
    summary: 'Delete a document',
    find: knowledgeBaseAt,
    run: ({ params, found: kb }) => documents.remove(kb, params.document_id),
  })
})

/** @throws AppError `invalid_request` naming the parameter */
function orderOf(sent: ReturnType<typeof DOCUMENTS.read>): ListOrder {
  const { limit, cursor: after, offset, filters: conditions, q: searched } = sent
  if (after !== undefined && offset !== undefined) {
    throw wrongParameter('offset', 'and "cursor" exclude each other')
  }
  return {
    limit,
    afterKey: BigInt(after ?? 0),
    offset: offset ?? 0,
    filters: conditions,
    ...(searched === undefined || searched === '' ? {} : { searched }),
  }
}

/** @throws AppError `missing_parameter` if there are neither filters nor `all=true` */
function selectionOf({ filters: conditions, all }: ReturnType<typeof SELECTION.read>): Selection {
  const isEmpty = conditions === undefined || Object.keys(conditions).length === 0
  if (isEmpty !== all) {
    const how = 'Send "filters" for some of the documents, or "all=true" for every one'
    throw new AppError('missing_parameter', all ? `${how}, not both` : how)
  }
  return { filters: conditions }
}

function pageRecord<T, R>({ items, total, next }: ListPage<T>, record: (item: T) => R) {
  return { items: items.map(record), total, next: nextCursor(next) }
}

function documentRecord({ id, metadata, chunkCount, columns }: StoredDocument) {
  return {
    id,
    title: titleIn(metadata),
    metadata,
    chunk_count: chunkCount,
    characters: columns.reduce((sum, { endChar }) => sum + endChar, 0),
    content_columns: columns.map(({ name }) => name),
  }
}

/** The title in the metadata; null if there is none. */
function titleIn(metadata: Row): string | null {
  const [, title = null] =
    Object.entries(metadata).find(([name]) => nameKey(name) === 'title') ?? []
  const shown = shownValue(title)
  return typeof shown === 'string' && shown !== '' ? shown : null
}

function textsRecord({ id, metadata, texts, chunks }: DocumentTexts) {
  const columns = texts.map(({ column, text }) => ({ name: column, endChar: text.length }))
  const stored = { id, metadata, columns, firstKey: 0n, chunkCount: chunks.length }
  return {
    ...documentRecord(stored),
    content: Object.fromEntries(texts.map(({ column, text }) => [column, text])),
    exact: texts.every(({ isExact }) => isExact),
    chunks: chunks.map(documentChunkRecord),
  }
}

const documentChunkRecord = recordOf<DocumentTexts['chunks'][number]>()(DOCUMENT_CHUNK, {
  content_column: (chunk) => chunk.column,
  metadata: (chunk) => chunk.facts,
})

function chunkRecord(
  { documentId, chunkId, content, metadata }: StoredChunk,
  vector?: Float32Array,
) {
  return {
    id: documentId,
    chunk_id: chunkId,
    chunk_content: content,
    metadata,
    ...(vector === undefined ? {} : { vector: base64Of(vector) }),
  }
}
