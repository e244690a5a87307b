import { constantNumber, nodesOf, type TreeNode } from '../ast/select-ast.ts'

/** DuckDB makes rows in chunks of so many. */
const ROWS_MAX = 2048

/** Whether a LIMIT at the end of a query says that its rows are few. */
export function isShortAnswer(query: TreeNode): boolean {
  return nodesOf(query.modifiers).some((modifier) => {
    if (modifier.type !== 'LIMIT_MODIFIER') return false
    const rows = constantNumber(modifier.limit)
    return rows !== undefined && rows <= ROWS_MAX
  })
}
