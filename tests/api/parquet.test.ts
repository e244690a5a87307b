import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readdirSync, rmSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { DuckDBInstance } from '@duckdb/node-api'
import { createTestApp, type TestApp } from '../support/test-app.ts'

let t: TestApp
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'eider-parquet-'))
  t = await createTestApp({ isInProcess: true, directory: join(folder, 'data') })
})
afterAll(async () => {
  await t.close()
  await rm(folder, { recursive: true })
})

async function parquet(query: string, params = {}) {
  const headers = {
    'content-type': 'application/json',
    accept: 'application/vnd.apache.parquet',
  }
  const body = JSON.stringify({ query, params })
  const url = 'http://localhost/api/sql/query'
  return t.app.handle(new Request(url, { method: 'POST', headers, body }))
}

function exported() {
  return readdirSync(join(folder, 'data/exports'))
}

test("the rows come as Parquet with DuckDB's own types, and no file is left", async () => {
  const sql = `SELECT x AS id, [x, x] AS pair, (x / 4)::DECIMAL(9, 2) AS share, DATE '2026-01-02' AS day
    FROM range(:count) AS t(x)`
  const answer = await parquet(sql, { count: 5000 })
  expect(answer.headers.get('content-type')).toBe('application/vnd.apache.parquet')
  const path = join(folder, 'answer.parquet')
  await Bun.write(path, await answer.arrayBuffer())
  const connection = await (await DuckDBInstance.create(':memory:')).connect()
  const read = (what: string) => connection.runAndReadAll(`${what} '${path}'`)
  const described = (await read('DESCRIBE SELECT * FROM')).getRows()
  expect(described.map(([name, type]) => `${name} ${type}`)).toEqual([
    'id BIGINT',
    'pair BIGINT[]',
    'share DECIMAL(9,2)',
    'day DATE',
  ])
  expect((await read('SELECT count(*), max(id) FROM')).getRows()).toEqual([[5000n, 4999n]])
  expect(exported()).toEqual([])
})

test('a file of many megabytes comes whole, its name gone before its first byte', async () => {
  const answer = await parquet('SELECT hash(x) AS h FROM range(2000000) AS t(x)')
  expect(exported()).toEqual([])
  const path = join(folder, 'large.parquet')
  await Bun.write(path, await answer.arrayBuffer())
  const connection = await (await DuckDBInstance.create(':memory:')).connect()
  const sums = await connection.runAndReadAll(
    `SELECT (SELECT bit_xor(h) FROM '${path}'), bit_xor(hash(x)) FROM range(2000000) AS t(x)`,
  )
  const [found, expected] = sums.getRows()[0] ?? []
  expect(found).toBe(expected)
})

test('what fails is a problem, and no file is left', async () => {
  for (const [sql, code] of [
    ['SELECT nope', 'sql_unknown_name'],
    ["SELECT error('late') FROM range(10)", 'sql_failed'],
    ["SELECT * FROM read_parquet('x')", 'sql_forbidden'],
    ['SHOW TABLES', 'sql_not_supported'],
  ] as const) {
    const answer = await parquet(sql)
    expect(answer.status).toBe(400)
    expect(answer.headers.get('content-type')).toContain('application/problem+json')
    expect(await answer.json()).toMatchObject({ code })
  }
  expect(exported()).toEqual([])
})

test("a client's SQL can neither read nor write the folder for exports", async () => {
  await (await parquet('SELECT 1')).arrayBuffer()
  const path = join(folder, 'data/exports/planted.parquet')
  const connection = await (await DuckDBInstance.create(':memory:')).connect()
  await connection.run(`COPY (SELECT 42 AS secret) TO '${path}' (FORMAT parquet)`)
  for (const [sql, code] of [
    [`SELECT * FROM '${path}'`, 4003],
    [`SELECT * FROM "${path}"`, 4003],
    [`SELECT * FROM read_parquet('${path}')`, 4004],
    [`SELECT * FROM glob('${folder}/data/exports/*')`, 4004],
    [`CREATE TABLE stolen AS FROM '${path}'`, 4003],
    [`CREATE VIEW stolen AS SELECT * FROM parquet_scan('${path}')`, 4004],
    [`COPY (SELECT 1) TO '${path}' (FORMAT parquet)`, 4002],
    [`EXPORT DATABASE '${folder}/data/exports'`, 4002],
    [`ATTACH '${folder}/data/exports/other.duckdb'`, 4002],
  ] as const) {
    const { body } = await t.send('POST', '/api/sql/query', { query: sql })
    expect({ sql, body }).toMatchObject({ sql, body: { type: 'error', error_code: code } })
  }
  expect(exported()).toEqual(['planted.parquet'])
  rmSync(path)
})

test('a statement that is stopped while writing leaves no file and frees its slot', async () => {
  const stop = new AbortController()
  const long = 'SELECT x, hash(x) AS h FROM range(:count) AS t(x)'
  const headers = { 'content-type': 'application/json', accept: 'application/vnd.apache.parquet' }
  const body = JSON.stringify({ query: long, params: { count: 2_000_000_000 } })
  const url = 'http://localhost/api/sql/query'
  const request = new Request(url, { method: 'POST', headers, body, signal: stop.signal })
  const answer = t.app.handle(request)
  while (exported().length === 0) await setTimeout(1)
  stop.abort()
  await answer
  while (exported().length > 0) await setTimeout(1)
  expect((await (await parquet('SELECT 1')).arrayBuffer()).byteLength).toBeGreaterThan(0)
})

test('a client that goes away leaves no file', async () => {
  const answer = await parquet("SELECT x, repeat('a', 500) AS text FROM range(300000) AS t(x)")
  const reader = answer.body?.getReader()
  await reader?.read()
  await reader?.cancel()
  expect(exported()).toEqual([])
})
