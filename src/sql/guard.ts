import { AppError } from '../errors.ts'
import { isAggregateFunction, isWindowFunction } from './aggregate-functions.ts'
import { placed } from './placed-error.ts'
import { isScalarFunction } from './scalar-functions.ts'
import { isLiftedParameter } from './search-texts.ts'
import { isNode, queryOf, statementOf, type TreeNode, textOf, walk } from './select-ast.ts'
import { variableOf } from './variable-names.ts'

/** Kinds of expression that compute from values. What is not listed is refused. */
const EXPRESSIONS = new Set([
  'BETWEEN',
  'CASE',
  'CAST',
  'COLLATE',
  'COLUMN_REF',
  'COMPARISON',
  'CONJUNCTION',
  'CONSTANT',
  'FUNCTION',
  'LAMBDA',
  'LAMBDA_REF',
  'OPERATOR',
  'PARAMETER',
  'POSITIONAL_REFERENCE',
  'STAR',
  'SUBQUERY',
  'WINDOW',
])

/** Table functions that make rows from their arguments alone. */
const TABLE_FUNCTIONS = new Set([
  'range',
  'generate_series',
  'unnest',
  'repeat',
  'repeat_row',
  'json_each',
  'json_tree',
])

/**
 * The second gate: what the client wrote may only compute. Runs on the parsed statement before names are resolved and
 * searches are grafted, so that it never has to allow what only the grafts use. Tables are not checked here: rewriting
 * resolves each name or refuses it.
 * @throws AppError `sql_forbidden` that names the function or the construct
 */
export function guard(tree: TreeNode): void {
  for (const node of walk(queryOf(statementOf(tree)))) {
    if (typeof node.class === 'string') placed(node, () => checkExpression(node))
    else if (node.type === 'TABLE_FUNCTION') placed(node, () => checkTableFunction(node))
    else if (isNode(node.at_clause)) placed(node, refuseTimeTravel)
  }
}

function checkExpression(node: TreeNode): void {
  const kind = textOf(node.class)
  if (!EXPRESSIONS.has(kind)) throw forbidden(`An expression of kind ${kind}`)
  const parameter = kind === 'PARAMETER' ? textOf(node.identifier).toLowerCase() : ''
  const isOurs = isLiftedParameter(parameter) || variableOf(parameter) !== undefined
  if (parameter.startsWith('eider_') && !isOurs) {
    throw forbidden('A parameter whose name begins with "eider_"')
  }
  if (kind !== 'FUNCTION' && kind !== 'WINDOW') return
  const name = textOf(node.function_name)
  const isOperator = /^[^\p{L}\p{N}_]+$/u.test(name)
  const isKnown = isScalarFunction(name) || isAggregateFunction(name) || isWindowFunction(name)
  if (!isOperator && !isKnown && !TABLE_FUNCTIONS.has(name.toLowerCase())) {
    throw forbidden(`Function ${name}`)
  }
}

function refuseTimeTravel(): never {
  throw forbidden('AT (…) on a table')
}

function checkTableFunction(ref: TreeNode): void {
  const name = isNode(ref.function) ? textOf(ref.function.function_name) : ''
  if (!TABLE_FUNCTIONS.has(name.toLowerCase())) throw forbidden(`Table function ${name}`)
}

function forbidden(what: string): AppError {
  return new AppError('sql_forbidden', `${what} is not available in SQL here`)
}
