import {
  castNode,
  copyOf,
  isNode,
  isNumber,
  nodesOf,
  numberOf,
  replace,
  type TreeNode,
  textNode,
  walk,
} from './select-ast.ts'

/**
 * DuckDB prints the DOUBLE constant `1e10` as `10000000000.0`, which it reads back as a DECIMAL, and the DECIMAL `5.` as
 * the INTEGER `5`. A cast keeps value and type; a column made of nothing else keeps a name that can be read.
 */
export function keepConstants(tree: TreeNode): void {
  for (const node of [...walk(tree)]) {
    for (const item of nodesOf(node.select_list)) {
      const name = exactCast(item) === undefined ? '' : nameOf(item)
      if (item.alias === '' && name !== '') item.alias = name
    }
    const exact = exactCast(node)
    if (exact !== undefined) replace(node, { ...exact, alias: node.alias ?? '' })
  }
}

/** The cast that stands for a constant which would not be read back as it is. */
function exactCast(node: TreeNode): TreeNode | undefined {
  if (node.class !== 'CONSTANT' || !isNode(node.value)) return undefined
  const { type, value } = node.value
  if (!isNode(type)) return undefined
  if (type.id === 'DOUBLE' && isNumber(value)) {
    return castNode(textNode(value.rawJSON), 'DOUBLE', false)
  }
  const isWhole = isNode(type.type_info) && numberOf(type.type_info.scale) === 0
  if (type.id !== 'DECIMAL' || !isWhole) return undefined
  const digits = { ...copyOf(node), alias: '' }
  return { ...castNode(digits, 'DECIMAL', false), cast_type: copyOf(type) }
}

/** What DuckDB would call the column. A DECIMAL of more than 64 bits is stored in two halves: it gets no name. */
function nameOf({ value: constant }: TreeNode): string {
  const value = isNode(constant) ? constant.value : undefined
  return isNumber(value) ? value.rawJSON : ''
}
