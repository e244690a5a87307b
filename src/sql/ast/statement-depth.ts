import { AppError } from '../../errors.ts'
import { isNode, type TreeNode, type TreeValue } from './select-ast.ts'

/**
 * Expressions, joins and queries within one another. DuckDB's binder takes time by the cube of it and cannot be
 * interrupted: half a second for 200 sums, twenty for its own limit of 1000.
 */
const LEVELS_MAX = 200

/** @throws AppError `sql_not_supported` for a statement that is nested deeper */
export function checkDepth(query: TreeNode): void {
  const stack: { readonly value: TreeValue; readonly level: number }[] = [
    { value: query, level: 0 },
  ]
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const { value, level } = next
    if (level > LEVELS_MAX) throw tooDeep()
    for (const inner of Array.isArray(value) ? value : Object.values(value ?? {})) {
      if (typeof inner !== 'object' || inner === null) continue
      stack.push({ value: inner, level: level + levelsOf(inner) })
    }
  }
}

/** Lists and wrappers such as `{"node": …}` are none. */
function levelsOf(value: TreeValue): number {
  return isNode(value) && typeof value.type === 'string' ? 1 : 0
}

function tooDeep(): AppError {
  const what = 'expressions, joins and sub-queries within one another'
  return new AppError(
    'sql_not_supported',
    `A statement has at most ${LEVELS_MAX} levels of ${what}`,
  )
}
