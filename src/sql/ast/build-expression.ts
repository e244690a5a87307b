/** Expressions as DuckDB's parser would give them, for those that are put into a tree without being parsed. */
import { columnNode, integerNode, nullNode, type TreeNode } from './select-ast.ts'

export function callNode(name: string, ...children: readonly TreeNode[]): TreeNode {
  return {
    class: 'FUNCTION',
    type: 'FUNCTION',
    alias: '',
    query_location: columnNode('x').query_location ?? null,
    function_name: name,
    schema: '',
    children: [...children],
    filter: null,
    order_bys: { type: 'ORDER_MODIFIER', orders: [] },
    distinct: false,
    is_operator: !/\w/.test(name),
    export_state: false,
    catalog: '',
  }
}

/** `CASE WHEN condition THEN value ELSE other END`; without `other` it is NULL. */
export function caseNode(condition: TreeNode, value: TreeNode, other?: TreeNode): TreeNode {
  return {
    ...columnNode('x'),
    class: 'CASE',
    type: 'CASE_EXPR',
    case_checks: [{ when_expr: condition, then_expr: value }],
    else_expr: other ?? nullNode(),
  }
}

export function greaterNode(left: TreeNode, right: TreeNode): TreeNode {
  const { column_names: _, ...common } = columnNode('x')
  return { ...common, class: 'COMPARISON', type: 'COMPARE_GREATERTHAN', left, right }
}

/** `argument[1]` of `list_transform([{…fields}], lambda name: body)`: the fields are computed once. */
export function boundNode(
  fields: Readonly<Record<string, TreeNode>>,
  name: string,
  body: TreeNode,
): TreeNode {
  const { column_names: _, ...common } = columnNode('x')
  const parts = Object.entries(fields).map(([alias, value]) => ({ ...value, alias }))
  const list = callNode('list_value', callNode('struct_pack', ...parts))
  const lambda = { ...common, class: 'LAMBDA', type: 'LAMBDA', lhs: columnNode(name), expr: body }
  const children = [callNode('list_transform', list, lambda), integerNode(1)]
  return { ...common, class: 'OPERATOR', type: 'ARRAY_EXTRACT', children }
}
