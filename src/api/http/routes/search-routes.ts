import { type Static, t } from 'elysia'
import { FUSIONS, SEARCH_MODES } from '../../../core/domain/hybrid-search.ts'
import { AppError, wrongField } from '../../../core/errors.ts'
import { definedFields } from '../../../core/json.ts'
import type { FoundChunk } from '../../../query/search/chunk-search.ts'
import type { SearchAnswer, SearchOrder, SearchResult } from '../../../query/search/run-search.ts'
import { SEARCH_ANSWER } from '../answers/records/knowledge-base-schemas.ts'
import { bodySchema } from '../bodies/body.ts'
import { CONDITIONS } from '../bodies/definition-shapes.ts'
import {
  anObject,
  documentedAs,
  integer,
  maybe,
  oneOf as oneOfThese,
  orNull,
} from '../request/schema-words.ts'
import { knowledgeBaseAt, resource } from './operation.ts'

export const searchOperations = resource('Knowledge bases', (api, context) => {
  api.post('/api/projects/:project_name/knowledge_bases/:knowledge_base_name/search', {
    id: 'searchKnowledgeBase',
    summary: 'Search a knowledge base',
    needs: 'read',
    find: knowledgeBaseAt,
    body: SEARCH,
    answers: { 200: ['The best matching chunks', SEARCH_ANSWER] },
    async run({ found: kb, body: sent, signal }) {
      const answer = await context.deps.search(kb, searchOrder(sent), signal)
      return searchRecord(answer, sent.columns ?? null)
    },
  })
})

const K_MAX = 10_000
const K_UNSET = 10
const NEIGHBOURS_MAX = 10
/** The most dimensions of a query vector. */
const VECTOR_MAX = 65_536
const SHOWN_COLUMNS_MAX = 1000

const optionalPart = {
  flag: () => maybe(t.Boolean()),
  number: () => maybe(t.Number()),
  integer: (minimum: number, maximum: number) => {
    return maybe(integer({ minimum, maximum }))
  },
}

const SEARCH_SCHEMA = t.Object(
  {
    query: t.Union([t.String(), t.Array(t.Number(), { maxItems: VECTOR_MAX })]),
    k: optionalPart.integer(1, K_MAX),
    limit: maybe(integer({ minimum: 1, maximum: K_MAX, description: 'Another name for k' })),
    mode: t.Optional(documentedAs(orNull(t.String()), orNull(oneOfThese(SEARCH_MODES)))),
    alpha: optionalPart.number(),
    fusion: t.Optional(documentedAs(orNull(t.String()), orNull(oneOfThese(FUSIONS)))),
    feedback: optionalPart.flag(),
    filters: maybe(anObject(CONDITIONS)),
    min_relevance: optionalPart.number(),
    rerank: optionalPart.flag(),
    per_document: optionalPart.flag(),
    allow_partial: optionalPart.flag(),
    explain: optionalPart.flag(),
    highlight: optionalPart.flag(),
    answerability: optionalPart.flag(),
    neighbours: optionalPart.integer(0, NEIGHBOURS_MAX),
    columns: maybe(t.Array(t.String(), { maxItems: SHOWN_COLUMNS_MAX })),
  },
  {
    $id: 'SearchRequest',
    additionalProperties: false,
    examples: [
      { query: 'something for the evening without caffeine', filters: { price: { '<': 8 } }, k: 1 },
    ],
  },
)

const SEARCH = bodySchema(SEARCH_SCHEMA)

type SentSearch = Static<typeof SEARCH_SCHEMA>

/** @throws AppError `invalid_request` naming the field */
function searchOrder(sent: SentSearch): SearchOrder {
  const mode = oneOf('mode', sent.mode, SEARCH_MODES)
  const fusion = oneOf('fusion', sent.fusion, FUSIONS)
  const alpha = unitNumber('alpha', sent.alpha)
  const minRelevance = unitNumber('min_relevance', sent.min_relevance)
  return {
    query: sent.query,
    k: countOf(sent),
    explain: sent.explain ?? false,
    isHighlighted: sent.highlight ?? sent.explain ?? false,
    neighbours: sent.neighbours ?? 0,
    isPerDocument: sent.per_document ?? false,
    allowsPartial: sent.allow_partial ?? false,
    isJudged: sent.answerability ?? false,
    ...definedFields({ mode, fusion, alpha }),
    ...(typeof sent.feedback === 'boolean' ? { hasFeedback: sent.feedback } : {}),
    ...(minRelevance === undefined ? {} : { minRelevance }),
    ...(sent.filters ? { filters: sent.filters } : {}),
    ...(typeof sent.rerank === 'boolean' ? { rerank: sent.rerank } : {}),
  }
}

/** @throws AppError `invalid_request` if `k` and `limit` differ */
function countOf({ k, limit }: Pick<SentSearch, 'k' | 'limit'>): number {
  if (typeof k === 'number' && typeof limit === 'number' && k !== limit) {
    throw new AppError('invalid_request', 'Fields "k" and "limit" differ; give one of them')
  }
  return k ?? limit ?? K_UNSET
}

function oneOf<T extends string>(
  field: string,
  sent: string | null | undefined,
  known: readonly T[],
): T | undefined {
  if (sent === null || sent === undefined) return undefined
  const found = known.find((one) => one === sent)
  if (found !== undefined) return found
  const expected = known.map((one) => `"${one}"`).join(', ')
  throw wrongField(field, `must be one of ${expected}`)
}

function unitNumber(field: string, sent: number | null | undefined): number | undefined {
  if (sent === null || sent === undefined) return undefined
  if (sent >= 0 && sent <= 1) return sent
  throw wrongField(field, 'must be a number from 0 to 1')
}

/** @param columns the metadata keys to show, ignoring case; null means all */
function searchRecord(answer: SearchAnswer, columns: readonly string[] | null) {
  const { results, warnings, explanation, answerable } = answer
  const shown = columns && new Set(columns.map((column) => column.toLowerCase()))
  return {
    results: results.map((result) => resultRecord(result, shown)),
    ...(answerable === undefined ? {} : { answerable }),
    ...(warnings.length === 0 ? {} : { warnings }),
    ...(explanation === null
      ? {}
      : {
          explain: {
            mode: explanation.mode,
            reranked: explanation.isReranked,
            feedback: explanation.isFedBack,
            sql: explanation.sql,
            access: explanation.access,
            ms: explanation.ms,
          },
        }),
  }
}

function resultRecord(result: SearchResult, shown: ReadonlySet<string> | null) {
  const { neighbours, explanation, highlights, metadata } = result
  const shownMetadata = Object.entries(metadata).filter(([name]) => {
    return shown === null || shown.has(name.toLowerCase())
  })
  return {
    id: result.id,
    chunk_id: result.chunkId,
    chunk_content: result.content,
    metadata: Object.fromEntries(shownMetadata),
    relevance: result.relevance,
    distance: result.distance,
    rank: result.rank,
    ...(explanation === null ? {} : { explain: explanationRecord(explanation) }),
    ...(highlights === null ? {} : { highlights }),
    ...(neighbours === null
      ? {}
      : {
          neighbours: {
            before: neighbours.before.map(neighbourRecord),
            after: neighbours.after.map(neighbourRecord),
          },
        }),
  }
}

function explanationRecord({
  vector,
  keyword,
  fusion,
  reranker,
}: NonNullable<SearchResult['explanation']>) {
  const reranked = reranker && { score: reranker.score, rank_before: reranker.rankBefore }
  return { vector, keyword, fusion, reranker: reranked }
}

function neighbourRecord({ chunkId, content }: FoundChunk) {
  return { chunk_id: chunkId, chunk_content: content }
}
