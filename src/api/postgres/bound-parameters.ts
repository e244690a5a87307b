/** The values and types of `$1`, `$2`, …: as sent, and as the server describes them. */
import { literal } from '../../core/domain/names.ts'
import { AppError } from '../../core/errors.ts'
import {
  arrayElements,
  type ParameterValue,
  parameterColumns,
  parameterCount,
  returnedColumns,
  statementsOf,
  withParameters,
} from '../../query/postgres/statement-text.ts'
import { type AnswerColumn, MissingName } from './answer-writer.ts'
import { arrayParameter, parameterText } from './binary-values.ts'
import type { Fields } from './messages.ts'
import { castType, columnType, elementOf, PG, scalarOf } from './pg-types.ts'
import type { Prepared, RunResult } from './portals.ts'
import type { PgSession } from './session-statements.ts'
import { READS, SESSION_WORDS } from './statement-words.ts'

/** The PostgreSQL type of each `$n`: given by the client, or guessed from the context. */
function parameterTypes(sql: string, given: readonly number[]): readonly number[] {
  const length = Math.max(given.length, parameterCount(sql))
  return Array.from({ length }, (_, index) => given[index] || guessedType(sql, index + 1))
}

/** Drivers encode values by these types. Undefined if no column determines a type. */
export function typeQuestion({ sql, oids, given }: Prepared): string | undefined {
  const isOpen = (number: number) => !given[number - 1] && oids[number - 1] === PG.TEXT.oid
  const { columns, relations } = parameterColumns(sql)
  const asked = columns.filter(({ number }) => isOpen(number)).map(({ column }) => column)
  if (asked.length === 0 || relations.length === 0) return undefined
  const list = (names: readonly string[]) => names.map(literal).join(', ')
  return `SELECT place, min(atttypid)::VARCHAR FROM (
    SELECT atttypid, unnest([lower(attname), attnum::VARCHAR]) AS place
      FROM pg_catalog.pg_attribute JOIN pg_catalog.pg_class ON attrelid = pg_class.oid
      WHERE lower(relname) IN (${list(relations)}))
    WHERE place IN (${list(asked)}) GROUP BY 1 HAVING min(atttypid) = max(atttypid)`
}

/** The statement with the types found in the catalog. */
export async function withColumnTypes(
  prepared: Prepared,
  { batches }: RunResult,
): Promise<Prepared> {
  const types = new Map<string, number>()
  for await (const batch of batches) {
    for (const [column, oid] of batch) types.set(String(column), Number(oid))
  }
  const oids = [...prepared.oids]
  for (const { number, column, isArray } of parameterColumns(prepared.sql).columns) {
    const isGuess = !prepared.given[number - 1] && oids[number - 1] === PG.TEXT.oid
    const single = types.get(column)
    const oid = isArray ? scalarOf(single ?? 0)?.array : single
    if (isGuess && oid !== undefined) oids[number - 1] = oid
  }
  return { ...prepared, oids }
}

/** Reads the rest of a Bind message: the parameter values, then the formats of the columns. */
export function boundValues(fields: Fields, oids: readonly number[]) {
  const sent = Array.from({ length: fields.int16() }, () => fields.int16())
  const values = Array.from({ length: fields.int16() }, (_, index) => {
    const isBinary = (sent.length === 1 ? sent[0] : sent[index]) === 1
    return parameterValue(fields.bytes(fields.int32()), oids[index] ?? 0, isBinary)
  })
  const formats = Array.from({ length: fields.int16() }, () => fields.int16())
  return { values, formats }
}

/** Whether a value without a type may be an array, so that its column must be known. */
export function mayBeArray({ text, cast }: ParameterValue): boolean {
  const isOpen = cast === null || cast === 'VARCHAR'
  return isOpen && text !== null && /^\{.*\}$/s.test(text)
}

/** A statement with the same columns, for describing one whose values are not known yet. */
export function describing(sql: string, oids: readonly number[]) {
  const bound = withParameters(returnedColumns(sql) ?? sql, oids.map(sampleValue))
  return { ...bound, sql: `DESCRIBE ${bound.sql}` }
}

/** The columns of a statement if they are known without running it; otherwise undefined. */
export function knownColumns(
  sql: string,
  session: PgSession,
): readonly AnswerColumn[] | null | undefined {
  const shown = /^\s*show\b/i.test(sql) ? session.answer(sql)?.shown : undefined
  if (shown !== undefined) return [{ name: shown.name, type: 'VARCHAR' }]
  const hasRows = READS.test(sql) || /\breturning\b/i.test(sql)
  return hasRows && !SESSION_WORDS.test(sql) ? undefined : null
}

export async function columnOids({ columns }: RunResult): Promise<readonly number[]> {
  return (columns ?? []).map(({ type }) => columnType(type).oid)
}

export async function describedColumns({ batches }: RunResult): Promise<readonly AnswerColumn[]> {
  const rows = (await Array.fromAsync(batches)).flat()
  return rows.map(([name, type]) => ({ name: String(name), type: String(type) }))
}

/** @param oid the parameter's type @throws AppError `invalid_request` */
export function parameterValue(
  bytes: Buffer | null,
  oid: number,
  isBinary: boolean,
): ParameterValue {
  const cast = castType(oid)
  if (bytes === null) return { text: null, cast }
  if (elementOf(oid) === undefined) {
    return { text: parameterText(bytes, scalarOf(oid), isBinary), cast }
  }
  if (!isBinary) return arrayValue(bytes.toString(), oid)
  return { text: '', cast, elements: arrayParameter(bytes, oid) }
}

/** @param text such as `{1,2}` */
export function arrayValue(text: string, oid: number): ParameterValue {
  return { text: '', cast: castType(oid), elements: arrayElements(text) }
}

/** A sample value, for describing a statement whose values are not known yet. */
function sampleValue(oid: number): ParameterValue {
  const cast = castType(oid)
  if (cast === null || cast === 'VARCHAR') return { text: '1', cast: null }
  if (cast.endsWith('[]')) return { text: '{}', cast, elements: [] }
  return /INT|DECIMAL|DOUBLE|FLOAT/.test(cast) ? { text: '1', cast } : { text: null, cast }
}

/** The type of a `$n` for which the client sent none: from a cast or LIMIT, otherwise text. */
function guessedType(sql: string, number: number): number {
  const cast = new RegExp(`\\$${number}\\s*::\\s*(\\w+)(\\[\\])?`, 'i').exec(sql)
  if (cast !== null) {
    const [, name = '', list = ''] = cast
    return namedType(name + list)
  }
  const isCount = new RegExp(`\\b(limit|offset)\\s+\\$${number}\\b`, 'i').test(sql)
  return isCount ? columnType('BIGINT').oid : PG.TEXT.oid
}

function namedType(text: string): number {
  const [, name = '', list = ''] = /^(.*?)((?:\[\d*\])*)$/s.exec(text.toUpperCase()) ?? []
  return columnType((CAST_NAMES[name.trim()] ?? name.trim()) + list).oid
}

const CAST_NAMES: Readonly<Record<string, string>> = {
  INT: 'INTEGER',
  INT2: 'SMALLINT',
  INT4: 'INTEGER',
  INT8: 'BIGINT',
  FLOAT4: 'FLOAT',
  FLOAT8: 'DOUBLE',
  NUMERIC: 'DECIMAL(38,10)',
  BOOL: 'BOOLEAN',
  BYTEA: 'BLOB',
  JSONB: 'JSON',
  TEXT: 'VARCHAR',
  TIMESTAMPTZ: 'TIMESTAMP WITH TIME ZONE',
  TIMETZ: 'TIME WITH TIME ZONE',
}

const STATEMENTS_MAX = 1_000

/** The prepared statements of one connection, by name. */
export class PreparedStatements {
  readonly #prepared = new Map<string, Prepared>()

  /** @throws AppError `sql_unknown_name` */
  get(name: string): Prepared {
    const found = this.#prepared.get(name)
    if (found === undefined) throw new MissingName('prepared statement', name)
    return found
  }

  /** @throws AppError `sql_syntax`, `too_busy` */
  add(name: string, text: string, given: readonly number[]): void {
    const [sql = '', ...others] = statementsOf(text)
    if (others.length > 0) {
      const message = 'cannot insert multiple commands into a prepared statement'
      throw new AppError('sql_syntax', message)
    }
    if (!this.#prepared.has(name) && this.#prepared.size >= STATEMENTS_MAX) {
      const limit = `A connection has ${STATEMENTS_MAX} prepared statements at most`
      throw new AppError('too_busy', limit)
    }
    this.#prepared.set(name, { sql, oids: parameterTypes(sql, given), given })
  }

  replace(name: string, prepared: Prepared): void {
    this.#prepared.set(name, prepared)
  }

  /** @param name null closes all */
  close(name: string | null): void {
    if (name === null) this.#prepared.clear()
    else this.#prepared.delete(name)
  }
}
