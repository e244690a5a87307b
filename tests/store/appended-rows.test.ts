import { afterEach, beforeEach, expect, test } from 'bun:test'
import { openStore, type Store } from '../../src/store/store.ts'
import { failureOf, openMemoryStore, rowsOf, temporaryFolder } from '../support/store-fixture.ts'

const LIMITS = { timeoutMs: 10_000 }
/** Enough rows that moving them takes a while. */
const MANY = 'SELECT x AS a FROM range(4000000) AS t(x)'

let store: Store
beforeEach(async () => {
  store = await openMemoryStore()
})
afterEach(() => store.close())

function append(sql: string, name = 't', signal = new AbortController().signal) {
  const target = { projectId: 1, name, select: { sql, values: {} } }
  return store.tables.appendRows(target, LIMITS, signal)
}

async function rows() {
  const [table] = store.catalog.snapshot().tables
  return rowsOf(store, `SELECT * FROM project_1.table_${table?.id} ORDER BY ALL`)
}

test('rows make a table, and are added to it under any case of its name', async () => {
  const made = await append('SELECT 1 AS a, 2 AS b')
  const added = await append('SELECT 3 AS B, 4 AS A', 'T')
  expect(added).toEqual({ ...made, rowCount: 2 })
  expect(await rows()).toEqual([
    [1, 2],
    [4, 3],
  ])
  expect(store.catalog.snapshot().tables).toEqual([added])
})

test('a column that rows do not have is null, one that the table does not have is refused', async () => {
  await append('SELECT 1 AS a, 2 AS b')
  await append('SELECT 3 AS a')
  expect(await failureOf(append('SELECT 4 AS a, 5 AS c'))).toEqual({
    code: 'invalid_request',
    message: 'The table t has no column c; it has a, b',
  })
  expect(await failureOf(append("SELECT 'x' AS a"))).toMatchObject({ code: 'sql_failed' })
  expect(await rows()).toEqual([
    [1, 2],
    [3, null],
  ])
})

test('appends at the same time all stay', async () => {
  await Promise.all([1, 2, 3, 4, 5].map((n) => append(`SELECT ${n} AS a`)))
  expect(await rows()).toEqual([[1], [2], [3], [4], [5]])
  expect(store.catalog.snapshot().tables).toMatchObject([{ rowCount: 5 }])
})

test('a name of a view is taken', async () => {
  const view = { name: 'T', projectId: 1, sql: 'SELECT 1', database: 'mindsdb', columns: [] }
  await store.catalog.createView(view)
  expect(await failureOf(append('SELECT 1 AS a'))).toMatchObject({ code: 'relation_exists' })
})

test('an abort while rows are moved leaves the table unchanged', async () => {
  await append('SELECT 1 AS a')
  const stop = new AbortController()
  const { stage } = store.engine
  store.engine.stage = async (...asked) => {
    const staged = await stage.apply(store.engine, asked)
    return {
      ...staged,
      appendTo: (table, signal) => {
        const appended = staged.appendTo(table, signal)
        stop.abort(new Error('gone'))
        return appended
      },
    }
  }
  const failure = await failureOf(append(MANY, 't', stop.signal))
  expect(failure).toEqual({ code: 'other', message: 'gone' })
  expect(await rows()).toEqual([[1]])
  expect(store.catalog.snapshot().tables).toMatchObject([{ rowCount: 1 }])
})

test('added rows survive a restart', async () => {
  using folder = temporaryFolder()
  await store.close()
  store = await openStore({ directory: folder.path })
  await append('SELECT 1 AS a')
  await append('SELECT 2 AS a')
  const before = store.catalog.snapshot().tables
  await store.close()
  store = await openStore({ directory: folder.path })
  expect(store.catalog.snapshot().tables).toEqual(before)
  expect(await rows()).toEqual([[1], [2]])
})
