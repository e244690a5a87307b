import { quote } from '../../domain/identifier.ts'
import type { KnowledgeBase } from '../../domain/knowledge-base.ts'
import { mapConcurrent } from '../../runtime/map-concurrent.ts'
import type { QueryDeps } from '../query-deps.ts'
import { runSelect } from '../select/run-select.ts'
import type { EvaluationSearch } from './evaluate-options.ts'

/** Searches of one evaluation that run at the same time. */
const SEARCHES_AT_ONCE = 4

/** A document's chunks push others back: where the first k hold too few documents, so many more are asked for. */
const MORE_CHUNKS = 4
const CHUNKS_MAX = 100_000

export interface SearchPlan {
  readonly kb: KnowledgeBase
  readonly search: EvaluationSearch
  /** Chunks; documents for `rankedDocuments`. */
  readonly k: number
  readonly deps: QueryDeps
  /** Of the searches: where a reranker failed, something else was measured. */
  readonly warnings: Set<string>
}

/** What one search found, the best first. */
export interface SearchedQuestion<Found> {
  readonly found: readonly Found[]
  /** Of the first SELECT, with the embedding of the question and the wait for a place. */
  readonly seconds: number
}

/** Mean seconds of a search. */
export function meanSeconds(searched: readonly { readonly seconds: number }[]): number {
  return searched.reduce((sum, { seconds }) => sum + seconds, 0) / searched.length
}

export interface FoundChunk {
  readonly documentId: string
  readonly content: string
}

/** The first k chunks for each question. */
export async function foundChunks(
  questions: readonly string[],
  plan: SearchPlan,
  signal: AbortSignal,
): Promise<readonly SearchedQuestion<FoundChunk>[]> {
  const searched = await firstRows(questions, { ...plan, columns: ['id', 'chunk_content'] }, signal)
  return searched.map(({ rows, seconds }) => {
    const found = rows.map(([id, content]) => {
      return { documentId: String(id), content: String(content ?? '') }
    })
    return { found, seconds }
  })
}

/** The documents of the first k chunks for each question; one that has several comes several times. */
export async function foundDocumentIds(
  questions: readonly string[],
  plan: SearchPlan,
  signal: AbortSignal,
): Promise<readonly SearchedQuestion<string>[]> {
  const searched = await firstRows(questions, { ...plan, columns: ['id'] }, signal)
  return searched.map(({ rows, seconds }) => ({ found: rows.map(([id]) => String(id)), seconds }))
}

function firstRows(
  questions: readonly string[],
  { columns, ...plan }: SearchPlan & Pick<AskedSearch, 'columns'>,
  signal: AbortSignal,
) {
  return mapConcurrent(
    questions,
    { concurrencyMax: SEARCHES_AT_ONCE, signal },
    (question, lane) => {
      return rowsFound({ question, columns, limit: plan.k }, plan, lane)
    },
  )
}

/** The first k documents for each question, each where its best chunk stands. */
export function rankedDocuments(
  questions: readonly string[],
  plan: SearchPlan,
  signal: AbortSignal,
): Promise<readonly SearchedQuestion<string>[]> {
  return mapConcurrent(
    questions,
    { concurrencyMax: SEARCHES_AT_ONCE, signal },
    async (question, lane) => {
      const asked = { question, columns: ['id'], limit: plan.k }
      let { rows, seconds } = await rowsFound(asked, plan, lane)
      let found = distinctIds(rows)
      for (let limit = plan.k; isShort({ rows, found, limit }, plan.k); ) {
        limit = Math.min(CHUNKS_MAX, limit * MORE_CHUNKS)
        rows = (await rowsFound({ ...asked, limit }, plan, lane)).rows
        found = distinctIds(rows)
      }
      return { found: found.slice(0, plan.k), seconds }
    },
  )
}

interface Ranked {
  readonly rows: readonly unknown[]
  readonly found: readonly string[]
  readonly limit: number
}

/** Whether more chunks may hold more documents. */
function isShort({ rows, found, limit }: Ranked, k: number): boolean {
  return found.length < k && rows.length === limit && limit < CHUNKS_MAX
}

function distinctIds(rows: readonly (readonly unknown[])[]): readonly string[] {
  return [...new Set(rows.map(([id]) => String(id)))]
}

interface AskedSearch {
  readonly question: string
  readonly columns: readonly string[]
  readonly limit: number
}

async function rowsFound(
  { question, columns, limit }: AskedSearch,
  { kb, search, deps, warnings }: SearchPlan,
  signal: AbortSignal,
) {
  const from = `${quote(kb.projectName)}.${quote(kb.name)}`
  const where = ['content = :question', ...conditionsOf(search)].join(' AND ')
  const sql = `SELECT ${columns.join(', ')} FROM ${from} WHERE ${where} LIMIT ${limit}`
  const startedMs = performance.now()
  const request = { sql, database: kb.projectName, params: { question } }
  const found = await runSelect(request, deps, signal)
  for (const warning of found.warnings ?? []) warnings.add(warning)
  const { batches } = found
  const rows: (readonly unknown[])[] = []
  for await (const batch of batches) rows.push(...batch)
  return { rows, seconds: (performance.now() - startedMs) / 1000 }
}

function conditionsOf({ mode, alpha, fusion, reranking }: EvaluationSearch): readonly string[] {
  return [
    ...(mode === 'vector' ? ['hybrid_search = false'] : []),
    ...(mode === 'hybrid' ? ['hybrid_search = true'] : []),
    ...(mode === 'keyword' ? ['hybrid_search_alpha = 0'] : []),
    ...(alpha === null ? [] : [`hybrid_search_alpha = ${alpha}`]),
    ...(fusion === null ? [] : [`hybrid_search_fusion = '${fusion}'`]),
    ...(reranking === null ? [] : [`reranking = ${reranking}`]),
  ]
}
