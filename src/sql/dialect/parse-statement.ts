/** The dialect's own statements: what DuckDB's parser does not know. One file for each thing they are about. */
import { AppError } from '../../core/errors.ts'
import { type Token, withoutClosingSemicolons } from '../lexer/tokens.ts'
import { type ObjectStatement, objectStatement } from './object-statements.ts'
import { type RowStatement, rowStatement } from './parse-rows.ts'
import {
  type ExplainStatement,
  explainStatement,
  type QueryControlStatement,
  queryControlStatement,
  type SessionStatement,
  sessionStatement,
} from './parse-session.ts'
import { type ShowStatement, showStatement } from './parse-show.ts'
import {
  type DatabaseStatement,
  databaseStatement,
  type TableStatement,
  tableStatement,
} from './parse-table.ts'
import { StatementReader } from './statement-reader.ts'

export type Statement =
  | DatabaseStatement
  | ExplainStatement
  | ObjectStatement
  | QueryControlStatement
  | RowStatement
  | SessionStatement
  | ShowStatement
  | TableStatement

/** Each parses its own kind of statement, or nothing. */
const READERS: readonly ((read: StatementReader) => Statement | undefined)[] = [
  objectStatement,
  databaseStatement,
  tableStatement,
  rowStatement,
  showStatement,
  sessionStatement,
  explainStatement,
]

/**
 * The statement, or undefined when it is DuckDB's to read.
 * @throws AppError `sql_syntax` with line and column, what was expected and what was found
 */
export function parseStatement(sql: string, all: readonly Token[]): Statement | undefined {
  const read = new StatementReader(sql, withoutClosingSemicolons(all, isJob(all)))
  const control = queryControlStatement(read)
  if (control !== undefined) {
    read.expectEnd()
    return control
  }
  if (QUERY_WORDS.has(read.peekWord() ?? '')) return undefined
  for (const reader of READERS) {
    const statement = reader(read)
    if (statement === undefined) continue
    read.expectEnd()
    return statement
  }
  refuseOthers(read)
  return undefined
}

/** Its statements are in parentheses, separated by semicolons. */
function isJob([first, second]: readonly Token[]): boolean {
  return first?.text.toLowerCase() === 'create' && second?.text.toLowerCase() === 'job'
}

/** First words of queries, which are DuckDB's. */
export const QUERY_WORDS: ReadonlySet<string> = new Set([
  'select',
  'with',
  'from',
  'values',
  'pivot',
  'unpivot',
  'table',
])

const WRITING_WORDS = new Set(
  'insert update delete create alter drop truncate copy attach detach set reset evaluate refresh merge'.split(
    ' ',
  ),
)

const KNOWN =
  'SELECT, EXPLAIN, SHOW, DESCRIBE, USE, SET @name, INSERT, UPDATE, DELETE, TRUNCATE, EVALUATE KNOWLEDGE_BASE, EVALUATE AGENT, REFRESH KNOWLEDGE_BASE, VACUUM, and CREATE / ALTER / DROP of KNOWLEDGE_BASE, AGENT, DATABASE, PROJECT, JOB, VIEW, TABLE, KEY, USER and INDEX ON KNOWLEDGE_BASE'

/** What DuckDB would read as something else, or only refuse with its own words. */
function refuseOthers(read: StatementReader): void {
  const first = read.peekWord()
  if (first === undefined || !WRITING_WORDS.has(first)) return
  const message = `${first.toUpperCase()} of this kind is not supported; there are ${KNOWN}`
  throw new AppError('sql_not_supported', message)
}
