import type { Token } from '../lexer/tokens.ts'
import type { Options } from './options.ts'
import { StatementReader } from './statement-reader.ts'

export interface SelectWithOptions {
  /** The SELECT alone. */
  readonly sql: string
  /** null: there is no USING at its end. */
  readonly options: Options | null
}

/**
 * `SELECT … FROM agent WHERE question = '…' USING timeout = 5, model = {…}`: the options at the end, which DuckDB does not
 * know.
 * @throws AppError `sql_syntax` for options that cannot be read
 */
export function takeUsingOptions(sql: string, tokens: readonly Token[]): SelectWithOptions {
  if (!tokens.some(({ value }) => value.toLowerCase() === 'using')) return { sql, options: null }
  const { query, options } = new StatementReader(sql, tokens).queryAndOptions()
  return options === null ? { sql, options } : { sql: query, options }
}
