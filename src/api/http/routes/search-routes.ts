import { type Static, t } from 'elysia'
import { FUSIONS, SEARCH_MODES } from '../../../core/domain/hybrid-search.ts'
import { AppError, wrongField } from '../../../core/errors.ts'
import { definedFields } from '../../../core/json.ts'
import type { FoundChunk } from '../../../query/search/chunk-search.ts'
import type { SearchAnswer, SearchOrder, SearchResult } from '../../../query/search/run-search.ts'
import { SEARCH_ANSWER } from '../answers/records/knowledge-base-schemas.ts'
import { bodySchema } from '../bodies/body.ts'
import { CONDITIONS } from '../bodies/definition-shapes.ts'
import { anObject, integer, maybe, maybeWord } from '../request/schema-words.ts'
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

const FLAG = maybe(t.Boolean())
const NUMBER = maybe(t.Number())

const SEARCH_SCHEMA = t.Object(
  {
    query: t.Union([t.String(), t.Array(t.Number(), { maxItems: VECTOR_MAX })]),
    k: maybe(integer({ minimum: 1, maximum: K_MAX })),
    limit: maybe(integer({ minimum: 1, maximum: K_MAX, description: 'Another name for k' })),
    mode: maybeWord(SEARCH_MODES),
    alpha: NUMBER,
    fusion: maybeWord(FUSIONS),
    feedback: FLAG,
    filters: maybe(anObject(CONDITIONS)),
    min_relevance: NUMBER,
    rerank: FLAG,
    per_document: FLAG,
    allow_partial: FLAG,
    explain: FLAG,
    highlight: FLAG,
    answerability: FLAG,
    neighbours: maybe(integer({ minimum: 0, maximum: NEIGHBOURS_MAX })),
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
    ...definedFields({
      mode: sent.mode ?? undefined,
      fusion: sent.fusion ?? undefined,
      hasFeedback: sent.feedback ?? undefined,
      filters: sent.filters ?? undefined,
      rerank: sent.rerank ?? undefined,
      alpha,
      minRelevance,
    }),
  }
}

/** @throws AppError `invalid_request` if `k` and `limit` differ */
function countOf({ k, limit }: Pick<SentSearch, 'k' | 'limit'>): number {
  if (typeof k === 'number' && typeof limit === 'number' && k !== limit) {
    throw new AppError('invalid_request', 'Fields "k" and "limit" differ; give one of them')
  }
  return k ?? limit ?? K_UNSET
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
    answerable,
    warnings: warnings.length === 0 ? undefined : warnings,
    explain:
      explanation === null
        ? undefined
        : {
            mode: explanation.mode,
            reranked: explanation.isReranked,
            feedback: explanation.isFedBack,
            sql: explanation.sql,
            access: explanation.access,
            ms: explanation.ms,
          },
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
    explain: explanation === null ? undefined : explanationRecord(explanation),
    highlights: highlights ?? undefined,
    neighbours: neighbours === null ? undefined : neighboursRecord(neighbours),
  }
}

function explanationRecord({ reranker, ...ranks }: NonNullable<SearchResult['explanation']>) {
  const reranked = reranker && { score: reranker.score, rank_before: reranker.rankBefore }
  return { ...ranks, reranker: reranked }
}

function neighboursRecord({ before, after }: NonNullable<SearchResult['neighbours']>) {
  return { before: before.map(neighbourRecord), after: after.map(neighbourRecord) }
}

function neighbourRecord({ chunkId, content }: FoundChunk) {
  return { chunk_id: chunkId, chunk_content: content }
}
