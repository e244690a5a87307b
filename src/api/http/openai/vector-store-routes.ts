/** OpenAI's `/v1/vector_stores`: knowledge bases. */
import { type Static, t } from 'elysia'
import { findIn, findProject } from '../../../core/domain/access/catalog-snapshot.ts'
import {
  mayName,
  type Principal,
  requireNamespace,
  requireScope,
} from '../../../core/domain/access/principal.ts'
import type { KnowledgeBase } from '../../../core/domain/knowledge-base.ts'
import { DEFAULT_PROJECT, FILES_DATABASE, fullName } from '../../../core/domain/names.ts'
import { AppError, hasCode } from '../../../core/errors.ts'
import {
  alterKnowledgeBase,
  createKnowledgeBase,
  dropKnowledgeBase,
} from '../../../query/definitions/define-knowledge-base.ts'
import type { SearchOrder, SearchResult } from '../../../query/search/run-search.ts'
import { bodySchema } from '../bodies/body.ts'
import type { RouteContext } from '../request/route-context.ts'
import { integer, maybe, open } from '../request/schema-words.ts'
import { resource } from '../routes/operation.ts'
import { filenameFor, filesToAttach, SENT_FILES_MAX } from './attached-files.ts'
import { ATTRIBUTES_SCHEMA, attributesOf, checkedPairs, searchFilterOf } from './attributes.ts'
import {
  deletedSchema,
  listSchema,
  PAGE,
  pageOf,
  pageOrderOf,
  pageRecord,
  wholePage,
} from './list-page.ts'
import {
  CHUNKING_SCHEMA,
  preprocessingFieldOf,
  STORE_SCHEMA,
  storeAt,
  storeFactsOf,
  storeRecord,
} from './store-record.ts'

const STORES_PATH = '/v1/vector_stores'
const STORE_PATH = `${STORES_PATH}/:vector_store_id` as const

const STORE_NAME_CHARS_MAX = 512

const optional = {
  text: () => maybe(t.String({ maxLength: STORE_NAME_CHARS_MAX })),
  pairs: () => maybe(ATTRIBUTES_SCHEMA),
  chunking: () => maybe(CHUNKING_SCHEMA),
  refused: () =>
    t.Optional(t.Unknown({ description: 'Refused, because vector stores do not expire' })),
}

const NEW_STORE = bodySchema(
  open({
    name: optional.text(),
    description: optional.text(),
    file_ids: maybe(t.Array(t.String(), { maxItems: SENT_FILES_MAX })),
    chunking_strategy: optional.chunking(),
    metadata: optional.pairs(),
    expires_after: optional.refused(),
  }),
)
const MODIFY = bodySchema(
  open({
    name: optional.text(),
    metadata: optional.pairs(),
    expires_after: optional.refused(),
  }),
)

export const vectorStoreOperations = resource('OpenAI', (api, context) => {
  api.get(STORES_PATH, {
    id: 'listVectorStores',
    summary: 'List knowledge bases as vector stores',
    query: PAGE,
    answers: { 200: ['A page of items', listSchema(STORE_SCHEMA)] },
    async run({ query, snapshot, principal, signal }) {
      const kbs = snapshot.knowledgeBases
        .filter(({ projectName }) => mayName(principal, projectName))
        .toSorted((one, other) => one.id - other.id)
      const { items: shown, hasMore } = pageOf(kbs, fullName, pageOrderOf(query))
      const items = []
      for (const kb of shown) {
        const record = await storeRecord(context, kb, signal).catch(goneAsNull)
        if (record !== null) items.push(record)
      }
      return pageRecord({ items, hasMore })
    },
  })
  api.post(STORES_PATH, {
    id: 'createVectorStore',
    summary: 'Create a knowledge base as a vector store',
    description:
      'The id is made from the name’s letters, digits, `_` and `-`, with a number if that id is taken. A name `project.name` creates the vector store in that project, other names in the default one.',
    body: NEW_STORE,
    answers: {
      200: ['The vector store', STORE_SCHEMA],
      400: 'A field is invalid',
      404: 'Unknown file',
    },
    async run({ body: sent, principal, signal }) {
      refuseExpiry(sent.expires_after)
      const fileIds = sent.file_ids ?? []
      if (fileIds.length > 0) {
        requireNamespace(principal, FILES_DATABASE)
        requireScope(principal, 'read')
      }
      const files = filesToAttach(context.snapshot(), fileIds)
      const kb = await created(context, principal, sent)
      if (files.length > 0) await context.deps.attachments.attach({ kb, files, isBatch: false })
      return await storeRecord(context, kb, signal)
    },
  })
  api.get(STORE_PATH, {
    id: 'getVectorStore',
    summary: 'Get a vector store',
    answers: { 200: ['The vector store', STORE_SCHEMA] },
    find: storeAt,
    run: ({ found: kb, signal }) => storeRecord(context, kb, signal),
  })
  api.post(STORE_PATH, {
    id: 'modifyVectorStore',
    summary: 'Change a vector store’s name or metadata',
    body: MODIFY,
    answers: { 200: ['The vector store', STORE_SCHEMA] },
    find: storeAt,
    async run({ found: kb, body: { name, metadata, expires_after: expiry }, principal, signal }) {
      refuseExpiry(expiry)
      const facts = {
        ...storeFactsOf(kb),
        ...(name ? { name } : {}),
        ...(metadata === undefined ? {} : { metadata: checkedPairs(metadata, 'metadata') }),
      }
      const catalog = context.deps.catalogFor(principal)
      const altered = await alterKnowledgeBase(kb, { vector_store: facts }, catalog)
      return storeRecord(context, altered, signal)
    },
  })
  api.delete(STORE_PATH, {
    id: 'deleteVectorStore',
    summary: 'Delete a vector store and its documents; uploaded files are kept',
    answers: { 200: ['Deleted', deletedSchema('vector_store.deleted')] },
    find: storeAt,
    async run({ found: kb, principal }) {
      await dropKnowledgeBase(kb, context.deps.catalogFor(principal))
      return { id: fullName(kb), object: 'vector_store.deleted', deleted: true }
    },
  })
})

/** Skips a knowledge base that was dropped after the list was made. */
function goneAsNull(error: unknown): null {
  if (hasCode(error, 'knowledge_base_not_found')) return null
  throw error
}

function refuseExpiry(sent: unknown): void {
  if (sent === null || sent === undefined) return
  const message = 'Vector stores do not expire here: leave out "expires_after"'
  throw new AppError('invalid_request', message, { param: 'expires_after' })
}

const NAME_TRIES_MAX = 1000

/** @throws AppError `forbidden`, and those of `createKnowledgeBase` */
async function created(
  { deps, snapshot }: RouteContext,
  principal: Principal,
  sent: Static<typeof NEW_STORE.schema> & {
    readonly name?: string | null
    readonly description?: string | null
    readonly metadata?: Readonly<Record<string, unknown>> | null
    readonly chunking_strategy?: Static<typeof CHUNKING_SCHEMA> | null
  },
): Promise<KnowledgeBase> {
  const metadata = checkedPairs(sent.metadata, 'metadata')
  const preprocessing = preprocessingFieldOf(sent.chunking_strategy)
  const { projectName, base } = placeOf(sent.name ?? '')
  requireNamespace(principal, projectName)
  for (let count = 1; ; count += 1) {
    const name = count === 1 ? base : `${base}_${count}`
    const facts = { name: sent.name || name, description: sent.description ?? null, metadata }
    const fields = { name, vector_store: facts, ...(preprocessing && { preprocessing }) }
    const project = findProject(snapshot(), projectName)
    const isTaken = project !== undefined && findIn(snapshot().knowledgeBases, project, name)
    if (isTaken && count < NAME_TRIES_MAX) continue
    try {
      return await createKnowledgeBase(projectName, fields, deps.catalogFor(principal))
    } catch (error) {
      // Another request took the name first.
      const isClash = error instanceof AppError && CLASHES.has(error.code)
      if (!isClash || count >= NAME_TRIES_MAX) throw error
    }
  }

  function placeOf(name: string) {
    const [first = '', second = '', ...others] = name.split('.')
    const isPlace = others.length === 0 && second !== '' && mayName(principal, first)
    const project = isPlace ? findProject(snapshot(), first) : undefined
    if (project !== undefined) return { projectName: project.name, base: idNameOf(second) }
    return { projectName: DEFAULT_PROJECT, base: idNameOf(name) }
  }
}

const CLASHES: ReadonlySet<string> = new Set(['knowledge_base_exists', 'storage_in_use'])

const ID_CHARS_MAX = 80

/** Turns a name into text that needs no escaping in a path. */
function idNameOf(name: string): string {
  const plain = name
    .toWellFormed()
    .normalize('NFC')
    .replaceAll(/[^\p{L}\p{N}_-]+/gu, '_')
  const short = [...plain]
    .slice(0, ID_CHARS_MAX)
    .join('')
    .replaceAll(/^_+|_+$/g, '')
  return short === '' ? `vs_${crypto.randomUUID().replaceAll('-', '').slice(0, 24)}` : short
}

const RESULTS_UNSET = 10
const RESULTS_MAX = 50
const QUERIES_MAX = 20

const BODY_SCHEMA = open({
  query: t.Union([t.String(), t.Array(t.String(), { minItems: 1, maxItems: QUERIES_MAX })]),
  max_num_results: maybe(integer({ minimum: 1, maximum: RESULTS_MAX })),
  filters: maybe(open({})),
  ranking_options: maybe(
    open({
      ranker: maybe(t.String(), {
        description: '`none` turns off the knowledge base’s reranking model',
      }),
      score_threshold: maybe(t.Number({ minimum: 0, maximum: 1 })),
      hybrid_search: maybe(
        open({
          embedding_weight: t.Number({ minimum: 0, maximum: 1_000_000 }),
          text_weight: t.Number({ minimum: 0, maximum: 1_000_000 }),
        }),
      ),
    }),
  ),
  rewrite_query: maybe(t.Boolean(), { description: 'Accepted, but has no effect' }),
})
const BODY = bodySchema(BODY_SCHEMA)

const RESULT = t.Object({
  file_id: t.String({ description: 'The id of the document' }),
  filename: t.String(),
  score: t.Number({ description: '0 to 1' }),
  attributes: t.Record(t.String(), t.Union([t.String(), t.Number(), t.Boolean()])),
  content: t.Array(t.Object({ type: t.Literal('text'), text: t.String() })),
})
const SEARCH_ANSWER = t.Object({
  object: t.Literal('vector_store.search_results.page'),
  search_query: t.Array(t.String()),
  data: t.Array(RESULT),
  has_more: t.Literal(false),
  next_page: t.Null(),
})

type Sent = Static<typeof BODY_SCHEMA>

export const vectorStoreSearchOperations = resource('OpenAI', (api, context) => {
  api.post('/v1/vector_stores/:vector_store_id/search', {
    id: 'searchVectorStore',
    summary: 'Search a vector store',
    needs: 'read',
    body: BODY,
    answers: {
      200: ['The best matching chunks, best first', SEARCH_ANSWER],
      400: 'A field is invalid',
    },
    find: storeAt,
    async run({ found: kb, snapshot, principal, signal, body: sent }) {
      const queries = [...new Set([sent.query].flat())]
      const best = new Map<string, SearchResult>()
      for (const query of queries) {
        const { results } = await context.deps.search(kb, orderOf(kb, sent, query), signal)
        for (const result of results) {
          const known = best.get(result.chunkId)
          if (known === undefined || scoreOf(result) > scoreOf(known)) {
            best.set(result.chunkId, result)
          }
        }
      }
      const found = [...best.values()]
      const ranked = queries.length === 1 ? found : found.sort((a, b) => scoreOf(b) - scoreOf(a))
      const data = ranked.slice(0, sent.max_num_results ?? RESULTS_UNSET).map((result) => {
        return resultRecord(result, filenameFor(principal, snapshot, result.id))
      })
      const page = wholePage('vector_store.search_results.page', data)
      return { ...page, search_query: queries }
    },
  })
})

function orderOf(kb: KnowledgeBase, sent: Sent, query: string): SearchOrder {
  const { max_num_results: k, filters, ranking_options: ranking } = sent
  const { ranker, score_threshold: least, hybrid_search: weights } = ranking ?? {}
  const sum = weights ? weights.embedding_weight + weights.text_weight : 0
  return {
    query,
    k: k ?? RESULTS_UNSET,
    explain: false,
    neighbours: 0,
    ...(filters ? { filters: searchFilterOf(kb, filters) } : {}),
    ...(least ? { minRelevance: least } : {}),
    ...(ranker === 'none' ? { rerank: false } : {}),
    ...(weights && sum > 0 ? { alpha: weights.embedding_weight / sum } : {}),
  }
}

function scoreOf({ relevance }: SearchResult): number {
  return Math.min(1, Math.max(0, relevance ?? 0))
}

function resultRecord(result: SearchResult, filename: string | null) {
  const attributes = attributesOf(result.metadata)
  const { filename: own, file_path: path, title } = attributes
  const named = [filename, own, path, title].find((one) => typeof one === 'string' && one !== '')
  return {
    file_id: result.id,
    filename: String(named ?? result.id),
    score: scoreOf(result),
    attributes,
    content: [{ type: 'text', text: result.content }],
  }
}
