/** What is known of the size of an expression before it runs, and how it is computed where it is not. */
import { callNode, caseNode, greaterNode } from '../ast/build-expression.ts'
import {
  castNode,
  columnNames,
  constantNumber,
  constantText,
  copyOf,
  integerNode,
  isNode,
  nodesOf,
  type TreeNode,
  textNode,
  textValue,
  walk,
} from '../ast/select-ast.ts'
import { growthOf } from './function-growth.ts'
import { type Quantity, SIZE_RULES } from './size-rules.ts'
import { isVolatile } from './stability.ts'

/** A number, a date, true or false. */
const SCALAR_BYTES = 40

/** Those that take a lambda: elsewhere the same arrow takes a value out of JSON. */
export const LAMBDA_FUNCTIONS: ReadonlySet<string> = new Set(
  `list_transform array_transform list_apply array_apply apply list_filter array_filter filter
  list_reduce array_reduce reduce`.split(/\s+/),
)

/** True where the statement's text alone determines the value. */
export function isConstant(expression: TreeNode): boolean {
  const own = new Set<string>()
  for (const node of walk(expression)) {
    const { class: kind } = node
    if (kind === 'FUNCTION' && LAMBDA_FUNCTIONS.has(textValue(node.function_name).toLowerCase())) {
      for (const name of lambdaNames(node)) own.add(name)
    }
    if (kind === 'COLUMN_REF' && !own.has(columnNames(node)[0]?.toLowerCase() ?? '')) return false
    if (kind === 'PARAMETER' || kind === 'SUBQUERY' || kind === 'STAR') return false
    if (kind === 'POSITIONAL_REFERENCE' || kind === 'WINDOW') return false
  }
  return !isVolatile(expression)
}

function lambdaNames(call: TreeNode): readonly string[] {
  const lambdas = nodesOf(call.children).filter(({ class: kind }) => kind === 'LAMBDA')
  const names = lambdas.flatMap(({ lhs = null }) => [...walk(lhs)].flatMap(columnNames))
  return names.map((name) => name.toLowerCase())
}

/** Those that give a part of what their first argument holds. */
const PART_FUNCTIONS: ReadonlySet<string> = new Set(
  `-> ->> struct_extract list_extract list_element array_extract element_at map_extract_value union_extract`.split(
    ' ',
  ),
)

/** A column, or a part of one, which is computed twice at no price. */
export function isLeaf(node: TreeNode): boolean {
  if (node.class === 'CAST') return isNode(node.child) && isLeaf(node.child)
  const isPart =
    (node.class === 'FUNCTION' &&
      PART_FUNCTIONS.has(textValue(node.function_name).toLowerCase())) ||
    (node.class === 'OPERATOR' && /_EXTRACT$/.test(textValue(node.type)))
  if (!isPart) return isName(node)
  const [whole, ...others] = nodesOf(node.children)
  return (
    whole !== undefined && isLeaf(whole) && others.every((part) => isConstant(part) || isLeaf(part))
  )
}

/** A column, a parameter or, with `COLUMNS(…)`, several columns. */
function isName(node: TreeNode): boolean {
  const { class: kind } = node
  if (kind === 'STAR') return node.columns === true && !isUnpacked(node)
  return kind === 'COLUMN_REF' || kind === 'PARAMETER'
}

/** `*COLUMNS(…)`: several arguments. DuckDB takes two equal `COLUMNS(name -> …)` for different ones. */
export function isUnpacked(node: TreeNode): boolean {
  if (node.type === 'OPERATOR_UNPACK') return true
  if (node.class !== 'STAR') return false
  return [...walk(node.expr ?? null)].some(({ class: kind }) => kind === 'LAMBDA')
}

/** True for a select item that gives several columns. */
export function isMany(item: TreeNode): boolean {
  return [...walk(item)].some(({ class: kind }) => kind === 'STAR')
}

/** True where a statement makes large values of small ones, or has one itself. */
export function makesLarge(nodes: readonly TreeNode[], most: number): boolean {
  // Those of a table function are rows.
  const tables = new Set(nodes.map((node) => node.type === 'TABLE_FUNCTION' && node.function))
  return nodes.some((node) => !tables.has(node) && isLargeSource(node, most))
}

/** A text of the statement itself, a parameter that is handed out, or a function that makes much of little. */
function isLargeSource(node: TreeNode, most: number): boolean {
  if (node.class === 'CONSTANT') return (knownBytes(node) ?? 0) > most
  if (node.type === 'SELECT_NODE') {
    return nodesOf(node.select_list).some(({ class: kind }) => kind === 'PARAMETER')
  }
  if (node.class !== 'FUNCTION') return false
  const { bytes } = SIZE_RULES[textValue(node.function_name).toLowerCase()] ?? {}
  if (bytes === undefined) return false
  const args = nodesOf(node.children)
  const known = boundOf(bytes, args)
  return known === undefined ? !growsLittle(bytes, args, most) : known > most
}

/** How much a function adds to what a row holds unseen. */
export function weightOf(node: TreeNode): number {
  if (node.class !== 'FUNCTION') return 0
  const growth = growthOf(textValue(node.function_name))
  return growth === 'fixed' ? 0 : growth === 'rule' ? 2 : growth
}

/** At most so many bytes, in every row; undefined where that depends on a column. */
export function knownBytes(node: TreeNode): number | undefined {
  if (node.class === 'CONSTANT') {
    const text = constantText(node)
    return text === undefined ? SCALAR_BYTES : Buffer.byteLength(text)
  }
  if (node.class === 'CAST' && isNode(node.child)) {
    const type = isNode(node.cast_type) ? textValue(node.cast_type.id) : ''
    const inner = knownBytes(node.child)
    return /^(VARCHAR|BLOB|BIT|LIST|STRUCT|MAP|ARRAY|UNION|JSON|USER|UNBOUND|)$/.test(type)
      ? inner === undefined
        ? undefined
        : inner * 4
      : SCALAR_BYTES
  }
  if (node.class === 'COMPARISON' || node.class === 'CONJUNCTION') return SCALAR_BYTES
  if (node.class !== 'FUNCTION') return undefined
  const name = textValue(node.function_name).toLowerCase()
  const args = nodesOf(node.children)
  const growth = growthOf(name)
  if (growth === 'fixed') return SCALAR_BYTES
  if (growth === 'rule') {
    const { bytes, exactBytes } = SIZE_RULES[name] ?? {}
    if (bytes === undefined) return SCALAR_BYTES
    const most = boundOf(bytes, args)
    return most === undefined
      ? undefined
      : Math.min(most, boundOf(exactBytes ?? bytes, args) ?? most)
  }
  const sizes = args.map(knownBytes)
  const known = sizes.filter((size) => size !== undefined)
  if (known.length < sizes.length) return undefined
  return known.reduce((sum, size) => sum + size, SCALAR_BYTES) * growth
}

/**
 * The quantity where the arguments are known well enough for one that it does not exceed.
 * @param bytesOfOthers what an argument that depends on a column is taken to hold
 */
export function boundOf(
  quantity: Quantity,
  args: readonly TreeNode[],
  bytesOfOthers?: number,
): number | undefined {
  switch (quantity.kind) {
    case 'number':
      return quantity.value
    case 'bytes': {
      const argument = args[quantity.of]
      return argument === undefined ? 0 : (knownBytes(argument) ?? bytesOfOthers)
    }
    case 'value': {
      const argument = args[quantity.of]
      return argument === undefined ? 0 : constantNumber(argument)
    }
    case 'length': {
      const argument = args[quantity.of]
      const isKnown = argument !== undefined && isConstant(argument)
      return isKnown ? divided(knownBytes(argument), BYTES_OF_ELEMENT) : undefined
    }
    case 'others': {
      const sizes = args.slice(quantity.from).map((part) => knownBytes(part) ?? bytesOfOthers)
      const known = sizes.filter((size) => size !== undefined)
      return known.length < sizes.length ? undefined : known.reduce((all, size) => all + size, 0)
    }
    case 'count':
      return Math.max(0, args.length - quantity.from)
    case 'placeholders':
    case 'width': {
      const format = constantText(args[quantity.of])
      if (format === undefined) return undefined
      return quantity.kind === 'width' ? widthOf(format) : placeholdersOf(format)
    }
    case 'matches':
    case 'wildcards':
      return undefined
    case 'pattern': {
      const pattern = constantText(args[quantity.of])
      return pattern === undefined ? undefined : patternSteps(pattern)
    }
    case 'steps': {
      const numbers = args.map(constantNumber)
      const known = numbers.filter((number) => number !== undefined)
      if (known.length < numbers.length) return undefined
      const [first = 0, second, step = 1] = known
      return second === undefined ? first : Math.abs((second - first) / (step || 1))
    }
    default: {
      const parts = quantity.parts.map((part) => boundOf(part, args, bytesOfOthers))
      if (quantity.kind === 'product' && parts.includes(0)) return 0
      const known = parts.filter((part) => part !== undefined)
      return known.length < parts.length ? undefined : OPERATIONS[quantity.kind].compute(known)
    }
  }
}

/** A few times what is read. */
const PLAIN_GROWTH = 4

/** A column is taken to be so long to see how much of it a function makes. */
const PROBE_BYTES = 1_000_000

/** True where a function makes at most a few times what it reads, and next to nothing of nothing. */
export function growsLittle(bound: Quantity, args: readonly TreeNode[], most: number): boolean {
  const ofNothing = boundOf(bound, args, 0) ?? Number.POSITIVE_INFINITY
  const ofMuch = boundOf(bound, args, PROBE_BYTES) ?? Number.POSITIVE_INFINITY
  const varying = args.filter((argument) => knownBytes(argument) === undefined).length
  return ofNothing <= most && ofMuch <= PROBE_BYTES * PLAIN_GROWTH * Math.max(1, varying)
}

/** The least that an element takes. */
const BYTES_OF_ELEMENT = 8

function divided(value: number | undefined, by: number): number | undefined {
  return value === undefined ? undefined : value / by
}

const OPERATIONS = {
  sum: { name: '+', compute: (parts: readonly number[]) => parts.reduce((a, b) => a + b, 0) },
  product: { name: '*', compute: (parts: readonly number[]) => parts.reduce((a, b) => a * b, 1) },
  power: { name: 'pow', compute: ([a = 0, b = 1]: readonly number[]) => a ** b },
} as const

/** The same as an expression: a DOUBLE. */
export function quantityNode(quantity: Quantity, args: readonly TreeNode[]): TreeNode {
  const argument = (index: number) => {
    return { ...copyOf(args[index] ?? textNode('')), alias: '' }
  }
  switch (quantity.kind) {
    case 'number':
      return double(integerNode(quantity.value))
    case 'bytes':
      return bytesNode(argument(quantity.of))
    case 'value':
      return castNode(argument(quantity.of), 'DOUBLE', true)
    case 'length':
      return double(callNode('len', argument(quantity.of)))
    case 'others': {
      // NULL is left out: `concat_ws` does so.
      const sizes = args.slice(quantity.from).map((_, index) => {
        return callNode('greatest', bytesNode(argument(quantity.from + index)), integerNode(0))
      })
      return sizes.reduce((all, size) => callNode('+', all, size), double(integerNode(0)))
    }
    case 'count':
      return double(integerNode(Math.max(0, args.length - quantity.from)))
    case 'placeholders':
      return double(placeholdersNode(argument(quantity.of)))
    case 'width':
      return double(widthNode(argument(quantity.of)))
    case 'matches':
      return matchesNode(argument(quantity.of), argument(quantity.text))
    case 'wildcards': {
      const pattern = argument(quantity.of)
      const without = callNode('translate', copyOf(pattern), textNode('%*'), textNode(''))
      const count = callNode('-', bytesNode(pattern), bytesNode(without))
      return callNode('greatest', callNode('-', count, integerNode(1)), integerNode(0))
    }
    case 'pattern': {
      const pattern = constantText(args[quantity.of])
      if (pattern !== undefined) return double(integerNode(patternSteps(pattern)))
      return callNode('*', bytesNode(argument(quantity.of)), integerNode(2))
    }
    case 'steps':
      return stepsNode(args.map((_, index) => argument(index)))
    default: {
      const { name } = OPERATIONS[quantity.kind]
      const [first, ...others] = quantity.parts.map((part) => quantityNode(part, args))
      return others.reduce((all, part) => callNode(name, all, part), first ?? integerNode(0))
    }
  }
}

/** Steps for each byte of the text: RE2 takes one or two for a simple pattern, and as many as it has states for a hard one. */
function patternSteps(pattern: string): number {
  const counts = [...pattern.matchAll(/\{(\d*),?(\d*)\}/g)].map(([, least = '', most = '']) => {
    return Math.max(1, Number(least), Number(most))
  })
  const states = counts.reduce((all, count) => all * count, 1)
  return states === 1 && pattern.length < 100 ? 2 : Math.min(1e6, pattern.length + states)
}

function double(node: TreeNode): TreeNode {
  return castNode(node, 'DOUBLE', false)
}

function bytesNode(argument: TreeNode): TreeNode {
  return double(callNode('strlen', castNode(argument, 'VARCHAR', false)))
}

function matchesNode(text: TreeNode, part: TreeNode): TreeNode {
  const without = callNode('replace', copyOf(text), copyOf(part), textNode(''))
  const removed = callNode('-', bytesNode(copyOf(text)), bytesNode(without))
  const count = callNode('/', removed, bytesNode(copyOf(part)))
  return caseNode(greaterNode(bytesNode(part), integerNode(0)), count, bytesNode(text))
}

/** Of numbers, or of times with an interval. */
function stepsNode(args: readonly TreeNode[]): TreeNode {
  const numbers = args.map((argument) => castNode(copyOf(argument), 'DOUBLE', true))
  const [first = integerNode(0), second, step = double(integerNode(1))] = numbers
  if (second === undefined) return first
  const count = callNode('abs', callNode('/', callNode('-', second, first), step))
  const [from, to, by] = args
  if (from === undefined || to === undefined || by === undefined) return count
  const seconds = (time: TreeNode) => callNode('epoch', castNode(copyOf(time), 'TIMESTAMP', true))
  const span = callNode('-', seconds(to), seconds(from))
  const interval = callNode('epoch', castNode(copyOf(by), 'INTERVAL', true))
  const times = callNode('abs', callNode('/', span, interval))
  return callNode('greatest', count, times)
}

/** Of a number that is written in full: `%f` of 1e308. */
const NUMBER_WIDTH = 400

/** No value is as wide. */
const TOO_WIDE = 1e18

/** A width or a precision of five digits or more, or one that is an argument: `{:{}}` and `%*d`. */
const WIDE = String.raw`\{[^{}]*([0-9]{5}|\{)|%[-+ #0-9.$*]*([0-9]{5}|\*)`

/** Three or four digits: at most 9 999. */
const BROAD = String.raw`\{[^{}]*[0-9]{3}|%[-+ #0-9.$*]*[0-9]{3}`

const BROAD_WIDTH = 10_000

/** Each value begins with one of them. */
const SIGNS = /[{%]/g

/** Values that the format asks for, at most. */
function placeholdersOf(format: string): number {
  return format.match(SIGNS)?.length ?? 0
}

/** Of the widest value. */
function widthOf(format: string): number {
  const fields = format.replaceAll('{{', '')
  if (new RegExp(WIDE).test(fields)) return TOO_WIDE
  return new RegExp(BROAD).test(fields) ? BROAD_WIDTH : NUMBER_WIDTH
}

function placeholdersNode(format: TreeNode): TreeNode {
  const without = callNode('translate', copyOf(format), textNode('{%'), textNode(''))
  return callNode('-', callNode('strlen', format), callNode('strlen', without))
}

function widthNode(format: TreeNode): TreeNode {
  const fields = callNode('replace', format, textNode('{{'), textNode(''))
  const has = (pattern: string) => callNode('regexp_matches', copyOf(fields), textNode(pattern))
  const narrow = caseNode(has(BROAD), integerNode(BROAD_WIDTH), integerNode(NUMBER_WIDTH))
  return caseNode(has(WIDE), integerNode(TOO_WIDE), narrow)
}
