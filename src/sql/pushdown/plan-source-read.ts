/** One reference to a source in the FROM of a SELECT: what of it the statement needs. */
import type { SourceColumn } from '../../domain/flow/data-source.ts'
import { nameKey } from '../../domain/identifier.ts'
import {
  columnNames,
  isColumn,
  isNode,
  nodesOf,
  numberOf,
  type TreeNode,
  type TreeValue,
  textOf,
  textsOf,
  walk,
  walkExpression,
} from '../ast/select-ast.ts'
import { isAggregateFunction, isScalarFunction } from '../guard/function-lists.ts'
import type { UnnamedItem } from '../guard/size-limits.ts'
import { groupedReadOf } from './grouped-read.ts'
import { conditionsOn } from './join-conditions.ts'
import { isSentWhole } from './render-read.ts'
import { type ColumnOf, conditionOf, operandOf } from './source-conditions.ts'
import {
  type DirectAnswer,
  EVERY_ROW,
  newPlaceholder,
  type SourceCondition,
  type SourceFrom,
  type SourceOrder,
  type SourceRead,
  type SourceRef,
  type SourceSlice,
} from './source-read.ts'

export interface SourceReference {
  /** Its node in the SELECT, which is as it was written. */
  readonly ref: TreeNode
  readonly alias: string
  /** What stands before its name, where it has no other one. */
  readonly qualifiers: readonly string[]
  readonly source: SourceRef
  readonly from: SourceFrom
  readonly columns: readonly SourceColumn[]
}

export interface SelectAround {
  /** As it was written. */
  readonly select: TreeNode
  /** Every name that stands for a column anywhere in the statement, in lower case. */
  readonly usedNames: ReadonlySet<string>
  /** Whether a knowledge base or an agent is in the FROM: names without a table may be theirs. */
  readonly hasSearches: boolean
}

export function sourceReadOf(reference: SourceReference, around: SelectAround): SourceRead {
  const { ref, source, from, columns } = reference
  const { select, usedNames } = around
  const isWhole = readsWholeRows(select, reference)
  const used = isWhole ? columns : columns.filter(({ name }) => usedNames.has(nameKey(name)))
  const read = {
    placeholder: newPlaceholder(),
    source,
    from,
    columns: used,
    condition: EVERY_ROW,
    slice: null,
    groups: null,
  }
  if (!isPlainReference(ref) || hasTwins(columns)) return read
  const columnOf = columnsOf(reference, unqualifiedNames(select, ref, around))
  const conjuncts = conditionsOn(select, ref)
  const condition = conditionFrom(conjuncts, columnOf)
  return { ...read, condition, slice: sliceOf(select, ref, columnOf) }
}

function conditionFrom(conjuncts: readonly TreeNode[] | null, columnOf: ColumnOf): SourceCondition {
  if (conjuncts === null) return { kind: 'other' }
  return { kind: 'and', conditions: conjuncts.map((node) => conditionOf(node, columnOf)) }
}

/** With a sample, or names of its own for the columns, its rows are taken as they are. */
function isPlainReference({ sample = null, column_name_alias: aliases }: TreeNode): boolean {
  return sample === null && textsOf(aliases).length === 0
}

/** Names that differ in case only mean something else here than there. */
function hasTwins(columns: readonly SourceColumn[]): boolean {
  return new Set(columns.map(({ name }) => nameKey(name))).size < columns.length
}

function readsWholeRows(select: TreeNode, { ref, alias, columns }: SourceReference): boolean {
  if (!isPlainReference(ref) || hasTwins(columns) || !isAmongJoins(select.from_table, ref)) {
    return true
  }
  const key = nameKey(alias)
  for (const node of walkExpression(select)) {
    if (node.type === 'JOIN' && (node.ref_type === 'NATURAL' || textOf(node.alias) !== ''))
      return true
    if (node.class === 'POSITIONAL_REFERENCE') return true
    if (node.class !== 'STAR') continue
    const relation = nameKey(textOf(node.relation_name))
    if (relation === '' || relation === key) return true
  }
  for (const node of walk(select)) {
    if (node.class === 'STAR' && nameKey(textOf(node.relation_name)) === key) return true
    // The row itself, as a value.
    if (isColumn(node) && nameKey(columnNames(node).at(-1) ?? '') === key) {
      if (!columns.some(({ name }) => nameKey(name) === key)) return true
    }
  }
  return false
}

/**
 * Has the source group its rows, where the whole SELECT is groups and totals of them.
 * @param select is changed then
 * @returns null where it stays as it is
 */
export function groupReference(
  select: TreeNode,
  reference: SourceReference,
  read: SourceRead,
): { readonly read: SourceRead; readonly unnamed: readonly UnnamedItem[] } | null {
  const { ref, columns, source, from } = reference
  const isAlone = select.from_table === ref && isPlainReference(ref) && !hasTwins(columns)
  if (!isAlone || from.kind === 'native') return null
  const columnOf = columnsOf(reference, { shared: new Set() })
  const grouped = groupedReadOf(select, columnOf, source.engine)
  if (grouped === null || !isSentWhole(read)) return null
  const { groups } = grouped
  return { read: { ...read, columns: groups.keys, groups }, unnamed: grouped.apply() }
}

function isAmongJoins(source: TreeValue | undefined, ref: TreeNode): boolean {
  if (!isNode(source)) return false
  if (source === ref) return true
  return (
    source.type === 'JOIN' && (isAmongJoins(source.left, ref) || isAmongJoins(source.right, ref))
  )
}

/** Names without a table that may be this reference's: null where none may. */
function unqualifiedNames(
  select: TreeNode,
  ref: TreeNode,
  { hasSearches }: SelectAround,
): { readonly shared: ReadonlySet<string> } | null {
  if (select.from_table === ref) return { shared: new Set() }
  if (hasSearches) return null
  const joins = [...walkExpression(select.from_table ?? null)].filter(({ type }) => type === 'JOIN')
  if (joins.some(({ ref_type: type }) => type === 'NATURAL')) return null
  const shared = joins.flatMap(({ using_columns: names }) => textsOf(names)).map(nameKey)
  return { shared: new Set(shared) }
}

function columnsOf(
  { alias, qualifiers, columns }: SourceReference,
  unqualified: ReturnType<typeof unqualifiedNames>,
): ColumnOf {
  const byName = new Map(columns.map((column) => [nameKey(column.name), column]))
  return (node) => {
    const names = columnNames(node).map(nameKey)
    const name = names.at(-1) ?? ''
    if (names.length === 1) {
      return unqualified === null || unqualified.shared.has(name) ? undefined : byName.get(name)
    }
    const before = names.slice(0, -2).join('\0')
    const isOurs = [[], qualifiers.slice(-1), qualifiers].some((one) => {
      return one.map(nameKey).join('\0') === before
    })
    return isOurs && names.at(-2) === nameKey(alias) ? byName.get(name) : undefined
  }
}

/** null where the SELECT does more with its rows than to show some of them. */
function sliceOf(select: TreeNode, ref: TreeNode, columnOf: ColumnOf): SourceSlice | null {
  if (select.from_table !== ref || !showsEachRow(select)) return null
  const order: SourceOrder[] = []
  let limit: SourceSlice['limit'] = null
  let offset: SourceSlice['offset'] = null
  for (const modifier of nodesOf(select.modifiers)) {
    if (modifier.type === 'ORDER_MODIFIER') {
      for (const item of nodesOf(modifier.orders)) {
        const key = orderOf(item, select, columnOf)
        if (key === null) return null
        order.push(key)
      }
    } else if (modifier.type === 'LIMIT_MODIFIER') {
      const values = [modifier.limit, modifier.offset].map((node) => operandOf(node ?? undefined))
      const [given, skipped] = values
      if (isNode(modifier.limit) && given === undefined) return null
      if (isNode(modifier.offset) && skipped === undefined) return null
      limit = given ?? null
      offset = skipped ?? null
    } else return null
  }
  return { order, limit, offset }
}

/** One row for each that is read: no group, no window, nothing that makes rows. */
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
    const name = textOf(node.function_name)
    const isOperator = !/\w/.test(name)
    if (isAggregateFunction(name) || (!isOperator && !isScalarFunction(name))) return false
    if (name.toLowerCase() === 'unnest') return false
  }
  return true
}

function orderOf(item: TreeNode, select: TreeNode, columnOf: ColumnOf): SourceOrder | null {
  const { expression, type, null_order: nulls } = item
  if (!isNode(expression)) return null
  const column = orderedColumn(expression, select, columnOf)
  if (column === undefined) return null
  const nullsFirst = nulls === 'NULLS FIRST'
  return { column, isDescending: type === 'DESCENDING', nullsFirst }
}

/** By its place or its name in the answer, or as a column. */
function orderedColumn(
  expression: TreeNode,
  select: TreeNode,
  columnOf: ColumnOf,
): SourceColumn | undefined {
  const items = nodesOf(select.select_list)
  if (expression.class === 'CONSTANT' && isNode(expression.value)) {
    if (items.some((item) => item.class === 'STAR')) return undefined
    const item = items[numberOf(expression.value.value) - 1]
    return item !== undefined && isColumn(item) ? columnOf(item) : undefined
  }
  if (!isColumn(expression)) return undefined
  const names = columnNames(expression)
  const named = items.find(({ alias }) => {
    return names.length === 1 && nameKey(textOf(alias)) === nameKey(names[0] ?? '')
  })
  if (named === undefined) return columnOf(expression)
  return isColumn(named) ? columnOf(named) : undefined
}

/** Set where the answer of the SELECT is columns of the read and nothing else. */
export function directAnswerOf(
  select: TreeNode,
  reference: SourceReference,
  read: SourceRead,
): DirectAnswer | null {
  const { ref, columns } = reference
  if (select.from_table !== ref || !isPlainReference(ref) || read.slice === null) return null
  if (hasTwins(columns) || (isNode(select.cte_map) && nodesOf(select.cte_map.map).length > 0))
    return null
  const columnOf = columnsOf(reference, { shared: new Set() })
  const items: DirectAnswer['items'][number][] = []
  for (const item of nodesOf(select.select_list)) {
    if (isPlainStar(item)) {
      items.push(...columns.map((column) => ({ column, name: column.name })))
      continue
    }
    const column = isColumn(item) ? columnOf(item) : undefined
    if (column === undefined) return null
    items.push({ column, name: textOf(item.alias) || column.name })
  }
  return { read, items }
}

const STAR_CHANGES = ['exclude_list', 'replace_list', 'qualified_exclude_list', 'rename_list']

function isPlainStar(node: TreeNode): boolean {
  if (node.class !== 'STAR' || node.columns === true || isNode(node.expr)) return false
  return STAR_CHANGES.every(
    (field) => nodesOf(node[field]).length === 0 && textsOf(node[field]).length === 0,
  )
}
