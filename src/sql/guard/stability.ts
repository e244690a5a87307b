import { isNode, type TreeNode, type TreeValue, textValue, walk } from '../ast/select-ast.ts'
import { isAggregateFunction, isScalarFunction, isWindowFunction } from './function-lists.ts'

/**
 * Whether an expression gives the same value for the same arguments: always, within one statement only (the clock, the
 * session), or not even there.
 */
export type Stability = 'consistent' | 'within_query' | 'volatile'

/**
 * The functions that a statement may call and that are not consistent, as `duckdb_functions()` of DuckDB 1.5 says: a
 * function with several forms counts as the least stable of them, a macro as what it calls. A test compares these with the
 * engine's own.
 */
const VOLATILE_FUNCTIONS: ReadonlySet<string> = new Set(
  'error gen_random_uuid json_group_object random uuid uuidv4 uuidv7'.split(' '),
)

const QUERY_FUNCTIONS: ReadonlySet<string> = new Set(
  `ago current_date current_schema get_current_time get_current_timestamp now today
  transaction_timestamp`.split(/\s+/),
)

/** DuckDB calls these consistent although they read the clock: `age` does so with one argument. */
export const CLOCK_FUNCTIONS: ReadonlySet<string> = new Set(
  'age current_localtime current_localtimestamp'.split(' '),
)

/** @param name of a function or an operator; one that no statement may call counts as volatile */
export function stabilityOfFunction(name: string): Stability {
  const key = name.toLowerCase()
  if (VOLATILE_FUNCTIONS.has(key)) return 'volatile'
  if (QUERY_FUNCTIONS.has(key) || CLOCK_FUNCTIONS.has(key)) return 'within_query'
  const isOperator = !/[\p{L}\p{N}]/u.test(key)
  // Ours, which changes no value.
  if (/^eider_steps(_total)?$/.test(key)) return 'consistent'
  const isKnown = isScalarFunction(key) || isAggregateFunction(key) || isWindowFunction(key)
  return isOperator || isKnown ? 'consistent' : 'volatile'
}

/** Of the least stable function in it, those of its sub-queries included. Columns are stable, whatever their names. */
export function stabilityOf(expression: TreeValue): Stability {
  let least: Stability = 'consistent'
  for (const { class: kind, function_name: name } of walk(expression)) {
    if (kind !== 'FUNCTION' && kind !== 'WINDOW') continue
    const stability = stabilityOfFunction(textValue(name))
    if (stability === 'volatile') return stability
    if (stability === 'within_query') least = stability
  }
  return least
}

/** True where two evaluations may differ, so that it must be evaluated once for each row and nowhere else. */
export function isVolatile(expression: TreeValue): boolean {
  return stabilityOf(expression) === 'volatile'
}

/** `current_date` and its like come as names of columns. */
const CHANGING = new Set(['SUBQUERY', 'PARAMETER', 'COLUMN_REF', 'STAR', 'POSITIONAL_REFERENCE'])

/**
 * Whether a query gives the same rows for ever: it has no FROM, no other query within it and no parameter, and calls
 * nothing that depends on the clock, the session or chance.
 */
export function isConstantQuery(query: TreeNode): boolean {
  if (query.type !== 'SELECT_NODE') return false
  for (const node of walk(query)) {
    const isSource = isNode(node.from_table) && node.from_table.type !== 'EMPTY'
    if (isSource || CHANGING.has(textValue(node.class))) return false
    if (node !== query && node.type === 'SELECT_NODE') return false
  }
  return stabilityOf(query) === 'consistent'
}
