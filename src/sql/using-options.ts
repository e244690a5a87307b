import type { Options } from './statements/qualified-name.ts'
import { StatementReader } from './statements/statement-reader.ts'
import type { Token } from './tokens.ts'

export interface SelectWithOptions {
  /** The SELECT alone. */
  readonly sql: string
  /** null: there is no USING at its end. */
  readonly options: Options | null
}

/**
 * `SELECT … FROM agent WHERE question = '…' USING timeout = 5, model = {…}`: the options at the end, which DuckDB does not
 * know. `JOIN t USING (column)` is none.
 * @throws AppError `sql_syntax` for options that cannot be read
 */
export function takeUsingOptions(sql: string, tokens: readonly Token[]): SelectWithOptions {
  const at = tokens.findLastIndex((token, index) => {
    const isUsing = token.kind === 'word' && token.value.toLowerCase() === 'using'
    const isKey = tokens[index + 1]?.kind === 'word' || tokens[index + 1]?.kind === 'name'
    return isUsing && isKey && tokens[index + 2]?.text === '='
  })
  const using = tokens[at]
  if (using === undefined) return { sql, options: null }
  const read = new StatementReader(sql, tokens.slice(at + 1))
  const options = read.options()
  read.expectEnd()
  return { sql: sql.slice(0, using.start), options }
}
