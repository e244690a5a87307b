/**
 * Uploads files into a knowledge base, previews their chunks, and exports and imports knowledge
 * bases.
 */
import { type Static, t } from 'elysia'
import { requireKnowledgeBase } from '../../../core/domain/access/catalog-snapshot.ts'
import { requireNamespace } from '../../../core/domain/access/principal.ts'
import type { Row } from '../../../core/domain/document.ts'
import { FILES_DATABASE } from '../../../core/domain/names.ts'
import { AppError, wrongField } from '../../../core/errors.ts'
import type { InsertFilesOutcome, SentDocumentFile } from '../../../ingest/pipeline/insert-files.ts'
import type { Preview, PreviewedChunk, PreviewRequest } from '../../../ingest/pipeline/preview.ts'
import { chunkingDefinition } from '../../../query/definitions/define-knowledge-base.ts'
import { recordOf } from '../answers/record-of.ts'
import { JOB } from '../answers/records/catalog-schemas.ts'
import {
  IMPORT_RESULT,
  INSERT_FILES_RESULT,
  PREVIEW as PREVIEW_RECORD,
  PREVIEWED_CHUNK,
} from '../answers/records/knowledge-base-schemas.ts'
import { streamedResponse } from '../answers/streamed-response.ts'
import { jobRecord } from '../answers/wire.ts'
import { bodySchema } from '../bodies/body.ts'
import { MODEL, PREPROCESSING } from '../bodies/definition-shapes.ts'
import { queryParameters, truth } from '../bodies/query-parameters.ts'
import { READING_FORM, type ReceivedFile, receivedFiles } from '../bodies/received-files.ts'
import { anObject, integer, maybe, strict } from '../request/schema-words.ts'
import { knowledgeBaseAt, projectAt, resource } from './operation.ts'

const KB = '/api/projects/:project_name/knowledge_bases/:knowledge_base_name'
const PARQUET = 'application/vnd.apache.parquet'
const BYTES = 'application/octet-stream'

const IMPORT = queryParameters({
  background: truth({ description: 'Imports in a job and returns 202' }),
})

export const transferOperations = resource('Documents', (api, context) => {
  const { transfers, fileBytes } = context.deps
  api.get(`${KB}/export`, {
    id: 'exportKnowledgeBase',
    summary: 'Export a knowledge base with its vectors',
    produces: PARQUET,
    find: knowledgeBaseAt,
    answers: {
      200: {
        description: 'A Parquet file with a row per chunk, and the definition without secrets',
        // Code generators recognize the format by this name.
        also: { [BYTES]: t.String({ format: 'binary' }) },
      },
    },
    async run({ request, found: kb, scope }) {
      const { pieces } = await transfers.export(kb, scope.signal)
      const name = encodeURIComponent(`${kb.name}.parquet`)
      const headers = {
        'content-type': request.headers.get('accept') === BYTES ? BYTES : PARQUET,
        'content-disposition': `attachment; filename*=UTF-8''${name}`,
      }
      return streamedResponse(pieces, { headers, scope })
    },
  })
  api.post(`${KB}/import`, {
    id: 'importKnowledgeBase',
    summary: 'Import an exported knowledge base without embedding',
    description:
      'Send the file as the body, or as the form part `file`. A missing knowledge base is created. Imported documents replace those with the same ids. The import stores all documents or none.',
    query: IMPORT,
    // The Parquet type is accepted too, but code generators only support the general one.
    takes: [BYTES, 'multipart/form-data'],
    find: projectAt,
    answers: {
      200: ['Number of documents and chunks stored', IMPORT_RESULT],
      202: ['The job, with background=true', JOB],
      201: ['As for 200; the knowledge base was created', IMPORT_RESULT],
      400: 'The file is not an export, or is damaged',
      409: 'The file’s vectors are from another embedding model',
    },
    async run({ request, params, query: { background: isBackground }, signal }) {
      const { project_name: projectName, knowledge_base_name: name } = params
      return fileBytes.withFolder(async (folder) => {
        const { files } = await receivedFiles(context, request, folder)
        const [file, ...others] = files
        if (file === undefined || others.length > 0) {
          throw new AppError('missing_parameter', 'Send one file: as the body, or as a part "file"')
        }
        const order = { projectName, name, path: file.path }
        if (isBackground) {
          const job = await transfers.importInBackground(order)
          return Response.json(jobRecord(job), { status: 202 })
        }
        const { isCreated, documents, chunks } = await transfers.import(order, signal)
        const record = { knowledge_base: name, created: isCreated, documents, chunks }
        return Response.json(record, { status: isCreated ? 201 : 200 })
      })
    },
  })
})

const DESCRIPTION = `Each part \`file\` is read and stored as a document; the file itself is not kept.

- A document’s id is its file’s name, with folders
- Each message of a mailbox and each row of a table is a document
- The metadata \`file_path\` and \`file_hash\` (SHA-256 of the bytes) identify its file
- Other form fields apply to all files`

export const insertFilesOperations = resource('Knowledge bases', (api, context) => {
  const { fileBytes, insertFiles } = context.deps
  api.post(`${KB}/files`, {
    id: 'insertFiles',
    summary: 'Insert files as documents',
    description: DESCRIPTION,
    takes: ['multipart/form-data'],
    form: READING_FORM,
    answers: { 200: ['The stored files and the unreadable ones', INSERT_FILES_RESULT] },
    find: knowledgeBaseAt,
    async run({ request, params, scope }) {
      const outcome = await fileBytes.withFolder(async (folder) => {
        const { files, fields } = await receivedFiles(context, request, folder)
        // Looked up again, because it may have changed while the files arrived.
        const kb = knowledgeBaseAt({ params, snapshot: context.snapshot() })
        return insertFiles({ kb, files: files.map(sentFile), fields }, scope.signal)
      })
      scope.skippedRows = outcome.files.reduce((sum, { skippedRows }) => sum + skippedRows, 0)
      return outcomeRecord(outcome)
    },
  })
})

function sentFile({ path, sizeBytes, sentName, contentType }: ReceivedFile): SentDocumentFile {
  if (sentName !== null) return { path, sizeBytes, name: sentName, contentType }
  throw new AppError('missing_parameter', 'Must provide parts "file" with a file name in a form')
}

function outcomeRecord({ files, failed }: InsertFilesOutcome) {
  return {
    files: files.map(({ skippedRows, hash, ...file }) => {
      return { ...file, file_hash: hash, skipped_rows: skippedRows }
    }),
    failed,
  }
}

const CHUNKS_SHOWN = 100
const CHUNKS_SHOWN_MAX = 1000

const TEXT = maybe(t.String())

const PREVIEWED = strict({
  /** Exactly one of these three: a text, rows, or the name of an uploaded file. */
  text: TEXT,
  rows: maybe(t.Array(anObject())),
  file: TEXT,
  /** The syntax of the text. */
  syntax: t.Optional(
    t.Union([t.Literal('text'), t.Literal('markdown'), t.Literal('code'), t.Null()]),
  ),
  title: TEXT,
  /** The knowledge base whose settings are used as defaults. */
  knowledge_base: TEXT,
  preprocessing: maybe(anObject(PREPROCESSING)),
  embedding_model: maybe(anObject(MODEL)),
  content_columns: maybe(t.Array(t.String())),
  id_column: TEXT,
  language: TEXT,
  limit: maybe(integer({ minimum: 1, maximum: CHUNKS_SHOWN_MAX })),
})
const PREVIEW = bodySchema(PREVIEWED)

export const previewOperations = resource('Knowledge bases', (api, context) => {
  api.post('/api/projects/:project_name/knowledge_bases/preview', {
    id: 'previewChunks',
    summary: 'Preview the chunks of an insert',
    needs: 'read',
    body: PREVIEW,
    answers: { 200: ['The chunks', PREVIEW_RECORD] },
    find: projectAt,
    async run({ found: project, snapshot, body: sent, signal, principal }) {
      const { text, title, syntax, rows, file, limit, knowledge_base: name, ...definition } = sent
      const kb = name ? requireKnowledgeBase(snapshot, project.name, name) : null
      if (file) requireNamespace(principal, FILES_DATABASE)
      const order: PreviewRequest = {
        kb: chunkingDefinition(definition, kb),
        source: sourceOf(sent),
        limit: limit ?? CHUNKS_SHOWN,
      }
      return previewRecord(await context.deps.preview(order, signal))
    },
  })
})

/** @throws AppError `missing_parameter` unless exactly one source is given; `invalid_request` */
function sourceOf(sent: Static<typeof PREVIEWED>): PreviewRequest['source'] {
  const { text, rows, file, syntax, title } = sent
  const sources: PreviewRequest['source'][] = []
  if (typeof text === 'string') {
    sources.push({ kind: 'text', text, syntax: syntax ?? 'text', title: title ?? null })
  }
  // A JSON object contains only row values, and the schema has checked that each row is an object.
  if (rows) sources.push({ kind: 'rows', rows: rows as readonly Row[] })
  if (typeof file === 'string') sources.push({ kind: 'file', name: file })
  const [source] = sources
  if (source !== undefined && sources.length === 1) {
    if (source.kind === 'text' || (syntax ?? title ?? null) === null) return source
    const name = syntax == null ? 'title' : 'syntax'
    throw wrongField(name, 'needs "text" as well')
  }
  throw new AppError('missing_parameter', 'Must provide exactly one of "text", "rows" and "file"')
}

function previewRecord({ chunks, chunkCount, tokensMax, warnings }: Preview) {
  return {
    chunks: chunks.map(previewedChunkRecord),
    total: chunkCount,
    tokens_max: tokensMax,
    warnings,
  }
}

const previewedChunkRecord = recordOf<PreviewedChunk>()(PREVIEWED_CHUNK, {
  chunk_id: ({ chunk }) => chunk.chunkId,
  content: ({ chunk }) => chunk.content,
  start: ({ chunk }) => chunk.startChar,
  end: ({ chunk }) => chunk.endChar,
  tokens: ({ chunk }) => chunk.tokenCount ?? null,
  source: ({ chunk }) => chunk.source,
  metadata: ({ chunk }) => chunk.facts ?? {},
})
