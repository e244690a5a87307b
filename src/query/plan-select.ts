import type { SqlEngine } from '../domain/ports.ts'
import { AppError } from '../errors.ts'
import { keepDoubles } from '../sql/double-constants.ts'
import { guard } from '../sql/guard.ts'
import type { NameScope } from '../sql/relation.ts'
import { rewrite } from '../sql/rewrite.ts'
import { parseTree, treeText } from '../sql/select-ast.ts'
import { parameterNames, toDuckDB, tokenize, withoutClosingSemicolons } from '../sql/tokens.ts'
import type { SelectPlan } from './plan-cache.ts'

/**
 * From text to a statement that DuckDB can run: its own parser, the guard, names resolved and searches grafted, and
 * back to text. What comes out is exactly what was checked.
 * @throws AppError `sql_syntax`, `sql_not_supported`, `sql_forbidden`, `sql_unknown_name`, `sql_invalid_search`
 */
export async function planSelect(
  sql: string,
  names: NameScope,
  engine: SqlEngine,
): Promise<SelectPlan> {
  const { tree, written } = await parsed(sql, engine)
  guard(tree)
  keepDoubles(tree)
  const { searches, grafts } = rewrite(tree, names)
  const subqueries = await Promise.all(grafts.map((graft) => engine.parse(graft.sql)))
  grafts.forEach((graft, index) => {
    graft.apply(parseTree(subqueries[index] ?? ''))
  })
  const printed = await engine.print(treeText(tree))
  const parameters = new Set(parameterNames(tokenize(printed)))
  return { sql: printed, searches, parameters, written }
}

async function parsed(sql: string, engine: SqlEngine) {
  try {
    return await parsedWith(sql, 'standard', engine)
  } catch (error) {
    const isSyntax = error instanceof AppError && error.code === 'sql_syntax'
    if (!isSyntax || !sql.includes("\\'")) throw error
    // Existing clients escape a quote as \' . If that reading fails too, the first error is the one to show.
    return await parsedWith(sql, 'backslash', engine).catch(() => Promise.reject(error))
  }
}

async function parsedWith(sql: string, escapes: 'standard' | 'backslash', engine: SqlEngine) {
  const tokens = tokenize(sql, escapes)
  if (withoutClosingSemicolons(tokens).length === 0) {
    throw new AppError('sql_syntax', 'The statement is empty')
  }
  const tree = parseTree(await engine.parse(toDuckDB(sql, tokens)))
  return { tree, written: parameterNames(tokens) }
}
