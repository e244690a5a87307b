/** Lists of keys as parameters of their own: DuckDB then reads these rows by an index or the bounds of blocks. */
import type { DuckDBConnection, DuckDBMaterializedResult } from '@duckdb/node-api'
import type { BoundSql, BoundValue } from '../../core/domain/ports/engine-ports.ts'
import { typedValueOf } from './typed-values.ts'

/**
 * More keys are joined: planning so many parameters takes longer than reading 100 000 rows. DuckDB reads at most 2048 rows
 * by an index in any case.
 */
const LISTED_KEYS_MAX = 1024

/** Few different texts are planned when the numbers of parameters are 1 and the powers of two from here on. */
const LISTED_KEYS_MIN = 16

/** A string, a quoted name, or a list of one parameter. */
const PIECES = /'(?:[^']|'')*'|"(?:[^"]|"")*"|\bIN \(\$(\w+)\)/g

/**
 * `IN ($name)` with a list of bigint, as it is written in SQL of ours: the keys one by one. A list that is used elsewhere too
 * stays bound.
 */
export function withListedKeys(statement: BoundSql): BoundSql {
  const lists = Object.entries(statement.values).flatMap(([name, value]) => {
    return isKeyList(value) ? [[name, value] as const] : []
  })
  if (lists.length === 0) return statement
  const values: Record<string, BoundValue> = { ...statement.values }
  const texts = new Map<string, string>()
  for (const [index, [name, keys]] of lists.entries()) {
    if (!statement.sql.includes(`IN ($${name})`)) continue
    const { text, listed } = listOf(name, keys, index)
    Object.assign(values, listed)
    texts.set(name, text)
  }
  if (texts.size === 0) return statement
  const sql = statement.sql.replace(PIECES, (piece, name) => texts.get(name) ?? piece)
  for (const name of texts.keys()) {
    if (!new RegExp(`\\$${name}\\b`).test(sql)) delete values[name]
  }
  return { ...statement, sql, values }
}

function isKeyList(value: BoundValue): value is readonly bigint[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'bigint')
}

function listOf(name: string, keys: readonly bigint[], index: number) {
  const last = keys.at(-1)
  if (last === undefined || keys.length > LISTED_KEYS_MAX) {
    return { text: `IN (SELECT unnest($${name}::BIGINT[]))`, listed: {} }
  }
  // One key is looked for within the scan, which takes a third of the time where there is no index.
  const least = keys.length === 1 ? 1 : LISTED_KEYS_MIN
  const count = 2 ** Math.ceil(Math.log2(Math.max(keys.length, least)))
  const names = Array.from({ length: count }, (_, at) => `eider_${index}_${at}`)
  const listed = Object.fromEntries(names.map((key, at) => [key, keys[at] ?? last]))
  return { text: `IN (${names.map((key) => `$${key}`).join(', ')})`, listed }
}

/** Runs SQL of ours with its values, its lists of keys as above. */
export async function runWithKeys(
  connection: DuckDBConnection,
  sql: string,
  values: Readonly<Record<string, BoundValue>>,
): Promise<DuckDBMaterializedResult> {
  const listed = withListedKeys({ sql, values })
  const typed = Object.entries(listed.values).map(([name, value]) => {
    return [name, typedValueOf(value)] as const
  })
  return connection.run(
    listed.sql,
    Object.fromEntries(typed.map(([name, { value }]) => [name, value])),
    Object.fromEntries(typed.map(([name, { type }]) => [name, type])),
  )
}
