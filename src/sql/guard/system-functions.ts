import { isNode, nodesOf, replace, type TreeNode, textValue, walk } from '../ast/select-ast.ts'
import { displayedName, variableParameter } from '../lexer/variable-names.ts'

/** Functions that name the database of the request, by whatever name clients know them. */
const DATABASE_FUNCTIONS: ReadonlySet<string> = new Set([
  'database',
  'schema',
  'current_database',
  'current_schema',
])

/** The name of the parameter that is bound to the database of the request. */
export const DATABASE_PARAMETER = variableParameter('system', 'database')

/**
 * Puts a parameter in the place of `database()`, which is another for each request, and gives the columns of a SELECT that are
 * such a function or variable the names under which they were written. Changes the tree in place.
 */
export function bindSystemFunctions(tree: TreeNode): void {
  for (const node of walk(tree)) {
    if (node.type === 'SELECT_NODE') for (const item of nodesOf(node.select_list)) nameItem(item)
    if (!isDatabaseFunction(node)) continue
    const { alias = '', query_location = null } = node
    const type = 'VALUE_PARAMETER'
    const identifier = DATABASE_PARAMETER
    replace(node, { class: 'PARAMETER', type, alias, query_location, identifier })
  }
}

function nameItem(item: TreeNode): void {
  if (textValue(item.alias) !== '') return
  if (isDatabaseFunction(item)) item.alias = `${textValue(item.function_name)}()`
  if (item.class !== 'PARAMETER') return
  const placeholder = `$${textValue(item.identifier)}`
  const name = displayedName(placeholder)
  if (name !== placeholder) item.alias = name
}

function isDatabaseFunction(node: TreeNode): boolean {
  return (
    node.class === 'FUNCTION' &&
    DATABASE_FUNCTIONS.has(textValue(node.function_name).toLowerCase()) &&
    nodesOf(node.children).length === 0 &&
    !isNode(node.filter)
  )
}
