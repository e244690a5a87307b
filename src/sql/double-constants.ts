import { castNode, isNode, isNumber, replace, type TreeNode, textNode, walk } from './select-ast.ts'

/**
 * DuckDB prints the DOUBLE constant `1e10` as `10000000000.0`, which it reads back as a DECIMAL. A cast of its text keeps
 * value and type.
 */
export function keepDoubles(tree: TreeNode): void {
  for (const node of [...walk(tree)]) {
    if (node.class !== 'CONSTANT' || !isNode(node.value)) continue
    const { type, value } = node.value
    if (!isNode(type) || type.id !== 'DOUBLE' || !isNumber(value)) continue
    const alias = node.alias ?? ''
    replace(node, { ...castNode(textNode(value.rawJSON), 'DOUBLE', false), alias })
  }
}
