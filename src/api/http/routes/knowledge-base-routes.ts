import { type Static, t } from 'elysia'
import { ofProject } from '../../../core/domain/access/catalog-snapshot.ts'
import {
  type Principal,
  type Rights,
  requireEverything,
  requireNamespace,
  requireScope,
  rightsOf,
} from '../../../core/domain/access/principal.ts'
import type { Row } from '../../../core/domain/document.ts'
import { type Job, lastInsertInto } from '../../../core/domain/flow/job.ts'
import type { KnowledgeBase } from '../../../core/domain/knowledge-base.ts'
import { FILES_DATABASE } from '../../../core/domain/names.ts'
import { AppError, wrongField } from '../../../core/errors.ts'
import type {
  CrawlRequest,
  InsertOutcome,
  InsertRequest,
} from '../../../ingest/sources/insert-request.ts'
import {
  ALTER_FIELDS,
  alterKnowledgeBase,
  createKnowledgeBase,
  dropKnowledgeBase,
  notAllowed,
} from '../../../query/definitions/define-knowledge-base.ts'
import { declareSources } from '../../../query/definitions/define-source.ts'
import {
  FieldReader,
  type Fields,
  INVALID_KNOWLEDGE_BASE,
} from '../../../query/definitions/fields.ts'
import { SEARCH_FIELDS } from '../../../query/definitions/knowledge-base-fields.ts'
import { JOB, SOURCE_DEFINITION } from '../answers/records/catalog-schemas.ts'
import { KNOWLEDGE_BASE } from '../answers/records/knowledge-base-schemas.ts'
import { NOTHING } from '../answers/records/server-schemas.ts'
import { jobRecord, knowledgeBaseRecord } from '../answers/wire.ts'
import { bodySchema } from '../bodies/body.ts'
import { MODEL, PREPROCESSING, STORAGE } from '../bodies/definition-shapes.ts'
import type { RouteContext } from '../request/route-context.ts'
import { SKIPPED_ROWS_HEADER } from '../request/running-requests.ts'
import {
  anObject,
  documentedAs,
  integer,
  maybe,
  optionally,
  strict,
} from '../request/schema-words.ts'
import { knowledgeBaseAt, projectAt, resource } from './operation.ts'

const KNOWLEDGE_BASES_PATH = '/api/projects/:project_name/knowledge_bases'
const KNOWLEDGE_BASE_PATH = `${KNOWLEDGE_BASES_PATH}/:knowledge_base_name` as const

export const knowledgeBaseOperations = resource('Knowledge bases', (api, context) => {
  api.get(KNOWLEDGE_BASES_PATH, {
    id: 'listKnowledgeBases',
    summary: 'List the knowledge bases of a project',
    answers: { 200: ['The knowledge bases', t.Array(KNOWLEDGE_BASE)] },
    find: projectAt,
    async run({ found: project, snapshot, principal }) {
      const records = []
      for (const kb of ofProject(snapshot.knowledgeBases, project))
        records.push(await shownKnowledgeBase(context, kb, principal))
      return records
    },
  })
  api.post(KNOWLEDGE_BASES_PATH, {
    id: 'createKnowledgeBase',
    summary: 'Create a knowledge base',
    find: projectAt,
    body: CREATE_KNOWLEDGE_BASE,
    answers: { 201: ['The knowledge base', KNOWLEDGE_BASE], 409: 'The name is already in use' },
    async run({ params, body: sent, principal }) {
      const catalog = context.deps.catalogFor(principal)
      const kb = await createKnowledgeBase(params.project_name, sent.knowledge_base, catalog)
      return await shownKnowledgeBase(context, kb, principal)
    },
  })
  api.get(KNOWLEDGE_BASE_PATH, {
    id: 'getKnowledgeBase',
    summary: 'Get a knowledge base',
    find: knowledgeBaseAt,
    answers: { 200: ['The knowledge base', KNOWLEDGE_BASE] },
    run: async ({ found: kb, principal }) => await shownKnowledgeBase(context, kb, principal),
  })
  api.put(KNOWLEDGE_BASE_PATH, {
    id: 'updateKnowledgeBase',
    summary: 'Insert documents into a knowledge base, or update its definition',
    find: knowledgeBaseAt,
    body: UPDATE_KNOWLEDGE_BASE,
    answers: {
      200: {
        description: 'The rows are stored; an empty JSON string',
        schema: NOTHING,
        headers: { [SKIPPED_ROWS_HEADER]: 'Number of rows skipped because their content is empty' },
      },
      202: [
        'The job, if the request has "background": true, "rechunk": true or "storage", or takes longer than EIDER_INSERT_WAIT_SECONDS',
        JOB,
      ],
    },
    async run({ body, scope, found: kb }) {
      const sent = withInsertParams(body.knowledge_base)
      const { principal, signal } = scope
      requireScopes(principal, sent)
      const { job, skippedRows } = await update(context, kb, { ...sent, principal }, signal)
      scope.skippedRows = skippedRows
      return job === null ? Response.json('') : Response.json(jobRecord(job), { status: 202 })
    },
  })
  api.delete(KNOWLEDGE_BASE_PATH, {
    id: 'deleteKnowledgeBase',
    summary: 'Delete a knowledge base and its documents',
    find: knowledgeBaseAt,
    run: ({ found: kb }) => dropKnowledgeBase(kb, context.deps.catalog),
  })
})

export async function shownKnowledgeBase(
  { deps }: RouteContext,
  kb: KnowledgeBase,
  principal: Principal,
) {
  const warnings = await deps.chunkWarnings(kb)
  const progress = deps.catalog.reembeddings.progressOf(kb)
  const insert = lastInsertInto(kb, deps.activityFor(principal))
  return knowledgeBaseRecord(kb, progress, warnings, insert)
}

/** Some updates require more scopes than `write`. @throws AppError `forbidden` */
function requireScopes(principal: Principal, sent: SentUpdate): void {
  // Sources fetch documents on their own, from folders and addresses.
  if (isSet(sent.sources)) requireEverything(principal)
  if (isSet(sent.files)) {
    requireScope(principal, 'read')
    requireNamespace(principal, FILES_DATABASE)
  }
  // A new model, or one that writes contexts, receives all stored text.
  const isDefined = Object.keys(definitionFields(sent)).length > 0
  if (isDefined || sent.rechunk === true) requireScope(principal, 'read')
}

/** @throws AppError `invalid_request` */
function refuseInsertWith(sent: SentUpdate): void {
  if (!hasInsert(sent)) return
  const why = 'it applies to stored documents; send the insert in a request of its own'
  throw new AppError('invalid_request', `"rechunk" cannot be sent with an insert: ${why}`)
}

/** @throws AppError `invalid_request` for an option of an action that is not requested */
function refuseWithoutInsert(sent: SentUpdate): void {
  const { limit, crawl_depth, filters, error, background, rechunk } = sent
  const ofPages = Object.entries({ limit, crawl_depth, filters })
  const [unread] = isSet(sent.urls) ? [] : ofPages.filter(([, value]) => isSet(value))
  if (unread !== undefined) throw wrongField(unread[0], 'needs "urls" as well')
  if (hasInsert(sent)) return
  const isUnused = background === true && rechunk !== true
  if (!isSet(error) && !isUnused) return
  const name = isSet(error) ? 'error' : 'background'
  const how = 'send "rows", "files", "urls" or a "query" with it'
  throw wrongField(name, `needs an insert: ${how}`)
}

/** The definition first: rows sent with a chunk size get it. @returns the job, if any */
async function update(
  { deps }: RouteContext,
  kb: KnowledgeBase,
  { principal, ...sent }: SentUpdate & { readonly principal: Principal },
  signal: AbortSignal,
): Promise<InsertOutcome> {
  if (isSet(sent.storage)) {
    const fields = Object.fromEntries(Object.entries(sent).filter(([, value]) => isSet(value)))
    return { job: await deps.move(kb, fields, principal), skippedRows: null }
  }
  if (sent.rechunk === true) refuseInsertWith(sent)
  refuseWithoutInsert(sent)
  const definition = definitionFields(sent)
  new FieldReader(definition, INVALID_KNOWLEDGE_BASE).allowOnly(UPDATE_FIELDS, notAllowed)
  const isAltered = Object.keys(definition).length > 0
  const target = isAltered ? await alterKnowledgeBase(kb, definition, deps.catalog) : kb
  if (isSet(sent.sources)) await declareSources(target, sent.sources, deps.sourcesFor(principal))
  const insert = insertRequest(target, sent, rightsOf(principal))
  const jobOf = async (job: Promise<Job>) => ({ job: await job, skippedRows: null })
  if (sent.rechunk === true) return jobOf(deps.rechunk(target))
  if (insert === null) return { job: null, skippedRows: null }
  if (sent.background === true) return jobOf(deps.insertInBackground(insert))
  return deps.insert(insert, signal)
}

const TEXT = maybe(t.String())
const STRINGS = maybe(t.Array(t.String()))

const DEFINITION = {
  embedding_model: maybe(anObject(MODEL)),
  /** `false` turns reranking off. */
  reranking_model: t.Optional(t.Union([anObject(MODEL), t.Literal(false), t.Null()])),
  content_columns: STRINGS,
  /** Names, or names with types: `{"name": "day", "type": "DATE"}`. */
  metadata_columns: maybe(
    t.Array(
      t.Union([
        t.String(),
        documentedAs(
          t.Object({ name: t.String() }),
          t.Object({ name: t.String(), type: t.Optional(t.String()) }),
        ),
      ]),
    ),
  ),
  id_column: TEXT,
  preprocessing: maybe(anObject(PREPROCESSING)),
  /** The language of the content, for keyword search. */
  language: TEXT,
  hybrid_search: maybe(t.Boolean()),
  hybrid_search_alpha: maybe(t.Number({ minimum: 0, maximum: 1 })),
  hybrid_search_fusion: TEXT,
  hybrid_search_feedback: maybe(t.Boolean()),
  params: maybe(anObject()),
  vector_size: optionally(t.Unknown({ description: 'The required vector length' })),
  /** Existing clients send these as false, the only valid value. */
  is_sparse: optionally(t.Unknown()),
  kb_no_upsert: optionally(t.Unknown()),
  kb_skip_existing: optionally(t.Unknown()),
}

const STORED_AT = t.Optional(documentedAs(t.Union([t.Object({}), t.String(), t.Null()]), STORAGE))

/** The catalog checks all other fields, because clients expect its wording when it refuses one. */
const CREATE_KNOWLEDGE_BASE = bodySchema(
  strict({
    knowledge_base: t.Object({
      name: t.String(),
      /** An object, or `database.table` as a string. */
      storage: STORED_AT,
      attach: maybe(
        t.Boolean({ description: 'Whether the knowledge base already exists in the storage' }),
      ),
      ...DEFINITION,
    }),
  }),
)

const CRAWL_PAGES_MAX = 1_000_000
/** The most links between a start address and a page. */
const CRAWL_DEPTH_MAX = 1000

const INSERT = {
  /** Answer right away with the job that inserts. */
  background: maybe(t.Boolean()),
  /** Re-chunk stored documents according to `preprocessing`, and answer right away with the job. */
  rechunk: maybe(t.Boolean()),
  /** What to do with a document that cannot be stored. */
  error: t.Optional(t.Union([t.Literal('raise'), t.Literal('skip'), t.Null()])),
  rows: maybe(t.Array(anObject())),
  query: TEXT,
  files: STRINGS,
  urls: STRINGS,
  /** Sources with these names are created or changed; other sources stay. */
  sources: maybe(t.Array(anObject(SOURCE_DEFINITION))),
  limit: maybe(integer({ minimum: 1, maximum: CRAWL_PAGES_MAX })),
  crawl_depth: maybe(integer({ minimum: 0, maximum: CRAWL_DEPTH_MAX })),
  filters: t.Optional(
    t.Union([t.Array(t.String()), strict({ allowed_domains: t.Array(t.String()) }), t.Null()]),
  ),
}

/** The definition accepts fewer, but a misspelled name can mean any of these. */
const UPDATE_FIELDS = new Set([...ALTER_FIELDS, ...Object.keys({ ...INSERT, ...DEFINITION })])

const UPDATE_SCHEMA = strict({
  knowledge_base: t.Object({
    ...INSERT,
    ...DEFINITION,
    /** Move the knowledge base there, and answer right away with the job. */
    storage: STORED_AT,
  }),
})
const UPDATE_KNOWLEDGE_BASE = bodySchema(UPDATE_SCHEMA)
type SentUpdate = Static<typeof UPDATE_SCHEMA>['knowledge_base']

function hasInsert({ rows, query, files, urls }: SentUpdate): boolean {
  return [rows, query, files, urls].some(isSet)
}

/** One existing client can send insert options only in "params". */
function withInsertParams(sent: SentUpdate): SentUpdate {
  const { params } = sent
  if (!isSet(params) || !hasInsert(sent)) return sent
  const { error, background, ...others }: Fields = { ...params }
  const read = new FieldReader({ error, background }, 'invalid_request')
  const choice = read.text('error')
  if (choice !== undefined && choice !== 'raise' && choice !== 'skip') {
    throw new AppError('invalid_request', `Parameter "error" must be 'raise' or 'skip'`)
  }
  return {
    ...sent,
    error: sent.error ?? choice ?? null,
    background: sent.background ?? read.truth('background') ?? null,
    params: Object.keys(others).length === 0 ? null : others,
  }
}

/** Some clients send null for all unused fields. */
const RESETTABLE: ReadonlySet<string> = new Set(SEARCH_FIELDS)

/** Fields that change the definition, including unknown ones, which are refused by name. */
function definitionFields(sent: SentUpdate): Fields {
  const mayReset = !hasInsert(sent)
  const fields = Object.entries(sent).filter(([name, value]) => {
    return !Object.hasOwn(INSERT, name) && (isSet(value) || (mayReset && RESETTABLE.has(name)))
  })
  return Object.fromEntries(fields)
}

/** Returns null if the body contains no data to insert. */
function insertRequest(
  kb: KnowledgeBase,
  sent: SentUpdate,
  rights: Rights | null,
): InsertRequest | null {
  const { rows, query, files, urls } = sent
  const sources = {
    // A JSON object contains only row values, and the schema has checked that each row is an
    // object.
    ...(rows ? { rows: rows as readonly Row[] } : {}),
    ...(files ? { files } : {}),
    ...(urls ? { urls } : {}),
    ...(isSet(query) ? { query } : {}),
  }
  if (Object.keys(sources).length === 0) return null
  const { error } = sent
  const how = isSet(error) ? { onBadDocument: error } : {}
  const own = rights === null ? {} : { rights }
  return { kb, ...sources, ...how, ...own, crawl: crawlRequest(sent) }
}

function crawlRequest({ limit, crawl_depth: depth, filters }: SentUpdate): CrawlRequest {
  return {
    ...(isSet(limit) ? { pagesMax: limit } : {}),
    ...(isSet(depth) ? { depth } : {}),
    allowedDomains: filters && 'allowed_domains' in filters ? filters.allowed_domains : [],
    patterns: filters && !('allowed_domains' in filters) ? filters : [],
  }
}

function isSet<T>(value: T | null | undefined): value is T {
  return value !== null && value !== undefined
}
