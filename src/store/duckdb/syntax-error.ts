import { AppError } from '../../errors.ts'

const EXCERPT_CHARS = 70

const NOT_A_SELECT = 'line 1, column 1: only SELECT statements are supported here'

/** DuckDB makes two statements of it. */
const PIVOT_WITHOUT_VALUES = 'PIVOT must name its values here: ON column IN (…)'

/** DuckDB advises to change a setting then. */
const TOO_DEEP = /^Max expression depth limit of (\d+) exceeded/

/**
 * What `json_serialize_sql` answers for a text that it cannot read.
 * `position` counts characters (code points) from 0.
 */
export interface ParseFailure {
  readonly error_type: string
  readonly error_message: string
  readonly position?: string
}

/** `line 2, column 5: syntax error at or near "x"`, then the line with a caret under the place. */
export function syntaxError(sql: string, failure: ParseFailure): AppError {
  if (failure.error_type === 'not implemented') {
    const isPivot = /\bpivot(_wider)?\b/i.test(sql)
    return new AppError('sql_not_supported', isPivot ? PIVOT_WITHOUT_VALUES : NOT_A_SELECT)
  }
  const levels = TOO_DEEP.exec(failure.error_message)?.[1]
  if (levels !== undefined) {
    const message = `A statement has at most ${levels} expressions within one another`
    return new AppError('sql_not_supported', message)
  }
  const position = Number(failure.position)
  if (failure.position === undefined || !Number.isSafeInteger(position)) {
    return new AppError('sql_syntax', failure.error_message)
  }
  return errorAt(sql, position, failure.error_message)
}

/** DuckDB takes a statement as a C string: what stands after a NUL would silently be left out. */
export function checkCharacters(sql: string): void {
  const at = sql.indexOf('\0')
  if (at === -1) return
  const position = [...sql.slice(0, at)].length
  throw errorAt(
    sql,
    position,
    'a statement must not hold the character NUL; bind it as a parameter',
  )
}

function errorAt(sql: string, position: number, message: string): AppError {
  const before = [...sql].slice(0, position).join('')
  const lineStart = before.lastIndexOf('\n') + 1
  const line = before.split('\n').length
  const column = [...before.slice(lineStart)].length + 1
  const [text = ''] = sql.slice(lineStart).split('\n')
  const place = `line ${line}, column ${column}`
  return new AppError('sql_syntax', `${place}: ${message}\n${excerpt(text, column)}`)
}

/** The part of the line around the column, tabs as spaces so that the caret stands right. */
function excerpt(line: string, column: number): string {
  const characters = [...line.replaceAll(/[\t\r\0]/g, ' ')]
  const start = Math.max(0, column - 1 - EXCERPT_CHARS / 2)
  const shown = characters.slice(start, start + EXCERPT_CHARS).join('')
  return `${shown}\n${' '.repeat(column - 1 - start)}^`
}
