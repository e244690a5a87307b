/**
 * Functions of DuckDB 1.5.5 that descend into JSON by recursion and end the process where it is deep: at some fifteen
 * thousand levels, which a text of a hundred kilobytes can have. What they are given is counted first.
 */
import type { TreeEdit } from '../subquery/tree-edit.ts'
import {
  columnNames,
  isColumn,
  isNode,
  nodesOf,
  queryOf,
  replace,
  statementOf,
  type TreeNode,
  textOf,
  walk,
} from './select-ast.ts'

const RECURSIVE_FUNCTIONS = new Set([
  'json_contains',
  'json_group_structure',
  'json_merge_patch',
  'json_structure',
])

/** Objects and lists of one value: there are at most as many levels. */
const BRACKETS_MAX = 5000

const ARGUMENT = '__argument'
const BARE = `replace(replace(json::VARCHAR, '{', ''), '[', '')`
const MESSAGE = `JSON has at most ${BRACKETS_MAX} objects and lists where its structure is compared`

/** A lambda, so that the argument is computed once. */
const LIMITED = `SELECT list_transform([${ARGUMENT}], lambda json :
  CASE WHEN strlen(json::VARCHAR) - strlen(${BARE}) > ${BRACKETS_MAX}
  THEN error('${MESSAGE}') ELSE json END)[1]`

/** Grafts that put a limit around each argument of these functions, to be applied after those within the arguments. */
export function limitJson(tree: TreeNode): readonly TreeEdit[] {
  const calls = [...walk(tree)].filter((node) => {
    const isCall = node.class === 'FUNCTION' || node.class === 'WINDOW'
    return isCall && RECURSIVE_FUNCTIONS.has(textOf(node.function_name).toLowerCase())
  })
  for (const node of walk(tree)) {
    // What DuckDB would call the column shows the limit.
    for (const item of nodesOf(node.select_list).filter((item) => calls.includes(item))) {
      item.alias = textOf(item.alias) || textOf(item.function_name)
    }
  }
  const args = calls.flatMap((call) => nodesOf(call.children))
  return args.map((argument) => ({
    sql: LIMITED,
    apply: (parsed) => replace(argument, limited(argument, parsed)),
  }))
}

function limited(argument: TreeNode, parsed: TreeNode): TreeNode {
  const [expression] = nodesOf(queryOf(statementOf(parsed)).select_list)
  const place = [...walk(expression ?? null)].find((node) => {
    return isColumn(node) && columnNames(node)[0] === ARGUMENT
  })
  if (!isNode(expression) || place === undefined) throw new Error('the limit has an argument')
  // Its parts stay the same nodes: grafts of their own may follow.
  replace(place, { ...argument, alias: '' })
  return { ...expression, alias: argument.alias ?? '' }
}
