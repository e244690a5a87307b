import { type Static, type TSchema, t } from 'elysia'
import {
  requireKnowledgeBase,
  requireProject,
} from '../../../../core/domain/access/catalog-snapshot.ts'
import { requireNamespace } from '../../../../core/domain/access/principal.ts'
import type { Row } from '../../../../core/domain/document.ts'
import { FILES_DATABASE } from '../../../../core/domain/project.ts'
import { AppError } from '../../../../core/errors.ts'
import type {
  Preview,
  PreviewedChunk,
  PreviewRequest,
} from '../../../../ingest/pipeline/preview.ts'
import { chunkingDefinition } from '../../../../query/definitions/define-knowledge-base.ts'
import { PREVIEW as PREVIEW_RECORD } from '../../answers/records/knowledge-base-schemas.ts'
import { bodySchema, readJson } from '../../bodies/body.ts'
import { MODEL, PREPROCESSING } from '../../bodies/definition-shapes.ts'
import { route } from '../../openapi/openapi.ts'
import type { AddRoutes } from '../../request/route-context.ts'
import { anObject } from '../../request/schema-words.ts'

const CHUNKS_SHOWN = 100
const CHUNKS_SHOWN_MAX = 1000

export const addPreviewRoutes: AddRoutes = (app, context) => {
  app.post(
    '/api/projects/:project_name/knowledge_bases/preview',
    async ({ request, params: { project_name: projectName } }) => {
      requireProject(context.snapshot(), projectName)
      const sent = await readJson(context, request, PREVIEW)
      const { text, title, syntax, rows, file, limit, knowledge_base: name, ...definition } = sent
      const kb = name ? requireKnowledgeBase(context.snapshot(), projectName, name) : null
      if (file) requireNamespace(context.scopeOf(request).principal, FILES_DATABASE)
      const order: PreviewRequest = {
        kb: chunkingDefinition(definition, kb),
        source: sourceOf(sent),
        limit: limit ?? CHUNKS_SHOWN,
      }
      const { signal } = context.scopeOf(request)
      return Response.json(previewRecord(await context.deps.preview(order, signal)))
    },
    route({
      needs: 'read',
      id: 'previewChunks',
      summary: 'Show the chunks that an insert would make, and store nothing',
      tag: 'Knowledge bases',
      body: PREVIEW,
      answers: {
        200: { description: 'The chunks', schema: PREVIEW_RECORD },
        404: 'No such project, knowledge base or file',
      },
    }),
  )
}

const optional = {
  text: () => t.Optional(t.Union([t.String(), t.Null()])),
  object: (shape: TSchema) => t.Optional(t.Union([anObject(shape), t.Null()])),
}

const SCHEMA = t.Object(
  {
    /** Exactly one of these three: a text, rows, or the name of an uploaded file. */
    text: optional.text(),
    rows: t.Optional(t.Union([t.Array(anObject()), t.Null()])),
    file: optional.text(),
    /** Of the text: how it is laid out. */
    syntax: t.Optional(
      t.Union([t.Literal('text'), t.Literal('markdown'), t.Literal('code'), t.Null()]),
    ),
    title: optional.text(),
    /** Whose settings apply where no others are sent. */
    knowledge_base: optional.text(),
    preprocessing: optional.object(PREPROCESSING),
    embedding_model: optional.object(MODEL),
    content_columns: t.Optional(t.Union([t.Array(t.String()), t.Null()])),
    id_column: optional.text(),
    language: optional.text(),
    limit: t.Optional(
      t.Union([t.Number({ multipleOf: 1, minimum: 1, maximum: CHUNKS_SHOWN_MAX }), t.Null()]),
    ),
  },
  { additionalProperties: false },
)
const PREVIEW = bodySchema(SCHEMA)

/** @throws AppError `missing_parameter` where there is not exactly one source, `invalid_request` */
function sourceOf({
  text,
  rows,
  file,
  syntax,
  title,
}: Static<typeof SCHEMA>): PreviewRequest['source'] {
  const sources: PreviewRequest['source'][] = []
  if (typeof text === 'string') {
    sources.push({ kind: 'text', text, syntax: syntax ?? 'text', title: title ?? null })
  }
  // JSON objects hold nothing but what a RowValue is; the schema saw that each is an object.
  if (rows) sources.push({ kind: 'rows', rows: rows as readonly Row[] })
  if (typeof file === 'string') sources.push({ kind: 'file', name: file })
  const [source] = sources
  if (source !== undefined && sources.length === 1) {
    if (source.kind === 'text' || (syntax ?? title ?? null) === null) return source
    const name = syntax == null ? 'title' : 'syntax'
    throw new AppError('invalid_request', `Field "${name}" needs "text" beside it`)
  }
  throw new AppError('missing_parameter', 'Must provide exactly one of "text", "rows" and "file"')
}

function previewRecord({ chunks, chunkCount, tokensMax, warnings }: Preview) {
  return { chunks: chunks.map(chunkRecord), total: chunkCount, tokens_max: tokensMax, warnings }
}

function chunkRecord({ chunk, embedded }: PreviewedChunk) {
  return {
    chunk_id: chunk.chunkId,
    content: chunk.content,
    start: chunk.startChar,
    end: chunk.endChar,
    tokens: chunk.tokenCount ?? null,
    embedded,
    source: chunk.source,
    metadata: chunk.facts ?? {},
  }
}
