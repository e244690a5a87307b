/**
 * One SELECT, from the names its author wrote to relations that DuckDB can read. Each table name is resolved by scope
 * and written back in full; a knowledge base is replaced by a sub-query over its chunks. Nothing else of the statement
 * changes, except what a search means: nearest first, and ten rows where a plain search names no limit.
 */
import type { KnowledgeBase } from '../domain/knowledge-base.ts'
import { AppError } from '../errors.ts'
import { type Graft, graftOf } from './graft.ts'
import { fixMetadataPaths, hideColumns, stripProjects } from './names.ts'
import { nearestCountOf, orderByDistance, type SelectPlace } from './ranked-order.ts'
import type { SearchText } from './ranking.ts'
import type { NameScope } from './relation.ts'
import { refuseCorrelatedSearches, refuseSearches, takeSearch } from './searches.ts'
import {
  columnNames,
  copyOf,
  isColumn,
  isNode,
  nodesOf,
  queryOf,
  replace,
  statementOf,
  type TreeNode,
  textOf,
  walk,
  walkExpression,
} from './select-ast.ts'
import { compareAsText } from './text-columns.ts'

/** A text to embed before the statement runs. */
export interface SearchRequest {
  /** The number in `$eider_vector_<text>`. */
  readonly text: number
  readonly of: SearchText
  readonly knowledgeBase: KnowledgeBase
}

/** SQL still to be parsed and put into the tree. */
export interface PendingGraft {
  readonly sql: string
  apply(parsed: TreeNode): void
}

export interface Rewritten {
  readonly searches: readonly SearchRequest[]
  readonly grafts: readonly PendingGraft[]
}

/** Rewrites the tree in place; the grafts must be applied before it is printed. */
export function rewrite(tree: TreeNode, names: NameScope): Rewritten {
  const rewriter: Rewriter = {
    names,
    usedNames: usedNamesOf(tree),
    searches: [],
    grafts: [],
    qualifiers: new Map(),
  }
  const query = queryOf(statementOf(tree))
  visitQuery(query, { ctes: new Set(), place: 'outermost' }, rewriter)
  stripProjects(tree, rewriter.qualifiers)
  return rewriter
}

interface Rewriter {
  readonly names: NameScope
  readonly usedNames: ReadonlySet<string>
  readonly searches: SearchRequest[]
  readonly grafts: PendingGraft[]
  /** Table names that were written with a project or schema: name → the qualifiers used. */
  readonly qualifiers: Map<string, Set<string>>
}

interface Scope {
  /** Names of the CTEs that can be seen, in lower case. */
  readonly ctes: ReadonlySet<string>
  readonly place: SelectPlace
}

function usedNamesOf(tree: TreeNode): ReadonlySet<string> {
  const used = new Set<string>()
  for (const node of walk(tree)) {
    if (isColumn(node)) for (const name of columnNames(node)) used.add(name.toLowerCase())
    if (node.type === 'JOIN') {
      const using = Array.isArray(node.using_columns) ? node.using_columns : []
      for (const name of using) if (typeof name === 'string') used.add(name.toLowerCase())
    }
  }
  return used
}

function visitQuery(query: TreeNode, outer: Scope, rewriter: Rewriter): void {
  const ctes = visitCtes(query, outer, rewriter)
  const scope = { ctes, place: outer.place }
  switch (query.type) {
    case 'SELECT_NODE':
      visitSelect(query, scope, rewriter)
      return
    case 'SET_OPERATION_NODE':
      for (const side of setOperationSides(query)) {
        visitQuery(side, { ctes, place: 'nested' }, rewriter)
      }
      visitExpressions([query.modifiers ?? null], scope, rewriter)
      return
    case 'RECURSIVE_CTE_NODE': {
      const own = new Set(ctes).add(textOf(query.cte_name).toLowerCase())
      for (const side of [query.left, query.right].filter(isNode)) {
        visitQuery(side, { ctes: own, place: 'nested' }, rewriter)
      }
      return
    }
    default:
      throw new AppError('sql_not_supported', `This kind of query is not supported: ${query.type}`)
  }
}

function setOperationSides(query: TreeNode): readonly TreeNode[] {
  return [...[query.left, query.right].filter(isNode), ...nodesOf(query.children)]
}

/** A CTE sees those before it; what follows sees them all. */
function visitCtes(query: TreeNode, outer: Scope, rewriter: Rewriter): ReadonlySet<string> {
  const entries = isNode(query.cte_map) ? nodesOf(query.cte_map.map) : []
  let ctes = outer.ctes
  for (const entry of entries) {
    const body = isNode(entry.value) ? queryOf(entry.value.query) : undefined
    if (body === undefined) throw new AppError('sql_not_supported', 'This WITH is not supported')
    visitQuery(body, { ctes, place: 'nested' }, rewriter)
    ctes = new Set(ctes).add(textOf(entry.key).toLowerCase())
  }
  return ctes
}

/** A knowledge base in a FROM, to be replaced once the SELECT around it is understood. */
interface Source {
  readonly ref: TreeNode
  readonly alias: string
  readonly knowledgeBase: KnowledgeBase
}

function visitSelect(select: TreeNode, scope: Scope, rewriter: Rewriter): void {
  const sources: Source[] = []
  if (isNode(select.from_table)) visitFrom(select.from_table, scope, { rewriter, sources })
  const parts = [
    select.select_list,
    select.where_clause,
    select.group_expressions,
    select.having,
    select.qualify,
    select.modifiers,
  ].map((part) => part ?? null)
  visitExpressions(parts, scope, rewriter)
  for (const source of sources) {
    graftSource(select, { source, sources, place: scope.place }, rewriter)
  }
}

interface Grafting {
  readonly source: Source
  readonly sources: readonly Source[]
  readonly place: SelectPlace
}

function graftSource(select: TreeNode, grafting: Grafting, rewriter: Rewriter): void {
  const { source, sources, place } = grafting
  const { alias, knowledgeBase: kb } = source
  const searchSource = { alias, isOnly: sources.length === 1 }
  fixMetadataPaths(select, searchSource, kb)
  compareAsText(select, searchSource, kb)
  const search = takeSearch(select.where_clause ?? null, searchSource, (of) => {
    const text = rewriter.searches.length
    rewriter.searches.push({ text, of, knowledgeBase: kb })
    return text
  })
  for (const part of ['select_list', 'having', 'qualify', 'from_table'] as const) {
    refuseSearches(select[part] ?? null, searchSource)
  }
  for (const part of ['select_list', 'where_clause', 'having', 'qualify', 'from_table'] as const) {
    refuseCorrelatedSearches(select[part] ?? null, searchSource)
  }
  const isAlone = select.from_table === source.ref
  const nearestCount = search.ranking === null || !isAlone ? null : nearestCountOf(select, place)
  const shape = { alias, search, usedNames: rewriter.usedNames, nearestCount }
  const where = nearestCount === null || !isNode(select.where_clause) ? null : select.where_clause
  const graft = graftOf(kb, shape)
  hideColumns(select, alias, graft.hiddenColumns)
  const nearestWhere = where === null ? null : copyOf(where)
  if (isAlone || search.ranking !== null) {
    orderByDistance(select, { alias, place, isAlone, isSearched: search.ranking !== null })
  }
  rewriter.grafts.push(pendingGraft(source, graft, nearestWhere))
}

function pendingGraft(source: Source, graft: Graft, where: TreeNode | null): PendingGraft {
  return {
    sql: graft.sql,
    apply: (parsed) => {
      const statement = statementOf(parsed)
      if (where !== null) nearestSelect(queryOf(statement)).where_clause = where
      putSubquery(source.ref, source.alias, statement)
    },
  }
}

function putSubquery(ref: TreeNode, alias: string, subquery: TreeNode): void {
  const { sample = null, column_name_alias = [], query_location = null } = ref
  replace(ref, { type: 'SUBQUERY', alias, sample, query_location, subquery, column_name_alias })
}

/** The SELECT inside a graft that takes the nearest rows: `… FROM (here) AS s JOIN …`. */
function nearestSelect(query: TreeNode): TreeNode {
  const join = isNode(query.from_table) ? query.from_table : undefined
  const left = isNode(join?.left) ? join.left : undefined
  return queryOf(left?.subquery)
}

interface FromVisit {
  readonly rewriter: Rewriter
  readonly sources: Source[]
}

function visitFrom(ref: TreeNode, scope: Scope, visit: FromVisit): void {
  const nested: Scope = { ctes: scope.ctes, place: 'nested' }
  switch (ref.type) {
    case 'EMPTY':
      return
    case 'BASE_TABLE':
      resolveTable(ref, scope, visit)
      return
    case 'JOIN':
      for (const side of [ref.left, ref.right].filter(isNode)) visitFrom(side, scope, visit)
      visitExpressions([ref.condition ?? null], scope, visit.rewriter)
      return
    case 'SUBQUERY':
      visitQuery(queryOf(ref.subquery), nested, visit.rewriter)
      return
    case 'TABLE_FUNCTION':
      visitExpressions([ref.function ?? null], scope, visit.rewriter)
      return
    case 'EXPRESSION_LIST':
      visitExpressions([ref.values ?? null], scope, visit.rewriter)
      return
    case 'PIVOT':
      if (isNode(ref.source)) visitFrom(ref.source, scope, visit)
      visitExpressions([ref.aggregates ?? null, ref.pivots ?? null], scope, visit.rewriter)
      return
    case 'SHOW_REF':
      if (!isNode(ref.query)) throw new AppError('sql_not_supported', 'This SHOW is not supported')
      visitQuery(ref.query, nested, visit.rewriter)
      return
    default:
      throw new AppError('sql_not_supported', `This source is not supported: ${textOf(ref.type)}`)
  }
}

function resolveTable(ref: TreeNode, scope: Scope, visit: FromVisit): void {
  const parts = [ref.catalog_name, ref.schema_name, ref.table_name].map(textOf).filter(Boolean)
  const name = parts.at(-1) ?? ''
  if (parts.length === 1 && scope.ctes.has(name.toLowerCase())) return
  const relation = visit.rewriter.names.resolve(parts)
  const alias = textOf(ref.alias) || name
  if (parts.length > 1 && textOf(ref.alias) === '') {
    const used = visit.rewriter.qualifiers.get(name.toLowerCase()) ?? new Set()
    visit.rewriter.qualifiers.set(name.toLowerCase(), used.add(parts.at(-2)?.toLowerCase() ?? ''))
  }
  if (relation.kind === 'knowledge_base') {
    visit.sources.push({ ref, alias, knowledgeBase: relation.knowledgeBase })
    return
  }
  if (relation.kind === 'query') {
    visit.rewriter.grafts.push({
      sql: relation.sql,
      apply: (parsed) => putSubquery(ref, alias, statementOf(parsed)),
    })
    return
  }
  ref.catalog_name = ''
  ref.schema_name = relation.schema
  ref.table_name = relation.table
  ref.alias = alias
}

/** Goes into the sub-queries of expressions. */
function visitExpressions(
  expressions: readonly TreeNode[keyof TreeNode][],
  scope: Scope,
  rewriter: Rewriter,
): void {
  for (const expression of expressions) {
    for (const node of walkExpression(expression)) {
      if (node.class === 'SUBQUERY') {
        visitQuery(queryOf(node.subquery), { ctes: scope.ctes, place: 'nested' }, rewriter)
      }
    }
  }
}
