/** How far an expression of the clock lies before now, at most: a bound that a source can be asked for before DuckDB applies its own. */
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../core/time.ts'
import {
  columnNames,
  constantNumber,
  constantText,
  copyOf,
  isColumn,
  isNode,
  nodesOf,
  replace,
  type TreeNode,
  type TreeValue,
  textValue,
  walkExpression,
} from '../ast/select-ast.ts'

/** The longest that each of them is. */
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

/** undefined: it may lie further back, or is not of the clock at all. */
export function clockAgeMs(node: TreeValue | undefined): number | undefined {
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

/** Of `INTERVAL '7 days'`, `INTERVAL 7 DAY`, and of days that are a number. */
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

/** The number within `CAST(trunc(CAST(7 AS DOUBLE)) AS INTEGER)`. */
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

/**
 * The same condition with functions in the place of `current_date` and `current_timestamp`, which stand in a tree like columns.
 * @param isKnown whether it is a column after all
 */
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
