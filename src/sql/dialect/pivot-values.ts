/**
 * Handles `PIVOT … ON column` without `IN (…)`. DuckDB's parser would turn it into two statements,
 * the first of which finds the values. Instead, an ordinary SELECT finds them, and they are written
 * into the text.
 */
import { literal } from '../../core/domain/names.ts'
import { depthChange, isWord, type Token, tokenize } from '../lexer/tokens.ts'

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
  let text = ''
  let at = 0
  for (const [index, column] of columns.entries()) {
    const list = (values[index] ?? []).map(literal).join(', ')
    text += `${sql.slice(at, column.at)} IN (${list})`
    at = column.at
  }
  return text + sql.slice(at)
}

const CLAUSES = ['using', 'group', 'order', 'limit', 'offset', 'union', 'except', 'intersect']

function columnsOf(sql: string, tokens: readonly Token[], pivot: number): readonly PivotColumn[] {
  const on = nextAtDepth(tokens, pivot + 1, (token) => isWord(token, 'on'))
  const first = tokens[pivot + 1]
  if (on === undefined || first === undefined) return []
  const end = nextAtDepth(tokens, on + 1, (token) => isWord(token, ...CLAUSES)) ?? endOf(tokens, on)
  const source = sql.slice(first.start, tokens[on - 1]?.end)
  // The PIVOT may use CTEs that come before it.
  const isMain = depthAt(tokens, pivot) === 0 && isWord(tokens[0], 'with')
  const ctes = isMain ? sql.slice(0, tokens[pivot]?.start) : ''
  const columns: PivotColumn[] = []
  let start = on + 1
  while (start < end) {
    const comma = nextAtDepth(tokens, start, (token) => token.text === ',') ?? end
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

/** Returns the next such token at this depth, before the surrounding parentheses close. */
function nextAtDepth(
  tokens: readonly Token[],
  from: number,
  isMeant: (token: Token) => boolean,
): number | undefined {
  let depth = 0
  for (let index = from; index < tokens.length; index += 1) {
    const token = tokens[index]
    if (token === undefined) return undefined
    if (depth === 0 && isMeant(token)) return index
    depth += depthChange(token)
    if (depth < 0) return undefined
  }
  return undefined
}

function endOf(tokens: readonly Token[], from: number): number {
  let depth = 0
  for (let index = from; index < tokens.length; index += 1) {
    const token = tokens[index]
    if (token?.text === ';') return index
    depth += token === undefined ? 0 : depthChange(token)
    if (depth < 0) return index
  }
  return tokens.length
}

function depthAt(tokens: readonly Token[], index: number): number {
  return tokens.slice(0, index).reduce((depth, token) => depth + depthChange(token), 0)
}
