/**
 * Finds `column > LAST` in a scheduled statement, which selects the rows added since the last run.
 */
import { AppError } from '../../core/errors.ts'
import { closeAround, depthsOf, nextWithin } from './brackets.ts'
import { isName, isWord, type Token, tokenize } from './tokens.ts'

/** A condition with LAST, as positions in its statement. */
export interface LastCondition {
  readonly column: string
  readonly operator: '>' | '>='
  /** For `COALESCE(LAST, value)`, the value to use in the first run; null: read everything. */
  readonly first: string | null
  /** The start and end of the whole condition. */
  readonly start: number
  readonly end: number
  /** The range from the FROM of its SELECT to the end of its WHERE. */
  readonly source: { readonly start: number; readonly end: number }
}

/** @throws AppError `invalid_schedule` for a LAST that would miss rows, or in another clause */
export function lastCondition(sql: string): LastCondition | undefined {
  const tokens = tokenize(sql)
  const places = tokens.flatMap((_, index) => (isLast(tokens, index) ? [index] : []))
  const [at] = places
  if (at === undefined) return undefined
  if (places.length > 1) throw wrongLast('a statement has one LAST; make several statements of it')
  if (tokens.some((token) => isWord(token, 'limit', 'offset', 'fetch'))) {
    throw wrongLast(
      'a statement with LAST has no LIMIT or OFFSET, which would leave rows out for good',
    )
  }
  const coalesced = coalesceAround(tokens, at)
  const operatorAt = (coalesced?.first ?? at) - 1
  const operator = tokens[operatorAt]?.text
  const columnEnd = operatorAt - 1
  const columnStart = columnStartOf(tokens, columnEnd)
  if ((operator !== '>' && operator !== '>=') || columnStart === undefined) {
    throw wrongLast(
      'LAST is compared as column > LAST, column >= LAST or column > COALESCE(LAST, value)',
    )
  }
  const start = tokens[columnStart]?.start ?? 0
  const end = tokens[coalesced?.last ?? at]?.end ?? sql.length
  return {
    column: sql.slice(start, tokens[columnEnd]?.end),
    operator,
    first:
      coalesced === undefined ? null : sliceOf(sql, tokens, coalesced.valueStart, coalesced.last),
    start,
    end,
    source: sourceAround(tokens, columnStart, sql.length),
  }
}

/** `NULLS LAST`, `last(x)` and `t.last` mean something else. */
function isLast(tokens: readonly Token[], at: number): boolean {
  const [before, token, after] = [tokens[at - 1], tokens[at], tokens[at + 1]]
  if (!isWord(token, 'last') || after?.text === '(' || after?.text === '.') return false
  const isOperand = before?.text === '>' || before?.text === '>='
  return isOperand || (before?.text === '(' && isWord(tokens[at - 2], 'coalesce'))
}

function coalesceAround(tokens: readonly Token[], at: number) {
  if (tokens[at - 1]?.text !== '(') return undefined
  if (tokens[at + 1]?.text !== ',') throw wrongLast('COALESCE(LAST, value) has two parts')
  const last = closeAround(tokens, at + 1)
  if (last === undefined) throw wrongLast('COALESCE(LAST, value) is not closed')
  return { first: at - 2, valueStart: at + 2, last }
}

function sliceOf(sql: string, tokens: readonly Token[], from: number, before: number): string {
  return sql.slice(tokens[from]?.start, tokens[before - 1]?.end)
}

/** Recognizes `column`, `t.column` and `"column"`. */
function columnStartOf(tokens: readonly Token[], end: number): number | undefined {
  if (!isName(tokens[end])) return undefined
  let start = end
  while (tokens[start - 1]?.text === '.' && isName(tokens[start - 2])) start -= 2
  return start
}

const AFTER_WHERE = 'group having window qualify order union except intersect using'.split(' ')

/** Returns the FROM and WHERE of the SELECT whose WHERE contains this position. */
function sourceAround(tokens: readonly Token[], at: number, length: number) {
  const select = selectBefore(tokens, at)
  const from = select === undefined ? undefined : wordAfter(tokens, select, ['from'])
  const where = from === undefined ? undefined : wordAfter(tokens, from, ['where'])
  if (from === undefined || where === undefined || where > at) {
    throw wrongLast('LAST belongs in the WHERE of a SELECT over a table')
  }
  const end = wordAfter(tokens, where, AFTER_WHERE) ?? closeAround(tokens, where + 1)
  return {
    start: tokens[from]?.start ?? 0,
    end: end === undefined ? length : (tokens[end - 1]?.end ?? length),
  }
}

/** Skips parentheses that are closed before the position. */
function selectBefore(tokens: readonly Token[], at: number): number | undefined {
  const depths = depthsOf(tokens)
  let depth = depths[at] ?? 0
  for (let index = at; index >= 0; index -= 1) {
    depth = Math.min(depth, depths[index] ?? 0)
    if (depths[index] === depth && isWord(tokens[index], 'select')) return index
  }
  return undefined
}

function wordAfter(tokens: readonly Token[], at: number, words: readonly string[]) {
  return nextWithin(tokens, at + 1, (token) => isWord(token, ...words))
}

function wrongLast(why: string): AppError {
  return new AppError('invalid_schedule', `LAST cannot be read here: ${why}`)
}
