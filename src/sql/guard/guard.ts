import { AppError } from '../../core/errors.ts'
import { didYouMean, nearestName } from '../../core/short-text.ts'
import { variableOf } from '../../core/text/shown-statement.ts'
import { placed } from '../ast/placed-error.ts'
import {
  columnNames,
  constantText,
  isColumn,
  isNode,
  nodesOf,
  queryNode,
  statementOf,
  type TreeNode,
  textValue,
  walk,
} from '../ast/select-ast.ts'
import { isLiteralParameter } from '../lexer/statement-shape.ts'
import {
  FUNCTION_NAMES,
  isAggregateFunction,
  isScalarFunction,
  isWindowFunction,
} from './function-lists.ts'
import { checkDepth, checkExpandedSize } from './statement-limits.ts'

/** Kinds of expressions that only compute from values. All others are refused. */
const EXPRESSIONS = new Set(
  `BETWEEN CASE CAST COLLATE COLUMN_REF COMPARISON CONJUNCTION CONSTANT FUNCTION LAMBDA
  LAMBDA_REF OPERATOR PARAMETER POSITIONAL_REFERENCE STAR SUBQUERY WINDOW`.split(/\s+/),
)

/** Table functions that compute rows from their arguments alone. */
export const TABLE_FUNCTIONS: ReadonlySet<string> = new Set(
  'range generate_series unnest repeat repeat_row json_each json_tree'.split(' '),
)

/** In `a.b.c`, ten thousand parts crash DuckDB 1.5.5. */
const NAME_PARTS_MAX = 50

/** Functions that call an aggregate function given by name. */
const LIST_AGGREGATES = new Set(
  'aggregate array_aggr array_aggregate list_aggr list_aggregate'.split(' '),
)

/** Functions that convert JSON to the shape of an argument. A deep shape crashes DuckDB 1.5.5. */
const SHAPED_FUNCTIONS = new Set(
  'from_json from_json_strict json_transform json_transform_strict'.split(' '),
)
const SHAPE_BRACKETS_MAX = 500

/**
 * Checks that a client's statement only computes. It runs on the parsed statement before names are
 * resolved and Eider's own subqueries are inserted, so functions that only those use need not be
 * allowed. Tables are not checked here, because rewriting resolves or refuses each name.
 * @throws AppError `sql_forbidden` naming the function or construct
 */
export function guard(tree: TreeNode): void {
  if (nodesOf(tree.statements).length > 1) {
    throw new AppError('sql_not_supported', 'Only one statement per request is allowed')
  }
  const query = queryNode(statementOf(tree))
  checkDepth(query)
  checkExpandedSize(query)
  let selects = 0
  for (const node of walk(query)) {
    if (node.type === 'SELECT_NODE') {
      selects += 1
      checkSelect(node, selects)
    }
    if (typeof node.class === 'string') placed(node, () => checkExpression(node))
    else if (node.type === 'TABLE_FUNCTION') placed(node, () => checkTableFunction(node))
    else if (node.id === 'VARIANT') throw forbidden('The type VARIANT')
    else if (isNode(node.at_clause)) placed(node, refuseTimeTravel)
  }
}

/** Beyond, DuckDB takes seconds to bind; memory for joins grows with the square. */
const SELECTS_MAX = 2000
const RELATIONS_MAX = 64
const COLUMNS_MAX = 5000

function checkSelect(select: TreeNode, selects: number): void {
  const refuse = (limit: string) => new AppError('sql_not_supported', limit)
  if (selects > SELECTS_MAX) throw refuse(`A statement has at most ${SELECTS_MAX} SELECTs`)
  if (nodesOf(select.select_list).length > COLUMNS_MAX) {
    throw refuse(`A SELECT has at most ${COLUMNS_MAX} columns`)
  }
  let relations = 0
  const sources = [select.from_table]
  for (let source = sources.pop(); source !== undefined; source = sources.pop()) {
    if (!isNode(source)) continue
    if (source.type === 'JOIN') sources.push(source.left, source.right)
    else relations += 1
  }
  if (relations > RELATIONS_MAX) throw refuse(`A FROM joins at most ${RELATIONS_MAX} tables`)
}

function checkExpression(node: TreeNode): void {
  const kind = textValue(node.class)
  if (!EXPRESSIONS.has(kind)) throw forbidden(`An expression of kind ${kind}`)
  const parameter = kind === 'PARAMETER' ? textValue(node.identifier).toLowerCase() : ''
  const isOurs = isLiteralParameter(parameter) || variableOf(parameter) !== undefined
  if (parameter.startsWith('eider_') && !isOurs) {
    throw forbidden('A parameter whose name begins with "eider_"')
  }
  if (isColumn(node) && columnNames(node).length > NAME_PARTS_MAX) {
    throw new AppError('sql_not_supported', `A name has at most ${NAME_PARTS_MAX} parts`)
  }
  if (kind === 'FUNCTION' || kind === 'WINDOW') checkFunction(node)
}

function checkFunction(node: TreeNode): void {
  const name = textValue(node.function_name)
  const isOperator = /^[^\p{L}\p{N}_]+$/u.test(name)
  const isKnown = isScalarFunction(name) || isAggregateFunction(name) || isWindowFunction(name)
  if (!isOperator && !isKnown && !TABLE_FUNCTIONS.has(name.toLowerCase())) {
    const { message } = forbidden(`Function ${name}`)
    const hint = didYouMean(nearestName(name, FUNCTION_NAMES))
    throw new AppError('sql_forbidden', `${message}${hint}`)
  }
  const [, second] = nodesOf(node.children)
  if (SHAPED_FUNCTIONS.has(name.toLowerCase())) checkShape(name, second)
  if (LIST_AGGREGATES.has(name.toLowerCase())) checkAggregate(name, second)
}

/**
 * @throws AppError `sql_forbidden` unless it names an aggregate function that statements may call
 */
function checkAggregate(name: string, aggregate: TreeNode | undefined): void {
  const called = constantText(aggregate)
  if (called === undefined) {
    const wanted = 'the name of an aggregate function in single quotes'
    throw new AppError('sql_forbidden', `The second argument of ${name} must be ${wanted}`)
  }
  if (!isAggregateFunction(called)) throw forbidden(`Function ${called}`)
}

/** @throws AppError `sql_forbidden` unless the shape is a literal in the statement and not deep */
function checkShape(name: string, shape: TreeNode | undefined): void {
  const text = shape?.class === 'CAST' ? constantText(shape.child) : constantText(shape)
  const opened = text?.match(/[[{]/g)?.length ?? 0
  if (text !== undefined && opened <= SHAPE_BRACKETS_MAX) return
  const wanted = `a text in single quotes with at most ${SHAPE_BRACKETS_MAX} brackets`
  throw new AppError('sql_forbidden', `The shape that ${name} is given here must be ${wanted}`)
}

function refuseTimeTravel(): never {
  throw forbidden('AT (…) on a table')
}

function checkTableFunction(ref: TreeNode): void {
  const name = isNode(ref.function) ? textValue(ref.function.function_name) : ''
  if (TABLE_FUNCTIONS.has(name.toLowerCase())) return
  if (!/^(?:read_|parquet_|sniff_csv$|glob$)/i.test(name)) throw forbidden(`Table function ${name}`)
  throw new AppError('sql_forbidden', `${forbidden(`Table function ${name}`).message}: ${UPLOAD}`)
}

const UPLOAD = 'upload the file with PUT /api/files/<name> and read it as files.<name>'

function forbidden(what: string): AppError {
  return new AppError('sql_forbidden', `${what} is not available in SQL here`)
}
