/** A knowledge base in a FROM: what its SELECT asks of it, and the sub-query that answers. */
import { PART_CHUNKS } from '../../domain/hybrid-search.ts'
import type { KnowledgeBase } from '../../domain/knowledge-base.ts'
import { copyOf, isNode, queryOf, statementOf, type TreeNode } from '../ast/select-ast.ts'
import { isVolatile, stabilityOf } from '../guard/stability.ts'
import { fixMetadataPaths, hideColumns } from '../names.ts'
import type { NameScope } from '../relation.ts'
import { candidateSearchOf } from '../subquery/candidate-rows.ts'
import { type ChunkSubqueryShape, chunkSubqueryOf, keptKeysOf } from '../subquery/chunk-subquery.ts'
import { rerankedSearchOf } from '../subquery/reranked-rows.ts'
import { type CandidateEdit, putSubquery, type TreeEdit } from '../subquery/tree-edit.ts'
import { type Surroundings, valuesSelect } from './correlated-values.ts'
import { columnRankingOf, measure, measuresSql } from './lateral-search.ts'
import type { GivenSearch, Requests } from './plan-inputs.ts'
import { pushedDownPredicates, putConditions } from './predicate-pushdown.ts'
import type { Search } from './ranking.ts'
import { refuseCorrelatedSearches, refuseSearches, takeSearch } from './search-predicates.ts'
import type { SearchSource } from './search-source.ts'
import { compareAsText } from './text-columns.ts'
import { nearestCountOf, orderByDistance, type SelectPlace } from './top-k.ts'

export interface KnowledgeBaseSource {
  readonly ref: TreeNode
  readonly alias: string
  /** True for what a PIVOT turns: `*` shows what that makes of it. */
  readonly isPivoted: boolean
  readonly knowledgeBase: KnowledgeBase
}

export interface Grafting {
  readonly source: KnowledgeBaseSource
  /** True when the SELECT has no other knowledge base. */
  readonly isOnly: boolean
  readonly place: SelectPlace
  /** The SELECT as it was written. */
  readonly around: Surroundings
  readonly usedNames: ReadonlySet<string>
  readonly requests: Requests
  /** What the names of the SELECT mean. */
  readonly names: NameScope
}

/**
 * Takes the search out of the SELECT, in place.
 * @throws AppError `sql_invalid_search`, `sql_not_supported`
 */
export function putKnowledgeBase(select: TreeNode, grafting: Grafting): readonly TreeEdit[] {
  const { source, isOnly, place, usedNames } = grafting
  const { alias, knowledgeBase: kb, ref } = source
  const searchSource = { alias, isOnly }
  fixMetadataPaths(select, searchSource, kb)
  compareAsText(select, searchSource, kb)
  const search = searchOf(select, searchSource, grafting)
  const isSearched = search.ranking !== null
  const columnRanking = columnRankingOf(search)
  const isAlone = select.from_table === ref
  const isPruned = isSearched && columnRanking === null && isAlone
  const nearestCount = isPruned ? nearestCountOf(select, place) : null
  if (nearestCount !== null) {
    const reranked = rerankedGraft(select, { search, count: nearestCount }, grafting)
    if (reranked !== null) return [reranked]
  }
  const where = select.where_clause ?? null
  const nearestWhere = nearestCount !== null && isNode(where) ? copyOf(where) : null
  const isHybrid = search.hybrid !== null && isSearched
  const conditions = isHybrid && isAlone ? pushedDownPredicates(where, alias, kb) : null
  const hasConditions = conditions !== null
  const shape = { alias, search, usedNames, nearestCount, hasConditions }
  const graft = chunkSubqueryOf(kb, shape)
  const candidates = isSearched ? candidatesOf(select, { ...shape, columnRanking }, grafting) : null
  // The nearest rows have met it already. Another evaluation could refuse some of them.
  if (nearestWhere !== null && isVolatile(where)) select.where_clause = null
  if (!source.isPivoted) hideColumns(select, alias, graft.hiddenColumns)
  if (isAlone || isSearched) {
    orderByDistance(select, { alias, place, isAlone, isSearched, isHybrid })
  }
  const pending: TreeEdit = {
    sql: graft.sql,
    ...(candidates === null ? {} : { candidates }),
    apply: (parsed) => {
      const statement = statementOf(parsed)
      if (conditions !== null) putConditions(statement, conditions)
      if (nearestWhere !== null) nearestSelect(queryOf(statement)).where_clause = nearestWhere
      putSubquery(ref, alias, statement)
    },
  }
  if (columnRanking === null) return [pending]
  const measured = { source: searchSource, ranking: columnRanking }
  const sql = measuresSql(kb, columnRanking.text)
  return [pending, { sql, apply: (parsed) => measure(select, measured, parsed) }]
}

interface PrunedSearch {
  readonly search: Search
  readonly count: number
}

/** The search with its candidates reranked, where it is. */
function rerankedGraft(
  select: TreeNode,
  { search, count }: PrunedSearch,
  { source, place, around, usedNames, requests, names }: Grafting,
): TreeEdit | null {
  const { alias, knowledgeBase, ref, isPivoted } = source
  const asked = { alias, knowledgeBase, search, count, around, requests }
  const found = rerankedSearchOf(select, asked)
  if (found === null) return null
  const { thresholds, ...request } = found
  const reranking = requests.addReranking({ ...request, knowledgeBase, names })
  // What the candidates meet already need not be asked again.
  select.where_clause = thresholds
  const shape = { alias, search, usedNames, nearestCount: null, hasConditions: false, reranking }
  const { sql, hiddenColumns } = chunkSubqueryOf(knowledgeBase, shape)
  if (!isPivoted) hideColumns(select, alias, hiddenColumns)
  orderByDistance(select, { alias, place, isAlone: true, isSearched: true, isHybrid: true })
  return { sql, apply: (parsed) => putSubquery(ref, alias, statementOf(parsed)) }
}

/** The same search from candidates. null where they would not be enough, which is noted with the reason. */
function candidatesOf(
  select: TreeNode,
  shape: ChunkSubqueryShape & { readonly columnRanking: unknown },
  { source, requests }: Grafting,
): CandidateEdit | null {
  const { alias, knowledgeBase, ref } = source
  const scan = (reason: string) => {
    requests.scans.push({ knowledgeBase, reason })
    return null
  }
  if (shape.columnRanking !== null) return scan('it searches for the texts of a column')
  if (shape.nearestCount === null) return scan('all of its rows may count')
  const least = shape.search.hybrid === null ? 0 : PART_CHUNKS
  const count = Math.max(shape.nearestCount, least)
  const found = candidateSearchOf(shape.search, select.where_clause ?? null, source)
  if (typeof found === 'string') return scan(found)
  const { text, conditions, isCutByDistance } = found
  const firstCount = isCutByDistance ? null : shape.nearestCount
  const hybrid = shape.search.hybrid === null ? null : { ...shape.search.hybrid, firstCount }
  const { sql } = chunkSubqueryOf(knowledgeBase, {
    ...shape,
    nearestCount: null,
    candidatesFor: text,
  })
  const rows = { sql, apply: (tree: TreeNode) => putSubquery(ref, alias, statementOf(tree)) }
  const graft = { text, knowledgeBase, count, hybrid, rows }
  if (conditions === null) return { ...graft, kept: null }
  const kept = {
    sql: keptKeysOf(knowledgeBase, alias, shape.usedNames),
    isCacheable: stabilityOf(conditions) === 'consistent',
    apply: (tree: TreeNode) => putConditions(tree, conditions),
  }
  return { ...graft, kept }
}

/** @throws AppError `sql_invalid_search` where `content` is compared and could not be searched */
function searchOf(select: TreeNode, source: SearchSource, grafting: Grafting): Search {
  const { requests, around } = grafting
  if (requests.search !== null) return givenSearch(requests.search, grafting)
  const conditions = isNode(select.where_clause) ? [select.where_clause] : []
  if (isNode(select.from_table)) conditions.push(...joinConditions(select.from_table))
  const search = takeSearch(conditions, source, {
    add: (of) => requests.addSearch(of, grafting.source.knowledgeBase),
    addThreshold: (parameter) => requests.thresholds.push(parameter),
    hybridDefaults: grafting.source.knowledgeBase.search,
    valuesOf: (expression) => valuesSelect(expression, source.alias.toLowerCase(), around),
  })
  for (const part of ['select_list', 'having', 'qualify', 'from_table'] as const) {
    refuseSearches(select[part] ?? null, source)
  }
  for (const part of ['select_list', 'where_clause', 'having', 'qualify', 'from_table'] as const) {
    refuseCorrelatedSearches(select[part] ?? null, source)
  }
  return search
}

function givenSearch(search: GivenSearch, { requests, source }: Grafting): Search {
  const { parameter: name, hybrid, isReranked } = search
  const text = requests.addSearch({ kind: 'parameter', name }, source.knowledgeBase)
  return { ranking: { kind: 'text', text }, exclusions: [], hybrid, isReranked }
}

function joinConditions(ref: TreeNode): readonly TreeNode[] {
  if (ref.type !== 'JOIN') return []
  const inner = [ref.left, ref.right].filter(isNode).flatMap(joinConditions)
  return isNode(ref.condition) ? [...inner, ref.condition] : inner
}

/** The SELECT inside a graft that takes the nearest rows: `… FROM (here) AS s JOIN …`. */
function nearestSelect(query: TreeNode): TreeNode {
  const join = isNode(query.from_table) ? query.from_table : undefined
  const left = isNode(join?.left) ? join.left : undefined
  return queryOf(left?.subquery)
}
