/** What a knowledge base is kept in step with. */

import { t } from 'elysia'
import type { SyncSource } from '../../../../core/domain/flow/sync-source.ts'
import type { KnowledgeBase } from '../../../../core/domain/knowledge-base.ts'
import {
  alterSource,
  createSource,
  requireSource,
  runFields,
  sourceRecord,
} from '../../../../query/definitions/define-source.ts'
import {
  JOB,
  SOURCE,
  SOURCE_DEFINITION,
  SOURCE_RUN,
} from '../../answers/records/catalog-schemas.ts'
import { jobRecord } from '../../answers/wire.ts'
import { bodySchema, readJson } from '../../bodies/body.ts'
import { queryParameters, wholeNumber } from '../../bodies/query-parameters.ts'
import { route } from '../../openapi/openapi.ts'
import type { AddRoutes, RouteContext } from '../../request/route-context.ts'
import { anObject } from '../../request/schema-words.ts'
import { type KnowledgeBasePath, knowledgeBaseAt } from './knowledge-base-path.ts'

const ALL = '/api/projects/:project_name/knowledge_bases/:knowledge_base_name/sources'
const ONE = `${ALL}/:source_id` as const

const tag = 'Sources'
const missing = { 404: 'No such project, knowledge base or source' }

/** Which fields there are depends on the kind: the catalog knows their wording. */
const BODY = bodySchema(
  t.Object({ source: anObject(SOURCE_DEFINITION) }, { additionalProperties: false }),
)
const RUN_BODY = bodySchema(
  t.Object({ full: t.Optional(t.Boolean()) }, { additionalProperties: false }),
)

const RUNS = queryParameters({
  limit: wholeNumber({ min: 1, max: 100, unset: 20, description: 'How many come' }),
})

export const addSourceRoutes: AddRoutes = (app, context) => {
  const { sources } = context.deps
  app.get(
    ALL,
    ({ params }) => {
      const kb = knowledgeBaseAt(context, params)
      return Response.json(sources.list(kb).map((source) => sourceRecord(kb, source, sources)))
    },
    route({
      needs: 'read',
      id: 'listSources',
      summary: 'List the sources of a knowledge base',
      tag,
      answers: {
        200: { description: 'The sources, each with its last run', schema: t.Array(SOURCE) },
        ...missing,
      },
    }),
  )
  app.post(
    ALL,
    async ({ request, params }) => {
      knowledgeBaseAt(context, params)
      const { source: sent } = await readJson(context, request, BODY)
      const kb = knowledgeBaseAt(context, params)
      const source = await createSource(kb, sent, sources)
      return Response.json(sourceRecord(kb, source, sources), { status: 201 })
    },
    route({
      needs: 'admin',
      id: 'createSource',
      summary: 'Add a source to a knowledge base',
      tag,
      body: BODY,
      answers: {
        201: {
          description:
            'The source; it runs when somebody asks, by its schedule, or when it is watched',
          schema: SOURCE,
        },
        400: 'A field is wrong, or the folder may not be read',
        409: 'The name is already in use',
        ...missing,
      },
    }),
  )
  addOneRoutes(app, context)
  addRunRoutes(app, context)
}

const addOneRoutes: AddRoutes = (app, context) => {
  const { sources } = context.deps
  app.get(
    ONE,
    ({ params }) => {
      const { kb, source } = sourceAt(context, params)
      return Response.json(sourceRecord(kb, source, sources))
    },
    route({
      needs: 'read',
      id: 'getSource',
      summary: 'Get a source',
      tag,
      answers: { 200: { description: 'The source', schema: SOURCE }, ...missing },
    }),
  )
  app.patch(
    ONE,
    async ({ request, params }) => {
      sourceAt(context, params)
      const { source: sent } = await readJson(context, request, BODY)
      const { kb, source } = sourceAt(context, params)
      return Response.json(sourceRecord(kb, await alterSource(source, sent, sources), sources))
    },
    route({
      needs: 'admin',
      id: 'updateSource',
      summary: 'Change a source',
      tag,
      body: BODY,
      answers: {
        200: { description: 'The source', schema: SOURCE },
        400: 'A field is wrong',
        409: 'The name is in use',
        ...missing,
      },
    }),
  )
  app.delete(
    ONE,
    async ({ params }) => {
      await sources.drop(sourceAt(context, params).source)
      return new Response(null, { status: 204 })
    },
    route({
      needs: 'admin',
      id: 'deleteSource',
      summary: 'Remove a source; its documents stay',
      tag,
      answers: { 204: 'Removed', ...missing },
    }),
  )
}

const addRunRoutes: AddRoutes = (app, context) => {
  const { sources } = context.deps
  app.post(
    `${ONE}/run`,
    async ({ request, params }) => {
      sourceAt(context, params)
      // Some clients announce JSON and send nothing.
      const { headers } = request
      const hasBody = headers.get('content-type') !== null && headers.get('content-length') !== '0'
      const { full } = hasBody ? await readJson(context, request, RUN_BODY) : {}
      const { source } = sourceAt(context, params)
      const job = await sources.run(source, { isFull: full === true })
      return Response.json(jobRecord(job), { status: 202 })
    },
    route({
      needs: 'admin',
      id: 'runSource',
      summary: 'Bring the knowledge base into step with a source',
      tag,
      body: RUN_BODY,
      isBodyOptional: true,
      answers: {
        202: { description: 'The job that does it, or that does it already', schema: JOB },
        ...missing,
      },
    }),
  )
  app.get(
    `${ONE}/runs`,
    async ({ request, params }) => {
      const { source } = sourceAt(context, params)
      const { limit } = RUNS.read(request)
      return Response.json((await sources.runs(source, limit)).map(runFields))
    },
    route({
      needs: 'read',
      id: 'listSourceRuns',
      summary: 'List the runs of a source, the newest first',
      tag,
      query: RUNS,
      answers: {
        200: { description: 'The runs, each with its counts', schema: t.Array(SOURCE_RUN) },
        ...missing,
      },
    }),
  )
}

function sourceAt(
  context: RouteContext,
  path: KnowledgeBasePath & { readonly source_id: string },
): { readonly kb: KnowledgeBase; readonly source: SyncSource } {
  const kb = knowledgeBaseAt(context, path)
  return { kb, source: requireSource(kb, path.source_id, context.deps.sources) }
}
