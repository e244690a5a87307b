import { afterAll, afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { findFile, requireFileTable } from '../../src/core/domain/access/catalog-snapshot.ts'
import { shownValue } from '../../src/core/domain/document.ts'
import { type FileFormat, tablesOfFile } from '../../src/core/domain/uploaded-file.ts'
import { openStore, type Store } from '../../src/store/store.ts'
import { each, importFile, newFile } from '../support/direct-reading.ts'
import {
  failureOf,
  openMemoryStore,
  rowsOf,
  STATEMENTS_MAX,
  temporaryFolder,
} from '../support/store-fixture.ts'

let store: Store
const { signal } = new AbortController()

beforeEach(async () => {
  store = await openMemoryStore()
})

afterEach(() => store.close())

function upload(name: string, format: FileFormat, content: string | Uint8Array) {
  return importFile(store, { name, format, content })
}

async function readBack(name: string) {
  const file = requireFileTable(store.catalog.snapshot(), name)
  const rows = await Array.fromAsync(store.files.rows(file, signal))
  return rows.map((row) => {
    return Object.fromEntries(Object.entries(row).map(([name, cell]) => [name, shownValue(cell)]))
  })
}

const ROWS = [
  { id: 1, name: 'Ann, "A"', at: '2024-01-02' },
  { id: 2, name: 'Zoë 🦆', at: null },
]

test('CSV becomes a table with typed columns', async () => {
  const csv = 'id,name,at\r\n1,"Ann, ""A""",2024-01-02\r\n2,Zoë 🦆,\r\n'
  const file = await upload('people', 'csv', csv)
  expect(file).toMatchObject({ columns: ['id', 'name', 'at'], rowCount: 2, format: 'csv' })
  expect(await readBack('PEOPLE')).toEqual(ROWS)
})

test.each([
  ['json', JSON.stringify(ROWS)],
  ['jsonl', ROWS.map((row) => JSON.stringify(row)).join('\n')],
] as const)('%s becomes a table', async (format, text) => {
  await upload('people', format, text)
  expect(await readBack('people')).toEqual(ROWS)
})

const parquetFolder = temporaryFolder()
afterAll(() => parquetFolder[Symbol.dispose]())

async function writtenParquet(select: string, path = join(parquetFolder.path, 'a.parquet')) {
  const { DuckDBInstance } = await import('@duckdb/node-api')
  const connection = await (await DuckDBInstance.create(':memory:')).connect()
  await connection.run(`COPY (${select}) TO '${path}' (FORMAT parquet)`)
  connection.closeSync()
  return { path }
}

test('Parquet becomes a table', async () => {
  const { path } = await writtenParquet(
    "SELECT i, [i, NULL] AS l, {'a': i} AS s, 'v' || i AS v FROM range(5000) t(i)",
  )
  const file = await upload('p', 'parquet', await Bun.file(path).bytes())
  expect(file.rowCount).toBe(5000)
  const rows = await readBack('p')
  expect(rows).toHaveLength(5000)
  expect(rows[4999]).toEqual({ i: 4999, l: [4999, null], s: { a: 4999 }, v: 'v4999' })
})

test('columns whose names differ by case only, or are missing, get names of their own', async () => {
  const file = await upload('c', 'csv', 'a,A,,__proto__\n1,2,3,x\n')
  expect(new Set(file.columns.map((name) => name.toLowerCase())).size).toBe(4)
  const [row] = await readBack('c')
  expect(Object.values(row ?? {})).toEqual([1, 2, 3, 'x'])
})

test('nested JSON keeps its shape', async () => {
  await upload('n', 'json', '[{"a":{"b":[1,2]},"c":null},{"a":{"b":[]},"c":"x"}]')
  expect(await readBack('n')).toEqual([
    { a: { b: [1, 2] }, c: null },
    { a: { b: [] }, c: 'x' },
  ])
})

describe('a file that cannot be read', () => {
  test.each([
    ['json', '{"a": '],
    ['jsonl', '{"a":1}\n{"a":'],
    ['parquet', 'PAR1 this is none'],
    ['parquet', ''],
    ['pdf', 'x'],
  ] as const)('%s', async (format, text) => {
    const failure = await failureOf(upload('bad', format, text))
    expect(failure.code).toBe('file_unreadable')
    expect(failure.message).not.toMatch(/eider-upload|uploads\//)
    expect(findFile(store.catalog.snapshot(), 'bad')).toBeUndefined()
  })
})

test('a name is given once, also to uploads at the same time', async () => {
  const uploads = await Promise.all([
    failureOf(upload('f', 'csv', 'a\n1\n')),
    failureOf(upload('F', 'csv', 'a\n2\n')),
  ])
  expect(uploads.map(({ code }) => code).sort()).toEqual(['file_exists', 'none'])
})

test('an abort stops storing a table and leaves nothing behind', async () => {
  using folder = temporaryFolder()
  const onDisk = await openStore({ directory: folder.path })
  const controller = new AbortController()
  const content = `a,b\n${'1,x\n'.repeat(100_000)}`
  // The signal is checked before the copy begins, and interrupts it from then on.
  const check = controller.signal.throwIfAborted.bind(controller.signal)
  controller.signal.throwIfAborted = () => {
    check()
    queueMicrotask(() => controller.abort(new Error('gone')))
  }
  const file = { name: 'f', format: 'csv', content } as const
  const upload = failureOf(importFile(onDisk, file, controller.signal))
  expect((await upload).message).toBe('gone')
  expect(onDisk.catalog.snapshot().files).toEqual([])
  expect(readdirSync(join(folder.path, 'exports'))).toEqual([])
  await onDisk.close()
})

test('text that is more than a type never becomes part of a statement', async () => {
  const { path } = await writtenParquet('SELECT 1 AS a')
  for (const type of ['INTEGER) AS a, (SELECT 2', 'INTEGER, 2', '', 'INTEGER; DROP', "E'x"]) {
    const table = { name: null, path, rowCount: 1, columns: [{ name: 'a', type }] }
    const file = newFile({ name: 'f' })
    const failure = await failureOf(store.files.importTables(file, [table], signal))
    expect(failure.code).toBe('file_unreadable')
    await writtenParquet('SELECT 1 AS a', path)
  }
})

test('what a killed upload left behind is removed at the next start', async () => {
  using folder = temporaryFolder()
  await Bun.write(join(folder.path, 'uploads', 'x', 'file'), 'left behind')
  const onDisk = await openStore({ directory: folder.path })
  expect(existsSync(join(folder.path, 'uploads'))).toBe(false)
  await onDisk.close()
})

test('rows that were read elsewhere are stored, texts as texts and the rest as JSON', async () => {
  const rows = [
    { text: 'a\0b', n: 1 },
    { text: null, N: { a: [1] } },
    { text: 'c', n: 'one' },
  ]
  const file = newFile({ name: 'doc', format: 'markdown' })
  const stored = await store.files.importRows(file, each(rows), signal)
  expect(stored).toMatchObject({ columns: ['text', 'n', 'N_1'], rowCount: 3 })
  expect(await readBack('doc')).toEqual([
    { text: 'a\0b', n: 1, N_1: null },
    { text: null, n: null, N_1: { a: [1] } },
    { text: 'c', n: 'one', N_1: null },
  ])
})

test('rows can be read for longer than a statement may take, while other statements run', async () => {
  const csv = `a\n${Array.from({ length: 3000 }, (_, index) => index).join('\n')}\n`
  const file = await upload('long', 'csv', csv)
  const [table] = tablesOfFile(file)
  if (table === undefined) throw new Error('a file has a table')
  const readers = Array.from({ length: STATEMENTS_MAX + 1 }, () => store.files.rows(table, signal))
  for (const reader of readers) expect((await reader.next()).value).toEqual({ a: 0 })
  expect(await rowsOf(store, 'SELECT 1')).toEqual([[1]])
  for (const reader of readers) {
    let next = 1
    for await (const row of reader) expect(row.a).toBe(next++)
    expect(next).toBe(3000)
  }
})

test('a dropped file takes its table along', async () => {
  const file = await upload('f', 'csv', 'a\n1\n')
  await store.files.dropFile(file)
  expect(store.catalog.snapshot().files).toEqual([])
  const table = await rowsOf(store, "SELECT 1 FROM duckdb_tables() WHERE schema_name = 'uploaded'")
  expect(table).toEqual([])
  expect((await failureOf(store.files.dropFile(file))).code).toBe('file_not_found')
  const [gone] = tablesOfFile(file)
  const read = Array.fromAsync(gone === undefined ? [] : store.files.rows(gone, signal))
  expect((await failureOf(read)).code).toBe('file_changed')
})
