/**
 * Gives a knowledge base's columns their meaning in the SELECT around its subquery: paths into the
 * metadata, comparisons of text with numbers, and columns that `*` does not show.
 */
import type { KnowledgeBase } from '../../core/domain/knowledge-base.ts'
import {
  callNode,
  castNode,
  columnNames,
  columnNode,
  constantNumber,
  isColumn,
  isNode,
  nodesOf,
  replace,
  type TreeNode,
  textNode,
  textValue,
  walkExpression,
} from '../ast/select-ast.ts'
import {
  metadataName,
  ownColumnName,
  ownIdNames,
  type SearchSource,
} from '../search/search-options.ts'

/** Turns `metadata.key` into the typed column of that name, or else the text under that key. */
export function fixMetadataPaths(select: TreeNode, source: SearchSource, kb: KnowledgeBase): void {
  const shown = new Set(nodesOf(select.select_list))
  for (const node of walkExpression(select)) {
    if (!isColumn(node)) continue
    const names = columnNames(node)
    const at = metadataAt(names, source)
    if (at === undefined || at === names.length - 1) continue
    const keys = names.slice(at + 1)
    const [key = ''] = keys
    const column = kb.storedMetadata.find((stored) => {
      return stored.name.toLowerCase() === key.toLowerCase()
    })
    const alias = textValue(node.alias)
    if (column !== undefined && keys.length === 1) {
      const ownName = alias === '' && shown.has(node) ? column.name : alias
      replace(node, { ...columnNode(source.alias, metadataName(column)), alias: ownName })
    } else replace(node, { ...jsonText(source.alias, keys), alias })
  }
}

function metadataAt(names: readonly string[], source: SearchSource): number | undefined {
  const lower = names.map((name) => name.toLowerCase())
  if (lower[0] === source.alias.toLowerCase() && lower[1] === 'metadata') return 1
  return source.isOnly && lower[0] === 'metadata' ? 0 : undefined
}

function jsonText(alias: string, keys: readonly string[]): TreeNode {
  const path = `$${keys.map((key) => `."${key.replaceAll('"', '\\"')}"`).join('')}`
  return callNode('json_extract_string', columnNode(alias, 'metadata'), textNode(path))
}

/** Hides helper columns from `*` and `alias.*`. */
export function hideColumns(select: TreeNode, alias: string, hidden: readonly string[]): void {
  if (hidden.length === 0) return
  const entries = hidden.map((column) => ({ catalog: '', schema: '', table: alias, column }))
  for (const node of walkExpression(select.select_list ?? null)) {
    if (node.class !== 'STAR' || node.type !== 'STAR') continue
    const relation = typeof node.relation_name === 'string' ? node.relation_name : ''
    if (relation !== '' && relation.toLowerCase() !== alias.toLowerCase()) continue
    node.qualified_exclude_list = [...nodesOf(node.qualified_exclude_list), ...entries]
  }
}

const EQUALITIES = new Set(['COMPARE_EQUAL', 'COMPARE_NOTEQUAL', 'COMPARE_IN', 'COMPARE_NOT_IN'])
const ORDERS = new Set([
  'COMPARE_LESSTHAN',
  'COMPARE_GREATERTHAN',
  'COMPARE_LESSTHANOREQUALTO',
  'COMPARE_GREATERTHANOREQUALTO',
])

/**
 * Rewrites comparisons of text columns with numbers, in place. Ids and some metadata are text, and
 * users compare them with numbers (`id = 5`). DuckDB would cast the column and fail at the first
 * `A-5`. So equality compares as text, and order (`id > 999`) as numbers where the values are
 * numbers.
 */
export function compareAsText(select: TreeNode, source: SearchSource, kb: KnowledgeBase): void {
  const texts = new Set(['id', 'chunk_id', 'chunk_content', ...ownIdNames(kb)])
  for (const column of kb.storedMetadata) {
    if (column.type === 'VARCHAR') texts.add(metadataName(column).toLowerCase())
  }
  const isTextColumn = (node: TreeNode | undefined) => texts.has(ownColumnName(node, source) ?? '')
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
