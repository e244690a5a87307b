/** OpenAI's `/v1/vector_stores/{id}/search`. */
import { type Static, t } from 'elysia'
import type { KnowledgeBase } from '../../../core/domain/knowledge-base.ts'
import type { SearchOrder, SearchResult } from '../../../query/search/run-search.ts'
import { bodySchema } from '../bodies/body.ts'
import { resource } from '../openapi/operation.ts'
import { maybe, open } from '../request/schema-words.ts'
import { searchFilterOf } from './attribute-filter.ts'
import { attributesOf } from './attributes.ts'
import { filenameFor } from './files-to-attach.ts'
import { requireStore } from './store-record.ts'

const RESULTS_UNSET = 10
const RESULTS_MAX = 50
const QUERIES_MAX = 20

const BODY_SCHEMA = open({
  query: t.Union([t.String(), t.Array(t.String(), { minItems: 1, maxItems: QUERIES_MAX })]),
  max_num_results: maybe(t.Number({ multipleOf: 1, minimum: 1, maximum: RESULTS_MAX })),
  filters: maybe(open({})),
  ranking_options: maybe(
    open({
      ranker: maybe(t.String(), {
        description: '`none` leaves the reranking model of the knowledge base out',
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
  rewrite_query: maybe(t.Boolean(), { description: 'Taken, and searches are not rewritten' }),
})
const BODY = bodySchema(BODY_SCHEMA)

const RESULT = t.Object({
  file_id: t.String({ description: 'The id of the document' }),
  filename: t.String(),
  score: t.Number({ description: '0 to 1' }),
  attributes: t.Record(t.String(), t.Union([t.String(), t.Number(), t.Boolean()])),
  content: t.Array(t.Object({ type: t.Literal('text'), text: t.String() })),
})
const ANSWER = t.Object({
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
    answers: { 200: ['The best chunks, the best first', ANSWER], 400: 'A field is wrong' },
    async run({ params, principal, signal, body: sent }) {
      const storeAt = () => requireStore(context.snapshot(), principal, params.vector_store_id)
      storeAt()
      const kb = storeAt()
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
        return resultRecord(result, filenameFor(principal, context.snapshot(), result.id))
      })
      return {
        object: 'vector_store.search_results.page',
        search_query: queries,
        data,
        has_more: false,
        next_page: null,
      }
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
