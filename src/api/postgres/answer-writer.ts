/** Writes messages to the client: rows, their description, completion tags and failures. */
import type { ResultValue } from '../../core/domain/query-result.ts'
import { AppError, type ErrorCode } from '../../core/errors.ts'
import { positionOf } from '../../query/postgres/statement-text.ts'
import { writeBinary } from './binary-values.ts'
import { MessageWriter } from './messages.ts'
import { type ColumnType, columnType, textValue } from './pg-types.ts'
import type { TransactionState } from './session-statements.ts'

export interface AnswerColumn {
  readonly name: string
  /** The DuckDB name of the type. */
  readonly type: string
}

export class AnswerWriter extends MessageWriter {
  ready(state: TransactionState): void {
    this.begin('Z').byte(state.charCodeAt(0)).end()
  }

  complete(tag: string): void {
    this.begin('C').text(tag).end()
  }

  setting(name: string, value: string): void {
    this.begin('S').text(name).text(value).end()
  }

  /** @param columns null without rows @param formats one each, or one for all; 1 is binary */
  rowDescription(columns: readonly AnswerColumn[] | null, formats: readonly number[]): void {
    if (columns === null) {
      this.begin('n').end()
      return
    }
    this.begin('T').int16(columns.length)
    columns.forEach(({ name, type }, index) => {
      const { oid, size, modifier } = columnType(type)
      this.text(plainName(name)).int32(0).int16(0).int32(oid).int16(size).int32(modifier)
      this.int16(formatAt(formats, index))
    })
    this.end()
  }

  dataRow(
    row: readonly ResultValue[],
    types: readonly ColumnType[],
    formats: readonly number[],
  ): void {
    this.begin('D').int16(row.length)
    row.forEach((value, index) => {
      const type = types[index] ?? TEXT_COLUMN
      if (formatAt(formats, index) === 1) writeBinary(this, value, type)
      else this.value(textValue(value, type))
    })
    this.end()
  }

  /** @param kind `H` if the server sends rows, `G` if it expects rows; format 1 is binary */
  copyResponse(kind: 'G' | 'H', columnCount: number, format: 0 | 1): void {
    this.begin(kind).byte(format).int16(columnCount)
    for (let index = 0; index < columnCount; index += 1) this.int16(format)
    this.end()
  }

  notice(message: string): void {
    this.#fields('N', { S: 'WARNING', V: 'WARNING', C: '01000', M: message })
  }

  /** @param sql the failed statement, for finding the error position */
  failure(
    error: AppError,
    { severity = 'ERROR', state = stateOf(error), sql = '', hint = '' } = {},
  ): void {
    const position = positionOf(error.message, sql) ?? positionOf(error.excerpt ?? '', sql)
    this.#fields('E', {
      ...{ S: severity, V: severity, C: state, M: error.message },
      ...(hint === '' ? {} : { H: hint }),
      ...(position === null ? {} : { P: String(position) }),
    })
  }

  #fields(kind: 'E' | 'N', fields: Readonly<Record<string, string>>): void {
    this.begin(kind)
    for (const [letter, value] of Object.entries(fields)) {
      this.byte(letter.charCodeAt(0)).text(value)
    }
    this.byte(0).end()
  }
}

const TEXT_COLUMN = columnType('VARCHAR')

function formatAt(formats: readonly number[], index: number): number {
  return (formats.length === 1 ? formats[0] : formats[index]) ?? 0
}

/** Tools look for short names, and reading a long expression takes quadratic time. */
const EXPRESSION_CHARS_MAX = 1_000

/** PostgreSQL uses only the function name where DuckDB uses the whole expression. */
function plainName(name: string): string {
  const inner = /^CAST\((.*) AS "?[\w ]+"?(?:\([\d, ]+\))?\)$/s.exec(
    name.slice(0, EXPRESSION_CHARS_MAX),
  )?.[1]
  if (inner !== undefined) {
    const column = /^"?([a-z_]\w*)"?$/i.exec(inner === 'NULL' ? '' : inner)?.[1]
    return column ?? (/^\w+\(/.test(inner) ? plainName(inner) : '?column?')
  }
  const call = /^(?:\w+\.)?"?(\w+)"?\(.*\)$/s.exec(name)?.[1]
  if (call === 'count_star') return 'count'
  // `relation::regclass` was rewritten to a catalog function.
  const looked = /^(?:\w+\.)?reg\w+_name\((?:\w+\.)?(\w+)\)$/.exec(name)?.[1]
  if (looked !== undefined) return looked
  return call === 'CAST' ? '?column?' : (call ?? name)
}

/** The SQLSTATE of each failure (PostgreSQL manual, appendix A). */
const SQL_STATES: Partial<Record<ErrorCode, string>> = {
  sql_syntax: '42601',
  sql_not_supported: '0A000',
  sql_unknown_name: '42P01',
  sql_forbidden: '42501',
  sql_invalid_search: '22023',
  sql_missing_parameter: '08P01',
  sql_failed: '22000',
  sql_constraint: '23505',
  sql_too_costly: '54000',
  sql_not_a_query: '25006',
  statement_too_large: '54000',
  forbidden: '42501',
  unauthorized: '28000',
  wrong_credentials: '28P01',
  too_many_logins: '53300',
  rate_limited: '53300',
  knowledge_base_not_found: '42P01',
  table_not_found: '42P01',
  view_not_found: '42P01',
  database_not_found: '3D000',
  project_not_found: '3F000',
  agent_not_found: '42P01',
  relation_exists: '42P07',
  knowledge_base_exists: '42P07',
  timeout: '57014',
  cancelled: '57014',
  step_limit: '57014',
  too_busy: '53300',
  shutting_down: '57P01',
  out_of_memory: '53200',
  storage_full: '53100',
  source_failed: '08006',
  provider_failed: '08006',
  invalid_request: '22023',
}

/** When drivers get one of these, they prepare the statement or open the cursor again. */
const MISSING_STATES = { cursor: '34000', portal: '34000', 'prepared statement': '26000' } as const

/** The error for a name that exists only within a connection, such as a cursor. */
export class MissingName extends AppError {
  readonly state: string

  constructor(kind: keyof typeof MISSING_STATES, name: string) {
    super('sql_unknown_name', `${kind} "${name}" does not exist`)
    this.state = MISSING_STATES[kind]
  }
}

function stateOf(error: AppError): string {
  if (error instanceof MissingName) return error.state
  const [, state] = MESSAGE_STATES.find(([pattern]) => pattern.test(error.message)) ?? []
  return state ?? SQL_STATES[error.code] ?? 'XX000'
}

/** Failures that share a code with others, but not their SQLSTATE. */
const MESSAGE_STATES: readonly (readonly [RegExp, string])[] = [
  [/^Column .* does not exist|^Table .* has no column /, '42703'],
  [/^Constraint Error: NOT NULL/, '23502'],
  [/^Constraint Error: CHECK/, '23514'],
  [/^Conversion Error: (date|time|timestamp) field value out of range/, '22008'],
  [/^Conversion Error: .*out of range|^Out of Range Error/, '22003'],
  [/^Conversion Error: Could not convert string/, '22P02'],
  [/^Catalog Error: Type with name/, '42704'],
  [/locking clause is not supported/, '0A000'],
]
