import { expect, test } from 'bun:test'
import { DuckDBInstance } from '@duckdb/node-api'
import { isAggregateFunction, isWindowFunction } from '../../src/sql/guard/aggregate-functions.ts'
import { isScalarFunction } from '../../src/sql/guard/scalar-functions.ts'

/**
 * What a statement must not call although DuckDB has it: reading settings, variables, sequences, the session, the catalog or
 * the clock of the process, writing a log, sleeping, running SQL given as text, and functions meant for DuckDB itself.
 */
const REFUSED =
  /^(__internal.*|icu_.*|pg_.*|has_.*_privilege|has_any_column_privilege|st_.*|inet_.*|.*_description|variant_.*|current_(setting|query|query_id|role|connection_id|transaction_id|database|schemas|catalog)|session_user|getvariable|nextval|currval|setseed|write_log|sleep_ms|txid_current|stats|in_search_path|json_serialize_.*|json_deserialize_sql|get_block_size|format_(pg_)?type|map_to_pg_oid|parse_duckdb_log_message|vector_type|create_sort_key|remap_struct|cast_to_type|make_type|get_type|can_cast_implicitly|constant_or_null|replace_type|finalize|combine|is_histogram_other_bin)$/

async function functionNames(types: string): Promise<readonly string[]> {
  const instance = await DuckDBInstance.create(':memory:')
  const connection = await instance.connect()
  const sql = `SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type IN (${types})`
  const rows = (await connection.runAndReadAll(sql)).getRows()
  return rows.map(([name]) => String(name)).filter((name) => /^[a-z]/i.test(name))
}

test('every scalar function of this DuckDB is either allowed or refused, and none is both', async () => {
  const names = await functionNames(`'scalar', 'macro'`)
  expect(names.length).toBeGreaterThan(500)
  const undecided = names.filter((name) => {
    return isScalarFunction(name) === REFUSED.test(name) && !isAggregateFunction(name)
  })
  expect(undecided).toEqual([])
})

test('every aggregate function of this DuckDB is known as one', async () => {
  const names = await functionNames(`'aggregate'`)
  const unknown = names.filter((name) => !isAggregateFunction(name) && !isWindowFunction(name))
  expect(unknown).toEqual([])
})
