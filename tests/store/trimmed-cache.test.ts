import { expect, spyOn, test } from 'bun:test'
import { join } from 'node:path'
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api'
import { trimCache, withoutCaching } from '../../src/store/duckdb/step-limits.ts'
import { temporaryFolder } from '../support/store-fixture.ts'

const MEGABYTE = 1024 ** 2

test('blocks that were read are released, and everything is read again as before', async () => {
  using folder = temporaryFolder()
  const instance = await DuckDBInstance.create(join(folder.path, 'x.duckdb'), {
    force_compression: 'uncompressed',
    memory_limit: '1GB',
  })
  const connection = await instance.connect()
  await connection.run('CREATE TABLE t AS SELECT x, hash(x) AS h FROM range(2000000) AS r(x)')
  await connection.run('CHECKPOINT')
  const sum = async () => (await connection.runAndReadAll('SELECT sum(x), max(h) FROM t')).getRows()
  const before = await sum()
  expect(await blockBytes(connection)).toBeGreaterThan(24 * MEGABYTE)
  const limit = await memoryLimit(connection)
  await trimCache(connection, '1GB', 64 * MEGABYTE)
  expect(await blockBytes(connection)).toBeGreaterThan(24 * MEGABYTE)
  await trimCache(connection, '1GB', 8 * MEGABYTE)
  expect(await blockBytes(connection)).toBeLessThan(9 * MEGABYTE)
  expect(await memoryLimit(connection)).toBe(limit)
  expect(await sum()).toEqual(before)
  connection.closeSync()
  instance.closeSync()
})

test('during large writes, the memory of statements counts as used', async () => {
  using folder = temporaryFolder()
  const instance = await DuckDBInstance.create(join(folder.path, 'x.duckdb'), {
    memory_limit: '2GB',
  })
  const connection = await instance.connect()
  const writer = await instance.connect()
  const ran = spyOn(connection, 'run')
  await withoutCaching(
    (use) => use(connection),
    '2GB',
    async () => {
      await writer.run('CREATE TEMP TABLE used AS SELECT hash(x) FROM range(10000000) AS r(x)')
      await writer.run('CREATE TABLE written AS SELECT hash(x) FROM range(30000000) AS r(x)')
    },
  )
  const lowered = ran.mock.calls.flatMap(([sql]) => /= '(\d+)MB'/.exec(sql)?.[1] ?? [])
  expect(lowered.length).toBeGreaterThan(0)
  expect(Math.min(...lowered.map(Number))).toBeGreaterThan(80 + 60)
  expect(await blockBytes(connection)).toBeLessThan(100 * MEGABYTE)
  ran.mockRestore()
  connection.closeSync()
  writer.closeSync()
  instance.closeSync()
})

async function blockBytes(connection: DuckDBConnection): Promise<number> {
  const reader = await connection.runAndReadAll(
    "SELECT sum(memory_usage_bytes) FROM duckdb_memory() WHERE tag = 'BASE_TABLE'",
  )
  return Number(reader.getRows()[0]?.[0])
}

async function memoryLimit(connection: DuckDBConnection): Promise<string> {
  const reader = await connection.runAndReadAll("SELECT current_setting('memory_limit')")
  return String(reader.getRows()[0]?.[0])
}
