import { expect, test } from 'bun:test'
import { DuckDBInstance } from '@duckdb/node-api'
import {
  CLOCK_FUNCTIONS,
  isAggregateFunction,
  isScalarFunction,
  isWindowFunction,
  type Stability,
  stabilityOfFunction,
} from '../../src/sql/guard/function-lists.ts'
import { tokenize } from '../../src/sql/lexer/tokens.ts'

/**
 * Functions of DuckDB that a statement must not call: those that read settings, variables,
 * sequences, the session, the catalog or the process's clock, write a log, sleep, run SQL given as
 * text, or are meant for DuckDB itself.
 */
const REFUSED =
  /^(__internal.*|icu_.*|pg_.*|has_.*_privilege|has_any_column_privilege|st_.*|inet_.*|.*_description|variant_.*|current_(setting|query|query_id|role|connection_id|transaction_id|database|schemas|catalog)|session_user|getvariable|nextval|currval|setseed|write_log|sleep_ms|txid_current|stats|in_search_path|json_serialize_.*|json_deserialize_sql|get_block_size|format_(pg_)?type|map_to_pg_oid|parse_duckdb_log_message|vector_type|create_sort_key|remap_struct|cast_to_type|make_type|get_type|can_cast_implicitly|constant_or_null|replace_type|finalize|combine|is_histogram_other_bin)$/

async function rowsOf(sql: string): Promise<readonly (readonly unknown[])[]> {
  const instance = await DuckDBInstance.create(':memory:')
  const connection = await instance.connect()
  return (await connection.runAndReadAll(sql)).getRows()
}

async function functionNames(types: string): Promise<readonly string[]> {
  const sql = `SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type IN (${types})`
  const rows = await rowsOf(sql)
  return rows.map(([name]) => String(name)).filter((name) => /^[a-z]/i.test(name))
}

const STABILITIES: Readonly<Record<string, Stability>> = {
  CONSISTENT: 'consistent',
  CONSISTENT_WITHIN_QUERY: 'within_query',
  VOLATILE: 'volatile',
}

const LEAST_STABLE_FIRST: readonly Stability[] = ['volatile', 'within_query', 'consistent']

function leastStable(stabilities: readonly Stability[]): Stability {
  return LEAST_STABLE_FIRST.find((stability) => stabilities.includes(stability)) ?? 'consistent'
}

/**
 * Returns the stabilities that DuckDB gives to each form of a function. For a macro, returns those
 * of the functions that it calls.
 */
async function engineStabilities(): Promise<ReadonlyMap<string, Stability>> {
  const sql = `SELECT function_name, stability, macro_definition FROM duckdb_functions()
    WHERE function_type IN ('scalar', 'aggregate', 'macro')`
  const stabilities = new Map<string, Stability>()
  const macros: (readonly [string, string])[] = []
  for (const [name, stability, definition] of await rowsOf(sql)) {
    const key = String(name)
    const own = STABILITIES[String(stability)] ?? 'consistent'
    stabilities.set(key, leastStable([own, stabilities.get(key) ?? own]))
    if (typeof definition === 'string') macros.push([key, definition])
  }
  // Written without parentheses, this is another name of a function.
  stabilities.set('current_timestamp', stabilities.get('get_current_timestamp') ?? 'volatile')
  // A macro may call a macro that comes later.
  for (let round = 0; round < 3; round += 1) {
    for (const [name, definition] of macros) {
      const called = tokenize(definition).flatMap(({ value }) => stabilities.get(value) ?? [])
      stabilities.set(name, leastStable([...called, stabilities.get(name) ?? 'consistent']))
    }
  }
  return stabilities
}

test("the stability of each allowed function matches DuckDB's", async () => {
  const stabilities = await engineStabilities()
  expect(stabilities.get('random')).toBe('volatile')
  expect(stabilities.get('ago')).toBe('within_query')
  const differing = [...stabilities].filter(([name, stability]) => {
    const isCallable = isScalarFunction(name) || isAggregateFunction(name) || /^\W+$/.test(name)
    const expected = CLOCK_FUNCTIONS.has(name) ? 'within_query' : stability
    return isCallable && stabilityOfFunction(name) !== expected
  })
  expect(differing).toEqual([])
})

test('a function that no statement may call counts as volatile', () => {
  expect(stabilityOfFunction('nextval')).toBe('volatile')
  expect(stabilityOfFunction('a_function_of_tomorrow')).toBe('volatile')
  expect(stabilityOfFunction('NOW')).toBe('within_query')
  expect(stabilityOfFunction('row_number')).toBe('consistent')
})

test('every scalar function of DuckDB is either allowed or refused', async () => {
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
  // It is refused because a large sample size stops the database itself.
  expect(unknown).toEqual(['reservoir_quantile'])
})
