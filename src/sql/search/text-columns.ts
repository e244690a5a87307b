/**
 * Ids and some metadata are text, and users compare them with numbers (`id = 5`). DuckDB would cast the column, and
 * fail at the first `A-5`; so equality compares as text here, and order (`id > 999`) as numbers where they are some.
 */
import type { KnowledgeBase } from '../../domain/knowledge-base.ts'
import {
  castNode,
  columnNames,
  constantNumber,
  isColumn,
  isNode,
  nodesOf,
  type TreeNode,
  walkExpression,
} from '../ast/select-ast.ts'
import { metadataName } from './metadata-name.ts'
import type { SearchSource } from './search-source.ts'

const EQUALITIES = new Set(['COMPARE_EQUAL', 'COMPARE_NOTEQUAL', 'COMPARE_IN', 'COMPARE_NOT_IN'])
const ORDERS = new Set([
  'COMPARE_LESSTHAN',
  'COMPARE_GREATERTHAN',
  'COMPARE_LESSTHANOREQUALTO',
  'COMPARE_GREATERTHANOREQUALTO',
])

/** Rewrites the comparisons of the knowledge base's text columns with numbers, in place. */
export function compareAsText(select: TreeNode, source: SearchSource, kb: KnowledgeBase): void {
  const texts = new Set(['id', 'chunk_id', 'chunk_content'])
  for (const column of kb.storedMetadata) {
    if (column.type === 'VARCHAR') texts.add(metadataName(column).toLowerCase())
  }
  const isTextColumn = (node: TreeNode | undefined) => isTextOf(node, source, texts)
  for (const node of walkExpression(select)) {
    if (typeof node.type !== 'string') continue
    if (node.class === 'COMPARISON') compareSides(node, isTextColumn)
    else if (node.class === 'OPERATOR' && EQUALITIES.has(node.type)) {
      const [column, ...values] = nodesOf(node.children)
      if (column !== undefined && isTextColumn(column)) {
        node.children = [column, ...values.map(asText)]
      }
    }
  }
}

function isTextOf(node: TreeNode | undefined, source: SearchSource, texts: Set<string>): boolean {
  if (!isColumn(node)) return false
  const names = columnNames(node).map((name) => name.toLowerCase())
  const isOwn = names.length === 1 ? source.isOnly : names.at(-2) === source.alias.toLowerCase()
  return isOwn && names.length <= 2 && texts.has(names.at(-1) ?? '')
}

function compareSides(node: TreeNode, isText: (side: TreeNode | undefined) => boolean): void {
  for (const [own, other] of [
    ['left', 'right'],
    ['right', 'left'],
  ] as const) {
    const column = isNode(node[own]) ? node[own] : undefined
    const value = isNode(node[other]) ? node[other] : undefined
    if (column === undefined || value === undefined || !isText(column)) continue
    const type = String(node.type)
    if (EQUALITIES.has(type)) node[other] = asText(value)
    else if (ORDERS.has(type) && constantNumber(value) !== undefined) {
      node[own] = castNode(column, 'DOUBLE', true)
    }
  }
}

function asText(value: TreeNode): TreeNode {
  const isNumber = constantNumber(value) !== undefined || value.class === 'PARAMETER'
  return isNumber ? castNode(value, 'VARCHAR', false) : value
}
