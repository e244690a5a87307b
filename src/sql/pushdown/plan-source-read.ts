/** Plans the read of one source table in a FROM: the part that the statement needs. */
import type { DataSourceEngine, SourceColumn } from '../../core/domain/flow/source-parameters.ts'
import { nameKey } from '../../core/domain/names.ts'
import {
  callNode,
  castNode,
  columnNames,
  columnNode,
  integerNode,
  isColumn,
  isNode,
  nodesOf,
  replace,
  type TreeNode,
  textsOf,
  textValue,
  treeNumber,
  walkExpression,
} from '../ast/select-ast.ts'
import { isAggregate } from '../guard/function-lists.ts'
import { type UnnamedItem, unnamedItems } from '../guard/limit-steps.ts'
import { type ColumnKind, columnKind } from './column-kinds.ts'
import { type NeededSlice, type OuterNeeds, sliceUnder } from './outer-needs.ts'
import { isSentWhole } from './render-read.ts'
import {
  conditionsOn,
  hasTwins,
  isPlainReference,
  readsWholeRows,
  showsEachRow,
} from './select-shape.ts'
import {
  type ColumnOf,
  operandOf,
  sourceCondition,
  withClockFunctions,
} from './source-conditions.ts'
import {
  EVERY_ROW,
  newPlaceholder,
  type SourceCondition,
  type SourceFrom,
  type SourceGroups,
  type SourceOrder,
  type SourceRead,
  type SourceRef,
  type SourceSlice,
  type SourceTotal,
} from './source-read.ts'

export interface SourceReference {
  /** Its node in the SELECT, as written. */
  readonly ref: TreeNode
  readonly alias: string
  /** The qualifiers of its name, unless it has an alias. */
  readonly qualifiers: readonly string[]
  readonly source: SourceRef
  readonly from: SourceFrom
  readonly columns: readonly SourceColumn[]
}

interface SelectAround {
  /** As written. */
  readonly select: TreeNode
  readonly usedNames: ReadonlySet<string>
  /** Whether a FROM contains a knowledge base or agent, to which unqualified names may belong. */
  readonly hasSearches: boolean
  readonly needs: OuterNeeds
}

export function sourceReadOf(reference: SourceReference, around: SelectAround): SourceRead {
  const { ref, source, from, columns } = reference
  const { select, usedNames, needs } = around
  const used = readsWholeRows(select, reference, needs.isWhole)
    ? columns
    : columns.filter(({ name }) => usedNames.has(nameKey(name)))
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
  const columnOf = neededColumns(reference, unqualifiedNames(select, ref, around))
  const conjuncts = conditionsOn(select, ref, needs.conjuncts)
  // If there are other tables in FROM, these names may be their columns.
  const isAlone = select.from_table === ref
  const isKnown = (column: TreeNode) => columnOf(column) !== undefined
  const clocked = isAlone ? conjuncts?.map((one) => withClockFunctions(one, isKnown)) : conjuncts
  const conditions = clocked?.map((node) => sourceCondition(node, columnOf))
  const condition: SourceCondition = conditions ? { kind: 'and', conditions } : { kind: 'other' }
  return { ...read, condition, slice: sliceOf(select, ref, needs.slice, columnOf) }
}

/** Groups at the source. @param select changed then @returns null if it stays unchanged */
export function groupReference(
  select: TreeNode,
  reference: SourceReference,
  read: SourceRead,
): { readonly read: SourceRead; readonly unnamed: readonly UnnamedItem[] } | null {
  const { ref, columns, source, from } = reference
  const isAlone = select.from_table === ref && isPlainReference(ref) && !hasTwins(columns)
  if (!isAlone || from.kind === 'native') return null
  const columnOf = neededColumns(reference, { shared: new Set() })
  const grouped = groupedReadOf(select, columnOf, source.engine)
  if (grouped === null || !isSentWhole(read)) return null
  const { groups } = grouped
  return { read: { ...read, columns: groups.keys, groups }, unnamed: grouped.apply() }
}

/** Returns unqualified names that may belong to this table; null if none may. */
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

function neededColumns(
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

/** Null if the SELECT does more than show some of its rows. */
function sliceOf(
  select: TreeNode,
  ref: TreeNode,
  needed: NeededSlice | null,
  columnOf: ColumnOf,
): SourceSlice | null {
  if (select.from_table !== ref || !showsEachRow(select)) return null
  const slice = sliceUnder(select, needed)
  if (slice === null) return null
  const order: SourceOrder[] = []
  for (const { expression, type, null_order: nulls } of slice.order) {
    const column = columnOf(expression)
    if (column === undefined) return null
    order.push({ column, isDescending: type === 'DESCENDING', nullsFirst: nulls === 'NULLS FIRST' })
  }
  const [limit, offset] = [slice.limit, slice.offset].map((node) => operandOf(node ?? undefined))
  if (slice.limit !== null && limit === undefined) return null
  if (slice.offset !== null && offset === undefined) return null
  return { order, limit: limit ?? null, offset: offset ?? null }
}

/**
 * Lets a remote source group and aggregate the rows of one table, so that it sends one row per
 * group. Null if the SELECT does anything that the source may not compute exactly as DuckDB does.
 */
function groupedReadOf(
  select: TreeNode,
  columnOf: ColumnOf,
  engine: DataSourceEngine,
): {
  readonly groups: SourceGroups
  /** @returns the items that must be given their original names */
  apply(): readonly UnnamedItem[]
} | null {
  if ([select.qualify, select.sample].some(isNode) || hasSeveralSets(select)) return null
  const keys = keysOf(select, columnOf)
  if (keys === null || !keys.every((key) => isKey(key, engine))) return null
  const shown = [
    ...nodesOf(select.select_list),
    select.having ?? null,
    ...nodesOf(select.modifiers),
  ]
  const calls: { readonly node: TreeNode; readonly total: TotalCall }[] = []
  const inside = new Set<TreeNode>()
  const aliases = new Set(nodesOf(select.select_list).map(({ alias }) => nameKey(textValue(alias))))
  for (const node of walkExpression(shown)) {
    if (NOT_HERE.has(textValue(node.class))) return null
    if (isAggregate(node)) {
      const total = totalOf(node, columnOf, engine)
      if (total === null) return null
      calls.push({ node, total })
      for (const child of nodesOf(node.children)) inside.add(child)
    } else if (isColumn(node) && !inside.has(node) && !isShown(node, keys, { columnOf, aliases })) {
      return null
    }
  }
  if (calls.length === 0 && keys.length === 0) return null
  const totals = [
    ...new Map(
      calls.flatMap(({ total }) => total.parts).map((part) => [totalName(part), part]),
    ).values(),
  ]
  const names = new Map(totals.map((part, index) => [totalName(part), `eider_total_${index}`]))
  return {
    groups: { keys, totals },
    apply() {
      const unnamed = unnamedItems(select)
      for (const { node, total } of calls) {
        const values = total.parts.map((part) => {
          return callNode('any_value', columnNode(names.get(totalName(part)) ?? ''))
        })
        replace(node, { ...total.value(values), alias: node.alias ?? '' })
      }
      select.where_clause = null
      return unnamed
    },
  }
}

/** Whether the SELECT has ROLLUP, CUBE or GROUPING SETS. */
function hasSeveralSets({ group_sets: sets }: TreeNode): boolean {
  return Array.isArray(sets) && sets.length > 1
}

const NOT_HERE: ReadonlySet<string> = new Set(
  'WINDOW SUBQUERY STAR POSITIONAL_REFERENCE LAMBDA'.split(' '),
)

/** Equal totals share a name, so that each is requested once. */
function totalName({ kind, column, isDistinct }: SourceTotal): string {
  return JSON.stringify([kind, column?.name, isDistinct])
}

/** Whether a column is a key, or an alias of an item in the SELECT. */
function isShown(
  node: TreeNode,
  keys: readonly SourceColumn[],
  { columnOf, aliases }: { readonly columnOf: ColumnOf; readonly aliases: ReadonlySet<string> },
): boolean {
  const column = columnOf(node)
  if (column !== undefined) return keys.includes(column)
  const [name = '', ...rest] = columnNames(node)
  return rest.length === 0 && aliases.has(nameKey(name))
}

/** Null if some groups are not columns. */
function keysOf(select: TreeNode, columnOf: ColumnOf): readonly SourceColumn[] | null {
  const items = nodesOf(select.select_list)
  const isAll = select.aggregate_handling === 'FORCE_AGGREGATES'
  const written = isAll
    ? items.filter((item) => ![...walkExpression(item)].some(isAggregate))
    : nodesOf(select.group_expressions)
  const keys = written.map((node) => {
    if (node.class !== 'CONSTANT' || isAll) return isColumn(node) ? columnOf(node) : undefined
    const item = isNode(node.value) ? items[treeNumber(node.value.value) - 1] : undefined
    return item !== undefined && isColumn(item) ? columnOf(item) : undefined
  })
  const isPlain = isAll || select.aggregate_handling === 'STANDARD_HANDLING'
  return isPlain && keys.every((key) => key !== undefined) ? [...new Set(keys)] : null
}

const KEYS: ReadonlySet<string> = new Set(['integer', 'decimal', 'truth', 'uuid', 'text'])
const MOMENTS: ReadonlySet<string> = new Set(['date', 'timestamp', 'timestamptz'])

function isKey(column: SourceColumn, engine: DataSourceEngine): boolean {
  const kind = columnKind(column, engine)?.kind ?? ''
  // MySQL groups zero dates separately, but they arrive here as NULL.
  return KEYS.has(kind) || (MOMENTS.has(kind) && engine !== 'mysql')
}

interface TotalCall {
  /** The results that the source computes. */
  readonly parts: readonly SourceTotal[]
  /** Combines the parts into a total of DuckDB's type. */
  value(parts: readonly TreeNode[]): TreeNode
}

function totalOf(node: TreeNode, columnOf: ColumnOf, engine: DataSourceEngine): TotalCall | null {
  const { function_name: name, children, filter, distinct, order_bys: order } = node
  if (isNode(filter) || (isNode(order) && nodesOf(order.orders).length > 0)) return null
  const [argument, ...others] = nodesOf(children)
  const called = textValue(name).toLowerCase()
  if (argument === undefined) {
    const isCount = called === 'count_star' || called === 'count'
    return isCount ? plainTotal({ kind: 'rows', column: null, isDistinct: false }) : null
  }
  const column = isColumn(argument) && others.length === 0 ? columnOf(argument) : undefined
  const kind = column && columnKind(column, engine)
  if (column === undefined || kind === undefined) return null
  const isDistinct = distinct === true
  switch (called) {
    case 'count':
      return isCounted(kind, isDistinct, engine)
        ? plainTotal({ kind: 'count', column, isDistinct })
        : null
    case 'min':
    case 'max':
      return leastOrGreatest(called, column, kind, engine)
    case 'sum':
      return isDistinct ? null : sumOf(column, kind)
    case 'avg':
      return isDistinct ? null : averageOf(column, kind)
    default:
      return null
  }
}

/** @param type DuckDB's, if the source's own differs */
function plainTotal(part: SourceTotal, type?: string): TotalCall {
  return {
    parts: [part],
    value: ([value = columnNode('')]) =>
      type === undefined ? value : castNode(value, type, false),
  }
}

function isCounted({ kind }: ColumnKind, isDistinct: boolean, engine: DataSourceEngine): boolean {
  if (MOMENTS.has(kind) && engine === 'mysql') return false
  return !isDistinct || kind === 'integer' || kind === 'date'
}

function leastOrGreatest(
  kind: 'min' | 'max',
  column: SourceColumn,
  { kind: type }: ColumnKind,
  engine: DataSourceEngine,
): TotalCall | null {
  const part: SourceTotal = { kind, column, isDistinct: false }
  if (type === 'integer') return plainTotal(part, column.type)
  const isMoment = MOMENTS.has(type) && engine !== 'mysql'
  return type === 'decimal' || isMoment ? plainTotal(part) : null
}

function sumOf(column: SourceColumn, { kind }: ColumnKind): TotalCall | null {
  const part: SourceTotal = { kind: 'sum', column, isDistinct: false }
  if (kind === 'decimal') return plainTotal(part)
  return kind === 'integer' ? plainTotal(part, 'HUGEINT') : null
}

/** The most decimal places, because DuckDB divides the sum without its decimal point. */
const AVERAGE_SCALE_MAX = 9

/** Divides the sum by the count, as DuckDB does. */
function averageOf(column: SourceColumn, kind: ColumnKind): TotalCall | null {
  const scale = kind.kind === 'decimal' ? kind.scale : 0
  if ((kind.kind !== 'integer' && kind.kind !== 'decimal') || scale > AVERAGE_SCALE_MAX) return null
  const parts: readonly SourceTotal[] = [
    { kind: 'sum', column, isDistinct: false },
    { kind: 'count', column, isDistinct: false },
  ]
  const times = integerNode(10 ** scale)
  return {
    parts,
    value: ([sum = columnNode(''), count = columnNode('')]) => {
      const whole = castNode(callNode('*', sum, times), 'DOUBLE', false)
      return callNode('/', whole, castNode(callNode('*', count, times), 'DOUBLE', false))
    },
  }
}
