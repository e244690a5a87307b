import { holdsMarks } from '../lexer/statement-shape.ts'
import {
  columnNames,
  constantText,
  isColumn,
  isNode,
  isNumber,
  nodesOf,
  type TreeNode,
  type TreeValue,
  textValue,
} from './select-ast.ts'

/** Columns whose comparison is a search, a search option or a limit. */
const SEARCH_COLUMN =
  /^(?:content|relevance|distance|rank|reranking|fusion|feedback|mode|min_relevance|per_document|allow_partial|group_by|hybrid\w*)$/i

/** Kinds of expressions in which changing a value affects nothing else. */
const EXPRESSIONS = new Set('COMPARISON BETWEEN CONJUNCTION CASE OPERATOR SUBQUERY'.split(' '))
const FREE_FUNCTIONS = new Set(['+', '-', '*', '/', '%', 'sum', 'count', 'avg', 'min', 'max'])
const OPERATORS = /^(?:COMPARE_(?:NOT_)?IN|OPERATOR_(?:NOT|IS_NULL|IS_NOT_NULL|COALESCE))$/

/**
 * Finds the marks of `statement-shape.ts` in places where neither the guard nor the rewriting looks
 * at the value: comparisons with a column, arithmetic, results. Values that limit, order, are cast
 * or are function arguments do not count.
 * @param tree as DuckDB parsed it
 * @returns how often each mark occurs in such a place
 */
export function freeMarks(tree: TreeNode): ReadonlyMap<string, number> {
  const found = new Map<string, number>()
  for (const statement of nodesOf(tree.statements)) visitQuery(statement.node, found)
  return found
}

type Found = Map<string, number>

function visitQuery(query: TreeValue | undefined, found: Found): void {
  if (!isNode(query)) return
  const { cte_map: ctes, left, right, children } = query
  if (isNode(ctes)) {
    for (const { value } of nodesOf(ctes.map)) {
      if (isNode(value) && isNode(value.query)) visitQuery(value.query.node, found)
    }
  }
  if (query.type === 'SET_OPERATION_NODE') {
    for (const side of [left, right, ...nodesOf(children)]) visitQuery(side, found)
  }
  if (query.type !== 'SELECT_NODE') return
  for (const item of nodesOf(query.select_list)) visitExpression(item, found)
  for (const part of [query.where_clause, query.having]) visitExpression(part, found)
  visitSource(query.from_table, found)
}

function visitSource(source: TreeValue | undefined, found: Found): void {
  if (!isNode(source)) return
  if (source.type === 'SUBQUERY' && isNode(source.subquery)) {
    visitQuery(source.subquery.node, found)
  } else if (source.type === 'JOIN') {
    visitSource(source.left, found)
    visitSource(source.right, found)
    visitExpression(source.condition, found)
  }
}

function visitExpression(node: TreeValue | undefined, found: Found): void {
  if (!isNode(node)) return
  if (node.class === 'CONSTANT') {
    const mark = markOf(node)
    if (mark !== undefined) found.set(mark, (found.get(mark) ?? 0) + 1)
    return
  }
  if (!isPlain(node)) return
  if (node.class === 'SUBQUERY') {
    if (isNode(node.subquery)) visitQuery(node.subquery.node, found)
    visitExpression(node.child, found)
    return
  }
  for (const field of Object.keys(node)) {
    const value = node[field]
    if (isNode(value)) visitExpression(value, found)
    for (const inner of nodesOf(value)) {
      if (inner.class !== undefined) visitExpression(inner, found)
      // The WHENs of a CASE are nodes without a class.
      else for (const part of Object.keys(inner)) visitExpression(inner[part], found)
    }
  }
}

function isPlain(node: TreeNode): boolean {
  const kind = textValue(node.class)
  if (kind === 'FUNCTION') return FREE_FUNCTIONS.has(textValue(node.function_name).toLowerCase())
  if (kind === 'OPERATOR') return OPERATORS.test(textValue(node.type)) && !comparesSearch(node)
  return EXPRESSIONS.has(kind) && !comparesSearch(node)
}

function comparesSearch(node: TreeNode): boolean {
  const operands = [node.left, node.right, node.input, node.lower, node.upper, node.child]
  return [...operands, ...nodesOf(node.children)].some((operand) => {
    if (!isNode(operand) || !isColumn(operand)) return false
    return SEARCH_COLUMN.test(columnNames(operand).at(-1) ?? '')
  })
}

/** Returns the mark as written in the statement. */
function markOf(node: TreeNode): string | undefined {
  if (!isNode(node.value)) return undefined
  const { type, value } = node.value
  const id = isNode(type) ? type.id : undefined
  if (id === 'VARCHAR') {
    const text = constantText(node)
    return text !== undefined && holdsMarks(text) ? `'${text}'` : undefined
  }
  if (!isNumber(value) || !holdsMarks(value.rawJSON)) return undefined
  if (id === 'INTEGER') return value.rawJSON
  // DuckDB stores it as an integer with a scale of one.
  return id === 'DECIMAL' ? `${value.rawJSON.slice(0, -1)}.${value.rawJSON.slice(-1)}` : undefined
}
