/**
 * Refuses statements that would crash or block DuckDB 1.5.5: too deep, too long, or expanding too
 * much when bound.
 */
import { AppError } from '../../core/errors.ts'
import {
  callNode,
  caseNode,
  columnNames,
  constantText,
  isColumn,
  isNode,
  nodesOf,
  replace,
  type TreeNode,
  type TreeValue,
  textNode,
  textValue,
  truthNode,
  walk,
} from '../ast/select-ast.ts'
import { parameterNamesOf, type Token } from '../lexer/tokens.ts'

/** DuckDB's binder cannot be interrupted; 200 nested sums take 0.5 s, 1000 twenty seconds. */
const LEVELS_MAX = 200

/** @throws AppError `sql_not_supported` for deeper nesting */
export function checkDepth(query: TreeNode): void {
  const stack: { readonly value: TreeValue; readonly level: number }[] = [
    { value: query, level: 0 },
  ]
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const { value, level } = next
    if (level > LEVELS_MAX) {
      const what = `${LEVELS_MAX} levels of expressions, joins and sub-queries within one another`
      throw new AppError('sql_not_supported', `A statement has at most ${what}`)
    }
    for (const inner of Array.isArray(value) ? value : Object.values(value ?? {})) {
      if (typeof inner !== 'object' || inner === null) continue
      stack.push({ value: inner, level: level + levelsOf(inner) })
    }
  }
}

/** Counts levels of expressions. Lists and wrappers such as `{"node": …}` do not count. */
function levelsOf(value: TreeValue): number {
  return isNode(value) && typeof value.type === 'string' ? 1 : 0
}

/**
 * The most expressions in a statement after binding, which take DuckDB about three seconds. Binding
 * copies reused aliases, macro arguments that are used twice, BETWEEN, nested lambdas and CTEs that
 * are named twice. Thirty in a row would become a billion expressions, and use up memory in a step
 * that cannot be interrupted.
 */
const SIZE_MAX = 100_000

/** Assumed for `*` over a table, whose number of columns is not known here. */
const TABLE_COLUMNS = 10

interface Size {
  readonly size: number
  readonly columns: number
}

interface Scope {
  readonly ctes: ReadonlyMap<string, Size>
  /** Sizes of the aliases in the SELECT list so far. */
  readonly aliases: ReadonlyMap<string, number>
  readonly columns: number
}

/** The number of expressions in them, and how often the argument occurs. */
const MACROS: Readonly<Record<string, { readonly own: number; readonly copies: number }>> = {
  array_pop_back: { own: 6, copies: 2 },
  array_to_string: { own: 8, copies: 2 },
  array_to_string_comma_default: { own: 8, copies: 2 },
  fmod: { own: 4, copies: 2 },
  json_group_array: { own: 10, copies: 2 },
  json_group_object: { own: 20, copies: 2 },
  map_contains_entry: { own: 4, copies: 2 },
  nullif: { own: 3, copies: 2 },
  round_even: { own: 20, copies: 8 },
  roundbankers: { own: 20, copies: 8 },
  split_part: { own: 10, copies: 2 },
  wavg: { own: 6, copies: 2 },
  weighted_avg: { own: 6, copies: 2 },
}

/** @throws AppError `sql_not_supported` for a statement that would expand beyond the limit */
export function checkExpandedSize(query: TreeNode): void {
  if (sizeOfQuery(query, new Map()).size <= SIZE_MAX) return
  const what = 'aliases, CTEs and nested functions that expand to more than'
  throw new AppError('sql_not_supported', `The statement has ${what} ${SIZE_MAX} expressions`)
}

function sizeOfQuery(query: TreeNode, outer: ReadonlyMap<string, Size>): Size {
  const ctes = new Map(outer)
  for (const entry of isNode(query.cte_map) ? nodesOf(query.cte_map.map) : []) {
    const statement = isNode(entry.value) ? entry.value.query : undefined
    const body = isNode(statement) && isNode(statement.node) ? statement.node : undefined
    if (body !== undefined) ctes.set(textValue(entry.key).toLowerCase(), sizeOfQuery(body, ctes))
  }
  if (query.type === 'SELECT_NODE') return sizeOfSelect(query, ctes)
  if (query.type === 'RECURSIVE_CTE_NODE') ctes.delete(textValue(query.cte_name).toLowerCase())
  const sides = [query.left, query.right, ...nodesOf(query.children)].filter(isNode)
  const sizes = sides.map((side) => sizeOfQuery(side, ctes))
  return { size: sum(sizes), columns: Math.max(1, ...sizes.map((side) => side.columns)) }
}

function sizeOfSelect(select: TreeNode, ctes: ReadonlyMap<string, Size>): Size {
  const from = isNode(select.from_table) ? sizeOfSource(select.from_table, ctes) : NOTHING
  const aliases = new Map<string, number>()
  const scope: Scope = { ctes, aliases, columns: from.columns }
  let { size } = from
  let columns = 0
  for (const item of nodesOf(select.select_list)) {
    const own = sizeOfExpression(item, scope)
    size += own
    columns += item.class === 'STAR' ? from.columns : 1
    if (textValue(item.alias) !== '') aliases.set(textValue(item.alias).toLowerCase(), own)
  }
  const { where_clause: where = null, having = null, qualify = null, modifiers = null } = select
  const { group_expressions: groups = null } = select
  return { size: size + sizeOfParts([where, having, qualify, modifiers, groups], scope), columns }
}

const NOTHING: Size = { size: 0, columns: 1 }

function sizeOfSource(ref: TreeNode, ctes: ReadonlyMap<string, Size>): Size {
  const scope: Scope = { ctes, aliases: new Map(), columns: 1 }
  if (ref.type === 'BASE_TABLE') {
    const known =
      textValue(ref.schema_name) === ''
        ? ctes.get(textValue(ref.table_name).toLowerCase())
        : undefined
    return known ?? { size: 1, columns: TABLE_COLUMNS }
  }
  if (ref.type === 'SUBQUERY' || ref.type === 'SHOW_REF') {
    const query = ref.type === 'SUBQUERY' && isNode(ref.subquery) ? ref.subquery.node : ref.query
    return isNode(query) ? sizeOfQuery(query, ctes) : NOTHING
  }
  if (ref.type === 'JOIN') {
    const sides = [ref.left, ref.right].filter(isNode).map((side) => sizeOfSource(side, ctes))
    const columns = sides.reduce((total, side) => total + side.columns, 0)
    return { size: sum(sides) + sizeOfParts([ref.condition ?? null], scope), columns }
  }
  const source = isNode(ref.source) ? sizeOfSource(ref.source, ctes) : NOTHING
  const cells = ref.type === 'PIVOT' ? pivotCells(ref) : 0
  const { function: call = null, values = null, aggregates = null, pivots = null } = ref
  const own = sizeOfParts([call, values, aggregates, pivots], scope)
  return { size: source.size + own + cells * 2, columns: source.columns + cells + TABLE_COLUMNS }
}

function pivotCells(ref: TreeNode): number {
  const combinations = nodesOf(ref.pivots).reduce((total, pivot) => {
    return total * Math.max(1, nodesOf(pivot.entries).length)
  }, 1)
  return combinations * Math.max(1, nodesOf(ref.aggregates).length)
}

function sum(sizes: readonly Size[]): number {
  return sizes.reduce((total, { size }) => total + size, 0)
}

function sizeOfParts(values: readonly TreeValue[], scope: Scope): number {
  return values.reduce<number>((total, value) => total + sizeOf(value, scope), 0)
}

function sizeOf(value: TreeValue, scope: Scope): number {
  if (Array.isArray(value)) return sizeOfParts(value, scope)
  if (!isNode(value)) return 0
  if (typeof value.class === 'string') return sizeOfExpression(value, scope)
  return sizeOfParts(Object.values(value), scope)
}

function sizeOfExpression(node: TreeNode, scope: Scope): number {
  if (node.class === 'COLUMN_REF') {
    const [name = '', ...others] = columnNames(node)
    return (others.length === 0 ? scope.aliases.get(name.toLowerCase()) : undefined) ?? 1
  }
  if (node.class === 'CONSTANT') return 1
  if (node.class === 'STAR') return scope.columns + partsOf(node, scope)
  if (node.class === 'SUBQUERY' && isNode(node.subquery) && isNode(node.subquery.node)) {
    return 1 + sizeOf(node.child ?? null, scope) + sizeOfQuery(node.subquery.node, scope.ctes).size
  }
  if (node.class === 'FUNCTION') {
    const macro = MACROS[textValue(node.function_name).toLowerCase()]
    return (macro?.own ?? 1) + (macro?.copies ?? 1) * partsOf(node, scope)
  }
  const isCopied = node.class === 'LAMBDA' || node.class === 'BETWEEN'
  return 1 + (isCopied ? 2 : 1) * partsOf(node, scope)
}

function partsOf(node: TreeNode, scope: Scope): number {
  return sizeOfParts(Object.values(node), scope)
}

/** The most UTF-8 bytes per UTF-16 code unit. */
const UNIT_BYTES_MAX = 3

/** Checked first: long statements cost time before they run. @throws AppError */
export function checkStatementSize(sql: string, bytesMax: number): void {
  if (sql.length * UNIT_BYTES_MAX <= bytesMax) return
  // A text with too many code units is too long in any case, so it is not encoded.
  if (sql.length <= bytesMax && Buffer.byteLength(sql) <= bytesMax) return
  const instead = 'send values as "params", and rows through PUT of the knowledge base'
  const limit = `The text of the statement has more than ${bytesMax} bytes, the limit (EIDER_STATEMENT_BYTES_MAX)`
  throw new AppError('statement_too_large', `${limit}; ${instead}`)
}

/** A limit, because DuckDB takes longer to find a parameter the more there are. */
const PARAMETERS_MAX = 2000

/** DuckDB 1.5.5 prints in time proportional to length times quotes: 1 s for about 2e10. */
const QUOTES_TIMES_LENGTH_MAX = 5e9

/** DuckDB's parsing, printing and binding cannot be interrupted. @throws AppError */
export function checkTokens(tokens: readonly Token[]): void {
  const parameters = parameterNamesOf(tokens).length
  if (parameters > PARAMETERS_MAX) {
    const message = `A statement has at most ${PARAMETERS_MAX} parameters, found ${parameters}`
    throw new AppError('sql_not_supported', `${message}; one of them may be a list`)
  }
  const work = tokens.reduce((sum, token) => sum + quotesTimesLength(token), 0)
  if (work <= QUOTES_TIMES_LENGTH_MAX) return
  const message = 'A long text in the statement has too many quotes; pass it as a parameter'
  throw new AppError('sql_not_supported', message)
}

function quotesTimesLength({ kind, value }: Token): number {
  if (kind !== 'string' && kind !== 'name') return 0
  const mark = kind === 'string' ? "'" : '"'
  let count = 0
  for (let at = value.indexOf(mark); at >= 0; at = value.indexOf(mark, at + 1)) count += 1
  return count * value.length
}

/**
 * DuckDB 1.5.5 tries every position for each LIKE wildcard: six take a minute for 100 characters.
 */

const GLOB = '~~~'
/** DuckDB's operators: `~~` is LIKE, `~~*` is ILIKE. */
const LIKE = /^(?:!?~~\*?|(?:not_)?i?like_escape|~~~)$/i

export function isLike(name: string): boolean {
  return LIKE.test(name)
}

/** Whether its pattern is a constant, or the condition is a search. */
export function isConstantLike([text, pattern]: readonly TreeNode[]): boolean {
  const isSearch = isColumn(text) && columnNames(text).at(-1)?.toLowerCase() === 'content'
  return isSearch || constantText(pattern) !== undefined
}

/** The equivalent regular expression if DuckDB's own LIKE would try too many combinations. */
export function hardLike(call: TreeNode): string | undefined {
  const name = textValue(call.function_name)
  const [, pattern, escapeNode] = nodesOf(call.children)
  const written = constantText(pattern)
  if (!isLike(name) || written === undefined) return undefined
  const isGlob = name === GLOB
  const isHard = isGlob || written.includes('_') || escapeNode !== undefined
  if (!isHard || written.split(isGlob ? '*' : '%').length < 3) return undefined
  if (isGlob && /[[\]\\]/.test(written)) return undefined
  const flags = /^!?~~\*$|ilike/i.test(name) ? 'is' : 's'
  return `(?${flags})${regexpOf(written, isGlob ? '*?' : '%_', constantText(escapeNode))}`
}

/** Changes the tree in place. Runs after searches were taken out. */
export function likesAsRegexps(tree: TreeValue): void {
  for (const node of walk(tree)) {
    if (node.class !== 'FUNCTION') continue
    const regexp = hardLike(node)
    const [text] = nodesOf(node.children)
    if (regexp === undefined || text === undefined) continue
    const call = callNode('regexp_full_match', text, textNode(regexp))
    const isNegated = /^(?:!|not_)/i.test(textValue(node.function_name))
    const { alias = '' } = node
    const own = isNegated ? caseNode(call, truthNode(false), unlessNull(text)) : call
    replace(node, { ...own, alias })
  }
}

/** Returns NULL if the text is NULL, like the operator itself. */
function unlessNull(text: TreeNode): TreeNode {
  return callNode('starts_with', { ...text, alias: '' }, textNode(''))
}

/** @param signs the wildcards for any text and for any character */
function regexpOf(pattern: string, [many, single]: string, escapeSign = ''): string {
  let regexp = ''
  let isEscaped = false
  for (const character of pattern) {
    if (!isEscaped && escapeSign !== '' && character === escapeSign) {
      isEscaped = true
      continue
    }
    if (isEscaped || (character !== many && character !== single)) regexp += literal(character)
    else regexp += character === many ? '.*' : '.'
    isEscaped = false
  }
  return regexp
}

function literal(character: string): string {
  return character.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}
