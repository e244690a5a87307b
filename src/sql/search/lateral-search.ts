/**
 * Handles `content = t.column`, a search for a different text in each row. The texts are embedded
 * before the statement runs. The distance is computed where the other table's row is visible, so
 * each use of `distance` and `relevance` becomes an expression over the chunk's vector and the
 * column.
 */
import { chunkTables } from '../../core/domain/document.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import {
  columnNames,
  columnNode,
  conjunctsOf,
  copyOf,
  emptySelect,
  isColumn,
  isNode,
  nodesOf,
  queryNode,
  replace,
  statementOf,
  type TreeNode,
  textsOf,
  textValue,
  walk,
  walkExpression,
} from '../ast/select-ast.ts'
import { isVolatile } from '../guard/function-lists.ts'
import { BOUND } from './plan-inputs.ts'
import { conjunctionOf } from './predicate-pushdown.ts'
import type { LateralRanking } from './ranking.ts'
import { ownColumnName, type SearchSource } from './search-options.ts'

const VECTOR = '__vector'
const TEXT_COLUMN = '__text'

/** Stands for `content = t.column` until known as a filter: it keeps rows with text. */
export const HAS_TEXT = '__has_text'

/** Columns of a lateral search's source that `*` must not show. */
export const LATERAL_COLUMNS: readonly string[] = [VECTOR]

/** With their vectors, for `measure`. @param columns further columns of the chunks `c` */
export function unmeasuredChunks(kb: KnowledgeBase, columns: readonly string[]): string {
  const { chunks, vectors } = chunkTables(kb)
  const isEmpty = kb.dimensions === null
  const list = [
    'c.document_id AS id',
    'c.chunk_id',
    'c.chunk_content',
    'c.metadata',
    'NULL::DOUBLE AS relevance',
    'NULL::DOUBLE AS distance',
    ...columns,
    isEmpty ? `NULL AS ${VECTOR}` : `v.vector AS ${VECTOR}`,
  ]
  const join = isEmpty ? '' : ` JOIN ${vectors} AS v USING (chunk_key)`
  return `SELECT ${list.join(', ')} FROM ${chunks} AS c${join}`
}

/** Returns distance and relevance as a SELECT of expressions over `__vector` and `__text`. */
export function measuresSql(kb: KnowledgeBase, textIndex: number): string {
  if (kb.dimensions === null) {
    return `SELECT NULL::DOUBLE AS distance, NULL::DOUBLE AS relevance, true AS ${HAS_TEXT}`
  }
  const place = `list_position($${BOUND.texts(textIndex)}::VARCHAR[], ${TEXT_COLUMN}::VARCHAR)`
  const vector = `($${BOUND.vectors(textIndex)}::FLOAT[${kb.dimensions}][])[${place}]`
  const product = `array_negative_inner_product(${VECTOR}, ${vector})`
  const distance = `least(2, greatest(0, 1 + ${product}))::DOUBLE`
  const relevance = `1 / (1 + ${distance})`
  return `SELECT ${distance} AS distance, ${relevance} AS relevance, ${place} IS NOT NULL AS ${HAS_TEXT}`
}

/** In expressions over chunks. @param select in its order @param measures of `measuresSql` */
export function measure(
  select: TreeNode,
  source: SearchSource,
  ranking: LateralRanking,
  measures: TreeNode,
): void {
  const expressions = new Map<string, TreeNode>()
  for (const expression of nodesOf(queryNode(statementOf(measures)).select_list)) {
    const name = textValue(expression.alias)
    fillIn(expression, source.alias, ranking.operand)
    expressions.set(name, { ...expression, alias: '' })
  }
  const items = new Set(nodesOf(select.select_list))
  // In a subquery, an unqualified `distance` may belong to another source.
  const own = new Set(walkExpression(select))
  for (const node of [...walk(select)]) {
    if (own.has(node) && node.class === 'STAR') replaceInStar(node, source.alias, expressions)
    const isOnly = source.isOnly && own.has(node)
    const expression = expressions.get(ownColumnName(node, { ...source, isOnly }) ?? '')
    if (expression === undefined) continue
    const shown = textValue(node.alias) || (columnNames(node).at(-1) ?? '')
    replace(node, { ...copyOf(expression), alias: items.has(node) ? shown : '' })
  }
}

function fillIn(expression: TreeNode, alias: string, operand: TreeNode): void {
  for (const node of [...walk(expression)]) {
    if (!isColumn(node)) continue
    if (columnNames(node)[0] === VECTOR) replace(node, columnNode(alias, VECTOR))
    else if (columnNames(node)[0] === TEXT_COLUMN) replace(node, { ...copyOf(operand), alias: '' })
  }
}

/** Makes `*` and `k.*` show distance and relevance too. */
function replaceInStar(
  star: TreeNode,
  alias: string,
  expressions: ReadonlyMap<string, TreeNode>,
): void {
  const relation = textValue(star.relation_name)
  if (relation !== '' && relation.toLowerCase() !== alias.toLowerCase()) return
  const taken = [
    ...textsOf(star.exclude_list),
    ...nodesOf(star.replace_list).map((entry) => textValue(entry.key)),
  ].map((name) => name.toLowerCase())
  const entries = [...expressions]
    .filter(([name]) => name !== HAS_TEXT && !taken.includes(name))
    .map(([name, value]) => ({ key: name, value: copyOf(value) }))
  star.replace_list = [...nodesOf(star.replace_list).filter(isNode), ...entries]
}

/** Values to know first: texts of `k.content = t.question`, or questions of `a.question = …`. */

export interface Surroundings {
  /** As written. */
  readonly select: TreeNode
  /** The visible CTEs, as written. */
  readonly ctes: readonly TreeNode[]
  readonly outer: Surroundings | null
}

/**
 * Builds the tree of `SELECT DISTINCT <expression> FROM …`, with the FROM of the innermost SELECT
 * that has the expression's sources, but without the target. Undefined if there is none, or if the
 * expression changes with each evaluation.
 * @param target the alias of the knowledge base or agent that uses these values
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
  // The parts of the condition that restrict these sources. Fewer values mean fewer model calls.
  const where = conjunctsOf(frame.select.where_clause).filter((part) => canNarrow(part, aliases))
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

/** Returns the innermost SELECT that has all columns of the expression. */
function frameOf(
  expression: TreeNode,
  target: string,
  around: Surroundings,
):
  | {
      readonly frame: Surroundings
      /** A source that contains one of these SELECTs is left out. */
      readonly inside: readonly TreeNode[]
    }
  | undefined {
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

/** Returns the names of a FROM's sources in lower case. */
function aliasesOf(ref: TreeNode): readonly string[] {
  if (ref.type === 'JOIN') {
    return [ref.left, ref.right].filter(isNode).flatMap(aliasesOf)
  }
  const name = textValue(ref.alias) || textValue(ref.table_name)
  return name === '' ? [] : [name.toLowerCase()]
}

interface Omission {
  readonly target: string
  readonly hasTarget: boolean
  readonly inside: readonly TreeNode[]
}

/** Returns the FROM without the target, and without subqueries that contain it. */
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

/** And not volatile: evaluating it twice could select different rows. */
function canNarrow(condition: TreeNode, aliases: readonly string[] | 'all'): boolean {
  if (isVolatile(condition)) return false
  return [...walk(condition)].every((node) => {
    if (node.class === 'SUBQUERY') return false
    if (!isColumn(node) || aliases === 'all') return true
    return aliases.includes(columnNames(node).at(-2)?.toLowerCase() ?? '')
  })
}

/** Returns the CTEs visible to a SELECT. Of several with the same name, the innermost counts. */
export function ctesOf(frame: Surroundings): readonly TreeNode[] {
  const byName = new Map<string, TreeNode>()
  for (const cte of frame.ctes) {
    const name = textValue(cte.key).toLowerCase()
    byName.delete(name)
    byName.set(name, cte)
  }
  return [...byName.values()]
}
