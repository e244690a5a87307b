/**
 * Reads the parts of DuckDB's serialized syntax tree that Eider uses (`json_serialize_sql`, DuckDB
 * 1.5). Its shape depends on the version; the corpus in tests/sql shows changes.
 */
import { AppError } from '../../core/errors.ts'

/** A value in the tree. Numbers stay text: `query_location` is 2^64-1, and doubles end in `.0`. */
export type TreeValue = null | boolean | string | RawNumber | TreeValue[] | TreeNode

export interface TreeNode {
  [field: string]: TreeValue
}

interface RawNumber {
  readonly rawJSON: string
}

// TypeScript's library does not declare JSON.rawJSON and the reviver's third argument yet. Bun 1.4
// has both.
const lossless = JSON as unknown as {
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { source: string }) => unknown,
  ): unknown
  rawJSON(text: string): RawNumber
}

export function parseTree(text: string): TreeNode {
  // DuckDB writes the constant `1e400` in this form, which is not JSON. Inside a string its quotes
  // would be escaped.
  const json = text
    .replaceAll('"value":Infinity', '"value":1e999')
    .replaceAll('"value":-Infinity', '"value":-1e999')
  const tree = parsedJson(json)
  if (!isNode(tree)) throw new Error('a syntax tree must be an object')
  return tree
}

function parsedJson(json: string): unknown {
  try {
    return lossless.parse(json, (_key, value, context) => {
      return typeof value === 'number' ? lossless.rawJSON(context.source) : value
    })
  } catch (cause) {
    // The call stack is enough for about two thousand nested objects.
    if (!(cause instanceof RangeError)) throw cause
    throw new AppError('sql_not_supported', 'The statement is nested too deeply', { cause })
  }
}

export function treeText(tree: TreeNode): string {
  return JSON.stringify(tree)
}

/** DuckDB prints the DOUBLE `1e10` as a DECIMAL, and `5.` as an INTEGER. A cast keeps the type. */
export function keepConstants(tree: TreeNode): void {
  for (const node of [...walk(tree)]) {
    for (const item of nodesOf(node.select_list)) {
      const name = exactCast(item) === undefined ? '' : constantName(item)
      if (item.alias === '' && name !== '') item.alias = name
    }
    const exact = exactCast(node)
    if (exact !== undefined) replace(node, { ...exact, alias: node.alias ?? '' })
  }
}

/** Returns the cast to use for a constant that would not be read back unchanged. */
function exactCast(node: TreeNode): TreeNode | undefined {
  if (node.class !== 'CONSTANT' || !isNode(node.value)) return undefined
  const { type, value } = node.value
  if (!isNode(type)) return undefined
  if (type.id === 'DOUBLE' && isNumber(value)) {
    return castNode(textNode(value.rawJSON), 'DOUBLE', false)
  }
  const isWhole = isNode(type.type_info) && treeNumber(type.type_info.scale) === 0
  if (type.id !== 'DECIMAL' || !isWhole) return undefined
  const digits = { ...copyOf(node), alias: '' }
  return { ...castNode(digits, 'DECIMAL', false), cast_type: copyOf(type) }
}

/** None for a DECIMAL of more than 64 bits, which is stored in two halves. */
function constantName({ value: constant }: TreeNode): string {
  const value = isNode(constant) ? constant.value : undefined
  return isNumber(value) ? value.rawJSON : ''
}

export function copyOf(node: TreeNode): TreeNode {
  const copy: TreeNode = {}
  for (const field of Object.keys(node)) copy[field] = copyOfValue(node[field] ?? null)
  return copy
}

function copyOfValue(value: TreeValue): TreeValue {
  if (Array.isArray(value)) return value.map(copyOfValue)
  return isNode(value) ? copyOf(value) : value
}

/** Copies the nodes of a tree before it is changed. */
export function originalsOf(tree: TreeNode): ReadonlyMap<TreeNode, TreeNode> {
  const copies = walk(copyOf(tree))
  return new Map([...walk(tree)].map((node) => [node, copies.next().value ?? node]))
}

export function isNode(value: unknown): value is TreeNode {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isNumber(value)
}

export function isNumber(value: unknown): value is RawNumber {
  return typeof value === 'object' && value !== null && 'rawJSON' in value
}

export function nodesOf(value: TreeValue | undefined): TreeNode[] {
  return Array.isArray(value) ? value.filter(isNode) : []
}

/** Returns the strings in a list field. */
export function textsOf(value: TreeValue | undefined): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []
}

export function textValue(value: TreeValue | undefined): string {
  return typeof value === 'string' ? value : ''
}

export function treeNumber(value: TreeValue | undefined): number {
  return isNumber(value) ? Number(value.rawJSON) : Number.NaN
}

export function statementOf(tree: TreeNode): TreeNode {
  const [statement, ...others] = nodesOf(tree.statements)
  if (statement === undefined || others.length > 0) throw new Error('expected one statement')
  return statement
}

/** Returns the query (SELECT, set operation, …) of a statement or a subquery. */
export function queryNode(statement: TreeValue | undefined): TreeNode {
  const query = isNode(statement) ? statement.node : undefined
  if (!isNode(query)) throw new Error('a statement must hold a query')
  return query
}

/** Replaces a node in place, so that all references to it see the new one. */
export function replace(node: TreeNode, by: TreeNode): void {
  for (const field of Object.keys(node)) delete node[field]
  Object.assign(node, by)
}

/** Yields this node and all nodes below it: parents first, in written order. */
export function walk(value: TreeValue): Generator<TreeNode> {
  return walkFields(value, NO_FIELDS)
}

const NO_FIELDS: ReadonlySet<string> = new Set()

/** Fields with another query: a subquery in an expression or FROM, CTEs, the query of DESCRIBE. */
const QUERY_FIELDS: ReadonlySet<string> = new Set(['subquery', 'cte_map', 'query'])

/** Except nodes of inner queries, where names mean something else. */
export function walkExpression(value: TreeValue): Generator<TreeNode> {
  return walkFields(value, QUERY_FIELDS)
}

/** Uses a stack, because nested generators would pass each node through every level above. */
function* walkFields(value: TreeValue, leftOut: ReadonlySet<string>): Generator<TreeNode> {
  const stack: TreeValue[] = [value]
  while (stack.length > 0) {
    const next = stack.pop() ?? null
    if (Array.isArray(next)) {
      for (let index = next.length - 1; index >= 0; index -= 1) stack.push(next[index] ?? null)
    } else if (isNode(next)) {
      yield next
      const fields = Object.keys(next)
      for (let index = fields.length - 1; index >= 0; index -= 1) {
        const field = fields[index] ?? ''
        const inner = next[field]
        if (typeof inner === 'object' && inner !== null && !leftOut.has(field)) stack.push(inner)
      }
    }
  }
}

export function isColumn(node: TreeValue | undefined): node is TreeNode {
  return isNode(node) && node.class === 'COLUMN_REF'
}

/** Returns the parts of a column's name, for example `["k", "price"]`. */
export function columnNames(node: TreeNode): string[] {
  return textsOf(node.column_names)
}

/** Returns the text of a constant, or undefined for any other node. */
export function constantText(node: TreeValue | undefined): string | undefined {
  if (!isNode(node) || node.class !== 'CONSTANT' || !isNode(node.value)) return undefined
  return typeof node.value.value === 'string' ? node.value.value : undefined
}

/** Also of the cast that `keepConstants` made of one. Undefined for any other node. */
export function constantNumber(node: TreeValue | undefined): number | undefined {
  if (!isNode(node)) return undefined
  if (node.class === 'CAST') return castNumber(node)
  if (node.class !== 'CONSTANT' || !isNode(node.value)) return undefined
  const { value, type } = node.value
  if (!isNumber(value) || !isNode(type)) return undefined
  const scale = isNode(type.type_info) ? treeNumber(type.type_info.scale) : 0
  return Number(value.rawJSON) / 10 ** (Number.isNaN(scale) ? 0 : scale)
}

function castNumber({ child, cast_type: type }: TreeNode): number | undefined {
  const id = isNode(type) ? textValue(type.id) : ''
  if (id === 'DECIMAL') return constantNumber(child)
  const text = id === 'DOUBLE' ? constantText(child) : undefined
  const value = text === undefined || text.trim() === '' ? Number.NaN : Number(text)
  return Number.isNaN(value) ? undefined : value
}

/** Returns the value of a boolean constant, or of DuckDB's cast of 't' or 'f'. */
export function constantTruth(node: TreeValue | undefined): boolean | undefined {
  if (!isNode(node)) return undefined
  if (node.class === 'CAST') {
    const text = constantText(node.child)?.toLowerCase()
    if (text === 't' || text === 'true') return true
    return text === 'f' || text === 'false' ? false : undefined
  }
  const value = node.class === 'CONSTANT' && isNode(node.value) ? node.value.value : undefined
  return typeof value === 'boolean' ? value : undefined
}

const NO_LOCATION = { query_location: lossless.rawJSON('18446744073709551615') } as const
/** What all expressions have that are not in the statement's text. */
const UNPLACED = { alias: '', ...NO_LOCATION } as const

export function columnNode(...names: string[]): TreeNode {
  return { ...UNPLACED, class: 'COLUMN_REF', type: 'COLUMN_REF', column_names: names }
}

function constantNode(typeId: string, value: TreeValue): TreeNode {
  return {
    ...UNPLACED,
    class: 'CONSTANT',
    type: 'VALUE_CONSTANT',
    value: { type: { id: typeId, type_info: null }, is_null: false, value },
  }
}

export function integerNode(value: number): TreeNode {
  return constantNode('BIGINT', lossless.rawJSON(String(value)))
}

export function textNode(value: string): TreeNode {
  return constantNode('VARCHAR', value)
}

export function truthNode(value: boolean): TreeNode {
  return constantNode('BOOLEAN', value)
}

export function nullNode(): TreeNode {
  return { ...truthNode(true), value: { type: { id: 'NULL', type_info: null }, is_null: true } }
}

export function notNode(child: TreeNode): TreeNode {
  return { ...UNPLACED, class: 'OPERATOR', type: 'OPERATOR_NOT', children: [child] }
}

export function castNode(child: TreeNode, typeId: string, isTry: boolean): TreeNode {
  return {
    ...UNPLACED,
    class: 'CAST',
    type: 'OPERATOR_CAST',
    child,
    cast_type: { id: typeId, type_info: null },
    try_cast: isTry,
  }
}

/** `ORDER BY` these columns in ascending order, nulls last. */
export function orderNodes(...columns: TreeNode[]): TreeNode[] {
  return columns.map((expression) => {
    return { type: 'ASCENDING', null_order: 'NULLS LAST', expression }
  })
}

/** The same in descending order. */
export function descendingOrderNodes(...columns: TreeNode[]): TreeNode[] {
  return orderNodes(...columns).map((order) => ({ ...order, type: 'DESCENDING' }))
}

export function limitNode(rows: number): TreeNode {
  return { type: 'LIMIT_MODIFIER', limit: integerNode(rows), offset: null }
}

/** SQL that must still be parsed, and how to insert it into the tree. */
export interface TreeEdit {
  readonly sql: string
  apply(parsed: TreeNode): void
}

/** A SELECT without clauses, with all the fields that DuckDB expects. */
export function emptySelect(like: TreeNode): TreeNode {
  return {
    ...like,
    type: 'SELECT_NODE',
    group_expressions: [],
    group_sets: [],
    aggregate_handling: 'STANDARD_HANDLING',
    having: null,
    sample: null,
    qualify: null,
  }
}

export function selectOf(item: TreeNode): TreeNode {
  const node = emptySelect({
    modifiers: [],
    cte_map: { map: [] },
    select_list: [item],
    from_table: { type: 'EMPTY', alias: '', sample: null, ...NO_LOCATION },
    where_clause: null,
  })
  return { error: false, statements: [{ node, named_param_map: [] }] }
}

export function putSubquery(ref: TreeNode, alias: string, subquery: TreeNode): void {
  const { sample = null, column_name_alias = [], query_location = null } = ref
  replace(ref, { type: 'SUBQUERY', alias, sample, query_location, subquery, column_name_alias })
}

/** Builds expressions in the form of DuckDB's parser, to insert into a tree without parsing. */

export function callNode(name: string, ...children: readonly TreeNode[]): TreeNode {
  return {
    ...UNPLACED,
    class: 'FUNCTION',
    type: 'FUNCTION',
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

/** `CASE WHEN condition THEN value ELSE other END`; without `other`, NULL. */
export function caseNode(condition: TreeNode, value: TreeNode, other?: TreeNode): TreeNode {
  return {
    ...UNPLACED,
    class: 'CASE',
    type: 'CASE_EXPR',
    case_checks: [{ when_expr: condition, then_expr: value }],
    else_expr: other ?? nullNode(),
  }
}

export function greaterNode(left: TreeNode, right: TreeNode): TreeNode {
  return { ...UNPLACED, class: 'COMPARISON', type: 'COMPARE_GREATERTHAN', left, right }
}

/** `argument[1]` of `list_transform([{…fields}], lambda name: body)` computes fields once. */
export function boundNode(
  fields: Readonly<Record<string, TreeNode>>,
  name: string,
  body: TreeNode,
): TreeNode {
  const parts = Object.entries(fields).map(([alias, value]) => ({ ...value, alias }))
  const list = callNode('list_value', callNode('struct_pack', ...parts))
  const lambda = { ...UNPLACED, class: 'LAMBDA', type: 'LAMBDA', lhs: columnNode(name), expr: body }
  const children = [callNode('list_transform', list, lambda), integerNode(1)]
  return { ...UNPLACED, class: 'OPERATOR', type: 'ARRAY_EXTRACT', children }
}

/** Returns the operands of an AND, including nested ones. */
export function conjunctsOf(where: TreeValue | undefined): readonly TreeNode[] {
  if (!isNode(where)) return []
  return where.type === 'CONJUNCTION_AND' ? nodesOf(where.children).flatMap(conjunctsOf) : [where]
}
