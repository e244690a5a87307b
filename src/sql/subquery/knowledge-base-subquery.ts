/**
 * Handles a knowledge base in a FROM: takes its search out of the SELECT and replaces its name by
 * the subquery that answers the search.
 */

import type { ColumnCondition } from '../../core/domain/column-condition.ts'
import { PART_CHUNKS, type SearchDefaults } from '../../core/domain/hybrid-search.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import { placed } from '../ast/placed-error.ts'
import {
  copyOf,
  isNode,
  putSubquery,
  queryNode,
  statementOf,
  type TreeEdit,
  type TreeNode,
} from '../ast/select-ast.ts'
import { isVolatile, stabilityOf } from '../guard/function-lists.ts'
import { unnamedItems } from '../guard/limit-steps.ts'
import { measure, measuresSql, type Surroundings, valuesSelect } from '../search/lateral-search.ts'
import { memoryCondition } from '../search/memory-condition.ts'
import {
  BOUND,
  type GivenSearch,
  type NameScope,
  type PlainAnswer,
  type PlanInputs,
} from '../search/plan-inputs.ts'
import {
  branchesOf,
  candidateSearchOf,
  hasMoreThanThresholds,
  pushedDownPredicates,
  putBranches,
  putConditions,
} from '../search/predicate-pushdown.ts'
import {
  type HybridSearch,
  lateralRankingOf,
  type Search,
  textIndexesOf,
} from '../search/ranking.ts'
import { chunkColumnNames, type SearchSource } from '../search/search-options.ts'
import {
  refuseCorrelatedSearches,
  refuseSearches,
  takeSearch,
} from '../search/search-predicates.ts'
import { nearestCountOf, orderByDistance, type SelectPlace } from '../search/top-k.ts'
import { type ChunkSubqueryShape, chunkSubqueryOf, prefilterSql } from './chunk-subquery.ts'
import { compareAsText, fixMetadataPaths, hideColumns } from './knowledge-base-columns.ts'
import { documentAnswerOf, plainAnswerOf } from './plain-answer.ts'
import { answerableIn, judgedSearchOf, rerankedSearchOf } from './reranked-search.ts'

/** Inserts a search into the tree, and possibly a second form of it that uses candidates. */
export interface SearchEdit extends TreeEdit {
  readonly candidates?: CandidateEdit
}

/** The same search, with the nearest chunks of its text found before the statement runs. */
export interface CandidateEdit {
  readonly textIndex: number
  readonly knowledgeBase: KnowledgeBase
  readonly count: number
  /** A SELECT of the keys to search in; null: all chunks. */
  readonly prefilter:
    | (TreeEdit & {
        /** False if its conditions read the clock. */
        readonly isCacheable: boolean
        /** See `PrefilterSql`. */
        readonly condition: ColumnCondition | null
      })
    | null
  /** Null: by vectors alone. */
  readonly hybrid: HybridEdit | null
  readonly allowsPartial: boolean
  /** Set if the result consists only of rows of these chunks. */
  readonly plain: PlainAnswer | null
  readonly rows: TreeEdit
}

/** How a hybrid search fuses its candidates. */
export interface HybridEdit extends HybridSearch {
  /** How many of the first rows are enough; null if all may be needed. */
  readonly firstCount: number | null
}

export interface KnowledgeBaseSource {
  readonly ref: TreeNode
  readonly alias: string
  /** Whether it is the source of a PIVOT, whose result `*` shows. */
  readonly isPivoted: boolean
  readonly knowledgeBase: KnowledgeBase
  readonly isOnly: boolean
}

/** The SELECT that contains a knowledge base. */
interface SelectContext {
  readonly place: SelectPlace
  readonly around: Surroundings
  readonly usedNames: ReadonlySet<string>
  readonly inputs: PlanInputs
  readonly names: NameScope
}

/** In place. @throws AppError `sql_invalid_search`, `sql_not_supported` */
export function putKnowledgeBase(
  select: TreeNode,
  source: KnowledgeBaseSource,
  context: SelectContext,
): readonly SearchEdit[] {
  const { place, usedNames } = context
  const { alias, knowledgeBase: kb, ref } = source
  context.inputs.knowledgeBases.set(kb.id, kb)
  fixMetadataPaths(select, source, kb)
  compareAsText(select, source, kb)
  const search = searchOf(select, source, context)
  const isSearched = search.ranking !== null
  if (!isSearched && place === 'outermost') {
    const document = documentAnswerOf(select, source)
    if (document !== null) context.inputs.document = { ...document, select }
  }
  const lateral = lateralRankingOf(search)
  const isAlone = select.from_table === ref
  const isPruned = isSearched && lateral === null && isAlone
  const nearestCount = isPruned ? nearestCountOf(select, place) : null
  const answerable = answerableSql(select, { ...source, search }, context)
  const wanted = { ...source, search, answerable, count: nearestCount }
  const reranked = rerankedEdit(select, wanted, context)
  if (reranked !== null) return [reranked]
  const where = select.where_clause ?? null
  const nearestWhere = nearestCount !== null && isNode(where) ? copyOf(where) : null
  const isHybrid = search.hybrid !== null && isSearched
  const conditions = isHybrid && isAlone ? pushedDownPredicates(where, alias, kb) : null
  const isNarrowed = !isAlone || hasMoreThanThresholds(where, alias)
  const hasConditions = conditions !== null
  const shape = { alias, search, usedNames, nearestCount, hasConditions, isNarrowed, answerable }
  const { sql, hiddenColumns } = chunkSubqueryOf(kb, shape)
  const candidates =
    isSearched && lateral === null ? candidateEdit(select, { ...source, shape }, context) : null
  if (lateral !== null)
    noteScan({ ...source, search }, context, 'it searches for the texts of a column')
  // The nearest rows already met it. Evaluating a volatile condition again could reject some.
  if (nearestWhere !== null && isVolatile(where)) select.where_clause = null
  if (!source.isPivoted) hideColumns(select, alias, hiddenColumns)
  if (isAlone || isSearched) {
    orderByDistance(select, { alias, place, isAlone, isSearched, isHybrid })
  }
  const edit: SearchEdit = {
    sql,
    ...(candidates === null ? {} : { candidates }),
    apply: (parsed) => {
      const statement = statementOf(parsed)
      if (conditions !== null) putConditions(statement, conditions)
      putBranches(statement, branchesOf(search.ranking), source)
      if (nearestWhere !== null) nearestSelect(queryNode(statement)).where_clause = nearestWhere
      putSubquery(ref, alias, statement)
    },
  }
  if (lateral === null) return [edit]
  context.inputs.unnamed.push(...unnamedItems(select))
  const measures = measuresSql(kb, lateral.textIndex)
  return [edit, { sql: measures, apply: (parsed) => measure(select, source, lateral, parsed) }]
}

/** Returns the SQL of the column `answerable`; null if the SELECT does not name it. */
function answerableSql(
  select: TreeNode,
  source: KnowledgeBaseSource & { readonly search: Search },
  { around, inputs, names }: SelectContext,
): string | null {
  const named = answerableIn(select, source)
  if (named === undefined) return null
  if (source.search.ranking === null) return 'NULL::DOUBLE'
  const judged = placed(named, () => judgedSearchOf(select, source, around, inputs))
  const { knowledgeBase } = source
  // The score was fitted to hybrid searches.
  const hybrid = { ...names, isHybridByDefault: true }
  const index = inputs.addReranking({ ...judged, knowledgeBase, names: hybrid })
  return `$${BOUND.answerable(index)}::DOUBLE`
}

/** Returns the search over reranked candidates; null without reranking. */
function rerankedEdit(
  select: TreeNode,
  source: KnowledgeBaseSource & {
    readonly search: Search
    readonly count: number | null
    readonly answerable: string | null
  },
  { place, around, usedNames, inputs, names }: SelectContext,
): SearchEdit | null {
  const { alias, knowledgeBase, ref, isPivoted, search, answerable } = source
  const { count } = source
  const reranked = count && rerankedSearchOf(select, { ...source, count }, around, inputs)
  if (!reranked) return null
  const { thresholds, ...candidates } = reranked
  const rerankingIndex = inputs.addReranking({ ...candidates, knowledgeBase, names })
  // The candidates already meet the other conditions.
  select.where_clause = thresholds
  const shape = {
    alias,
    search,
    usedNames,
    nearestCount: null,
    hasConditions: false,
    isNarrowed: false,
    rerankingIndex,
    answerable,
  }
  const { sql, hiddenColumns } = chunkSubqueryOf(knowledgeBase, shape)
  if (!isPivoted) hideColumns(select, alias, hiddenColumns)
  orderByDistance(select, { alias, place, isAlone: true, isSearched: true, isHybrid: true })
  return { sql, apply: (parsed) => putSubquery(ref, alias, statementOf(parsed)) }
}

/** null, with the reason recorded, if candidates would not be enough. */
function candidateEdit(
  select: TreeNode,
  source: KnowledgeBaseSource & { readonly shape: ChunkSubqueryShape },
  context: SelectContext,
): CandidateEdit | null {
  const { alias, knowledgeBase, ref, shape } = source
  const { place } = context
  const { hybrid } = shape.search
  const scan = (reason: string) =>
    noteScan({ knowledgeBase, search: shape.search }, context, reason)
  if (shape.nearestCount === null) return scan('all of its rows may count')
  const search = candidateSearchOf(shape.search, select.where_clause ?? null, source)
  if (typeof search === 'string') return scan(search)
  const { textIndex, conditions, isCutByDistance } = search
  const count = Math.max(shape.nearestCount, hybrid === null ? 0 : PART_CHUNKS)
  if (hybrid?.fusion === 'convex' && isCutByDistance) {
    return scan('its condition on the distance may leave out any of the most relevant')
  }
  const firstCount = isCutByDistance ? null : shape.nearestCount
  const { sql } = chunkSubqueryOf(knowledgeBase, {
    ...shape,
    nearestCount: null,
    candidatesFor: textIndex,
  })
  return {
    textIndex,
    knowledgeBase,
    count,
    hybrid: hybrid && { ...hybrid, firstCount },
    allowsPartial: shape.search.allowsPartial,
    plain: place === 'outermost' ? plainAnswerOf(select, source, hybrid !== null) : null,
    rows: { sql, apply: (tree) => putSubquery(ref, alias, statementOf(tree)) },
    prefilter: conditions && {
      sql: prefilterSql(knowledgeBase, alias, shape.usedNames),
      isCacheable: stabilityOf(conditions) === 'consistent',
      condition: memoryCondition(conditions, alias, knowledgeBase),
      apply: (tree) => putConditions(tree, conditions),
    },
  }
}

function noteScan(
  { knowledgeBase, search }: { readonly knowledgeBase: KnowledgeBase; readonly search: Search },
  { inputs }: SelectContext,
  reason: string,
): null {
  const { hybrid, ranking } = search
  inputs.scans.push({ knowledgeBase, reason, hybrid, textIndexes: textIndexesOf(ranking) })
  return null
}

/** @throws AppError `sql_invalid_search` if `content` is compared where it cannot be searched */
function searchOf(select: TreeNode, source: KnowledgeBaseSource, context: SelectContext): Search {
  const { inputs, around } = context
  const { knowledgeBase, alias } = source
  if (inputs.search !== null) return givenSearch(inputs.search, source, inputs)
  const conditions = isNode(select.where_clause) ? [select.where_clause] : []
  if (isNode(select.from_table)) conditions.push(...joinConditions(select.from_table))
  const search = takeSearch(conditions, source, {
    add: (text) => inputs.addSearch(text, knowledgeBase),
    ownColumns: chunkColumnNames(knowledgeBase),
    addThreshold: (parameter) => inputs.thresholds.push(parameter),
    hybridDefaults: searchDefaultsOf(knowledgeBase, context.names),
    valuesOf: (expression) => valuesSelect(expression, alias.toLowerCase(), around),
  })
  refuseStrayedSearches(select, source)
  return search
}

/** A knowledge base set to semantic search stays semantic for agents too. */
function searchDefaultsOf({ search, params }: KnowledgeBase, names: NameScope): SearchDefaults {
  const isHybridByDefault = names.isHybridByDefault === true && params.hybrid_search !== false
  return isHybridByDefault ? { ...search, isHybrid: true } : search
}

function givenSearch(
  { parameter: name, ...given }: GivenSearch,
  { knowledgeBase }: KnowledgeBaseSource,
  inputs: PlanInputs,
): Search {
  const textIndex = inputs.addSearch({ kind: 'parameter', name }, knowledgeBase)
  return { ranking: { kind: 'text', textIndex }, exclusions: [], ...given }
}

function refuseStrayedSearches(select: TreeNode, source: SearchSource): void {
  for (const part of ['select_list', 'having', 'qualify', 'from_table'] as const) {
    refuseSearches(select[part] ?? null, source)
  }
  for (const part of ['select_list', 'where_clause', 'having', 'qualify', 'from_table'] as const) {
    refuseCorrelatedSearches(select[part] ?? null, source)
  }
}

function joinConditions(ref: TreeNode): readonly TreeNode[] {
  if (ref.type !== 'JOIN') return []
  const inner = [ref.left, ref.right].filter(isNode).flatMap(joinConditions)
  return isNode(ref.condition) ? [...inner, ref.condition] : inner
}

/** The SELECT that takes the nearest rows, inside a subquery `… FROM (here) AS s JOIN …`. */
function nearestSelect(query: TreeNode): TreeNode {
  const join = isNode(query.from_table) ? query.from_table : undefined
  const left = isNode(join?.left) ? join.left : undefined
  return queryNode(left?.subquery)
}
