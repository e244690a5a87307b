/**
 * DECLARE, FETCH and CLOSE, which drivers use to read large results, and DEALLOCATE, by which they
 * drop prepared statements.
 */

import { AppError } from '../../core/errors.ts'

export type CursorStatement =
  | {
      readonly kind: 'declare'
      readonly name: string
      readonly select: string
      /** Whether it stays open after its transaction. */
      readonly isHeld: boolean
    }
  | {
      readonly kind: 'fetch'
      readonly name: string
      /** null means all remaining rows. */
      readonly count: number | null
      /** Whether rows are skipped instead of sent. */
      readonly isMove: boolean
    }
  /** null means all. */
  | { readonly kind: 'close' | 'deallocate'; readonly name: string | null }

// White space never follows white space in these patterns, because a statement may have much of it.
const CURSOR_NAME = '("[^"]+"|\\w+)'
const DECLARE = new RegExp(
  `^\\s*declare\\s+${CURSOR_NAME}\\s+(?:\\w+\\s+)*?cursor\\s+(?:(with|without)\\s+hold\\s+)?for\\s+(.+)$`,
  'is',
)
const FETCH = new RegExp(
  `^\\s*(fetch|move)\\s+(?:(forward|next|all)\\b\\s*)?(?:(\\d+|all)\\b\\s*)?(?:(?:from|in)\\b\\s*)?${CURSOR_NAME}\\s*$`,
  'is',
)
const END = new RegExp(`^\\s*(?:(close)|deallocate(?:\\s+prepare)?)\\s+${CURSOR_NAME}\\s*$`, 'i')

/** Returns undefined for any other statement. @throws AppError `sql_not_supported` */
export function cursorStatement(sql: string): CursorStatement | undefined {
  const declared = DECLARE.exec(sql)
  if (declared !== null) {
    const [, name = '', hold = '', select = ''] = declared
    const isHeld = hold.toLowerCase() === 'with'
    return { kind: 'declare', name: cursorName(name), select, isHeld }
  }
  const fetched = FETCH.exec(sql)
  if (fetched !== null) {
    const [, verb = '', word = '', number = '', name = ''] = fetched
    const isAll = /all/i.test(`${word} ${number}`)
    const count = isAll ? null : Number(number === '' ? 1 : number)
    return { kind: 'fetch', name: cursorName(name), count, isMove: verb.toLowerCase() === 'move' }
  }
  if (/^\s*(fetch|move)\b/i.test(sql)) {
    const message = 'A cursor moves forward only: FETCH or MOVE NEXT, ALL or a number of rows'
    throw new AppError('sql_not_supported', message)
  }
  const ended = END.exec(sql)
  if (ended === null) return undefined
  const [, close, name = ''] = ended
  const kind = close === undefined ? 'deallocate' : 'close'
  return { kind, name: name.toLowerCase() === 'all' ? null : cursorName(name) }
}

/** Unquoted names become lower case. */
function cursorName(name: string): string {
  return name.startsWith('"') ? name.slice(1, -1) : name.toLowerCase()
}
