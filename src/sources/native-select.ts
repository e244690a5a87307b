/** Checks native SQL from a client, which must be a single SELECT. */
import type { SourceValue } from '../core/domain/ports/engine-ports.ts'
import { AppError } from '../core/errors.ts'
import { type NativeDialect, nativeTokens } from '../core/text/native-sql.ts'

const BEGINNINGS: ReadonlySet<string> = new Set(['SELECT', 'WITH', 'VALUES', 'TABLE', '('])

/**
 * Returns the statement without a final semicolon. @throws AppError `sql_forbidden`, `sql_syntax`
 */
export function oneSelect(
  sql: string,
  dialect: NativeDialect,
  given: { readonly functions: ReadonlySet<string>; readonly words: ReadonlySet<string> },
): string {
  const { functions, words } = given
  const tokens = [...nativeTokens(sql, dialect)]
  const last = tokens.findLastIndex((token) => token.text !== ';' || token.kind !== 'sign')
  const body = tokens.slice(0, last + 1)
  const [first] = body
  const end = body.at(-1)?.end
  if (first === undefined || end === undefined)
    throw new AppError('sql_syntax', 'The native SQL is empty')
  if (body.some((token) => token.kind === 'sign' && token.text === ';')) {
    throw forbidden('The native SQL must be one statement')
  }
  if (!BEGINNINGS.has(first.text.toUpperCase()) || first.kind === 'name' || first.kind === 'text') {
    throw forbidden(`The native SQL must be a SELECT; it begins with ${first.text.slice(0, 40)}`)
  }
  let depth = 0
  for (const [index, { kind, text }] of body.entries()) {
    if (kind === 'sign' && text === '(') depth += 1
    if (kind === 'sign' && text === ')') depth -= 1
    if (depth < 0)
      throw new AppError('sql_syntax', 'The native SQL closes a parenthesis that it does not open')
    if (kind === 'word' && words.has(text.toUpperCase())) {
      throw forbidden(`${text.toUpperCase()} is not allowed in native SQL`)
    }
    const isCall = (kind === 'word' || kind === 'name') && body[index + 1]?.text === '('
    if (isCall && functions.has(text.toLowerCase())) {
      throw forbidden(`The function ${text} is not allowed in native SQL: it does more than read`)
    }
  }
  if (depth > 0) throw new AppError('sql_syntax', 'The native SQL does not close a parenthesis')
  return sql.slice(first.start, end)
}

export function valuesInText(
  sql: string,
  values: readonly SourceValue[],
  given: { readonly dialect: NativeDialect; literalOf(value: SourceValue): string },
): string {
  if (values.length === 0) return sql
  let text = ''
  let done = 0
  let next = 0
  for (const { kind, start, end, text: name } of nativeTokens(sql, given.dialect)) {
    if (kind !== 'placeholder') continue
    next += 1
    const number = name === '?' ? next : Number(name.slice(1))
    const value = values[number - 1]
    if (value === undefined) {
      throw new AppError('sql_syntax', `The native SQL has no value number ${number}`)
    }
    text += `${sql.slice(done, start)}${given.literalOf(value)}`
    done = end
  }
  return text + sql.slice(done)
}

/** @throws AppError `sql_not_supported` */
export function requireFields<T>(fields: readonly T[]): readonly T[] {
  if (fields.length > 0) return fields
  throw new AppError('sql_not_supported', 'The native SQL gives no rows; it must be a SELECT')
}

function forbidden(message: string): AppError {
  return new AppError('sql_forbidden', message)
}
