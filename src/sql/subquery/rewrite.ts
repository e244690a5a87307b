/**
 * Rewrites a SELECT from the names in it to relations that DuckDB can read. Each table name is
 * resolved and written out in full; knowledge bases, views and agents become subqueries. Otherwise
 * only searches change the statement: they sort nearest first, and return ten rows if a plain
 * search has no LIMIT.
 */
import type { Agent } from '../../core/domain/agents/agent.ts'
import { AppError } from '../../core/errors.ts'
import { placed } from '../ast/placed-error.ts'
import {
  columnNames,
  isColumn,
  isNode,
  nodesOf,
  originalsOf,
  putSubquery,
  queryNode,
  statementOf,
  type TreeNode,
  textsOf,
  textValue,
  walk,
  walkExpression,
} from '../ast/select-ast.ts'
import { unnamedSubqueries } from '../guard/limit-steps.ts'
import { EVERYTHING, type OuterNeeds, StatementNeeds } from '../pushdown/outer-needs.ts'
import { groupReference, type SourceReference, sourceReadOf } from '../pushdown/plan-source-read.ts'
import type { Surroundings } from '../search/lateral-search.ts'
import type { NameScope, PlanInputs } from '../search/plan-inputs.ts'
import { CHUNK_KEY } from '../search/ranking.ts'
import type { SelectPlace } from '../search/top-k.ts'
import { agentSubquery } from './agent-subquery.ts'
import { hideColumns } from './knowledge-base-columns.ts'
import {
  type KnowledgeBaseSource,
  putKnowledgeBase,
  type SearchEdit,
} from './knowledge-base-subquery.ts'

export interface Rewriting {
  readonly names: NameScope
  /** `nested` for the SELECT of a view. */
  readonly place: SelectPlace
  /** Collects what must be known before the statement runs. */
  readonly inputs: PlanInputs
  /** For the SELECT of a view: what is needed of its rows. */
  readonly needs?: OuterNeeds
}

export interface StatementEdit extends SearchEdit {
  /** For a view's SELECT, which a client wrote: it is checked like any statement. */
  readonly view?: { readonly name: string; readonly names: NameScope; readonly needs: OuterNeeds }
}

/** In place. Parse and apply the SQL of the returned edits before printing the tree. */
export function rewrite(tree: TreeNode, rewriting: Rewriting): readonly StatementEdit[] {
  // A statement without tables does not change, so no copy is needed.
  const originals = hasTables(tree) ? originalsOf(tree) : new Map<TreeNode, TreeNode>()
  const query = queryNode(statementOf(tree))
  const rewriter: Rewriter = {
    ...rewriting,
    usedNames: usedNamesOf(tree, rewriting.names),
    originals,
    statementNeeds: new StatementNeeds(originals.get(query) ?? query, rewriting.needs),
    edits: [],
    qualifiers: new Map(),
  }
  const scope = { ctes: new Set<string>(), place: rewriting.place, cteNodes: [], outer: null }
  if (originals.size > 0) rewriting.inputs.unnamed.push(...unnamedSubqueries(tree))
  visitQuery(query, scope, rewriter)
  stripProjects(tree, rewriter.qualifiers)
  return rewriter.edits
}

function hasTables(tree: TreeNode): boolean {
  for (const { type } of walk(tree)) if (type === 'BASE_TABLE') return true
  return false
}

interface Rewriter extends Rewriting {
  readonly usedNames: ReadonlySet<string>
  readonly originals: ReadonlyMap<TreeNode, TreeNode>
  readonly statementNeeds: StatementNeeds
  readonly edits: StatementEdit[]
  /** Qualifiers used with each table name: projects or schemas. */
  readonly qualifiers: Map<string, Set<string>>
}

interface Scope {
  /** Names of the visible CTEs in lower case. */
  readonly ctes: ReadonlySet<string>
  /** These CTEs as they were written. */
  readonly cteNodes: readonly TreeNode[]
  readonly place: SelectPlace
  readonly outer: Surroundings | null
}

function usedNamesOf(tree: TreeNode, names: NameScope): ReadonlySet<string> {
  const used = new Set<string>()
  for (const node of walk(tree)) {
    if (isColumn(node)) for (const name of columnNames(node)) used.add(name.toLowerCase())
    if (node.type === 'JOIN') {
      const using = Array.isArray(node.using_columns) ? node.using_columns : []
      for (const name of using) if (typeof name === 'string') used.add(name.toLowerCase())
    }
    if (node.type === 'PIVOT') for (const name of pivotNames(node)) used.add(name.toLowerCase())
  }
  if (names.readsChunkKeys !== true) used.delete(CHUNK_KEY)
  return used
}

/** In the tree, the columns that PIVOT groups by and UNPIVOT turns into rows are strings. */
function pivotNames(pivot: TreeNode): readonly string[] {
  const entries = nodesOf(pivot.pivots).flatMap(({ entries: list }) => nodesOf(list))
  const values = entries.flatMap(({ values: list }) =>
    nodesOf(list).map(({ value }) => textValue(value)),
  )
  return [...textsOf(pivot.groups), ...values]
}

function visitQuery(query: TreeNode, outer: Scope, rewriter: Rewriter): void {
  const scope = visitCtes(query, outer, rewriter)
  const nested: Scope = { ...scope, place: 'nested' }
  switch (query.type) {
    case 'SELECT_NODE':
      visitSelect(query, scope, rewriter)
      return
    case 'SET_OPERATION_NODE':
      for (const side of [query.left, query.right, ...nodesOf(query.children)].filter(isNode)) {
        visitQuery(side, nested, rewriter)
      }
      visitExpressions([query.modifiers ?? null], scope, rewriter)
      return
    case 'RECURSIVE_CTE_NODE': {
      const own = new Set(scope.ctes).add(textValue(query.cte_name).toLowerCase())
      for (const side of [query.left, query.right].filter(isNode)) {
        visitQuery(side, { ...nested, ctes: own }, rewriter)
      }
      return
    }
    default:
      throw new AppError('sql_not_supported', `This kind of query is not supported: ${query.type}`)
  }
}

/** A CTE sees those before it; the query after them sees all. */
function visitCtes(query: TreeNode, outer: Scope, rewriter: Rewriter): Scope {
  const entries = isNode(query.cte_map) ? nodesOf(query.cte_map.map) : []
  let scope = outer
  for (const entry of entries) {
    const body = isNode(entry.value) ? queryNode(entry.value.query) : undefined
    if (body === undefined) throw new AppError('sql_not_supported', 'This WITH is not supported')
    visitQuery(body, { ...scope, place: 'nested' }, rewriter)
    scope = {
      ...scope,
      ctes: new Set(scope.ctes).add(textValue(entry.key).toLowerCase()),
      cteNodes: [...scope.cteNodes, rewriter.originals.get(entry) ?? entry],
    }
  }
  return scope
}

/** The sources of one FROM. They are replaced after the surrounding SELECT was examined. */
interface Sources {
  readonly knowledgeBases: Omit<KnowledgeBaseSource, 'isOnly'>[]
  readonly agents: { readonly ref: TreeNode; readonly alias: string; readonly agent: Agent }[]
  /** Tables of remote databases. */
  readonly references: (Omit<SourceReference, 'ref'> & { readonly ref: TreeNode })[]
}

function visitSelect(select: TreeNode, outer: Scope, rewriter: Rewriter): void {
  const around: Surroundings = {
    select: rewriter.originals.get(select) ?? select,
    ctes: outer.cteNodes,
    outer: outer.outer,
  }
  const scope: Scope = { ...outer, outer: around }
  const sources: Sources = { knowledgeBases: [], agents: [], references: [] }
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
  putReferences(select, sources, scope, rewriter)
  const { usedNames, inputs, edits, names } = rewriter
  const context = { place: scope.place, around, usedNames, inputs, names }
  const isOnly = sources.knowledgeBases.length === 1
  for (const source of sources.knowledgeBases) {
    edits.push(...putKnowledgeBase(select, { ...source, isOnly }, context))
  }
  for (const { ref, alias, agent } of sources.agents) {
    const { sql, hiddenColumns } = agentSubquery(
      { agent, alias, isOnly: select.from_table === ref },
      around,
      inputs,
    )
    hideColumns(select, alias, hiddenColumns)
    edits.push({ sql, apply: (parsed) => putSubquery(ref, alias, statementOf(parsed)) })
  }
}

/** Replaces tables of remote databases by names for their rows. */
function putReferences(
  select: TreeNode,
  { references, ...searches }: Sources,
  scope: Scope,
  rewriter: Rewriter,
): void {
  const { outer } = scope
  if (references.length === 0 || outer === null) return
  const { inputs, originals, statementNeeds } = rewriter
  const hasSearches = searches.knowledgeBases.length > 0 || searches.agents.length > 0
  const usedNames = rewriter.usedNames.union(statementNeeds.usedNames)
  const needs = statementNeeds.of(outer.select)
  const around = { select: outer.select, usedNames, hasSearches, needs }
  for (const { ref, ...reference } of references) {
    const written = { ...reference, ref: originals.get(ref) ?? ref }
    const asked = sourceReadOf(written, around)
    const grouped = groupReference(select, { ...reference, ref }, asked)
    const read = grouped?.read ?? asked
    inputs.unnamed.push(...(grouped?.unnamed ?? []))
    inputs.reads.push(read)
    ref.catalog_name = ''
    ref.schema_name = ''
    ref.table_name = read.placeholder
    ref.alias = reference.alias
  }
}

interface FromVisit {
  readonly rewriter: Rewriter
  readonly sources: Sources
  /** Set within the source of a PIVOT, whose columns nothing outside can name. */
  readonly isPivoted?: boolean
}

function visitFrom(ref: TreeNode, scope: Scope, visit: FromVisit): void {
  const nested: Scope = { ...scope, place: 'nested' }
  switch (ref.type) {
    case 'EMPTY':
      return
    case 'BASE_TABLE':
      placed(ref, () => resolveTable(ref, scope, visit))
      return
    case 'JOIN':
      for (const side of [ref.left, ref.right].filter(isNode)) visitFrom(side, scope, visit)
      visitExpressions([ref.condition ?? null], scope, visit.rewriter)
      return
    case 'SUBQUERY':
      visitQuery(queryNode(ref.subquery), nested, visit.rewriter)
      return
    case 'TABLE_FUNCTION':
      visitExpressions([ref.function ?? null], scope, visit.rewriter)
      return
    case 'EXPRESSION_LIST':
      visitExpressions([ref.values ?? null], scope, visit.rewriter)
      return
    case 'PIVOT':
      if (isNode(ref.source)) visitFrom(ref.source, scope, { ...visit, isPivoted: true })
      visitExpressions([ref.aggregates ?? null, ref.pivots ?? null], scope, visit.rewriter)
      return
    case 'SHOW_REF':
      if (!isNode(ref.query)) throw new AppError('sql_not_supported', 'This SHOW is not supported')
      visitQuery(ref.query, nested, visit.rewriter)
      return
    default:
      throw new AppError(
        'sql_not_supported',
        `This source is not supported: ${textValue(ref.type)}`,
      )
  }
}

function resolveTable(ref: TreeNode, scope: Scope, visit: FromVisit): void {
  const { rewriter, sources, isPivoted = false } = visit
  const parts = [ref.catalog_name, ref.schema_name, ref.table_name].map(textValue).filter(Boolean)
  const name = parts.at(-1) ?? ''
  if (parts.length === 1 && scope.ctes.has(name.toLowerCase())) return
  const relation = rewriter.names.resolve(parts)
  const alias = textValue(ref.alias) || name
  if (parts.length > 1 && textValue(ref.alias) === '') {
    const used = rewriter.qualifiers.get(name.toLowerCase()) ?? new Set()
    const before = parts.slice(0, -1).map((part) => part.toLowerCase())
    for (let from = 0; from < before.length; from += 1) used.add(before.slice(from).join('\0'))
    rewriter.qualifiers.set(name.toLowerCase(), used)
  }
  switch (relation.kind) {
    case 'knowledge_base':
      sources.knowledgeBases.push({ ref, alias, isPivoted, knowledgeBase: relation.knowledgeBase })
      return
    case 'agent':
      sources.agents.push({ ref, alias, agent: relation.agent })
      return
    case 'query':
    case 'view':
      if (relation.kind === 'query') rewriter.inputs.readsCatalog = true
      rewriter.edits.push({
        sql: relation.sql,
        ...(relation.kind === 'view'
          ? { view: { name, names: relation.names, needs: needsOf(ref, alias, scope, rewriter) } }
          : {}),
        apply: (parsed) => putSubquery(ref, alias, statementOf(parsed)),
      })
      return
    case 'source': {
      const { source, from, columns } = relation
      const isUnnamed = textValue(ref.alias) === ''
      const called = isUnnamed && from.kind === 'native' ? source.name : alias
      const qualifiers = isUnnamed ? parts.slice(0, -1) : []
      sources.references.push({ ref, alias: called, qualifiers, source, from, columns })
      return
    }
    case 'table':
      ref.catalog_name = ''
      ref.schema_name = relation.schema
      ref.table_name = relation.table
      ref.alias = alias
  }
}

/** What is needed of a view's rows. */
function needsOf(ref: TreeNode, alias: string, { outer }: Scope, rewriter: Rewriter): OuterNeeds {
  if (outer === null) return EVERYTHING
  const { statementNeeds, originals, usedNames } = rewriter
  const needs = statementNeeds.under(outer.select, originals.get(ref) ?? ref, alias)
  return { ...needs, usedNames: usedNames.union(statementNeeds.usedNames) }
}

function visitExpressions(
  expressions: readonly TreeNode[keyof TreeNode][],
  scope: Scope,
  rewriter: Rewriter,
): void {
  for (const expression of expressions) {
    for (const node of walkExpression(expression)) {
      if (node.class === 'SUBQUERY') {
        visitQuery(queryNode(node.subquery), { ...scope, place: 'nested' }, rewriter)
      }
    }
  }
}

/** Turns `project.kb.column` into `kb.column`, because a subquery has an alias but no schema. */
function stripProjects(tree: TreeNode, qualifiers: ReadonlyMap<string, ReadonlySet<string>>): void {
  if (qualifiers.size === 0) return
  for (const node of walk(tree)) {
    if (!isColumn(node)) continue
    const names = columnNames(node)
    // `database.schema.table.column` has one more qualifier.
    for (const count of [1, 2]) {
      const [table = '', ...rest] = names.slice(count)
      const qualifier = names.slice(0, count).join('\0').toLowerCase()
      if (rest.length === 0 || qualifiers.get(table.toLowerCase())?.has(qualifier) !== true)
        continue
      node.column_names = [table, ...rest]
      break
    }
  }
}
