/** Determines what a SELECT does with the rows of one relation in its FROM, from its tree alone. */
import type { SourceColumn } from '../../core/domain/flow/source-parameters.ts'
import { nameKey } from '../../core/domain/names.ts'
import {
  columnNames,
  conjunctsOf,
  isColumn,
  isNode,
  nodesOf,
  type TreeNode,
  type TreeValue,
  textsOf,
  textValue,
  treeNumber,
  walk,
  walkExpression,
} from '../ast/select-ast.ts'
import { isAggregateFunction, isScalarFunction } from '../guard/function-lists.ts'

/** With a sample or renamed columns, all rows are read. */
export function isPlainReference(ref: TreeNode): boolean {
  return (ref.sample ?? null) === null && !isRenaming(ref)
}

/** Recognizes `FROM t AS t (a, b)`, which renames the columns. */
export function isRenaming(ref: TreeValue | undefined): boolean {
  return isNode(ref) && textsOf(ref.column_name_alias).length > 0
}

/** Names that differ only in case are different columns in the source, but not here. */
export function hasTwins(columns: readonly SourceColumn[]): boolean {
  return new Set(columns.map(({ name }) => nameKey(name))).size < columns.length
}

/** @param shown false if a `*` uses only columns that other parts name */
export function readsWholeRows(
  select: TreeNode,
  given: {
    readonly ref: TreeNode
    readonly alias: string
    readonly columns: readonly SourceColumn[]
  },
  shown = true,
): boolean {
  const { ref, alias, columns } = given
  if (!isPlainReference(ref) || hasTwins(columns) || !isAmongJoins(select.from_table, ref)) {
    return true
  }
  const key = nameKey(alias)
  const unread = new Set(shown ? [] : nodesOf(select.select_list).filter(isPlainStar))
  for (const node of walkExpression(select)) {
    if (node.type === 'JOIN' && (node.ref_type === 'NATURAL' || textValue(node.alias) !== ''))
      return true
    if (node.class === 'POSITIONAL_REFERENCE') return true
    if (node.class !== 'STAR' || unread.has(node)) continue
    const relation = nameKey(textValue(node.relation_name))
    if (relation === '' || relation === key) return true
  }
  for (const node of walk(select)) {
    if (unread.has(node)) continue
    if (node.class === 'STAR' && nameKey(textValue(node.relation_name)) === key) return true
    // The row itself, used as a value.
    if (isColumn(node) && nameKey(columnNames(node).at(-1) ?? '') === key) {
      if (!columns.some(({ name }) => nameKey(name) === key)) return true
    }
  }
  return false
}

function isAmongJoins(source: TreeValue | undefined, ref: TreeNode): boolean {
  if (!isNode(source)) return false
  if (source === ref) return true
  return (
    source.type === 'JOIN' && (isAmongJoins(source.left, ref) || isAmongJoins(source.right, ref))
  )
}

/** Whether each row read gives one result row: no group, no window, no set-returning function. */
export function showsEachRow(select: TreeNode): boolean {
  const isGrouped =
    nodesOf(select.group_expressions).length > 0 ||
    select.aggregate_handling !== 'STANDARD_HANDLING'
  const others = [select.having, select.qualify, select.sample]
  if (isGrouped || others.some(isNode)) return false
  for (const node of walkExpression([
    ...nodesOf(select.select_list),
    ...nodesOf(select.modifiers),
  ])) {
    if (node.class === 'WINDOW') return false
    if (node.class !== 'FUNCTION') continue
    const name = textValue(node.function_name)
    // Operators, and the limits that the guard adds around large arguments.
    const isOperator = !/\w/.test(name) || /^eider_(room|steps)$/.test(name)
    if (isAggregateFunction(name) || (!isOperator && !isScalarFunction(name))) return false
    if (name.toLowerCase() === 'unnest') return false
  }
  return true
}

/** By position, by name in the result, or as an expression. */
export function orderedColumn(expression: TreeNode, select: TreeNode): TreeNode | undefined {
  const items = nodesOf(select.select_list)
  if (expression.class === 'CONSTANT' && isNode(expression.value)) {
    if (items.some((item) => item.class === 'STAR')) return undefined
    const item = items[treeNumber(expression.value.value) - 1]
    return item !== undefined && isColumn(item) ? item : undefined
  }
  if (!isColumn(expression)) return undefined
  const names = columnNames(expression)
  const named = items.find(({ alias }) => {
    return names.length === 1 && nameKey(textValue(alias)) === nameKey(names[0] ?? '')
  })
  if (named === undefined) return expression
  return isColumn(named) ? named : undefined
}

const STAR_CHANGES = ['exclude_list', 'replace_list', 'qualified_exclude_list', 'rename_list']

export function isPlainStar(node: TreeNode): boolean {
  if (node.class !== 'STAR' || node.columns === true || isNode(node.expr)) return false
  return STAR_CHANGES.every(
    (field) => nodesOf(node[field]).length === 0 && textsOf(node[field]).length === 0,
  )
}

/** null if other rows may change the result too. @param others besides its WHERE */
export function conditionsOn(
  select: TreeNode,
  ref: TreeNode,
  others: readonly TreeNode[] = [],
): readonly TreeNode[] | null {
  const known = [...conjunctsOf(select.where_clause), ...others]
  return conditionsWithin(select.from_table, ref, known)
}

/** @param known conditions that everything in this source must meet */
function conditionsWithin(
  source: TreeValue | undefined,
  ref: TreeNode,
  known: readonly TreeNode[],
): readonly TreeNode[] | null {
  if (!isNode(source)) return null
  if (source === ref) return known
  if (source.type !== 'JOIN') return null
  const { left, right } = sides(source, known)
  const onLeft = left === null ? null : conditionsWithin(source.left, ref, left)
  if (onLeft !== null) return onLeft
  return right === null ? null : conditionsWithin(source.right, ref, right)
}

/** If one side's rows may become NULL, outer conditions may test `IS NULL`: they do not narrow. */
function sides(
  join: TreeNode,
  known: readonly TreeNode[],
): {
  /** Null if not even rows that meet no condition may be left out. */
  readonly left: readonly TreeNode[] | null
  readonly right: readonly TreeNode[] | null
} {
  const own = conjunctsOf(join.condition)
  if (join.ref_type === 'POSITIONAL') return { left: null, right: null }
  if (join.ref_type === 'ASOF') {
    // Which row is nearest depends on all rows.
    return {
      left: join.join_type === 'INNER' || join.join_type === 'LEFT' ? known : null,
      right: null,
    }
  }
  switch (join.join_type) {
    case 'INNER':
      return { left: [...known, ...own], right: [...known, ...own] }
    case 'SEMI':
      // On the right side, the same name is another column, so outer conditions do not apply.
      return { left: [...known, ...own], right: own }
    case 'LEFT':
    case 'ANTI':
      return { left: known, right: own }
    case 'RIGHT':
      return { left: own, right: known }
    default:
      return { left: null, right: null }
  }
}
