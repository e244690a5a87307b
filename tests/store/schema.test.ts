import { expect, test } from 'bun:test'
import { is } from 'drizzle-orm'
import { getTableConfig, PgTable } from 'drizzle-orm/pg-core'
import * as schema from '../../src/store/catalog/schema.ts'
import * as access from '../../src/store/records/access-schema.ts'
import { openMemoryStore, rowsOf } from '../support/store-fixture.ts'

/** DuckDB's own name for each type that drizzle prints. */
const TYPES: Readonly<Record<string, string>> = {
  text: 'VARCHAR',
  integer: 'INTEGER',
  bigint: 'BIGINT',
  boolean: 'BOOLEAN',
  'double precision': 'DOUBLE',
  'timestamp(6)': 'TIMESTAMP',
  JSON: 'JSON',
}

test("drizzle's schema matches the tables that the migrations create", async () => {
  const store = await openMemoryStore()
  const made = await rowsOf(
    store,
    `SELECT table_name, column_name, data_type, is_nullable FROM duckdb_columns()
      WHERE schema_name = 'eider' AND table_name <> 'migrations'
      ORDER BY table_name, column_index`,
  )
  const uniques = await rowsOf(
    store,
    `SELECT table_name, constraint_column_names FROM duckdb_constraints()
      WHERE schema_name = 'eider' AND constraint_type = 'UNIQUE' ORDER BY ALL`,
  )
  await store.close()
  const tables = Object.values({ ...schema, ...access })
    .filter((value) => is(value, PgTable))
    .map((table) => getTableConfig(table))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
  const declared = tables.flatMap(({ name, columns }) => {
    return columns.map((column) => {
      return [name, column.name, TYPES[column.getSQLType()] ?? column.getSQLType(), !column.notNull]
    })
  })
  expect(declared.length).toBeGreaterThan(40)
  expect(made.map((row) => [...row])).toEqual(declared)
  const declaredUniques = tables.flatMap((table) => [
    ...table.columns.filter(({ isUnique }) => isUnique).map(({ name }) => [table.name, [name]]),
    ...table.uniqueConstraints.map(({ columns }) => [table.name, columns.map(({ name }) => name)]),
  ])
  expect(uniques.map((row) => [...row])).toEqual(declaredUniques)
})
