import { asWritten, variableParameter } from '../../core/text/shown-statement.ts'
import {
  copyOf,
  isNode,
  nodesOf,
  replace,
  type TreeNode,
  type TreeValue,
  textValue,
  walk,
} from '../ast/select-ast.ts'
import type { UnnamedItem } from './limit-steps.ts'

/** Functions that return the request's database, under all the names that clients use. */
const DATABASE_FUNCTIONS: ReadonlySet<string> = new Set(
  'database schema current_database current_schema'.split(' '),
)

export const DATABASE_PARAMETER = variableParameter('system', 'database')

/** `database()` becomes a parameter, as it differs per request. @returns whether any changed */
export function bindSystemFunctions(tree: TreeNode): boolean {
  let isChanged = false
  for (const node of walk(tree)) {
    if (node.type === 'SELECT_NODE')
      for (const item of nodesOf(node.select_list)) isChanged = nameItem(item) || isChanged
    if (!isDatabaseFunction(node)) continue
    isChanged = true
    const { alias = '', query_location = null } = node
    const type = 'VALUE_PARAMETER'
    const identifier = DATABASE_PARAMETER
    replace(node, { class: 'PARAMETER', type, alias, query_location, identifier })
  }
  return isChanged
}

function nameItem(item: TreeNode): boolean {
  if (textValue(item.alias) !== '') return false
  if (isDatabaseFunction(item)) item.alias = `${textValue(item.function_name)}()`
  if (item.class === 'PARAMETER') {
    const placeholder = `$${textValue(item.identifier)}`
    const name = asWritten(placeholder)
    if (name !== placeholder) item.alias = name
  }
  return textValue(item.alias) !== ''
}

function isDatabaseFunction(node: TreeNode): boolean {
  return (
    node.class === 'FUNCTION' &&
    DATABASE_FUNCTIONS.has(textValue(node.function_name).toLowerCase()) &&
    nodesOf(node.children).length === 0 &&
    !isNode(node.filter)
  )
}

/** In `SELECT hash($p), upper($p)`, DuckDB 1.5.5 infers the type from `upper`, then breaks. */
const UNTYPED =
  /^(typeof|alias|hash|row|struct_pack|printf|format|count|approx_count_distinct|entropy|grade_up|map\w*|(list|array)_\w+)$/

const COPY = /^eider_copy_[0-9a-z]+_(.+)$/

export function parameterOf(name: string): string {
  return COPY.exec(name)?.[1] ?? name
}

/** A name of its own inside those functions, the same everywhere in one expression. */
export function separateParameters(tree: TreeNode): readonly UnnamedItem[] {
  const counts = new Map<string, number>()
  for (const node of walk(tree)) {
    if (node.class !== 'PARAMETER') continue
    const name = textValue(node.identifier)
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  if (![...counts.values()].some((count) => count > 1)) return []
  const calls = [...walk(tree)].filter(isUntyped)
  if (calls.length === 0) return []
  const items = [...walk(tree)].flatMap(({ select_list: list }) => nodesOf(list))
  const unnamed = items
    .filter(({ alias }) => textValue(alias) === '')
    .map((item) => ({ item, original: copyOf(item) }))
  for (const call of calls) rename(call, call, counts)
  return unnamed.filter(({ item }) => {
    return [...walk(item)].some(({ identifier }) => COPY.test(textValue(identifier)))
  })
}

function isUntyped(node: TreeNode): boolean {
  const isCall = node.class === 'FUNCTION' || node.class === 'WINDOW'
  return isCall && UNTYPED.test(textValue(node.function_name).toLowerCase())
}

function rename(value: TreeValue, parent: TreeNode, counts: ReadonlyMap<string, number>): void {
  if (Array.isArray(value)) {
    for (const item of value) rename(item, parent, counts)
    return
  }
  if (!isNode(value)) return
  const name = textValue(value.identifier)
  if (value.class === 'PARAMETER') {
    const isRepeated = (counts.get(name) ?? 0) > 1 && !COPY.test(name)
    if (isRepeated)
      replace(value, { ...value, identifier: `eider_copy_${shapeOf(parent)}_${name}` })
    return
  }
  const isExpression = typeof value.class === 'string'
  for (const field of Object.keys(value)) {
    rename(value[field] ?? null, isExpression ? value : parent, counts)
  }
}

function shapeOf(node: TreeNode): string {
  const text = JSON.stringify(node, (key, value) => (key === 'query_location' ? undefined : value))
  const plain = text.replaceAll(/eider_copy_[0-9a-z]+_/g, '')
  return Bun.hash(plain).toString(36)
}
