import { type Static, t } from 'elysia'
import { mayDo, requireScope } from '../../../../core/domain/access/principal.ts'
import { type Row, shownValue } from '../../../../core/domain/document.ts'
import { nameKey } from '../../../../core/domain/identifier.ts'
import type { StoredChunk, StoredDocument } from '../../../../core/domain/ports/document-ports.ts'
import type { DocumentTexts } from '../../../../query/documents/document-changes.ts'
import type { ListPage } from '../../../../query/documents/list-documents.ts'
import {
  CHUNK_LIST,
  DELETED_DOCUMENTS,
  DOCUMENT,
  DOCUMENT_LIST,
  DOCUMENT_TEXTS,
} from '../../answers/records/knowledge-base-schemas.ts'
import { bodySchema, readJson } from '../../bodies/body.ts'
import {
  CHUNKS_QUERY,
  chunkOrderOf,
  DOCUMENTS_QUERY,
  documentOrderOf,
  SELECTION_QUERY,
  selectionOf,
} from '../../bodies/list-order.ts'
import { route } from '../../openapi/openapi.ts'
import type { AddRoutes } from '../../request/route-context.ts'
import { anObject } from '../../request/schema-words.ts'
import { knowledgeBaseAt } from './knowledge-base-path.ts'

const KB = '/api/projects/:project_name/knowledge_bases/:knowledge_base_name' as const
const ALL = `${KB}/documents` as const
const ONE = `${ALL}/:document_id` as const

const PUT = bodySchema(
  t.Object(
    {
      content: t.Union([t.String(), t.Record(t.String(), t.Union([t.String(), t.Null()]))]),
      metadata: t.Optional(t.Union([anObject(), t.Null()])),
    },
    { additionalProperties: false },
  ),
)
const PATCH_SCHEMA = t.Object({ metadata: anObject() }, { additionalProperties: false })
const PATCH = bodySchema(PATCH_SCHEMA)

const tag = 'Documents'
const missing = { 404: 'No such project, knowledge base or document' }

export const addDocumentRoutes: AddRoutes = (app, context) => {
  addListRoutes(app, context)
  addOneDocumentRoutes(app, context)
}

const addListRoutes: AddRoutes = (app, context) => {
  const { documents } = context.deps
  app.get(
    ALL,
    async ({ request, params }) => {
      const order = documentOrderOf(request)
      const { signal } = context.scopeOf(request)
      const page = await documents.list(knowledgeBaseAt(context, params), order, signal)
      return Response.json(pageRecord(page, documentRecord))
    },
    route({
      needs: 'read',
      id: 'listDocuments',
      summary: 'List the documents of a knowledge base',
      tag,
      query: DOCUMENTS_QUERY,
      answers: {
        200: {
          description: 'Some of the documents, in the order in which they were stored',
          schema: DOCUMENT_LIST,
        },
        ...missing,
      },
    }),
  )
  app.delete(
    ALL,
    async ({ request, params }) => {
      const selection = selectionOf(request)
      const { principal, signal } = context.scopeOf(request)
      // How many were deleted says what the filters found.
      requireScope(principal, 'read')
      const kb = knowledgeBaseAt(context, params)
      const { documents: deleted, chunks } = await documents.removeAll(kb, selection, signal)
      return Response.json({ deleted, chunks })
    },
    route({
      needs: 'write',
      id: 'deleteDocuments',
      summary: 'Delete the documents that filters name',
      tag,
      query: SELECTION_QUERY,
      answers: {
        200: {
          description: 'How many documents and chunks were deleted',
          schema: DELETED_DOCUMENTS,
        },
        400: 'Neither filters nor all=true',
        ...missing,
      },
    }),
  )
  app.get(
    `${KB}/chunks`,
    async ({ request, params }) => {
      const order = chunkOrderOf(request)
      const { signal } = context.scopeOf(request)
      const kb = knowledgeBaseAt(context, params)
      const page = await documents.chunks(kb, order, signal)
      const keys = order.hasVectors ? page.items.map(({ key }) => key) : []
      const vectors = await documents.vectors(kb, keys)
      return Response.json(pageRecord(page, (chunk) => chunkRecord(chunk, vectors.get(chunk.key))))
    },
    route({
      needs: 'read',
      id: 'listChunks',
      summary: 'List the chunks of a knowledge base',
      tag,
      query: CHUNKS_QUERY,
      answers: {
        200: {
          description: 'Some of the chunks, in the order in which they were stored',
          schema: CHUNK_LIST,
        },
        ...missing,
      },
    }),
  )
}

const addOneDocumentRoutes: AddRoutes = (app, context) => {
  const { documents } = context.deps
  app.get(
    ONE,
    async ({ request, params }) => {
      const { signal } = context.scopeOf(request)
      const kb = knowledgeBaseAt(context, params)
      return Response.json(textsRecord(await documents.read(kb, params.document_id, signal)))
    },
    route({
      needs: 'read',
      id: 'getDocument',
      summary: 'Get a document: its text, metadata and chunks',
      tag,
      answers: { 200: { description: 'The document', schema: DOCUMENT_TEXTS }, ...missing },
    }),
  )
  app.put(
    ONE,
    async ({ request, params }) => {
      knowledgeBaseAt(context, params)
      const { content, metadata } = await readJson(context, request, PUT)
      const { principal, signal } = context.scopeOf(request)
      // JSON gives an object no other values than those of a row.
      const sent = { id: params.document_id, content, metadata: (metadata ?? {}) as Row }
      const stored = await documents.put(knowledgeBaseAt(context, params), sent, signal)
      const isToldNew = stored.isNew && mayDo(principal, 'read')
      return Response.json(documentRecord(stored.document), { status: isToldNew ? 201 : 200 })
    },
    route({
      needs: 'write',
      id: 'putDocument',
      summary: 'Store a document in the place of the one with its id',
      tag,
      body: PUT,
      answers: {
        201: { description: 'Stored', schema: DOCUMENT },
        200: {
          description: 'Stored in the place of another; without the scope read always this',
          schema: DOCUMENT,
        },
        ...missing,
      },
    }),
  )
  app.patch(
    ONE,
    async ({ request, params }) => {
      // The answer is the whole document.
      requireScope(context.scopeOf(request).principal, 'read')
      knowledgeBaseAt(context, params)
      const { metadata }: Static<typeof PATCH_SCHEMA> = await readJson(context, request, PATCH)
      // JSON, as above.
      const change = { id: params.document_id, metadata: metadata as Row }
      return Response.json(
        documentRecord(await documents.patch(knowledgeBaseAt(context, params), change)),
      )
    },
    route({
      needs: 'write',
      id: 'updateDocument',
      summary: 'Change metadata of a document; nothing is embedded again',
      tag,
      body: PATCH,
      answers: { 200: { description: 'The document as it is now', schema: DOCUMENT }, ...missing },
    }),
  )
  app.delete(
    ONE,
    async ({ params }) => {
      await documents.remove(knowledgeBaseAt(context, params), params.document_id)
      return new Response(null, { status: 204 })
    },
    route({
      needs: 'write',
      id: 'deleteDocument',
      summary: 'Delete a document',
      tag,
      answers: { 204: 'Deleted', ...missing },
    }),
  )
}

function pageRecord<T, R>({ items, total, next }: ListPage<T>, record: (item: T) => R) {
  return { items: items.map(record), total, next: next === null ? null : String(next) }
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

/** What its metadata calls it; null: nothing. */
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
    chunks: chunks.map(({ chunkId, column, startChar, endChar, source, facts }) => ({
      chunk_id: chunkId,
      content_column: column,
      start_char: startChar,
      end_char: endChar,
      source,
      metadata: facts,
    })),
  }
}

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

function base64Of({ buffer, byteOffset, byteLength }: Float32Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('base64')
}
