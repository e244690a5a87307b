import { AppError } from '../../core/errors.ts'
import { parameterNamesOf, type Token } from '../lexer/tokens.ts'

/** Of a UTF-16 code unit in UTF-8. */
const UNIT_BYTES_MAX = 3

/**
 * What a statement costs before it runs grows with its text, so the text is bounded before anything reads it.
 * @throws AppError `statement_too_large`
 */
export function checkStatementSize(sql: string, bytesMax: number): void {
  if (sql.length * UNIT_BYTES_MAX <= bytesMax) return
  // A text with more code units than that need not be counted: it may be as large as a body.
  if (sql.length <= bytesMax && Buffer.byteLength(sql) <= bytesMax) return
  const instead = 'send values as "params", and rows through PUT of the knowledge base'
  const limit = `The text of the statement has more than ${bytesMax} bytes, the limit (EIDER_STATEMENT_BYTES_MAX)`
  throw new AppError('statement_too_large', `${limit}; ${instead}`)
}

/** DuckDB finds the place of a parameter in a time by their number. */
const PARAMETERS_MAX = 2000

/** DuckDB 1.5.5 prints a text in a time by its quotes times its length: a second for some 2e10. */
const QUOTES_TIMES_LENGTH_MAX = 5e9

/**
 * What DuckDB's parser, printer and binder take too long for, in steps that no interrupt reaches.
 * @throws AppError `sql_not_supported`
 */
export function checkTokens(tokens: readonly Token[]): void {
  const parameters = parameterNamesOf(tokens).length
  if (parameters > PARAMETERS_MAX) {
    const message = `A statement has at most ${PARAMETERS_MAX} parameters, found ${parameters}`
    throw new AppError('sql_not_supported', `${message}; one of them may be a list`)
  }
  const work = tokens.reduce((sum, token) => sum + quotesTimesLength(token), 0)
  if (work <= QUOTES_TIMES_LENGTH_MAX) return
  const message = 'A long text in the statement has too many quotes; pass it as a parameter'
  throw new AppError('sql_not_supported', message)
}

function quotesTimesLength({ kind, value }: Token): number {
  if (kind !== 'string' && kind !== 'name') return 0
  const mark = kind === 'string' ? "'" : '"'
  let count = 0
  for (let at = value.indexOf(mark); at >= 0; at = value.indexOf(mark, at + 1)) count += 1
  return count * value.length
}
