import { AppError } from '../../core/errors.ts'
import type { StatementReader } from './statement-reader.ts'

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
