import { AppError } from '../../errors.ts'

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
  const limit = `The text of the statement has more than ${bytesMax} bytes, the limit`
  throw new AppError('statement_too_large', `${limit}; ${instead}`)
}
