/**
 * Statements of Eider's dialect that DuckDB's parser does not accept. Each kind of object has its
 * own file.
 */

import { AppError } from '../../core/errors.ts'
import { variableOf } from '../../core/text/shown-statement.ts'
import { type Token, withoutClosingSemicolons } from '../lexer/tokens.ts'
import { OBJECT_READERS, type ObjectStatement } from './object-statements.ts'
import { type RowStatement, rowStatement } from './parse-rows.ts'
import { type ShowStatement, showStatement } from './parse-show.ts'
import {
  type DatabaseStatement,
  databaseStatement,
  type TableStatement,
  tableStatement,
} from './parse-table.ts'
import { StatementReader } from './statement-reader.ts'

type SessionStatement =
  | { readonly kind: 'use'; readonly database: string }
  | {
      readonly kind: 'set'
      readonly variables: readonly Setting[]
      /** Server settings. None can be changed; some are accepted without effect. */
      readonly settings: readonly Setting[]
    }
  /** BEGIN, COMMIT and ROLLBACK have no effect: each statement is a transaction of its own. */
  | { readonly kind: 'transaction' }

export interface Setting {
  /** In lower case. */
  readonly name: string
  /** As written. For a variable, an expression. */
  readonly value: string
}

function sessionStatement(read: StatementReader): SessionStatement | undefined {
  if (read.takeWords('use')) return { kind: 'use', database: read.name('a project') }
  if (read.takeWords('set')) return setStatement(read)
  const isTransaction =
    read.takeWords('start', 'transaction') ||
    ['begin', 'commit', 'rollback'].some((word) => read.takeWords(word))
  if (isTransaction) {
    if (!read.takeWords('transaction')) read.takeWords('work')
    if (!read.takeWords('read', 'only')) read.takeWords('read', 'write')
    return { kind: 'transaction' }
  }
  if (read.takeWords('reset') || read.takeWords('pragma')) {
    throw new AppError('sql_forbidden', 'Settings cannot be read or changed in SQL here')
  }
  return undefined
}

/** Parses `SET @a = …, @b = …`, or settings that MySQL clients send. */
function setStatement(read: StatementReader): SessionStatement {
  const variables: Setting[] = []
  const settings: Setting[] = []
  do {
    const parameter = read.takeVariable()
    const variable = parameter === undefined ? undefined : variableOf(parameter)
    if (variable?.kind === 'user') variables.push(assigned(variable.name, read))
    else settings.push(variable === undefined ? setting(read) : assigned(variable.name, read))
  } while (read.takeSymbol(','))
  return { kind: 'set', variables, settings }
}

function setting(read: StatementReader): Setting {
  if (['names', 'charset'].some((word) => read.takeWords(word))) return charset(read)
  if (read.takeWords('character', 'set')) return charset(read)
  for (const scope of ['session', 'global', 'local']) if (read.takeWords(scope)) break
  if (read.takeWords('transaction')) return { name: 'transaction', value: read.rest() }
  return assigned(read.name('@name or the name of a setting').toLowerCase(), read)
}

function charset(read: StatementReader): Setting {
  return { name: 'names', value: read.textUntil(',') }
}

function assigned(name: string, read: StatementReader): Setting {
  if (!read.takeSymbol(':=') && !read.takeWords('to')) read.expectSymbol('=')
  return { name, value: read.textUntil(',') }
}

interface ExplainStatement {
  readonly kind: 'explain'
  /** True for EXPLAIN ANALYZE, which runs the SELECT and shows where its time went. */
  readonly isAnalyzed: boolean
  readonly select: string
}

/** `EXPLAIN [ANALYZE] SELECT …` */
function explainStatement(read: StatementReader): ExplainStatement | undefined {
  if (!read.takeWords('explain')) return undefined
  const isAnalyzed = read.takeWords('analyze')
  return { kind: 'explain', isAnalyzed, select: read.restAsSelect() }
}

/** `SELECT query_cancel(id)` and `query_resume(id)`, with which clients control inserts. */
interface QueryControlStatement {
  readonly kind: 'query_cancel' | 'query_resume'
  readonly id: number
}

const KINDS = ['query_cancel', 'query_resume'] as const

function queryControlStatement(read: StatementReader): QueryControlStatement | undefined {
  if (read.peekWord() !== 'select' || !read.isAt('(', 2)) return undefined
  const kind = KINDS.find((one) => read.peekWord(1) === one)
  if (kind === undefined) return undefined
  read.takeWords('select', kind)
  read.expectSymbol('(')
  const text = read.textUntil(')')
  read.expectSymbol(')')
  if (read.takeWords('as') || !read.isAtEnd()) read.name('an alias')
  return { kind, id: idOf(text, kind) }
}

/** Clients send it as a number or as a text. */
function idOf(text: string, kind: string): number {
  const digits = /^'?(\d{1,15})'?$/.exec(text.trim())?.[1]
  if (digits !== undefined) return Number(digits)
  throw new AppError(
    'sql_syntax',
    `${kind} expects the id of a query, as information_schema.queries`,
  )
}

export type Statement =
  | DatabaseStatement
  | ExplainStatement
  | ObjectStatement
  | QueryControlStatement
  | RowStatement
  | SessionStatement
  | ShowStatement
  | TableStatement

/** A statement of one of these kinds. */
export type StatementOf<K extends Statement['kind']> = Extract<Statement, { readonly kind: K }>

const READERS: readonly ((read: StatementReader) => Statement | undefined)[] = [
  ...OBJECT_READERS,
  databaseStatement,
  tableStatement,
  rowStatement,
  showStatement,
  sessionStatement,
  explainStatement,
]

/** Undefined if DuckDB should parse it. @throws AppError `sql_syntax` with the position */
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

/** A job's statements are in parentheses and separated by semicolons. */
function isJob([first, second]: readonly Token[]): boolean {
  return first?.text.toLowerCase() === 'create' && second?.text.toLowerCase() === 'job'
}

/** First words of queries, which DuckDB parses. */
export const QUERY_WORDS: ReadonlySet<string> = new Set(
  'select with from values pivot unpivot table'.split(' '),
)

const WRITING_WORDS = new Set(
  'insert update delete create alter drop truncate copy attach detach set reset evaluate refresh merge'.split(
    ' ',
  ),
)

const KNOWN =
  'SELECT, EXPLAIN, SHOW, DESCRIBE, USE, SET @name, INSERT, UPDATE, DELETE, TRUNCATE, EVALUATE KNOWLEDGE_BASE, EVALUATE AGENT, REFRESH KNOWLEDGE_BASE, VACUUM, and CREATE / ALTER / DROP of KNOWLEDGE_BASE, AGENT, DATABASE, PROJECT, JOB, VIEW, TABLE and INDEX ON KNOWLEDGE_BASE'

/**
 * Refuses statements that DuckDB would misread, or refuse with a message about its own features.
 */
function refuseOthers(read: StatementReader): void {
  const first = read.peekWord()
  if (first === undefined || !WRITING_WORDS.has(first)) return
  const message = `${first.toUpperCase()} of this kind is not supported; there are ${KNOWN}`
  throw new AppError('sql_not_supported', message)
}
