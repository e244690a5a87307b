/**
 * Handles `PIVOT … ON column` without `IN (…)`. DuckDB's parser would turn it into two statements,
 * the first of which finds the values. Instead, an ordinary SELECT finds them, and they are written
 * into the text.
 */
import { literal } from '../../core/domain/names.ts'
import { closeAround, depthsOf, nextWithin } from '../lexer/brackets.ts'
import { isWord, spliced, type Token, tokenize } from '../lexer/tokens.ts'

interface PivotColumn {
  /** Where to insert `IN (…)` in the statement. */
  readonly at: number
  /** A SELECT of the values as strings, in order. */
  readonly select: string
}

export function hasPivot(sql: string): boolean {
  return /\bpivot(_wider)?\b/i.test(sql)
}

/** @throws AppError `sql_syntax` for text that cannot be tokenized */
export function pivotColumns(sql: string): readonly PivotColumn[] {
  const tokens = tokenize(sql)
  return tokens.flatMap((token, index) => {
    return isWord(token, 'pivot', 'pivot_wider') ? columnsOf(sql, tokens, index) : []
  })
}

/** @param values of each column, in the order of the columns */
export function withPivotValues(
  sql: string,
  columns: readonly PivotColumn[],
  values: readonly (readonly string[])[],
): string {
  const lists = columns.map(({ at }, index) => {
    const list = (values[index] ?? []).map(literal).join(', ')
    return { start: at, end: at, text: ` IN (${list})` }
  })
  return spliced(sql, lists)
}

const CLAUSES = ['using', 'group', 'order', 'limit', 'offset', 'union', 'except', 'intersect']

function columnsOf(sql: string, tokens: readonly Token[], pivot: number): readonly PivotColumn[] {
  const on = nextWithin(tokens, pivot + 1, (token) => isWord(token, 'on'))
  const first = tokens[pivot + 1]
  if (on === undefined || first === undefined) return []
  const isOver = (token: Token) => token.text === ';' || isWord(token, ...CLAUSES)
  const end = nextWithin(tokens, on + 1, isOver) ?? closeAround(tokens, on) ?? tokens.length
  const source = sql.slice(first.start, tokens[on - 1]?.end)
  // The PIVOT may use CTEs that come before it.
  const isMain = depthsOf(tokens)[pivot] === 0 && isWord(tokens[0], 'with')
  const ctes = isMain ? sql.slice(0, tokens[pivot]?.start) : ''
  const columns: PivotColumn[] = []
  let start = on + 1
  while (start < end) {
    const comma = nextWithin(tokens, start, (token) => token.text === ',') ?? end
    const stop = Math.min(comma, end)
    const hasValues = tokens.slice(start, stop).some((token) => isWord(token, 'in'))
    const [from, to] = [tokens[start], tokens[stop - 1]]
    if (!hasValues && from !== undefined && to !== undefined) {
      const expression = sql.slice(from.start, to.end)
      const select = `SELECT DISTINCT CAST((${expression}\n) AS VARCHAR) AS value FROM ${source}`
      columns.push({ at: to.end, select: `${ctes}${select} ORDER BY 1` })
    }
    start = stop + 1
  }
  return columns
}
