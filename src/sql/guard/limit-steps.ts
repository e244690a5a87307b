/**
 * Limits the time of functions that DuckDB 1.5.5 cannot interrupt: it checks for interrupts between
 * sets of up to 2,048 rows, but not within a call. Memory is not limited here, because the kernel
 * does that (docs/decisions/0021-memory-of-the-process.md).
 */

import { AppError } from '../../core/errors.ts'
import { placed } from '../ast/placed-error.ts'
import {
  boundNode,
  callNode,
  caseNode,
  castNode,
  columnNames,
  columnNode,
  constantText,
  copyOf,
  greaterNode,
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
import { isAggregateFunction, isVolatile } from './function-lists.ts'
import { hardLike, isConstantLike, isLike } from './statement-limits.ts'

/** Rows with fewer steps are not counted: 2,048 of them take a tenth of a second. */
const ROW_STEPS = 50_000

const BOUND = 'eider_arguments'

/** A SELECT item without an alias that is changed. DuckDB would name its column after the change. */
export interface UnnamedItem {
  readonly item: TreeNode
  readonly original: TreeNode
}

/** The expressions without an alias, for a caller that changes them. */
export function unnamedItems(select: TreeNode): readonly UnnamedItem[] {
  return nodesOf(select.select_list)
    .filter((item) => textValue(item.alias) === '' && !isColumn(item) && !isMany(item))
    .map((item) => ({ item, original: copyOf(item) }))
}

/** The expressions without an alias in which the tables of a subquery are replaced. */
export function unnamedSubqueries(tree: TreeNode): readonly UnnamedItem[] {
  const hasSubquery = (node: TreeNode) => {
    return [...walk(node)].some(({ class: kind }) => kind === 'SUBQUERY')
  }
  if (!hasSubquery(tree)) return []
  return [...shownSelects(tree)].flatMap(unnamedItems).filter(({ item }) => hasSubquery(item))
}

/** Without the subqueries within expressions, which have no column names. */
function* shownSelects(value: TreeValue): Generator<TreeNode> {
  if (Array.isArray(value)) {
    for (const item of value) yield* shownSelects(item)
  } else if (isNode(value) && value.class !== 'SUBQUERY') {
    if (value.type === 'SELECT_NODE') yield value
    yield* shownSelects(Object.values(value))
  }
}

/** Names in front of a function that are not a column's. */
const FUNCTION_PLACES: ReadonlySet<string> = new Set(['', 'main', 'system', 'system.main'])

/** Writes `a.f(b)` as `f(a, b)`, in place: the tree has `a` as a schema, which no check looks at. */
export function plainCalls(query: TreeNode): readonly UnnamedItem[] {
  const placeOf = ({ catalog, schema }: TreeNode) => {
    return [catalog, schema].map(textValue).filter((name) => name !== '')
  }
  const isMethod = (node: TreeNode) => {
    const isCall = node.class === 'FUNCTION' || node.class === 'WINDOW'
    return isCall && !FUNCTION_PLACES.has(placeOf(node).join('.').toLowerCase())
  }
  const calls = [...walk(query)].filter(isMethod)
  if (calls.length === 0) return []
  const unnamed = [...walk(query)].flatMap(unnamedItems).filter(({ item }) => {
    return [...walk(item)].some(isMethod)
  })
  for (const call of calls) {
    const { query_location = null } = call
    const column = { ...columnNode(...placeOf(call)), query_location }
    Object.assign(call, { catalog: '', schema: '', children: [column, ...nodesOf(call.children)] })
  }
  return unnamed
}

interface Visit {
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
  // COLUMNS(name -> …) runs over names, while the statement is bound.
  const others = value.class === 'STAR' || expr === undefined ? parts : { ...parts, expr }
  for (const item of value.type === 'SELECT_NODE' ? nodesOf(items) : []) {
    visitItem(item, isInLambda, state)
  }
  const name = textValue(value.function_name).toLowerCase()
  const isLambda = value.class === 'FUNCTION' && LAMBDAS.has(name)
  visit(Object.values(others), isInLambda || isLambda, state)
  const isCall = value.class === 'FUNCTION' || value.class === 'WINDOW'
  if (isCall) placed(value, () => visitCall(value, isInLambda, state))
}

function visitItem(item: TreeNode, isInLambda: boolean, state: Visit): void {
  const original = textValue(item.alias) === '' ? copyOf(item) : null
  const before = state.count
  visit(item, isInLambda, state)
  if (original === null || state.count === before) return
  if (isColumn(original)) item.alias = columnNames(original).at(-1) ?? ''
  else if (!isMany(original)) state.unnamed.push({ item, original })
}

/** Whether a SELECT item expands to several columns. */
export function isMany(item: TreeNode): boolean {
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
  limitCall(call, isInLambda || isAggregateFunction(name))
  state.count += 1
}

/** `*COLUMNS(…)` expands to several arguments; DuckDB tells equal lambdas in it apart. */
function isUnpacked(node: TreeNode): boolean {
  if (node.type === 'OPERATOR_UNPACK') return true
  if (node.class !== 'STAR') return false
  return [...walk(node.expr ?? null)].some(({ class: kind }) => kind === 'LAMBDA')
}

/** `eider_steps` is called above `few` steps. @param isUnbound in lambdas and aggregates */
function limitCall(call: TreeNode, isUnbound: boolean): void {
  const name = textValue(call.function_name)
  const fields: Record<string, TreeNode> = {}
  // Bind anything but a column to a name first, so that it is computed once. Not within a lambda,
  // where the sum would restart for each set of elements.
  const given = nodesOf(call.children).map((argument, index) => {
    const isPlain = argument.class === 'LAMBDA' || isConstant(argument) || isLeaf(argument)
    if (isPlain || isUnbound) return argument
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
  const counter = isUnbound ? 'eider_steps_total' : 'eider_steps'
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

function isConstant(expression: TreeNode): boolean {
  const changing = /^(?:COLUMN_REF|PARAMETER|SUBQUERY|STAR|POSITIONAL_REFERENCE|WINDOW)$/
  for (const node of walk(expression)) if (changing.test(textValue(node.class))) return false
  return !isVolatile(expression)
}

/** Functions that return a part of their first argument. */
const PART_FUNCTIONS =
  /^(?:->>?|struct_extract|list_extract|list_element|array_extract|element_at|map_extract_value|union_extract)$/i

/** Whether it is a column, a parameter or a part of one, which is cheap to compute twice. */
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

/** Steps of one or two nanoseconds that an expensive function takes; SQL over its arguments. */

type Steps = (args: readonly TreeNode[]) => TreeNode | null

const MISSING = textNode('')

function double(node: TreeNode): TreeNode {
  return castNode(node, 'DOUBLE', false)
}

function argument(args: readonly TreeNode[], index: number): TreeNode {
  return { ...copyOf(args[index] ?? MISSING), alias: '' }
}

function bytes(args: readonly TreeNode[], index: number): TreeNode {
  return double(callNode('strlen', castNode(argument(args, index), 'VARCHAR', false)))
}

function length(args: readonly TreeNode[], index: number): TreeNode {
  return double(callNode('len', argument(args, index)))
}

function times(number: number, node: TreeNode): TreeNode {
  return callNode('*', double(integerNode(number)), node)
}

const twoTexts =
  (number: number): Steps =>
  (args) =>
    times(number, callNode('*', bytes(args, 0), bytes(args, 1)))

const eachElement =
  (number: number): Steps =>
  (args) =>
    args.length === 0 ? null : times(number, length(args, 0))

/** DuckDB 1.5.5 frees all states at once, even ones not created, and crashes out of memory. */
const GROWING_AGGREGATES =
  /^(?:mode|entropy|histogram\w*|median|quantile\w*|mad|approx_\w+|string_agg|group_concat|listagg|list|array_agg)$/i

const listAggregate: Steps = (args) => {
  return eachElement(GROWING_AGGREGATES.test(constantText(args[1]) ?? '') ? 500 : 3)(args)
}

const twoLists: Steps = (args) => times(500, callNode('+', length(args, 0), length(args, 1)))

/** Compiling a pattern, once for each row, counts like matching this many bytes of text. */
const PATTERN_BYTES = 2000

const pattern: Steps = (args) => {
  const written = constantText(args[1])
  if (written === undefined) {
    const texts = callNode('+', bytes(args, 0), integerNode(PATTERN_BYTES))
    return callNode('*', times(2, bytes(args, 1)), texts)
  }
  const states = patternStates(written)
  // One pass, like any other function that reads a text.
  return states === 1 ? null : times(states, bytes(args, 0))
}

/** RE2 takes one or two steps per byte for a simple pattern, and one per state for a hard one. */
function patternStates(text: string): number {
  const counts = [...text.matchAll(/\{(\d*),?(\d*)\}/g)].map(([, least = '', most = '']) => {
    return Math.max(1, Number(least), Number(most))
  })
  const states = counts.reduce((all, count) => all * count, 1)
  return states === 1 && text.length < 100 ? 1 : Math.min(1e6, text.length + states)
}

/** DuckDB tries every position for each wildcard but one. Constants become regular expressions. */
const manyWildcards: Steps = (args) => {
  const without = callNode('translate', argument(args, 1), textNode('%*'), textNode(''))
  const wildcards = callNode('-', bytes(args, 1), double(callNode('strlen', without)))
  const more = callNode('-', wildcards, integerNode(1))
  const power = callNode('pow', bytes(args, 0), copyOf(more))
  return caseNode(greaterNode(more, integerNode(0)), power, double(integerNode(0)))
}

/** Without a separator, each character becomes an element, which takes five times as long. */
const splitting: Steps = (args) => times(constantText(args[1]) === '' ? 100 : 20, bytes(args, 0))
const merging: Steps = (args) => {
  return callNode('+', times(100, callNode('+', bytes(args, 0), bytes(args, 1))), descending(args))
}

/** The most objects and lists in one JSON value, which also limits its depth. */
const BRACKETS_MAX = 5000
const TOO_DEEP = `JSON has at most ${BRACKETS_MAX} objects and lists where its structure is compared`

/** These recursive functions crash at about fifteen thousand levels, which fit in 100 KB. */
function nested(args: readonly TreeNode[], index: number): TreeNode {
  const text = castNode(argument(args, index), 'VARCHAR', false)
  const without = callNode('translate', text, textNode('{['), textNode(''))
  const brackets = callNode('-', bytes(args, index), double(callNode('strlen', without)))
  const isDeep = greaterNode(brackets, integerNode(BRACKETS_MAX))
  return caseNode(isDeep, callNode('error', textNode(TOO_DEEP)), double(integerNode(0)))
}

function descending(args: readonly TreeNode[]): TreeNode {
  return callNode('+', nested(args, 0), nested(args, 1))
}

const LAMBDA_NAMES =
  'list_transform array_transform list_apply array_apply apply list_filter array_filter filter'
const REDUCING_NAMES = 'list_reduce array_reduce reduce'

const RULES: readonly (readonly [Steps, string])[] = [
  [twoTexts(2), 'levenshtein editdist3 jaro_similarity jaro_winkler_similarity'],
  [twoTexts(8), 'damerau_levenshtein'],
  [
    pattern,
    `regexp_matches regexp_full_match regexp_replace regexp_extract regexp_extract_all regexp_split_to_array
    regexp_split_to_table string_split_regex str_split_regex`,
  ],
  [manyWildcards, '~~ !~~ ~~* !~~* ~~~ like_escape not_like_escape ilike_escape not_ilike_escape'],
  [splitting, 'split str_split string_split string_to_array'],
  [merging, 'json_merge_patch'],
  [descending, 'json_contains json_group_structure json_structure'],
  [eachElement(250), LAMBDA_NAMES],
  // Each step of a reduction runs its lambda separately.
  [eachElement(4000), REDUCING_NAMES],
  [
    eachElement(500),
    `list_sort array_sort list_reverse_sort array_reverse_sort list_grade_up array_grade_up grade_up
    list_distinct array_distinct list_unique array_unique list_where array_where list_select array_select
    map map_from_entries list_zip array_zip list_mode list_entropy list_histogram list_median list_mad
    list_approx_count_distinct list_string_agg`,
  ],
  [listAggregate, 'aggregate array_aggr array_aggregate list_aggr list_aggregate'],
  [
    eachElement(3),
    `list_any_value list_avg list_bit_and list_bit_or list_bit_xor list_bool_and list_bool_or list_count list_first
    list_kurtosis list_kurtosis_pop list_last list_max list_min list_product list_sem list_skewness list_stddev_pop
    list_stddev_samp list_sum list_var_pop list_var_samp`,
  ],
  // The operators compare lists or ranges.
  [
    twoLists,
    `list_intersect array_intersect list_has_any array_has_any list_has_all array_has_all && @> <@`,
  ],
]

const STEPS: ReadonlyMap<string, Steps> = new Map(
  RULES.flatMap(([steps, names]) => names.split(/\s+/).map((name) => [name, steps] as const)),
)

/** A DOUBLE. Null if the function is cheap with any arguments. */
function stepsOf(name: string, args: readonly TreeNode[]): TreeNode | null {
  return STEPS.get(name.toLowerCase())?.(args) ?? null
}

/** Functions that take a lambda. For others, the same arrow reads a value from JSON. */
const LAMBDAS: ReadonlySet<string> = new Set(`${LAMBDA_NAMES} ${REDUCING_NAMES}`.split(' '))
