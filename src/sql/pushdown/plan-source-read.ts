/** Plans the read of one source table in a FROM: the part that the statement needs. */
import type { SourceColumn } from '../../core/domain/flow/source-parameters.ts'
import { nameKey } from '../../core/domain/names.ts'
import { columnNames, type TreeNode, textsOf, walkExpression } from '../ast/select-ast.ts'
import type { UnnamedItem } from '../guard/limit-steps.ts'
import { groupedReadOf } from './grouped-read.ts'
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
  type SourceOrder,
  type SourceRead,
  type SourceRef,
  type SourceSlice,
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
  const condition = conditionFrom(clocked ?? null, columnOf)
  return { ...read, condition, slice: sliceOf(select, ref, needs.slice, columnOf) }
}

function conditionFrom(conjuncts: readonly TreeNode[] | null, columnOf: ColumnOf): SourceCondition {
  if (conjuncts === null) return { kind: 'other' }
  return { kind: 'and', conditions: conjuncts.map((node) => sourceCondition(node, columnOf)) }
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
    order.push({
      column,
      isDescending: type === 'DESCENDING',
      nullsFirst: nulls === 'NULLS FIRST',
    })
  }
  const [limit, offset] = [slice.limit, slice.offset].map((node) => operandOf(node ?? undefined))
  if (slice.limit !== null && limit === undefined) return null
  if (slice.offset !== null && offset === undefined) return null
  return { order, limit: limit ?? null, offset: offset ?? null }
}
