/** Puts limits on what functions make and how long they take, where the statement's text alone does not show it. */
import { AppError } from '../../errors.ts'
import { boundNode, callNode, caseNode, greaterNode } from '../ast/build-expression.ts'
import { placed } from '../ast/placed-error.ts'
import {
  castNode,
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
import {
  boundOf,
  growsLittle,
  isConstant,
  isLeaf,
  isMany,
  isUnpacked,
  knownBytes,
  LAMBDA_FUNCTIONS,
  makesLarge,
  quantityNode,
  weightOf,
} from './expression-sizes.ts'
import { growthOf } from './function-growth.ts'
import { isAggregateFunction } from './function-lists.ts'
import { hardLike, isConstantLike, isLike } from './like-patterns.ts'
import { type Quantity, SIZE_RULES, type SizeRule } from './size-rules.ts'

/** Of one value that the statement's text alone determines: DuckDB makes it while it plans. */
const CONSTANT_BYTES_MAX = 64 * 1024 * 1024
const CONSTANT_STEPS_MAX = 1e9

/** What the values of one row may hold unseen: 2 048 rows of it are 32 MB. Shared by all functions of a statement. */
const ROW_BYTES = 16 * 1024
/** The same within a lambda, which a list of a million elements calls a million times. */
const ELEMENT_BYTES = 64
const ROW_STEPS = 50_000

/** Up to so many functions over the columns of one table are no danger: all they read is in DuckDB's memory. */
const PLAIN_WEIGHT = 6

const BOUND = 'eider_arguments'

const NO_NAMES: ReadonlySet<string> = new Set()

interface Around {
  /** True where every column is one of a single table. */
  readonly isPlain: boolean
  /** True in a SELECT of one row, without a FROM. */
  readonly isSingle: boolean
  /** Lambdas around. */
  readonly lambdas: number
  /** True for the arguments of a function that takes a lambda: elsewhere the same arrow takes a value out of JSON. */
  readonly isLambda?: boolean
  /** Their parameters, in lower case. */
  readonly own: ReadonlySet<string>
  /** Bytes that the functions around hold for each byte of this expression. */
  readonly weight: number
}

const OUTERMOST: Around = { isPlain: false, isSingle: false, lambdas: 0, weight: 0, own: NO_NAMES }

interface Limits {
  /** Of all functions of the statement together. */
  readonly weight: number
  /** True where the statement makes large values of small ones. */
  readonly isLarge: boolean
  readonly rowBytes: number
  count: number
}

/** A select item without an alias that has got a limit: DuckDB would call the column after it. */
export interface UnnamedItem {
  readonly item: TreeNode
  readonly original: TreeNode
}

/**
 * Changes the tree in place.
 * @throws AppError `sql_too_costly` where constants alone say that it is too much
 */
export function limitSizes(query: TreeNode): readonly UnnamedItem[] {
  const nodes = [...walk(query)]
  const weight = nodes.reduce((total, node) => total + weightOf(node), 0)
  const isLarge = makesLarge(nodes, ROW_BYTES)
  if (weight === 0 && !isLarge) return []
  const rowBytes = Math.max(512, Math.floor(ROW_BYTES / Math.max(1, weight)))
  const unnamed: UnnamedItem[] = []
  const limits: Limits = { weight, isLarge, rowBytes, count: 0 }
  visit(query, OUTERMOST, { limits, unnamed })
  return unnamed
}

interface Visit {
  readonly limits: Limits
  readonly unnamed: UnnamedItem[]
}

function visit(value: TreeValue, around: Around, state: Visit): void {
  if (Array.isArray(value)) {
    for (const item of value) visit(item, around, state)
    return
  }
  if (!isNode(value)) return
  // Its rows come one set after the other.
  if (value.type === 'TABLE_FUNCTION' && isNode(value.function)) {
    visit(value.function.children ?? null, { ...around, weight: 0 }, state)
  } else if (value.type === 'SELECT_NODE') visitSelect(value, around, state)
  else if (isCall(value)) placed(value, () => visitCall(value, around, state))
  else if (value.class === 'LAMBDA' && around.isLambda === true) {
    const names = [...walk(value.lhs ?? null)]
      .flatMap(columnNames)
      .map((name) => name.toLowerCase())
    const own = new Set([...around.own, ...names])
    visit(
      value.expr ?? null,
      { ...around, lambdas: around.lambdas + 1, weight: 1, own, isLambda: false },
      state,
    )
  } else if (isUnpacked(value)) limitUnpacked(around, state.limits)
  else if (isLeaf(value)) limitLeaf(value, around, state.limits)
  else if (value.class === 'SUBQUERY' || value.class === 'WINDOW') {
    visitParts(value, { ...around, weight: 0 }, state)
    limitOpaque(value, around, state.limits)
  } else visitParts(value, value.class === 'COMPARISON' ? { ...around, weight: 0 } : around, state)
}

function visitParts(node: TreeNode, around: Around, state: Visit): void {
  for (const field of Object.keys(node)) visit(node[field] ?? null, around, state)
}

function visitSelect(select: TreeNode, outer: Around, state: Visit): void {
  const source = isNode(select.from_table) ? textValue(select.from_table.type) : 'EMPTY'
  const { limits, unnamed } = state
  const isSingle = source === 'EMPTY'
  const isPlain = source === 'BASE_TABLE' && outer.lambdas === 0
  const around: Around = { ...outer, isPlain, isSingle, weight: 0, isLambda: false }
  for (const item of nodesOf(select.select_list)) {
    const original = textValue(item.alias) === '' ? copyOf(item) : null
    const before = limits.count
    visit(item, around, state)
    if (limits.isLarge && !isSingle) limitOutput(item, select, limits)
    if (original === null || limits.count === before) continue
    if (isColumn(original)) item.alias = columnNames(original).at(-1) ?? ''
    else if (!isMany(original)) unnamed.push({ item, original })
  }
  const { select_list: _, ...others } = select
  visitParts(others, around, state)
}

/** DuckDB copies what it hands out for 2 048 rows at a time, a constant once for each; the rows of a CTE, too. */
function limitOutput(item: TreeNode, select: TreeNode, limits: Limits): void {
  if (nodesOf(select.modifiers).some(({ type }) => type === 'DISTINCT_MODIFIER')) return
  const isPlain = isNode(select.from_table) && select.from_table.type === 'BASE_TABLE'
  if (isConstant(item)) {
    const size = knownBytes(item) ?? 0
    if (size <= limits.rowBytes) return
    const [cost, most] = [integerNode(Math.ceil(size)), limits.rowBytes]
    limited(item, { cost, exact: cost, most, room: 'eider_room_each', what: 'the result' })
    limits.count += 1
  } else if (isPlain && item.class !== 'PARAMETER') return
  else if (item.class === 'STAR' || isLeaf(item)) {
    if (item.class === 'STAR') item.columns = true
    limitLeaf(item, { ...OUTERMOST, weight: 1 }, limits)
  } else if (item.class === 'SUBQUERY' || item.class === 'WINDOW') {
    limitOpaque(item, { ...OUTERMOST, weight: 1 }, limits)
  }
}

function visitCall(call: TreeNode, around: Around, state: Visit): void {
  const name = textValue(call.function_name).toLowerCase()
  const args = nodesOf(call.children)
  const { children: _, ...others } = call
  visitParts(others, { ...around, weight: 0, isLambda: false }, state)
  const growth = growthOf(name)
  if (isLike(name) && isConstantLike(args)) {
    if (hardLike(call) !== undefined) state.limits.count += 1
    visit(args, { ...around, weight: 0 }, state)
  } else if (growth === 'fixed') {
    visit(args, { ...around, weight: 0 }, state)
    // A text that an aggregate gives is as long as those that it was given.
    if (isAggregateFunction(name)) limitLeaf(call, around, state.limits)
  } else if (growth === 'rule') {
    const isBound = args.every((argument) => isConstant(argument) || isLeaf(argument))
    // Its arguments are counted by its own limit.
    const isLambda = LAMBDA_FUNCTIONS.has(name)
    visit(isBound ? [] : args, { ...around, weight: 1, isLambda }, state)
    limitCall(call, withLambda(call, SIZE_RULES[name] ?? {}), around, state.limits)
  } else {
    limitConstants(call, args, around, state.limits)
    visit(args, { ...around, weight: growth * (1 + around.weight) }, state)
    if (name === 'struct_pack') for (const child of args) nameField(child)
  }
}

/** `struct_pack(x)` names its field after the column. */
function nameField(field: TreeNode): void {
  if (textValue(field.alias) !== '' || field.class !== 'CASE') return
  const column = [...walk(field)].find((node) => node.class === 'COLUMN_REF')
  field.alias = column === undefined ? '' : (columnNames(column).at(-1) ?? '')
}

function isCall(node: TreeNode): boolean {
  return node.class === 'FUNCTION' && !isLeaf(node)
}

/** The value of a sub-query or a window. */
function limitOpaque(node: TreeNode, around: Around, limits: Limits): void {
  const isValue = node.class !== 'SUBQUERY' || node.subquery_type === 'SCALAR'
  if (isValue && !around.isSingle) limitLeaf(node, { ...around, isPlain: false }, limits)
}

/** What `*COLUMNS(…)` and `COLUMNS(name -> …)` stand for cannot be measured one by one. */
function limitUnpacked({ isPlain, isSingle, weight }: Around, { isLarge }: Limits): void {
  if (!isLarge || weight === 0 || isPlain || isSingle) return
  const message = `Write the columns one by one: *COLUMNS and COLUMNS with a lambda are for those of a single table here`
  throw new AppError('sql_too_costly', message)
}

/** Text of a column that functions around copy. */
function limitLeaf(leaf: TreeNode, around: Around, limits: Limits): void {
  const { isPlain, lambdas, weight, own } = around
  if (weight === 0) return
  // All elements together hold no more than their list does.
  if (isColumn(leaf) && own.has(columnNames(leaf)[0]?.toLowerCase() ?? '')) return
  if (isPlain && lambdas === 0 && limits.weight <= PLAIN_WEIGHT) return
  const size = castNode(callNode('strlen', castNode(bare(leaf), 'VARCHAR', false)), 'DOUBLE', false)
  const copied = callNode('*', size, integerNode(weight))
  // Its type is that of what it is given. It is the same in every row.
  const isParameter = [...walk(leaf)].some(({ class: kind }) => kind === 'PARAMETER')
  const types = textNode('VARCHAR BLOB JSON')
  const isText = callNode('contains', types, callNode('typeof', copyOf(leaf)))
  const cost = isParameter ? copied : caseNode(isText, copied, integerNode(0))
  const most = lambdas > 0 ? ELEMENT_BYTES : limits.rowBytes
  limited(leaf, {
    cost,
    exact: cost,
    most,
    room: room('bytes', lambdas > 0, isParameter ? '_each' : ''),
    what: 'the functions here',
  })
  limits.count += 1
}

function bare(node: TreeNode): TreeNode {
  return { ...copyOf(node), alias: '' }
}

/** Large constants that become part of each row's value. */
function limitConstants(
  call: TreeNode,
  args: readonly TreeNode[],
  around: Around,
  limits: Limits,
): void {
  const constant = args.filter(isConstant)
  const most = around.lambdas > 0 ? ELEMENT_BYTES : limits.rowBytes
  const total = constant.reduce((sum, argument) => sum + (knownBytes(argument) ?? 0), 0)
  // What a lambda adds to each element is counted with its list.
  if (around.lambdas === 1) return
  const isWhole = constant.length === args.length && around.lambdas === 0
  if (isWhole && total > CONSTANT_BYTES_MAX)
    throw tooCostly(textValue(call.function_name), total, 'bytes')
  if (isWhole || total <= most || constant.length === 0) return
  const [first] = constant
  if (first === undefined || first.class === 'LAMBDA') return
  const cost = integerNode(Math.ceil(total * (1 + around.weight)))
  const own = around.lambdas > 0 ? 'eider_room_total' : 'eider_room_each'
  limited(first, { cost, exact: cost, most, room: own, what: textValue(call.function_name) })
  limits.count += 1
}

/** With what the lambda of a call adds to each element. */
function withLambda(call: TreeNode, rule: SizeRule): SizeRule {
  const lambda = nodesOf(call.children).find((argument) => argument.class === 'LAMBDA')
  if (lambda === undefined) return rule
  let constants = 0
  for (const node of walk(lambda)) {
    if (node.class !== 'FUNCTION' || typeof growthOf(textValue(node.function_name)) !== 'number')
      continue
    for (const argument of nodesOf(node.children).filter(isConstant)) {
      constants += knownBytes(argument) ?? 0
    }
  }
  const length: Quantity = { kind: 'length', of: 0 }
  const parts: readonly Quantity[] = [{ kind: 'number', value: 16 + constants }, length]
  return { ...rule, bytes: { kind: 'product', parts } }
}

function limitCall(call: TreeNode, rule: SizeRule, around: Around, limits: Limits): void {
  const isInLambda = around.lambdas > 0
  const args = nodesOf(call.children)
  const name = textValue(call.function_name)
  const isPlain = around.isPlain && !isInLambda && limits.weight <= PLAIN_WEIGHT
  const checks = (['bytes', 'steps'] as const).flatMap((unit): readonly CallLimit[] => {
    const bound = rule[unit]
    if (bound === undefined) return []
    const exact = (unit === 'bytes' ? rule.exactBytes : undefined) ?? bound
    const weight = unit === 'bytes' ? 1 + around.weight : 1
    const rowBytes = isInLambda ? ELEMENT_BYTES : limits.rowBytes
    const most = unit === 'bytes' ? rowBytes : ROW_STEPS
    const known = boundOf(bound, args)
    if (known !== undefined && known * weight <= most) return []
    const found = boundOf(exact, args)
    if (found !== undefined && isConstant(call) && !isInLambda) {
      const actual = found * (unit === 'bytes' ? (rule.constantTimes ?? 1) : 1)
      const max = unit === 'bytes' ? CONSTANT_BYTES_MAX : CONSTANT_STEPS_MAX
      if (actual > max) throw tooCostly(name, actual, unit)
      return []
    }
    if (isPlain && growsLittle(bound, args, most)) return []
    return [{ unit, bound, exact, most, weight }]
  })
  if (checks.length === 0 || args.some(isUnpacked)) return
  limitArguments(call, checks, isInLambda)
  limits.count += 1
}

interface CallLimit {
  readonly unit: 'bytes' | 'steps'
  readonly bound: Quantity
  readonly exact: Quantity
  readonly most: number
  readonly weight: number
}

function limitArguments(call: TreeNode, checks: readonly CallLimit[], isInLambda: boolean): void {
  const fields: Record<string, TreeNode> = {}
  const given = nodesOf(call.children).map((argument, index) => {
    if (argument.class === 'LAMBDA' || isConstant(argument) || isLeaf(argument)) return argument
    // A lambda within a lambda begins anew for each set of elements and would not add them up.
    if (isInLambda) return argument
    const field = `a${index}`
    fields[field] = argument
    return { ...columnNode(BOUND, field), alias: argument.alias ?? '' }
  })
  const varying = given.findIndex((argument) => {
    return !isConstant(argument) && argument.class !== 'LAMBDA'
  })
  const isEach = varying === -1 && !isInLambda
  const index = Math.max(0, varying)
  const target = copyOf(given[index] ?? textNode(''))
  for (const { unit, bound, exact, most, weight } of checks) {
    const cost = (quantity: Quantity) => {
      return callNode('*', quantityNode(quantity, given), integerNode(Math.ceil(weight)))
    }
    const own = room(unit, isInLambda, isEach ? '_each' : '')
    const what = textValue(call.function_name)
    limited(target, { cost: cost(bound), exact: cost(exact), most, room: own, what })
  }
  const children = given.map((argument, at) => (at === index ? target : argument))
  const own: TreeNode = { ...call, children }
  if (Object.keys(fields).length === 0) {
    replace(call, own)
    return
  }
  const { alias = '' } = call
  replace(call, { ...boundNode(fields, BOUND, { ...own, alias: '' }), alias })
}

function room(unit: 'bytes' | 'steps', isInLambda: boolean, each = ''): string {
  const name = unit === 'bytes' ? 'eider_room' : 'eider_steps'
  return `${name}${isInLambda ? '_total' : each}`
}

interface Limited {
  readonly cost: TreeNode
  readonly exact: TreeNode
  readonly most: number
  readonly room: string
  readonly what: string
}

/** `CASE WHEN cost > most THEN CASE WHEN eider_room(cost) THEN argument END ELSE argument END`. */
function limited(argument: TreeNode, { cost, exact, most, room: name, what }: Limited): void {
  const { alias = '' } = argument
  const own = bare(argument)
  const checked = caseNode(
    callNode(name, castNode(exact, 'DOUBLE', false), textNode(what)),
    copyOf(own),
  )
  replace(argument, { ...caseNode(greaterNode(cost, integerNode(most)), checked, own), alias })
}

function tooCostly(name: string, found: number, unit: 'bytes' | 'steps'): AppError {
  const limit = unit === 'bytes' ? CONSTANT_BYTES_MAX : CONSTANT_STEPS_MAX
  const made = unit === 'bytes' ? 'would make up to' : 'would take up to'
  const most = `${Math.ceil(found)} ${unit}, the limit is ${limit}`
  return new AppError('sql_too_costly', `${name} ${made} ${most}; use smaller values`)
}
