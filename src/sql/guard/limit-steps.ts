/**
 * Bounds the time of functions that DuckDB 1.5.5 cannot interrupt: it looks for an interrupt between sets of up to 2,048
 * rows, and within one call not at all. Memory needs no bounds here: the kernel keeps those
 * (docs/decisions/0021-memory-of-the-process.md).
 */
import { AppError } from '../../core/errors.ts'
import { boundNode, callNode, caseNode, greaterNode } from '../ast/build-expression.ts'
import { placed } from '../ast/placed-error.ts'
import {
  columnNames,
  columnNode,
  copyOf,
  integerNode,
  isColumn,
  isNode,
  nodesOf,
  replace,
  type TreeNode,
  type TreeValue,
  textNode,
  textValue,
  walk,
} from '../ast/select-ast.ts'
import { hardLike, isConstantLike, isLike } from './like-patterns.ts'
import { isVolatile } from './stability.ts'
import { isLambdaFunction, stepsOf } from './step-rules.ts'

/** Below this a row is not worth a look: 2,048 of them take a tenth of a second. */
const ROW_STEPS = 50_000

const BOUND = 'eider_arguments'

/** A select item without an alias that has got a limit: DuckDB would name the column after it. */
export interface UnnamedItem {
  readonly item: TreeNode
  readonly original: TreeNode
}

interface Visit {
  /** Limits so far. */
  count: number
  readonly unnamed: UnnamedItem[]
}

/** Changes the tree in place. */
export function limitSteps(query: TreeNode): readonly UnnamedItem[] {
  const state: Visit = { count: 0, unnamed: [] }
  visit(query, false, state)
  return state.unnamed
}

function visit(value: TreeValue, isInLambda: boolean, state: Visit): void {
  if (Array.isArray(value)) {
    for (const item of value) visit(item, isInLambda, state)
    return
  }
  if (!isNode(value)) return
  const { select_list: items = null, expr, ...parts } = value
  // COLUMNS(name -> …) is computed over names, while the statement is bound.
  const others = value.class === 'STAR' || expr === undefined ? parts : { ...parts, expr }
  for (const item of value.type === 'SELECT_NODE' ? nodesOf(items) : []) {
    visitItem(item, isInLambda, state)
  }
  const isLambda = value.class === 'FUNCTION' && isLambdaFunction(textValue(value.function_name))
  visit(Object.values(others), isInLambda || isLambda, state)
  if (value.class === 'FUNCTION') placed(value, () => visitCall(value, isInLambda, state))
}

function visitItem(item: TreeNode, isInLambda: boolean, state: Visit): void {
  const original = textValue(item.alias) === '' ? copyOf(item) : null
  const before = state.count
  visit(item, isInLambda, state)
  if (original === null || state.count === before) return
  if (isColumn(original)) item.alias = columnNames(original).at(-1) ?? ''
  else if (!isMany(original)) state.unnamed.push({ item, original })
}

/** True for a select item that gives several columns. */
function isMany(item: TreeNode): boolean {
  return [...walk(item)].some(({ class: kind }) => kind === 'STAR')
}

function visitCall(call: TreeNode, isInLambda: boolean, state: Visit): void {
  const name = textValue(call.function_name)
  const args = nodesOf(call.children)
  if (isLike(name) && isConstantLike(args)) {
    if (hardLike(call) !== undefined) state.count += 1
    return
  }
  if (stepsOf(name, args) === null) return
  if (args.some(isUnpacked)) {
    const message = `Write the arguments of ${name} one by one: it takes no *COLUMNS, nor COLUMNS with a lambda, here`
    throw new AppError('sql_too_costly', message)
  }
  limitCall(call, isInLambda)
  state.count += 1
}

/** `*COLUMNS(…)` is several arguments, and DuckDB takes two equal `COLUMNS(name -> …)` for different ones. */
function isUnpacked(node: TreeNode): boolean {
  if (node.type === 'OPERATOR_UNPACK') return true
  if (node.class !== 'STAR') return false
  return [...walk(node.expr ?? null)].some(({ class: kind }) => kind === 'LAMBDA')
}

/** `CASE WHEN steps > few THEN CASE WHEN eider_steps(steps) THEN argument END ELSE argument END`. */
function limitCall(call: TreeNode, isInLambda: boolean): void {
  const name = textValue(call.function_name)
  const fields: Record<string, TreeNode> = {}
  // What is more than a column is bound to a name first, so that it is computed once. Within a lambda that would begin
  // anew for each set of elements, and would not add them up.
  const given = nodesOf(call.children).map((argument, index) => {
    const isPlain = argument.class === 'LAMBDA' || isConstant(argument) || isLeaf(argument)
    if (isPlain || isInLambda) return argument
    fields[`a${index}`] = argument
    return { ...columnNode(BOUND, `a${index}`), alias: argument.alias ?? '' }
  })
  const steps = stepsOf(name, given)
  const varying = given.findIndex((argument) => {
    return argument.class !== 'LAMBDA' && !isConstant(argument)
  })
  const target = Math.max(0, varying)
  const argument = given[target]
  if (steps === null || argument === undefined) return
  const own = { ...copyOf(argument), alias: '' }
  const counter = isInLambda ? 'eider_steps_total' : 'eider_steps'
  const counted = callNode(counter, copyOf(steps), textNode(name))
  const limited = {
    ...caseNode(greaterNode(steps, integerNode(ROW_STEPS)), caseNode(counted, copyOf(own)), own),
    alias: argument.alias ?? '',
  }
  const { alias = '' } = call
  const children = given.map((one, index) => (index === target ? limited : one))
  const changed: TreeNode = { ...call, children }
  const isBound = Object.keys(fields).length > 0
  replace(
    call,
    isBound ? { ...boundNode(fields, BOUND, { ...changed, alias: '' }), alias } : changed,
  )
}

/** True where the statement's text alone determines the value. */
function isConstant(expression: TreeNode): boolean {
  const changing = /^(?:COLUMN_REF|PARAMETER|SUBQUERY|STAR|POSITIONAL_REFERENCE|WINDOW)$/
  for (const node of walk(expression)) if (changing.test(textValue(node.class))) return false
  return !isVolatile(expression)
}

/** Functions that give a part of what their first argument holds. */
const PART_FUNCTIONS =
  /^(?:->>?|struct_extract|list_extract|list_element|array_extract|element_at|map_extract_value|union_extract)$/i

/** A column, a parameter or a part of one, which costs nothing to compute twice. */
function isLeaf(node: TreeNode): boolean {
  const { class: kind } = node
  if (kind === 'CAST') return isNode(node.child) && isLeaf(node.child)
  if (kind === 'COLUMN_REF' || kind === 'PARAMETER') return true
  if (kind === 'STAR') return node.columns === true
  const isPart =
    (kind === 'FUNCTION' && PART_FUNCTIONS.test(textValue(node.function_name))) ||
    (kind === 'OPERATOR' && /_EXTRACT$/.test(textValue(node.type)))
  const [whole, ...others] = isPart ? nodesOf(node.children) : []
  return (
    whole !== undefined && isLeaf(whole) && others.every((part) => isConstant(part) || isLeaf(part))
  )
}
