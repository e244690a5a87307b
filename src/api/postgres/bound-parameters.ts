/** Values and types of `$1`, as clients send them and as they are described. */
import type { ResultValue } from '../../core/domain/query-result.ts'
import {
  type ParameterValue,
  parameterCount,
  withParameters,
} from '../../query/postgres/statement-text.ts'
import type { AnswerColumn } from './answer-writer.ts'
import type { Fields } from './messages.ts'
import { arrayElements, castType, columnType, PG_TEXT, parameterText } from './pg-types.ts'
import type { RunResult } from './portals.ts'

/** PostgreSQL's type of each `$n`: the client's, or a guess by its place. */
export function parameterTypes(sql: string, given: readonly number[]): readonly number[] {
  const length = Math.max(given.length, parameterCount(sql))
  return Array.from({ length }, (_, index) => given[index] || guessedType(sql, index + 1))
}

/** The rest of a Bind message: values of the parameters, and formats of the columns. */
export function boundValues(fields: Fields, oids: readonly number[]) {
  const sent = Array.from({ length: fields.int16() }, () => fields.int16())
  const values = Array.from({ length: fields.int16() }, (_, index) => {
    const isBinary = (sent.length === 1 ? sent[0] : sent[index]) === 1
    return parameterValue(fields.bytes(fields.int32()), oids[index] ?? 0, isBinary)
  })
  const formats = Array.from({ length: fields.int16() }, () => fields.int16())
  return { values, formats }
}

/** A statement that returns the columns of another, whose values are still unknown. */
export function describing(sql: string, oids: readonly number[]) {
  const bound = withParameters(sql, oids.map(sampleValue))
  return { ...bound, sql: `DESCRIBE ${bound.sql}` }
}

export async function describedColumns({ batches }: RunResult): Promise<readonly AnswerColumn[]> {
  const rows: (readonly ResultValue[])[] = []
  for await (const batch of batches) rows.push(...batch)
  return rows.map(([name, type]) => ({ name: String(name), type: String(type) }))
}

function parameterValue(bytes: Buffer | null, oid: number, isBinary: boolean): ParameterValue {
  const cast = castType(oid)
  if (bytes === null) return { text: null, cast }
  const text = parameterText(bytes, oid, isBinary)
  return cast?.endsWith('[]') === true
    ? { text, cast, elements: arrayElements(text) }
    : { text, cast }
}

/** What to describe a statement with whose values are not known yet. */
function sampleValue(oid: number): ParameterValue {
  const cast = castType(oid)
  if (cast === null || cast === 'VARCHAR') return { text: '1', cast: null }
  if (cast.endsWith('[]')) return { text: '{}', cast, elements: [] }
  return /INT|DECIMAL|DOUBLE|FLOAT/.test(cast) ? { text: '1', cast } : { text: null, cast }
}

/** PostgreSQL's type of a `$n` that the client did not give one: by a cast, by LIMIT, else a text. */
function guessedType(sql: string, number: number): number {
  const cast = new RegExp(`\\$${number}\\s*::\\s*(\\w+)(\\[\\])?`, 'i').exec(sql)
  if (cast !== null) {
    const [, name = '', list = ''] = cast
    return columnType((CAST_NAMES[name.toUpperCase()] ?? name.toUpperCase()) + list).oid
  }
  const isCount = new RegExp(`\\b(limit|offset)\\s+\\$${number}\\b`, 'i').test(sql)
  return isCount ? columnType('BIGINT').oid : PG_TEXT.oid
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
  TEXT: 'VARCHAR',
  TIMESTAMPTZ: 'TIMESTAMP WITH TIME ZONE',
}
