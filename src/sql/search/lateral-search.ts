/**
 * `content = t.column`: a search for another text in each row. The texts are embedded before the statement runs, and the
 * distance is computed where the row of the other table can be seen: each use of `distance` and `relevance` becomes an
 * expression over the chunk's vector and the column.
 */
import { chunkTables } from '../../core/domain/chunk-tables.ts'
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import {
  columnNames,
  columnNode,
  copyOf,
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
import { textsParameter, vectorsParameter } from './plan-inputs.ts'
import type { LateralRanking } from './ranking.ts'
import { ownColumnName, type SearchSource } from './source-columns.ts'

const VECTOR = '__vector'
const TEXT_COLUMN = '__text'

/** Stands for the predicate `content = t.column` until it is known what it filters: rows that have a text. */
export const HAS_TEXT = '__has_text'

/** What `*` must not show of the source of a lateral search. */
export const LATERAL_COLUMNS: readonly string[] = [VECTOR]

/** The chunks with their vectors, to be measured by `measure`. @param columns further columns of the chunks `c` */
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

/** The measures as a SELECT of expressions over `__vector` and `__text`. */
export function measuresSql(kb: KnowledgeBase, textIndex: number): string {
  if (kb.dimensions === null) {
    return `SELECT NULL::DOUBLE AS distance, NULL::DOUBLE AS relevance, true AS ${HAS_TEXT}`
  }
  const place = `list_position($${textsParameter(textIndex)}::VARCHAR[], ${TEXT_COLUMN}::VARCHAR)`
  const vector = `($${vectorsParameter(textIndex)}::FLOAT[${kb.dimensions}][])[${place}]`
  const product = `array_negative_inner_product(${VECTOR}, ${vector})`
  const distance = `least(2, greatest(0, 1 + ${product}))::DOUBLE`
  const relevance = `1 / (1 + ${distance})`
  return `SELECT ${distance} AS distance, ${relevance} AS relevance, ${place} IS NOT NULL AS ${HAS_TEXT}`
}

/**
 * Puts the measures in the place of `distance`, `relevance` and the predicate on `content`.
 * @param select the SELECT in which the source stands; its order is made already
 * @param measures the tree of `measuresSql`
 */
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
  // Without a qualifier `distance` is this source's only outside of sub-queries.
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

/** `*` and `k.*` show the measures as well. */
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
