/**
 * Derives from a statement's first words whether it returns rows or ends a transaction, and its
 * completion tag.
 */
import { AppError } from '../../core/errors.ts'
import type { AnswerColumn } from './answer-writer.ts'

export const ENDS = /^\s*(rollback|commit|end|abort)\b/i
/** Statements that return rows. */
export const READS =
  /^\s*(?:\(|select\b|with\b|values\b|from\b|table\b|show\b|describe\b|explain\b|evaluate\b)/i
export const SESSION_WORDS =
  /^\s*(begin|start\s+transaction|commit|end|rollback|abort|savepoint|release|set|reset|discard|declare|close|deallocate|unlisten)\b/i

export function transactionFailed(): AppError {
  const message = 'current transaction is aborted, commands ignored until end of transaction block'
  return new AppError('sql_failed', message)
}

/** The tag in CommandComplete. */
export function tagOf(
  sql: string,
  given: { readonly columns: readonly AnswerColumn[] | null; readonly affectedRows: number | null },
  rows: number,
): string {
  const { columns, affectedRows } = given
  const [, verb = 'SELECT'] = /^\s*(\w+)/.exec(sql) ?? []
  const word = verb.toUpperCase()
  if (word === 'INSERT') return `INSERT 0 ${affectedRows ?? rows}`
  if (word === 'UPDATE' || word === 'DELETE') return `${word} ${affectedRows ?? rows}`
  if (columns !== null) return `SELECT ${rows}`
  if (word === 'TRUNCATE') return 'TRUNCATE TABLE'
  const [, object] = /^\s*(?:create|alter|drop)\s+(?:or\s+replace\s+)?(\w+)/i.exec(sql) ?? []
  return object === undefined ? word : `${word} ${object.toUpperCase()}`
}

/** The first schema in a search path; undefined for the default. */
export function firstSchema(path: string): string | undefined {
  const [first = ''] = path.split(',').map((name) => name.trim().replaceAll('"', ''))
  return ['$user', 'public', ''].includes(first) ? undefined : first
}

/** `H` (Flush) needs none: output is sent whenever no message is waiting. */
export const ANSWERS = {
  Q: 'query',
  P: 'parse',
  B: 'bind',
  D: 'describe',
  E: 'execute',
  C: 'closeNamed',
  S: 'sync',
  H: 'flush',
  d: 'copyData',
  c: 'copyDone',
  f: 'copyFail',
} as const

export function isAnswered(kind: string): kind is keyof typeof ANSWERS {
  return Object.hasOwn(ANSWERS, kind)
}
