/** Converts conditions in DuckDB's tree to conditions for a source. */
import type { SourceColumn } from '../../core/domain/flow/source-parameters.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../core/time.ts'
import {
  columnNames,
  constantNumber,
  constantText,
  constantTruth,
  copyOf,
  isColumn,
  isNode,
  isNumber,
  nodesOf,
  replace,
  type TreeNode,
  type TreeValue,
  textValue,
  treeNumber,
  walkExpression,
} from '../ast/select-ast.ts'
import type { CompareOperator, Operand, SourceCondition } from './source-read.ts'

export type ColumnOf = (node: TreeNode) => SourceColumn | undefined

const OTHER: SourceCondition = { kind: 'other' }

const COMPARISONS: Readonly<Record<string, readonly [CompareOperator, CompareOperator]>> = {
  COMPARE_EQUAL: ['=', '='],
  COMPARE_NOTEQUAL: ['<>', '<>'],
  COMPARE_LESSTHAN: ['<', '>'],
  COMPARE_LESSTHANOREQUALTO: ['<=', '>='],
  COMPARE_GREATERTHAN: ['>', '<'],
  COMPARE_GREATERTHANOREQUALTO: ['>=', '<='],
}

export function sourceCondition(node: TreeNode, columnOf: ColumnOf): SourceCondition {
  switch (node.class) {
    case 'COLUMN_REF': {
      const column = columnOf(node)
      return column === undefined ? OTHER : { kind: 'truth', column }
    }
    case 'CONJUNCTION': {
      const conditions = nodesOf(node.children).map((child) => sourceCondition(child, columnOf))
      return { kind: node.type === 'CONJUNCTION_OR' ? 'or' : 'and', conditions }
    }
    case 'COMPARISON':
      return comparison(node, columnOf)
    case 'BETWEEN':
      return between(node, columnOf)
    case 'OPERATOR':
      return operator(node, columnOf)
    case 'FUNCTION':
      return like(node, columnOf)
    default:
      return OTHER
  }
}

function comparison({ type, left, right }: TreeNode, columnOf: ColumnOf): SourceCondition {
  if (type === 'COMPARE_DISTINCT_FROM' || type === 'COMPARE_NOT_DISTINCT_FROM') {
    const equal = comparison(
      { type: 'COMPARE_EQUAL', left: left ?? null, right: right ?? null },
      columnOf,
    )
    const same: SourceCondition = { kind: 'certain', condition: equal }
    return type === 'COMPARE_DISTINCT_FROM' ? { kind: 'not', condition: same } : same
  }
  const operators = COMPARISONS[textValue(type)]
  if (operators === undefined || !isNode(left) || !isNode(right)) return OTHER
  const [written, turned] = operators
  return compare(left, written, right, columnOf) ?? compare(right, turned, left, columnOf) ?? OTHER
}

function compare(
  left: TreeNode,
  operatorName: CompareOperator,
  right: TreeNode,
  columnOf: ColumnOf,
): SourceCondition | undefined {
  const column = isColumn(left) ? columnOf(left) : undefined
  const value = operandOf(right) ?? sinceOf(right)
  if (column === undefined || value === undefined) return undefined
  return { kind: 'compare', column, operator: operatorName, value }
}

function sinceOf(node: TreeNode): Operand | undefined {
  const ageMs = clockAgeMs(node)
  return ageMs === undefined ? undefined : { kind: 'since', ageMs }
}

function between({ input, lower, upper }: TreeNode, columnOf: ColumnOf): SourceCondition {
  if (!isNode(input) || !isNode(lower) || !isNode(upper)) return OTHER
  const conditions = [compare(input, '>=', lower, columnOf), compare(input, '<=', upper, columnOf)]
  return { kind: 'and', conditions: conditions.map((condition) => condition ?? OTHER) }
}

function operator({ type, children }: TreeNode, columnOf: ColumnOf): SourceCondition {
  const [first, ...others] = nodesOf(children)
  if (first === undefined) return OTHER
  if (type === 'OPERATOR_NOT') return { kind: 'not', condition: sourceCondition(first, columnOf) }
  if (type === 'OPERATOR_COALESCE') {
    const isCertain = others.length === 1 && constantTruth(others[0]) === false
    return isCertain ? { kind: 'certain', condition: sourceCondition(first, columnOf) } : OTHER
  }
  const column = isColumn(first) ? columnOf(first) : undefined
  if (column === undefined) return OTHER
  if (type === 'OPERATOR_IS_NULL' || type === 'OPERATOR_IS_NOT_NULL') {
    return { kind: 'null', column, isNegated: type === 'OPERATOR_IS_NOT_NULL' }
  }
  if (type !== 'COMPARE_IN' && type !== 'COMPARE_NOT_IN') return OTHER
  const values = others.map(operandOf)
  if (values.length === 0 || !values.every((value) => value !== undefined)) return OTHER
  return { kind: 'in', column, values, isNegated: type === 'COMPARE_NOT_IN' }
}

/** `a LIKE 'b%'`, and `contains($list, a)` as DuckDB parses `a IN $list`. */
function like({ function_name: name, children }: TreeNode, columnOf: ColumnOf): SourceCondition {
  const [text, pattern] = nodesOf(children)
  if (name === 'contains') {
    const listed = isColumn(pattern) ? columnOf(pattern) : undefined
    const list = operandOf(text)
    return listed && list ? { kind: 'in_list', column: listed, list } : OTHER
  }
  if (name !== '~~' && name !== '!~~') return OTHER
  const column = isColumn(text) ? columnOf(text) : undefined
  const value = operandOf(pattern)
  if (column === undefined || value === undefined) return OTHER
  return { kind: 'like', column, pattern: value, isNegated: name === '!~~' }
}

const CASTS: Readonly<Record<string, 'date' | 'timestamp' | 'timestamptz'>> = {
  DATE: 'date',
  TIMESTAMP: 'timestamp',
  'TIMESTAMP WITH TIME ZONE': 'timestamptz',
}

/** Returns a constant or parameter; undefined for anything else, including NULL. */
export function operandOf(node: TreeValue | undefined): Operand | undefined {
  if (!isNode(node)) return undefined
  if (node.class === 'PARAMETER') {
    return { kind: 'parameter', name: textValue(node.identifier) }
  }
  if (node.class === 'CAST') return castOperand(node)
  if (node.class !== 'CONSTANT' || !isNode(node.value)) return undefined
  const { type, value } = node.value
  const id = isNode(type) ? textValue(type.id) : ''
  if (typeof value === 'boolean') return { kind: 'truth', value }
  if (typeof value === 'string') return id === 'VARCHAR' ? { kind: 'text', text: value } : undefined
  if (!isNumber(value)) return undefined
  if (id === 'INTEGER' || id === 'BIGINT') return { kind: 'number', digits: value.rawJSON }
  if (id !== 'DECIMAL' || !isNode(type) || !isNode(type.type_info)) return undefined
  const digits = decimalDigits(value.rawJSON, treeNumber(type.type_info.scale))
  return digits === undefined ? undefined : { kind: 'number', digits }
}

function castOperand({ child, cast_type: type, try_cast: isTry }: TreeNode): Operand | undefined {
  if (!isNode(child) || !isNode(type) || isTry === true) return undefined
  const inner = operandOf(child)
  const id = textValue(type.id)
  if (id === 'BOOLEAN') {
    const value = constantTruth({ class: 'CAST', child })
    return value === undefined ? undefined : { kind: 'truth', value }
  }
  // A constant with more digits than DuckDB can print; see `keepConstants`.
  if (id === 'DECIMAL') return inner?.kind === 'number' ? inner : undefined
  if (inner?.kind === 'parameter') return { ...inner, cast: id }
  if (inner?.kind !== 'text') return undefined
  if (id === 'DOUBLE') {
    const value = inner.text.trim() === '' ? Number.NaN : Number(inner.text)
    return Number.isNaN(value) ? undefined : { kind: 'double', value }
  }
  const kind = CASTS[id]
  return kind === undefined ? undefined : { kind, text: inner.text }
}

/** A DECIMAL is stored as an integer and a scale. */
function decimalDigits(unscaled: string, scale: number): string | undefined {
  const [, sign = '', digits] = /^(-?)(\d+)$/.exec(unscaled) ?? []
  if (digits === undefined || !Number.isInteger(scale)) return undefined
  if (scale === 0) return sign + digits
  const padded = digits.padStart(scale + 1, '0')
  return `${sign}${padded.slice(0, -scale)}.${padded.slice(-scale)}`
}

/** The greatest age that a clock expression allows. */

/** The longest duration of each unit. */
const UNIT_MS: Readonly<Record<string, number>> = {
  second: SECOND_MS,
  minute: MINUTE_MS,
  hour: HOUR_MS,
  day: DAY_MS,
  week: 7 * DAY_MS,
  month: 31 * DAY_MS,
  quarter: 92 * DAY_MS,
  year: 366 * DAY_MS,
}

const MOMENTS: ReadonlySet<string> = new Set(
  'now current_timestamp get_current_timestamp transaction_timestamp'.split(' '),
)
const DAYS: ReadonlySet<string> = new Set(['today', 'current_date'])

/** Undefined if it is unlimited, or not an expression of the clock. */
function clockAgeMs(node: TreeValue | undefined): number | undefined {
  if (!isNode(node)) return undefined
  if (node.class === 'CAST') return ageOfCast(node)
  if (node.class !== 'FUNCTION' || textValue(node.schema) !== '') return undefined
  const name = textValue(node.function_name).toLowerCase()
  const [first, second, ...others] = nodesOf(node.children)
  if (first === undefined) return MOMENTS.has(name) ? 0 : DAYS.has(name) ? DAY_MS : undefined
  if (second === undefined || others.length > 0) return undefined
  if (name === '-') return added(clockAgeMs(first), intervalMs(second))
  if (name !== 'date_trunc') return undefined
  return added(clockAgeMs(second), UNIT_MS[(constantText(first) ?? '').toLowerCase()])
}

function ageOfCast({ child, cast_type: type }: TreeNode): number | undefined {
  const id = isNode(type) ? textValue(type.id) : ''
  if (id === 'DATE') return added(clockAgeMs(child), DAY_MS)
  const isMoment = id === 'TIMESTAMP' || id === 'TIMESTAMP WITH TIME ZONE'
  return isMoment ? clockAgeMs(child) : undefined
}

function added(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? undefined : one + other
}

/** Handles `INTERVAL '7 days'`, `INTERVAL 7 DAY`, and a number of days. */
function intervalMs(node: TreeNode): number | undefined {
  if (node.class === 'CONSTANT') return timesUnit(constantNumber(node), 'day')
  if (node.class === 'CAST') {
    const isInterval = isNode(node.cast_type) && node.cast_type.id === 'INTERVAL'
    const text = isInterval ? (constantText(node.child) ?? '') : ''
    const [, count, unit = ''] = /^\s*(\d+)\s+([a-z]+?)s?\s*$/i.exec(text) ?? []
    return timesUnit(Number(count), unit)
  }
  const [, unit = ''] = /^to_(\w+)s$/i.exec(textValue(node.function_name)) ?? []
  const [argument, ...others] = nodesOf(node.children)
  return others.length > 0 ? undefined : timesUnit(literalCount(argument), unit)
}

/** Returns the number in `CAST(trunc(CAST(7 AS DOUBLE)) AS INTEGER)`. */
function literalCount(node: TreeNode | undefined): number | undefined {
  if (node?.class === 'CAST') return literalCount(isNode(node.child) ? node.child : undefined)
  if (node?.class === 'FUNCTION' && textValue(node.function_name) === 'trunc') {
    return literalCount(nodesOf(node.children)[0])
  }
  return constantNumber(node)
}

function timesUnit(count: number | undefined, unit: string): number | undefined {
  const unitMs = UNIT_MS[unit.toLowerCase()]
  const isCount = count !== undefined && Number.isInteger(count) && count >= 0
  return isCount && unitMs !== undefined ? count * unitMs : undefined
}

/** They are columns in the tree. @param isKnown whether such a column exists after all */
export function withClockFunctions(
  condition: TreeNode,
  isKnown: (column: TreeNode) => boolean,
): TreeNode {
  const copy = copyOf(condition)
  for (const node of [...walkExpression(copy)].filter(isColumn)) {
    const [name = '', ...rest] = columnNames(node).map((one) => one.toLowerCase())
    const isClock = rest.length === 0 && (MOMENTS.has(name) || DAYS.has(name))
    if (isClock && !isKnown(node)) {
      replace(node, { class: 'FUNCTION', function_name: name, schema: '', children: [] })
    }
  }
  return copy
}
