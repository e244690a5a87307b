import { t } from 'elysia'
import {
  alterSource,
  createSource,
  requireSource,
  runFields,
  sourceRecord,
} from '../../../query/definitions/define-source.ts'
import { JOB, SOURCE, SOURCE_DEFINITION, SOURCE_RUN } from '../answers/records/catalog-schemas.ts'
import { jobRecord } from '../answers/wire.ts'
import { bodySchema } from '../bodies/body.ts'
import { queryParameters, wholeNumber } from '../bodies/query-parameters.ts'
import { anObject, strict } from '../request/schema-words.ts'
import { knowledgeBaseAt, type Place, resource } from './operation.ts'

const SOURCES_PATH = '/api/projects/:project_name/knowledge_bases/:knowledge_base_name/sources'
const SOURCE_PATH = `${SOURCES_PATH}/:source_id` as const

/** Fields depend on the kind of source, and the catalog checks them with its own messages. */
const BODY = bodySchema(strict({ source: anObject(SOURCE_DEFINITION) }))
const RUN_BODY = bodySchema(strict({ full: t.Optional(t.Boolean()) }))

const RUNS = queryParameters({
  limit: wholeNumber({ min: 1, max: 100, unset: 20, description: 'Maximum number of runs' }),
})

export const sourceOperations = resource('Sources', (api, context) => {
  const { sourcesFor } = context.deps
  const sourcesAt = (place: Place<Record<'project_name' | 'knowledge_base_name', string>>) => {
    return { kb: knowledgeBaseAt(place), sources: sourcesFor(place.principal) }
  }
  const sourceAt = (
    place: Place<Record<'project_name' | 'knowledge_base_name' | 'source_id', string>>,
  ) => {
    const { kb, sources } = sourcesAt(place)
    return { kb, sources, source: requireSource(kb, place.params.source_id, sources) }
  }
  api.get(SOURCES_PATH, {
    id: 'listSources',
    summary: 'List the sources of a knowledge base',
    find: sourcesAt,
    answers: { 200: ['The sources, each with its last run', t.Array(SOURCE)] },
    run: ({ found: { kb, sources } }) => {
      return sources.list(kb).map((source) => sourceRecord(kb, source, sources))
    },
  })
  api.post(SOURCES_PATH, {
    id: 'createSource',
    summary: 'Add a source to a knowledge base',
    needs: 'admin',
    find: sourcesAt,
    body: BODY,
    answers: {
      201: ['The source. It runs on request, on its schedule, or after changes', SOURCE],
      400: 'A field is invalid, or the folder is not allowed',
      409: 'The name is already in use',
    },
    async run({ body: { source: sent }, found: { kb, sources } }) {
      return sourceRecord(kb, await createSource(kb, sent, sources), sources)
    },
  })
  api.get(SOURCE_PATH, {
    id: 'getSource',
    summary: 'Get a source',
    find: sourceAt,
    answers: { 200: ['The source', SOURCE] },
    run: ({ found: { kb, source, sources } }) => sourceRecord(kb, source, sources),
  })
  api.patch(SOURCE_PATH, {
    id: 'updateSource',
    summary: 'Change a source',
    needs: 'admin',
    find: sourceAt,
    body: BODY,
    answers: { 200: ['The source', SOURCE], 400: 'A field is invalid', 409: 'The name is in use' },
    async run({ body: { source: sent }, found: { kb, source, sources } }) {
      return sourceRecord(kb, await alterSource(source, sent, sources), sources)
    },
  })
  api.delete(SOURCE_PATH, {
    id: 'deleteSource',
    summary: 'Remove a source; its documents are kept',
    needs: 'admin',
    find: sourceAt,
    run: ({ found: { source, sources } }) => sources.drop(source),
  })
  api.post(`${SOURCE_PATH}/run`, {
    id: 'runSource',
    summary: 'Sync the knowledge base with a source',
    needs: 'admin',
    isBodyOptional: true,
    find: sourceAt,
    body: RUN_BODY,
    answers: { 202: ['The new job, or the running one', JOB] },
    async run({ found: { source, sources }, body: { full } }) {
      return jobRecord(await sources.run(source, { isFull: full === true }))
    },
  })
  api.get(`${SOURCE_PATH}/runs`, {
    id: 'listSourceRuns',
    summary: 'List the runs of a source, newest first',
    query: RUNS,
    find: sourceAt,
    answers: { 200: ['The runs, each with its counts', t.Array(SOURCE_RUN)] },
    async run({ found: { source, sources }, query: { limit } }) {
      return (await sources.runs(source, limit)).map(runFields)
    },
  })
})
