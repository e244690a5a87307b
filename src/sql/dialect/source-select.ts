import { closeOf } from '../lexer/brackets.ts'
import { isName, type Token, tokenize } from '../lexer/tokens.ts'
import { type Options, StatementReader } from './statement-reader.ts'

export interface SourceSelect {
  /** As written, without parentheses around all of it. */
  readonly select: string
  /** The project of its unqualified names; null: the request's project. */
  readonly database: string | null
}

/** For another project, MindsDB clients write `SELECT * FROM project (SELECT …)`. */
export function takeSourceSelect(read: StatementReader): SourceSelect {
  const select = read.restAsSelect()
  return projectSelect(select) ?? { select, database: null }
}

function projectSelect(sql: string): SourceSelect | undefined {
  const tokens = tokenize(sql)
  const [select, star, from, project, open, query] = tokens
  const last = tokens.at(-1)
  const start = [select, star, from].map((token) => token?.text.toLowerCase()).join(' ')
  const isQuery = query?.kind === 'word' && /^(select|with)$/i.test(query.text)
  if (start !== 'select * from' || !isName(project) || open?.text !== '(' || !isQuery)
    return undefined
  if (last === undefined || closeOf(tokens, tokens.indexOf(open)) !== tokens.length - 1)
    return undefined
  return { select: sql.slice(open.end, last.start).trim(), database: project.value }
}

export interface SelectWithOptions {
  /** The SELECT without its options. */
  readonly sql: string
  /** Null if it does not end with USING. */
  readonly options: Options | null
}

/** `… WHERE question = '…' USING timeout = 5`, which DuckDB cannot parse. @throws AppError */
export function takeUsingOptions(sql: string, tokens: readonly Token[]): SelectWithOptions {
  if (!tokens.some(({ value }) => value.toLowerCase() === 'using')) return { sql, options: null }
  const { query, options } = new StatementReader(sql, tokens).queryAndOptions()
  return options === null ? { sql, options } : { sql: query, options }
}
