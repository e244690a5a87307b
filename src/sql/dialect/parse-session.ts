import { AppError } from '../../core/errors.ts'
import { variableOf } from '../lexer/variable-names.ts'
import type { StatementReader } from './statement-reader.ts'

/** What changes nothing but what the answer says, or a variable. */
export type SessionStatement =
  | { readonly kind: 'use'; readonly database: string }
  | {
      readonly kind: 'set'
      readonly variables: readonly Setting[]
      /** Server settings: none can be changed, some are accepted. */
      readonly settings: readonly Setting[]
    }
  /** BEGIN, COMMIT, ROLLBACK: each statement is a separate transaction. */
  | { readonly kind: 'transaction' }

export interface Setting {
  /** In lower case. */
  readonly name: string
  /** As written: an expression for a variable. */
  readonly value: string
}

export function sessionStatement(read: StatementReader): SessionStatement | undefined {
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

/** `SET @a = …, @b = …`, or settings as MySQL's clients send them. */
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

export interface ExplainStatement {
  readonly kind: 'explain'
  /** True for EXPLAIN ANALYZE, which runs the SELECT and says where its time went. */
  readonly isAnalyzed: boolean
  /** `json`: the plan as a tree, for programs. */
  readonly format: 'text' | 'json'
  /** The SELECT as written. */
  readonly select: string
}

/** `EXPLAIN [ANALYZE] SELECT …`, or with options as DuckDB and PostgreSQL write them: `EXPLAIN (ANALYZE, FORMAT JSON) SELECT …`. */
export function explainStatement(read: StatementReader): ExplainStatement | undefined {
  if (!read.takeWords('explain')) return undefined
  const hasOptions = read.isAt('(') && ['analyze', 'format'].includes(read.peekWord(1) ?? '')
  const { isAnalyzed, format } = hasOptions
    ? explainOptions(read)
    : { isAnalyzed: read.takeWords('analyze'), format: 'text' as const }
  return { kind: 'explain', isAnalyzed, format, select: read.restAsSelect() }
}

function explainOptions(read: StatementReader): Pick<ExplainStatement, 'isAnalyzed' | 'format'> {
  let isAnalyzed = false
  let format: ExplainStatement['format'] = 'text'
  read.expectSymbol('(')
  do {
    if (read.takeWords('analyze')) isAnalyzed = true
    else {
      read.expectWord('format')
      if (read.takeWords('json')) format = 'json'
      else {
        read.expectWord('text')
        format = 'text'
      }
    }
  } while (read.takeSymbol(','))
  read.expectSymbol(')')
  return { isAnalyzed, format }
}

/** `SELECT query_cancel(id)` and `SELECT query_resume(id)`: what clients of the reference end background inserts with. */
export interface QueryControlStatement {
  readonly kind: 'query_cancel' | 'query_resume'
  readonly id: number
}

const KINDS = ['query_cancel', 'query_resume'] as const

export function queryControlStatement(read: StatementReader): QueryControlStatement | undefined {
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
