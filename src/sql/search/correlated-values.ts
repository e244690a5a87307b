/**
 * The SELECT that finds the values of an expression before the statement itself can run: the texts of a lateral search
 * (`k.content = t.question`) or the questions to an agent (`a.question = t.question`). It is made from the statement as it
 * was written, and planned like one.
 */
import {
  columnNames,
  copyOf,
  isColumn,
  isNode,
  type TreeNode,
  type TreeValue,
  textValue,
  walk,
} from '../ast/select-ast.ts'
import { isVolatile } from '../guard/stability.ts'
import { conjunctionOf, conjunctsOf } from './predicate-pushdown.ts'

/** A SELECT around an expression and what it sees. */
export interface Surroundings {
  /** As it was written. */
  readonly select: TreeNode
  /** The CTEs that can be seen, as they were written. */
  readonly ctes: readonly TreeNode[]
  readonly outer: Surroundings | null
}

/**
 * A tree of `SELECT DISTINCT <expression> FROM …`, where the FROM is that of the innermost SELECT whose sources the
 * expression names, without the target. undefined where there is none, or where the expression has another value each time.
 * @param target the alias of the knowledge base or agent that gets these values
 */
export function valuesSelect(
  expression: TreeNode,
  target: string,
  around: Surroundings,
): TreeNode | undefined {
  const found = isVolatile(expression) ? undefined : frameOf(expression, target, around)
  if (found === undefined) return undefined
  const { frame, inside } = found
  const from = isNode(frame.select.from_table)
    ? withoutPart(copyOf(frame.select.from_table), { target, hasTarget: frame === around, inside })
    : undefined
  if (from === undefined) return undefined
  const isWhole = JSON.stringify(from) === JSON.stringify(frame.select.from_table)
  const aliases = isWhole ? 'all' : aliasesOf(from)
  const where = conjunctsOver(frame.select.where_clause ?? null, aliases)
  const select: TreeNode = {
    ...emptySelect(frame.select),
    modifiers: [{ type: 'DISTINCT_MODIFIER', distinct_on_targets: [] }],
    cte_map: { map: ctesOf(frame).map(copyOf) },
    select_list: [{ ...copyOf(expression), alias: VALUE_COLUMN }],
    from_table: from,
    where_clause: conjunctionOf(where),
  }
  return { error: false, statements: [{ node: select, named_param_map: [] }] }
}

const VALUE_COLUMN = 'value'

interface Frame {
  readonly frame: Surroundings
  /** The SELECTs between the frame and the expression: a source that holds one of them is left out. */
  readonly inside: readonly TreeNode[]
}

/** The innermost SELECT that can give the expression's columns. */
function frameOf(expression: TreeNode, target: string, around: Surroundings): Frame | undefined {
  const qualifiers = [...walk(expression)].filter(isColumn).map((column) => {
    return columnNames(column).at(-2)?.toLowerCase()
  })
  const inside: TreeNode[] = []
  for (let frame: Surroundings | null = around; frame !== null; frame = frame.outer) {
    const from = isNode(frame.select.from_table) ? frame.select.from_table : null
    const aliases = from === null ? [] : aliasesOf(from)
    const others = frame === around ? aliases.filter((alias) => alias !== target) : aliases
    const hasAll = qualifiers.every((name) => {
      return name === undefined ? others.length > 0 : others.includes(name)
    })
    if (hasAll && others.length > 0) return { frame, inside }
    inside.push(frame.select)
  }
  return undefined
}

/** The names under which the sources of a FROM can be called, in lower case. */
export function aliasesOf(ref: TreeNode): readonly string[] {
  if (ref.type === 'JOIN') {
    return [ref.left, ref.right].filter(isNode).flatMap(aliasesOf)
  }
  const name = textValue(ref.alias) || textValue(ref.table_name)
  return name === '' ? [] : [name.toLowerCase()]
}

interface Omission {
  readonly target: string
  /** Whether the target stands in this very FROM. */
  readonly hasTarget: boolean
  readonly inside: readonly TreeNode[]
}

/** The FROM without the target, and without the sub-queries in which the target stands. */
function withoutPart(ref: TreeNode, omission: Omission): TreeNode | undefined {
  if (ref.type !== 'JOIN') return isOmitted(ref, omission) ? undefined : ref
  const left = isNode(ref.left) ? withoutPart(ref.left, omission) : undefined
  const right = isNode(ref.right) ? withoutPart(ref.right, omission) : undefined
  if (left === undefined || right === undefined) return left ?? right
  const aliases = [...aliasesOf(left), ...aliasesOf(right)]
  const condition = isNode(ref.condition) ? ref.condition : null
  if (condition === null || canNarrow(condition, aliases)) return { ...ref, left, right }
  return { ...ref, left, right, condition: null, ref_type: 'CROSS', join_type: 'INNER' }
}

function isOmitted(ref: TreeNode, { target, hasTarget, inside }: Omission): boolean {
  if (hasTarget && aliasesOf(ref).includes(target)) return true
  if (ref.type !== 'SUBQUERY' || inside.length === 0) return false
  const wanted = inside.map((select) => JSON.stringify(select))
  return [...walk(ref)].some((node) => {
    return node.type === 'SELECT_NODE' && wanted.includes(JSON.stringify(node))
  })
}

/**
 * True when the condition names columns of these sources alone, each with its qualifier. A volatile one is evaluated in the
 * statement itself: here it would let other rows pass than there.
 */
function canNarrow(condition: TreeNode, aliases: readonly string[] | 'all'): boolean {
  if (isVolatile(condition)) return false
  return [...walk(condition)].every((node) => {
    if (node.class === 'SUBQUERY') return false
    if (!isColumn(node) || aliases === 'all') return true
    return aliases.includes(columnNames(node).at(-2)?.toLowerCase() ?? '')
  })
}

/** The parts of a condition that narrow these sources: the fewer values, the fewer calls of a model. */
function conjunctsOver(where: TreeValue, aliases: readonly string[] | 'all'): readonly TreeNode[] {
  return conjunctsOf(where).filter((part) => canNarrow(part, aliases))
}

/** The CTEs that a SELECT sees; of those with one name the nearest. */
export function ctesOf(frame: Surroundings): readonly TreeNode[] {
  const byName = new Map<string, TreeNode>()
  for (const cte of frame.ctes) {
    const name = textValue(cte.key).toLowerCase()
    byName.delete(name)
    byName.set(name, cte)
  }
  return [...byName.values()]
}

/** A SELECT without clauses, with the fields that DuckDB expects. */
function emptySelect(like: TreeNode): TreeNode {
  return {
    ...like,
    type: 'SELECT_NODE',
    group_expressions: [],
    group_sets: [],
    aggregate_handling: 'STANDARD_HANDLING',
    having: null,
    sample: null,
    qualify: null,
  }
}
