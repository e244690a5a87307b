/** Determines how a search orders and limits its SELECT's rows. */

import {
  callNode,
  columnNode,
  constantNumber,
  copyOf,
  descendingOrderNodes,
  integerNode,
  isNode,
  limitNode,
  nodesOf,
  orderNodes,
  type TreeNode,
  textValue,
  walkExpression,
} from '../ast/select-ast.ts'
import { isAggregate, isAggregateFunction } from '../guard/function-lists.ts'
import { isMany } from '../guard/limit-steps.ts'

/** Whether a SELECT is the statement itself, or part of it (CTE, subquery, side of a UNION). */
export type SelectPlace = 'outermost' | 'nested'

/** A plain search without LIMIT returns this many rows. */
const PLAIN_SEARCH_ROWS = 10

/** Ties by `chunk_id`, so that LIMIT n is the start of LIMIT m. Keeps the statement's order. */
export function orderByDistance(
  select: TreeNode,
  given: {
    readonly alias: string
    readonly place: SelectPlace
    readonly isAlone: boolean
    readonly isSearched: boolean
    /**
     * Whether to sort by relevance first: in a hybrid search it does not follow from the distance.
     */
    readonly isHybrid: boolean
  },
): void {
  const { alias, place, isAlone, isSearched } = given
  if (isCombining(select)) {
    if (isSearched && (place === 'outermost' || isLimited(select))) orderGroups(select, given)
    return
  }
  const isPlain = place === 'outermost' && isAlone && !hasWindow(select)
  const needsLimit = isPlain && isSearched && !isLimited(select)
  const order = orderModifier(select)
  const nearestFirst = nearestFirstOrders(given)
  if (order !== undefined) {
    const orders = nodesOf(order.orders)
    if (isAlone && !isOrderByAll(orders)) {
      order.orders = [...orders, ...orderNodes(columnNode(alias, 'chunk_id'))]
    }
    if (needsLimit) select.qualify = rowNumberFilter(nearestFirst, PLAIN_SEARCH_ROWS)
    return
  }
  const modifiers = nodesOf(select.modifiers)
  if (isSearched) modifiers.unshift({ type: 'ORDER_MODIFIER', orders: nearestFirst })
  if (needsLimit) limitTo(modifiers, PLAIN_SEARCH_ROWS)
  select.modifiers = modifiers
}

function nearestFirstOrders({ alias, isHybrid }: { alias: string; isHybrid: boolean }) {
  return [
    ...(isHybrid ? descendingOrderNodes(columnNode(alias, 'relevance')) : []),
    ...orderNodes(columnNode(alias, 'distance'), columnNode(alias, 'chunk_id')),
  ]
}

/** The groups of GROUP BY and the rows of DISTINCT come in the order of their nearest chunks. */
function orderGroups(
  select: TreeNode,
  given: { readonly alias: string; readonly isHybrid: boolean },
): void {
  if (orderModifier(select) !== undefined) return
  const nearestFirst = nearestFirstOrders(given)
  const modifiers = nodesOf(select.modifiers)
  const [distinct] = modifiers.filter(isDistinct)
  if (distinct === undefined && isGrouped(select)) {
    const orders = nearestFirst.map((order) => {
      const nearest = order.type === 'DESCENDING' ? 'max' : 'min'
      return { ...order, expression: callNode(nearest, ...[order.expression].filter(isNode)) }
    })
    select.modifiers = [{ type: 'ORDER_MODIFIER', orders }, ...modifiers]
  } else if (distinct !== undefined && !isGrouped(select) && !hasAggregate(select)) {
    const items = nodesOf(select.select_list)
    const isStar = items.some(isMany)
    if (isStar && items.length > 1) return
    if (nodesOf(distinct.distinct_on_targets).length === 0) {
      // Which of several equal rows has the order. Positions, because an alias may also be a column.
      const positions = items.map((_, index) => integerNode(index + 1))
      distinct.distinct_on_targets = isStar ? items.map(copyOf) : positions
    }
    const others = modifiers.filter((modifier) => modifier !== distinct)
    select.modifiers = [distinct, { type: 'ORDER_MODIFIER', orders: nearestFirst }, ...others]
  }
}

/** Returns how many of the nearest rows the SELECT needs; null if it may need all. */
export function nearestCountOf(select: TreeNode, place: SelectPlace): number | null {
  if (isCombining(select) || hasWindow(select) || orderModifier(select) !== undefined) return null
  if (isNode(select.sample) || (isNode(select.from_table) && isNode(select.from_table.sample))) {
    return null
  }
  if (hasSubquery(select.where_clause ?? null)) return null
  if (!isLimited(select) && place === 'nested') return null
  const counted = countedLimitOf(select)
  return counted && counted.limit + counted.offset
}

/** The range of rows that a search returns; null if its LIMIT is not made of two numbers. */
export function countedLimitOf(
  select: TreeNode,
): { readonly limit: number; readonly offset: number } | null {
  const limit = limitOf(select)
  const isUnlimited = !isLimited(select)
  const rows = isUnlimited ? PLAIN_SEARCH_ROWS : constantNumber(limit?.limit)
  const offset = isNode(limit?.offset) ? constantNumber(limit?.offset) : 0
  const isPercent = limit?.type === 'LIMIT_PERCENT_MODIFIER'
  // DuckDB rounds `LIMIT 2.5`; the sum of limit and offset could round differently.
  const isCounted = Number.isSafeInteger(rows) && Number.isSafeInteger(offset) && !isPercent
  if (rows === undefined || offset === undefined || !isCounted) return null
  return { limit: rows, offset }
}

/** DuckDB produces rows in chunks of this many. */
const SHORT_ROWS_MAX = 2048

/** Whether a query always has few rows: it ends with a LIMIT, or returns one row. */
export function isShortAnswer(query: TreeNode): boolean {
  return isLimitedShort(query) || isOneRow(query)
}

function isLimitedShort(query: TreeNode): boolean {
  return nodesOf(query.modifiers).some((modifier) => {
    if (modifier.type !== 'LIMIT_MODIFIER') return false
    const rows = constantNumber(modifier.limit)
    return rows !== undefined && rows <= SHORT_ROWS_MAX
  })
}

/** Functions that turn one row into several. */
const UNNESTING = new Set(['unnest', 'regexp_split_to_table', 'generate_subscripts'])

/** Whether it is a SELECT without FROM, or one of aggregates without groups. */
function isOneRow(query: TreeNode): boolean {
  if (query.type !== 'SELECT_NODE' || query.aggregate_handling !== 'STANDARD_HANDLING') return false
  if (nodesOf(query.group_expressions).length > 0) return false
  const names = [...walkExpression(query.select_list ?? null)]
    .filter((node) => node.class === 'FUNCTION')
    .map((node) => textValue(node.function_name).toLowerCase())
  if (names.some((name) => UNNESTING.has(name))) return false
  const source = isNode(query.from_table) ? query.from_table.type : 'EMPTY'
  return source === 'EMPTY' || names.some(isAggregateFunction)
}

/** OFFSET without LIMIT appears as a LIMIT without a number. */
export function isLimited(select: TreeNode): boolean {
  return isNode(limitOf(select)?.limit)
}

function limitTo(modifiers: TreeNode[], rows: number): void {
  const offset = modifiers.find((modifier) => modifier.type === 'LIMIT_MODIFIER')
  if (offset === undefined) modifiers.push(limitNode(rows))
  else offset.limit = integerNode(rows)
}

function orderModifier(select: TreeNode): TreeNode | undefined {
  return nodesOf(select.modifiers).find((modifier) => modifier.type === 'ORDER_MODIFIER')
}

function limitOf(select: TreeNode): TreeNode | undefined {
  return nodesOf(select.modifiers).find((modifier) => {
    return modifier.type === 'LIMIT_MODIFIER' || modifier.type === 'LIMIT_PERCENT_MODIFIER'
  })
}

/** Whether a result row may combine several rows of the source: GROUP BY, aggregates, DISTINCT. */
function isCombining(select: TreeNode): boolean {
  return isGrouped(select) || nodesOf(select.modifiers).some(isDistinct) || hasAggregate(select)
}

function isGrouped(select: TreeNode): boolean {
  if (nodesOf(select.group_expressions).length > 0 || isNode(select.having)) return true
  if (Array.isArray(select.group_sets) && select.group_sets.length > 0) return true
  return select.aggregate_handling !== 'STANDARD_HANDLING'
}

function isDistinct({ type }: TreeNode): boolean {
  return type === 'DISTINCT_MODIFIER'
}

function hasAggregate(select: TreeNode): boolean {
  return shownNodes(select).some(isAggregate)
}

function hasWindow(select: TreeNode): boolean {
  return isNode(select.qualify) || shownNodes(select).some((node) => node.class === 'WINDOW')
}

function shownNodes(select: TreeNode): readonly TreeNode[] {
  return [...walkExpression([select.select_list ?? null, select.modifiers ?? null])]
}

function hasSubquery(expression: TreeNode[keyof TreeNode]): boolean {
  return [...walkExpression(expression)].some((node) => node.class === 'SUBQUERY')
}

/** The parser turns `ORDER BY ALL` into a star, which is always the only item. */
function isOrderByAll(orders: readonly TreeNode[]): boolean {
  return orders.some((order) => isNode(order.expression) && order.expression.class === 'STAR')
}

/** For a QUALIFY, which applies after WHERE and before ORDER BY. */
function rowNumberFilter(orders: TreeNode[], rows: number): TreeNode {
  const rowNumber: TreeNode = {
    class: 'WINDOW',
    type: 'WINDOW_ROW_NUMBER',
    alias: '',
    function_name: 'row_number',
    schema: '',
    catalog: '',
    children: [],
    partitions: [],
    orders,
    start: 'UNBOUNDED_PRECEDING',
    end: 'CURRENT_ROW_RANGE',
    start_expr: null,
    end_expr: null,
    offset_expr: null,
    default_expr: null,
    ignore_nulls: false,
    filter_expr: null,
    exclude_clause: 'NO_OTHER',
    distinct: false,
    arg_orders: [],
  }
  return {
    class: 'COMPARISON',
    type: 'COMPARE_LESSTHANOREQUALTO',
    alias: '',
    left: rowNumber,
    right: integerNode(rows),
  }
}
