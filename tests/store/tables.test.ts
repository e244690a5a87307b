import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { findIn, requireProject } from '../../src/core/domain/access/catalog-snapshot.ts'
import type { NewTable } from '../../src/core/domain/ports/store-ports.ts'
import { onAbort } from '../../src/core/runtime/cancellation.ts'
import { openStore, type Store } from '../../src/store/store.ts'
import {
  failureOf,
  nextStatementRuns,
  openMemoryStore,
  rowsOf,
  temporaryFolder,
} from '../support/store-fixture.ts'

const LIMITS = { timeoutMs: 10_000 }
/** Enough rows that an abort happens while they are moved. */
const MANY = 'SELECT x, hash(x) AS h FROM range(4000000) AS t(x)'
const ENDLESS = 'SELECT a.range AS x FROM range(100000000000) a, range(1000) b WHERE a.range < 0'

let store: Store
beforeEach(async () => {
  store = await openMemoryStore()
})
afterEach(() => store.close())

function create(sql: string, more: Partial<NewTable> = {}, signal = new AbortController().signal) {
  const target = { projectId: 1, name: 't', select: { sql, values: {} }, ...more }
  return store.tables.createTable(target, LIMITS, signal)
}

/** Returns every table of DuckDB that contains rows of callers. */
async function tablesOfCallers() {
  const rows = await rowsOf(
    store,
    `SELECT schema_name || '.' || table_name FROM duckdb_tables()
      WHERE schema_name <> 'eider' ORDER BY 1`,
  )
  return rows.flat()
}

test('a table holds the rows of a SELECT with bound values, and knows its columns', async () => {
  const sql = 'SELECT x AS id, [x, $n] AS pair, NULL AS nothing FROM range(3) AS t(x)'
  const made = await create('', { select: { sql, values: { n: 7 } } })
  expect(made).toMatchObject({
    name: 't',
    projectName: 'mindsdb',
    rowCount: 3,
    columns: [
      { name: 'id', type: 'BIGINT' },
      { name: 'pair', type: 'BIGINT[]' },
      { name: 'nothing', type: 'INTEGER' },
    ],
  })
  expect(await rowsOf(store, `SELECT id, pair FROM project_1.table_${made.id}`)).toEqual([
    [0, [0, 7]],
    [1, [1, 7]],
    [2, [2, 7]],
  ])
})

test('a SELECT without rows makes a table without rows', async () => {
  expect(await create('SELECT 1 AS a WHERE false')).toMatchObject({ rowCount: 0 })
})

test('of concurrent creations of one name exactly one succeeds, unless they replace', async () => {
  const outcomes = await Promise.all([1, 2, 3].map((n) => failureOf(create(`SELECT ${n}`))))
  expect(outcomes.map(({ code }) => code).sort()).toEqual([
    'none',
    'relation_exists',
    'relation_exists',
  ])
  await Promise.all([4, 5, 6].map((n) => create(`SELECT ${n} AS a`, { orReplace: true })))
  const { tables } = store.catalog.snapshot()
  expect(tables).toHaveLength(1)
  expect(await tablesOfCallers()).toEqual([`project_1.table_${tables[0]?.id}`])
})

test('a name of a view, an agent or a knowledge base is taken, also for one that replaces', async () => {
  const view = { name: 'T', projectId: 1, sql: 'SELECT 1', database: 'mindsdb', columns: [] }
  await store.catalog.createView(view)
  const failure = await failureOf(create('SELECT 1', { orReplace: true }))
  expect(failure).toEqual({
    code: 'relation_exists',
    message: 'A view with name t already exists',
  })
  expect(await tablesOfCallers()).toEqual([])
})

describe('nothing is left behind', () => {
  afterEach(async () => {
    expect(store.catalog.snapshot().tables).toEqual([])
    expect(await tablesOfCallers()).toEqual([])
    await create('SELECT 1 AS a')
  })

  test('by a SELECT that fails', async () => {
    const failing =
      'SELECT CASE WHEN x = 90000 THEN error(x::VARCHAR) ELSE x END FROM range(100000) AS t(x)'
    expect(await failureOf(create(failing))).toMatchObject({ code: 'sql_failed' })
  })

  test('by a SELECT that takes too long', async () => {
    const target = { projectId: 1, name: 't', select: { sql: ENDLESS, values: {} } }
    const { signal } = new AbortController()
    const work = store.tables.createTable(target, { timeoutMs: 30 }, signal)
    expect(await failureOf(work)).toMatchObject({ code: 'timeout' })
  })

  test('by a cancel while the rows are read', async () => {
    const stop = new AbortController()
    const isRunning = nextStatementRuns()
    const work = create(ENDLESS, {}, stop.signal)
    await isRunning
    stop.abort(new Error('gone'))
    expect(await failureOf(work)).toEqual({ code: 'other', message: 'gone' })
  })

  test('by more rows than there is memory for', async () => {
    await store.close()
    store = await openStore({ directory: ':memory:', memoryLimit: '50MB' })
    const large = "SELECT repeat('a', 1000) || x AS a FROM range(1000000) AS t(x)"
    expect(await failureOf(create(large))).toMatchObject({ code: 'out_of_memory' })
  })

  test('by a project that is dropped meanwhile', async () => {
    const project = await store.catalog.createProject('p')
    const stays = create(MANY, { projectId: project.id })
    const dropped = store.catalog.dropProject(project)
    expect(await failureOf(stays)).toMatchObject({ code: 'project_not_found' })
    await dropped
  })
})

test('a cancel while the rows are moved leaves the table that was to be replaced', async () => {
  const old = await create('SELECT 1 AS a')
  const stop = new AbortController()
  const stage = store.engine.stage.bind(store.engine)
  store.engine.stage = async (...asked) => {
    const staged = await stage(...asked)
    return {
      ...staged,
      moveInto: (table, signal) => {
        const moved = staged.moveInto(table, signal)
        stop.abort(new Error('gone'))
        return moved
      },
    }
  }
  const work = create(MANY, { orReplace: true }, stop.signal)
  expect(await failureOf(work)).toEqual({ code: 'other', message: 'gone' })
  expect(await tablesOfCallers()).toEqual([`project_1.table_${old.id}`])
  expect(await rowsOf(store, `SELECT a FROM project_1.table_${old.id}`)).toEqual([[1]])
})

test('a table that waits to be stored fails at its deadline', async () => {
  const stage = store.engine.stage.bind(store.engine)
  store.engine.stage = async (select, limits, signal) => {
    const staged = await stage(select, limits, signal)
    await new Promise<void>((resolve) => onAbort(signal, resolve))
    return staged
  }
  const target = { projectId: 1, name: 't', select: { sql: 'SELECT 1', values: {} } }
  const work = store.tables.createTable(target, { timeoutMs: 30 }, new AbortController().signal)
  expect(await failureOf(work)).toMatchObject({ code: 'timeout' })
  expect(await tablesOfCallers()).toEqual([])
})

test('views and tables are there after a restart, and go with their project', async () => {
  using folder = temporaryFolder()
  await store.close()
  store = await openStore({ directory: folder.path })
  const project = await store.catalog.createProject('p')
  const view = { name: 'v', projectId: project.id, sql: 'SELECT 1', database: 'p' }
  await store.catalog.createView({ ...view, columns: [{ name: '1', type: 'INTEGER' }] })
  await create('SELECT 5 AS a', { projectId: project.id })
  const before = store.catalog.snapshot()
  await store.close()
  store = await openStore({ directory: folder.path })
  const after = store.catalog.snapshot()
  expect([after.views, after.tables]).toEqual([before.views, before.tables])
  expect(findIn(after.tables, requireProject(after, 'P'), 'T')?.rowCount).toBe(1)
  await store.catalog.dropProject(project)
  expect(store.catalog.snapshot()).toMatchObject({ views: [], tables: [] })
  expect(await tablesOfCallers()).toEqual([])
})
