/**
 * Determines which rows of a subquery, CTE or view the SELECTs around it need. This only narrows
 * what is read from a source. The statement itself is unchanged, so every condition is applied
 * again where it was written.
 */
import { nameKey } from '../../core/domain/names.ts'
import {
  columnNames,
  columnNode,
  copyOf,
  isColumn,
  isNode,
  nodesOf,
  queryNode,
  replace,
  type TreeNode,
  type TreeValue,
  textValue,
  walk,
  walkExpression,
} from '../ast/select-ast.ts'
import {
  conditionsOn,
  isPlainReference,
  isPlainStar,
  orderedColumn,
  readsWholeRows,
  showsEachRow,
} from './select-shape.ts'

export interface OuterNeeds {
  /** Conditions on its rows, as if they were in its WHERE. */
  readonly conjuncts: readonly TreeNode[]
  /** The first rows, if only these are needed. */
  readonly slice: NeededSlice | null
  /** Whether columns may be needed that the statement never names. */
  readonly isWhole: boolean
  /** Names of columns in the statement around a view, in lower case. */
  readonly usedNames: ReadonlySet<string>
}

export interface NeededSlice {
  /** Items of an ORDER BY, each by a column. */
  readonly order: readonly (TreeNode & { readonly expression: TreeNode })[]
  readonly limit: TreeNode | null
  readonly offset: TreeNode | null
}

export const EVERYTHING: OuterNeeds = {
  conjuncts: [],
  slice: null,
  isWhole: true,
  usedNames: new Set(),
}

interface Use {
  readonly select: TreeNode
  readonly ref: TreeNode
}

/** The needs of each SELECT in a statement, as written. */
export class StatementNeeds {
  readonly #root: TreeNode
  readonly #ofRoot: OuterNeeds
  /** For a SELECT that is used only in the FROM of another one: where. */
  readonly #uses = new Map<TreeNode, Use>()
  readonly #known = new Map<TreeNode, OuterNeeds>()

  /** @param ofRoot set for the SELECT of a view */
  constructor(root: TreeNode, ofRoot: OuterNeeds = EVERYTHING) {
    this.#root = root
    this.#ofRoot = ofRoot
    const ctes = ctesOf(root)
    for (const select of walk(root)) {
      if (select.type !== 'SELECT_NODE') continue
      for (const ref of referencesOf(select.from_table)) {
        const inner = ref.type === 'SUBQUERY' ? queryNode(ref.subquery) : ctes.get(ref)
        if (inner !== undefined) this.#uses.set(inner, { select, ref })
      }
    }
  }

  get usedNames(): ReadonlySet<string> {
    return this.#ofRoot.usedNames
  }

  of(select: TreeNode): OuterNeeds {
    const known = this.#known.get(select)
    if (known !== undefined) return known
    // A recursive SELECT adds no needs for itself.
    this.#known.set(select, EVERYTHING)
    const use = this.#uses.get(select)
    const around = select === this.#root ? this.#ofRoot : EVERYTHING
    const needs = use === undefined ? around : this.under(use.select, use.ref, refName(use.ref))
    const within = needsWithin(select, needs)
    this.#known.set(select, within)
    return within
  }

  /** What a SELECT needs from a subquery or view in its FROM, by column names. */
  under(select: TreeNode, ref: TreeNode, alias: string): OuterNeeds {
    if (!isPlainReference(ref)) return EVERYTHING
    const around = this.of(select)
    const isOnly = select.from_table === ref
    const outputOf: OutputOf = (node) => {
      const [name = '', ...rest] = columnNames(node).toReversed()
      const isNamed = rest.length === 1 && nameKey(rest[0] ?? '') === nameKey(alias)
      return isNamed || (rest.length === 0 && isOnly) ? columnNode(name) : undefined
    }
    const conjuncts = conditionsOn(select, ref, around.conjuncts) ?? []
    const slice = isOnly ? sliceUnder(select, around.slice) : null
    const isWhole = readsWholeRows(select, { ref, alias, columns: [] }, around.isWhole)
    const named = { conjuncts, slice, isWhole, usedNames: new Set<string>() }
    return renamed(named, outputOf)
  }
}

type OutputOf = (node: TreeNode) => TreeNode | undefined

function refName(ref: TreeNode): string {
  return textValue(ref.alias) || textValue(ref.table_name)
}

function referencesOf(from: TreeValue | undefined): readonly TreeNode[] {
  if (!isNode(from)) return []
  if (from.type !== 'JOIN') return [from]
  return [...referencesOf(from.left), ...referencesOf(from.right)]
}

/** A CTE that is used twice must be read for both uses. */
function ctesOf(root: TreeNode): ReadonlyMap<TreeNode, TreeNode> {
  const bodies = new Map<string, TreeNode[]>()
  const refs = new Map<string, TreeNode[]>()
  for (const node of walk(root)) {
    const entries = isNode(node.cte_map) ? nodesOf(node.cte_map.map) : []
    for (const { key, value, aliases = null } of entries) {
      const body = isNode(value) && isNode(value.query) ? queryNode(value.query) : {}
      const isRenamed = [aliases, isNode(value) ? (value.aliases ?? null) : null].some((list) => {
        return Array.isArray(list) && list.length > 0
      })
      addTo(bodies, textValue(key), isRenamed ? {} : body)
    }
    if (node.type !== 'BASE_TABLE') continue
    if (textValue(node.schema_name) === '' && textValue(node.catalog_name) === '') {
      addTo(refs, textValue(node.table_name), node)
    }
  }
  const found = new Map<TreeNode, TreeNode>()
  for (const [name, [body, ...twins]] of bodies) {
    const [ref, ...others] = refs.get(name) ?? []
    const isOnly = twins.length === 0 && others.length === 0
    if (isOnly && ref !== undefined && body !== undefined) found.set(ref, body)
  }
  return found
}

function addTo(map: Map<string, TreeNode[]>, name: string, node: TreeNode): void {
  const key = nameKey(name)
  map.set(key, [...(map.get(key) ?? []), node])
}

/** With one relation in FROM. @param around the first rows needed of the SELECT */
export function sliceUnder(select: TreeNode, around: NeededSlice | null): NeededSlice | null {
  if (!showsEachRow(select)) return null
  const own = writtenSlice(select)
  if (own === null) return null
  if (around === null || own.limit !== null || own.offset !== null) return own
  if (own.order.length > 0 && around.order.length > 0) return null
  return { ...around, order: [...own.order, ...around.order] }
}

/** Null if the SELECT does more than order and limit. */
function writtenSlice(select: TreeNode): NeededSlice | null {
  const order: NeededSlice['order'][number][] = []
  let [limit, offset]: (TreeNode | null)[] = [null, null]
  for (const modifier of nodesOf(select.modifiers)) {
    if (modifier.type === 'ORDER_MODIFIER') {
      for (const item of nodesOf(modifier.orders)) {
        const expression = isNode(item.expression)
          ? orderedColumn(item.expression, select)
          : undefined
        if (expression === undefined) return null
        order.push({ ...item, expression })
      }
    } else if (modifier.type === 'LIMIT_MODIFIER') {
      limit = isNode(modifier.limit) ? modifier.limit : null
      offset = isNode(modifier.offset) ? modifier.offset : null
    } else return null
  }
  return { order, limit: limit ?? null, offset: offset ?? null }
}

/** Translates needs for a SELECT's result into needs for the rows it reads. */
function needsWithin(select: TreeNode, needs: OuterNeeds): OuterNeeds {
  const { conjuncts, slice, usedNames } = needs
  if (select.type !== 'SELECT_NODE' || !showsEachRow(select)) return { ...EVERYTHING, usedNames }
  const modifiers = nodesOf(select.modifiers)
  const isDistinct = ({ type, distinct_on_targets: targets = null }: TreeNode) => {
    return type === 'DISTINCT_MODIFIER' && nodesOf(targets).length === 0
  }
  const isSame = modifiers.every((one) => one.type === 'ORDER_MODIFIER' || isDistinct(one))
  // A LIMIT of the SELECT does no harm if there is no condition.
  if (!isSame) return { ...EVERYTHING, usedNames }
  const inner = renamed({ ...needs, conjuncts, slice }, selectedItems(select))
  const isWhole = needs.isWhole || modifiers.length > 0
  return { ...inner, isWhole, slice: modifiers.some(isDistinct) ? null : inner.slice }
}

/** Finds the column in a SELECT's FROM for a name in its result. */
function selectedItems(select: TreeNode): OutputOf {
  const items = nodesOf(select.select_list)
  const stars = items.filter(({ class: kind }) => kind === 'STAR')
  const named = items.filter((item) => !stars.includes(item))
  const from = select.from_table
  const isOneSource = isNode(from) && from.type !== 'JOIN' && from.type !== 'PIVOT'
  return (node) => {
    const wanted = columnNames(node).at(-1) ?? ''
    const matches = named.filter((item) => nameKey(outputName(item)) === nameKey(wanted))
    const [item] = matches
    if (stars.length === 0) return matches.length === 1 && isColumn(item) ? item : undefined
    // DuckDB names the second of two equal columns `name_1`.
    const mayBeOther = matches.length > 0 || (named.length > 0 && !/^\w*[a-z]$/i.test(wanted))
    const isPlain = stars.length === 1 && stars.every(isPlainStar) && isOneSource
    return isPlain && !mayBeOther ? columnNode(wanted) : undefined
  }
}

function outputName(item: TreeNode): string {
  const alias = textValue(item.alias)
  return alias === '' && isColumn(item) ? (columnNames(item).at(-1) ?? '') : alias
}

/** A condition or order on an unnamed column cannot be sent to a source. */
function renamed(needs: OuterNeeds, outputOf: OutputOf): OuterNeeds {
  const conjuncts = needs.conjuncts.map((conjunct) => {
    const copy = copyOf(conjunct)
    for (const node of [...walkExpression(copy)].filter(isColumn)) {
      replace(node, copyOf(outputOf(node) ?? UNKNOWN))
    }
    return copy
  })
  return { ...needs, conjuncts, slice: renamedSlice(needs.slice, outputOf) }
}

const UNKNOWN: TreeNode = { class: 'UNKNOWN' }

function renamedSlice(slice: NeededSlice | null, outputOf: OutputOf): NeededSlice | null {
  if (slice === null) return null
  const order: NeededSlice['order'][number][] = []
  for (const item of slice.order) {
    const expression = outputOf(item.expression)
    if (expression === undefined) return null
    order.push({ ...item, expression })
  }
  return { ...slice, order }
}
