/** Column names, as users write them, on the sub-query that stands for a knowledge base. */
import type { KnowledgeBase } from '../domain/knowledge-base.ts'
import {
  columnNames,
  columnNode,
  isColumn,
  nodesOf,
  replace,
  type TreeNode,
  textNode,
  textOf,
  walk,
  walkExpression,
} from './ast/select-ast.ts'
import { metadataName } from './search/metadata-name.ts'
import type { SearchSource } from './search/search-source.ts'

/** `project.kb.column` → `kb.column`: a sub-query has an alias and no schema. */
export function stripProjects(
  tree: TreeNode,
  qualifiers: ReadonlyMap<string, ReadonlySet<string>>,
): void {
  if (qualifiers.size === 0) return
  for (const node of walk(tree)) {
    if (!isColumn(node)) continue
    const [project = '', table = '', ...rest] = columnNames(node)
    const isStripped = qualifiers.get(table.toLowerCase())?.has(project.toLowerCase()) === true
    if (isStripped && rest.length > 0) node.column_names = [table, ...rest]
  }
}

/** `metadata.key` → the typed column of that name, or the text under that key. */
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
    const alias = textOf(node.alias)
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
  return {
    ...columnNode(),
    class: 'FUNCTION',
    type: 'FUNCTION',
    function_name: 'json_extract_string',
    schema: '',
    children: [columnNode(alias, 'metadata'), textNode(path)],
    filter: null,
    order_bys: { type: 'ORDER_MODIFIER', orders: [] },
    distinct: false,
    is_operator: false,
    export_state: false,
    catalog: '',
  }
}

/** Keeps helper columns out of `*` and `alias.*`. */
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
