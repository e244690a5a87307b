/**
 * Handles searches whose candidates are examined before the statement runs: reranked, or judged as
 * an answer to the text.
 */
import { type KnowledgeBase, rerankCandidateCount } from '../../core/domain/knowledge-base.ts'
import { AppError } from '../../core/errors.ts'
import {
  columnNames,
  columnNode,
  conjunctsOf,
  copyOf,
  isColumn,
  limitNode,
  type TreeNode,
  type TreeValue,
  walk,
  walkExpression,
} from '../ast/select-ast.ts'
import { isRenaming } from '../pushdown/select-shape.ts'
import type { Surroundings } from '../search/lateral-search.ts'
import { BOUND, type PlanInputs, type RerankedSearch } from '../search/plan-inputs.ts'
import { conjunctionOf } from '../search/predicate-pushdown.ts'
import { CHUNK_KEY, excludedColumn, type Search, textIndexesOf } from '../search/ranking.ts'
import { chunkColumnNames, ownColumnName, type SearchSource } from '../search/search-options.ts'
import { listedChunks } from './hybrid-rows.ts'

/** The most rows of a reranked search. With a higher LIMIT, it is not reranked. */
const RERANKED_ROWS_MAX = 10_000

/** The columns of a reranked search: the chunks, with relevance and distance under these names. */
export const RERANKED_COLUMNS = {
  relevance: '__reranked_relevance',
  distance: '__reranked_distance',
} as const

export function rerankedRows(kb: KnowledgeBase, rerankingIndex: number): string {
  return listedChunks(kb, BOUND.rerankedKeys(rerankingIndex), [
    [BOUND.rerankedRelevances(rerankingIndex), RERANKED_COLUMNS.relevance],
    [BOUND.rerankedDistances(rerankingIndex), RERANKED_COLUMNS.distance],
  ])
}

interface RerankedSource {
  readonly alias: string
  readonly knowledgeBase: KnowledgeBase
  readonly search: Search
  readonly count: number
}

/**
 * Returns the reranked part of a SELECT that needs only its first rows.
 * @param select after its search was taken out
 * @param around the SELECT as written
 * @returns null if nothing is reranked: no reranking model, `reranking = false`, or a condition
 * that cannot be checked on the candidates alone
 */
export function rerankedSearchOf(
  select: TreeNode,
  source: RerankedSource,
  around: Surroundings,
  inputs: PlanInputs,
): RerankedSearch | null {
  const { knowledgeBase: kb, search } = source
  if (kb.rerankingModel === null || !search.isReranked || !inputs.reranks) return null
  if (source.count === 0 || source.count > RERANKED_ROWS_MAX) return null
  const { from_table: from, where_clause: where = null } = around.select
  if (isRenaming(from) || !canCheckAlone(select.where_clause ?? null, source)) return null
  const parts = conjunctsOf(where)
  if (parts.some((part) => columnsIn(part).has('relevance') && columnsIn(part).has('content'))) {
    return null
  }
  const rerankedCount = rerankCandidateCount(kb.rerankingModel)
  const conditions = parts.filter((part) => !columnsIn(part).has('relevance'))
  const count = Math.max(rerankedCount, source.count)
  const order = { select: around.select, conditions, count, columns: CANDIDATE_COLUMNS }
  const thresholds = conjunctsOf(select.where_clause).filter((part) => {
    return columnsIn(part).has('relevance')
  })
  const found = candidatesOf(source, order, inputs)
  return { ...found, rerankedCount, thresholds: conjunctionOf(thresholds) }
}

/** The column with the probability that a search's results answer its text. */
export const ANSWERABLE = 'answerable'
const JUDGED_ROWS = 10

interface JudgedSource extends Omit<RerankedSource, 'count'>, SearchSource {
  readonly ref: TreeNode
}

/** Where a SELECT names `answerable`, if the knowledge base has no column of that name. */
export function answerableIn(select: TreeNode, source: JudgedSource): TreeNode | undefined {
  const { alias, knowledgeBase, isOnly, ref } = source
  if (chunkColumnNames(knowledgeBase).has(ANSWERABLE)) return undefined
  const within = { alias, isOnly: isOnly && select.from_table === ref }
  return [...walkExpression(select)].find((node) => ownColumnName(node, within) === ANSWERABLE)
}

/** @throws AppError `sql_invalid_search` if they depend on the rest of the statement */
export function judgedSearchOf(
  select: TreeNode,
  source: JudgedSource,
  around: Surroundings,
  inputs: PlanInputs,
): Omit<RerankedSearch, 'thresholds'> {
  const { knowledgeBase: kb, search, ref } = source
  const parts = (where: TreeValue | undefined) => {
    return conjunctsOf(where ?? null).filter((part) => !columnsIn(part).has(ANSWERABLE))
  }
  const isAlone = select.from_table === ref && !isRenaming(ref)
  const isPossible = isAlone && canCheckAlone(conjunctionOf(parts(select.where_clause)), source)
  if (!isPossible || textIndexesOf(search.ranking).length === 0) {
    const message = `${ANSWERABLE} needs a SELECT from ${kb.name} alone that searches it for a text; put that SELECT into a WITH and use its rows`
    throw new AppError('sql_invalid_search', message)
  }
  const ungrouped = { group_expressions: [], group_sets: [], having: null, qualify: null }
  const plain = { ...ungrouped, sample: null, aggregate_handling: 'STANDARD_HANDLING' }
  const order = {
    select: { ...around.select, ...plain },
    conditions: parts(around.select.where_clause),
    count: JUDGED_ROWS,
    columns: [...CANDIDATE_COLUMNS, 'id', 'metadata'],
  }
  return { ...candidatesOf(source, order, inputs), rerankedCount: null }
}

const CANDIDATE_COLUMNS = [CHUNK_KEY, 'chunk_content', 'relevance', 'distance']

function candidatesOf(
  { alias, search }: Pick<RerankedSource, 'alias' | 'search'>,
  order: {
    readonly select: TreeNode
    readonly conditions: readonly TreeNode[]
    readonly count: number
    readonly columns: readonly string[]
  },
  inputs: PlanInputs,
): Pick<RerankedSearch, 'texts' | 'candidates'> {
  const node: TreeNode = {
    ...copyOf(order.select),
    modifiers: [limitNode(order.count)],
    cte_map: { map: [] },
    select_list: order.columns.map((name) => columnNode(alias, name)),
    where_clause: conjunctionOf(order.conditions),
  }
  return {
    texts: textIndexesOf(search.ranking).flatMap((index) => inputs.searches[index]?.text ?? []),
    candidates: { error: false, statements: [{ node, named_param_map: [] }] },
  }
}

function canCheckAlone(
  where: TreeValue,
  { alias, knowledgeBase, search }: Omit<RerankedSource, 'count'>,
): boolean {
  const excluded = search.exclusions.map(({ index }) => excludedColumn(index))
  const measures = new Set(['relevance', 'distance'])
  const known = new Set([...chunkColumnNames(knowledgeBase), ...excluded, ...measures])
  return conjunctsOf(where).every((part) => {
    const isThreshold = columnsIn(part).has('relevance')
    return [...walk(part)].every((node) => {
      if (node.class === 'SUBQUERY' || node.class === 'STAR') return false
      const name = ownColumnName(node, { alias, isOnly: true }) ?? ''
      return !isColumn(node) || (isThreshold ? measures : known).has(name)
    })
  })
}

/** Returns the last parts of the columns' names in lower case. */
function columnsIn(condition: TreeNode): ReadonlySet<string> {
  const columns = [...walk(condition)].filter(isColumn)
  return new Set(columns.map((column) => columnNames(column).at(-1)?.toLowerCase() ?? ''))
}
