/** Files with wrong content, and statements that never end. */
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import type {
  DataSource,
  DataSourceEngine,
} from '../../../src/core/domain/flow/source-parameters.ts'
import {
  dataSource,
  LIMITS,
  readRows,
  type TestSources,
  testSources,
} from '../../support/test-sources.ts'

const outside = mkdtempSync(join(tmpdir(), 'eider-outside-'))
const folder = mkdtempSync(join(tmpdir(), 'eider-files-'))
let tested: TestSources
const { signal } = new AbortController()

beforeAll(async () => {
  tested = testSources({ folder, memoryBytes: 400 * 1024 ** 2 })
  mkdirSync(join(folder, 'deep'))
  for (const path of [join(folder, 'shop.db'), join(outside, 'secret.db')]) {
    const database = new Database(path)
    database.run('CREATE TABLE teas (id INTEGER, name TEXT)')
    database.run(`INSERT INTO teas VALUES (1, 'green'), (2, 'black')`)
    database.run(`CREATE TRIGGER t AFTER INSERT ON teas BEGIN SELECT load_extension('x'); END`)
    database.run(`CREATE VIEW loads AS SELECT load_extension('x') AS x`)
    database.run(
      'CREATE VIEW endless AS WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s) SELECT count(*) AS n FROM s',
    )
    database.run('CREATE VIEW broken AS SELECT * FROM gone')
    database.close()
  }
  const instance = await DuckDBInstance.create(join(folder, 'shop.duckdb'))
  const connection = await instance.connect()
  await connection.run(
    `CREATE TABLE teas AS SELECT range AS id FROM range(100000); CREATE VIEW reads AS SELECT * FROM read_text('${join(outside, 'secret.db')}');
     COPY teas TO '${join(folder, 'parquet.duckdb')}' (FORMAT parquet)`,
  )
  connection.closeSync()
  instance.closeSync()
  copyFileSync(join(folder, 'shop.db'), join(folder, 'deep', 'shop.db'))
  symlinkSync(join(outside, 'secret.db'), join(folder, 'link.db'))
  symlinkSync('shop.db', join(folder, 'inside.db'))
  symlinkSync(outside, join(folder, 'away'))
  writeFileSync(join(folder, 'empty'), '')
  writeFileSync(join(folder, 'random'), crypto.getRandomValues(new Uint8Array(50_000)))
  for (const name of ['shop.db', 'shop.duckdb']) {
    const bytes = readFileSync(join(folder, name))
    writeFileSync(join(folder, `cut-${name}`), bytes)
    truncateSync(join(folder, `cut-${name}`), bytes.length - 4096)
    const damaged = Buffer.from(bytes)
    crypto.getRandomValues(damaged.subarray(100, 8000))
    writeFileSync(join(folder, `damaged-${name}`), damaged)
  }
  spawnSync('mkfifo', [join(folder, 'pipe')])
}, 180_000)

afterAll(async () => {
  await tested.close()
  rmSync(folder, { recursive: true, force: true })
  rmSync(outside, { recursive: true, force: true })
})

function file(engine: DataSourceEngine, path: string): DataSource {
  return dataSource(engine, { path })
}

async function readAll(source: DataSource, sql: string, limits = LIMITS, by = signal) {
  return (await readRows(tested.sources, [source, { sql, values: [] }], limits, by)).rows
}

describe('places', () => {
  const checked = (source: DataSource) => tested.sources.check(source, signal)

  test.each([
    ['gone.db', 'no such file'],
    ['shop.db ', 'starts or ends with a space'],
    ['../secret.db', 'without ..'],
    ['deep/../shop.db', 'without ..'],
    ['/etc/passwd', 'without ..'],
    ['link.db', 'leads out'],
    ['away/secret.db', 'leads out'],
    ['deep', 'not a regular file'],
    ['pipe', 'not a regular file'],
    ['shop.db/x', 'no such file'],
  ])('%s: %s', async (path, message) => {
    for (const engine of ['sqlite', 'duckdb'] as const) {
      const failure = await checked(file(engine, path)).catch(String)
      expect(failure).toContain(message)
      expect(failure).not.toContain(folder)
    }
  })

  test('links within the folder and files below it are read', async () => {
    await checked(file('sqlite', 'inside.db'))
    await checked(file('sqlite', 'deep/shop.db'))
  })

  test('a file beside it that leads elsewhere', async () => {
    copyFileSync(join(folder, 'shop.db'), join(folder, 'beside.db'))
    symlinkSync(join(outside, 'secret.db'), join(folder, 'beside.db-wal'))
    expect(await checked(file('sqlite', 'beside.db')).catch(String)).toContain('-wal')
  })

  test('without the setting none is read', async () => {
    const closed = testSources()
    const failure = await closed.sources.check(file('sqlite', 'shop.db'), signal).catch(String)
    await closed.close()
    expect(failure).toContain(
      'set EIDER_SOURCES_DIR to a folder that contains it, and db_file to the path below it',
    )
  })
})

describe('files that are not databases', () => {
  test.each([
    ['sqlite', 'random', 'not a database of SQLite'],
    ['sqlite', 'shop.duckdb', 'but one of DuckDB'],
    ['sqlite', 'damaged-shop.db', 'damaged'],
    ['duckdb', 'random', 'not a database of DuckDB'],
    ['duckdb', 'empty', 'not a database of DuckDB'],
    ['duckdb', 'shop.db', 'but one of SQLite'],
    ['duckdb', 'parquet.duckdb', 'not a database of DuckDB'],
    ['duckdb', 'damaged-shop.duckdb', 'Data source shop (duckdb file damaged-shop.duckdb): '],
  ] as const)('%s of %s: %s', async (engine, path, message) => {
    const failure = await tested.sources.check(file(engine, path), signal).catch(String)
    expect(failure).toContain(message)
    expect(failure).not.toContain(folder)
  })

  test('an empty file is an empty database of SQLite', async () => {
    expect(await tested.sources.tables(file('sqlite', 'empty'), signal)).toEqual([])
  })

  test('one that was cut off fails, and the next is read', async () => {
    for (const [engine, path] of [
      ['sqlite', 'cut-shop.db'],
      ['duckdb', 'cut-shop.duckdb'],
    ] as const) {
      const failure = await readAll(file(engine, path), 'SELECT * FROM teas').catch(String)
      expect(failure).toContain(`Data source shop (${engine} file ${path}): `)
      expect(failure).not.toContain(folder)
    }
    expect(await readAll(file('sqlite', 'shop.db'), 'SELECT id FROM teas')).toEqual([[1], [2]])
  })

  test('what a schema calls is not run', async () => {
    const sqlite = file('sqlite', 'shop.db')
    const tables = await tested.sources.describeTables(sqlite, signal)
    expect(tables.map(({ name }) => name)).toEqual(['broken', 'endless', 'loads', 'teas'])
    expect(await readAll(sqlite, 'SELECT * FROM loads').catch(String)).toContain('unsafe use')
    expect(
      await readAll(file('duckdb', 'shop.duckdb'), 'SELECT * FROM reads').catch(String),
    ).toContain('not allowed')
  })
})

const ENDLESS_ROWS =
  'WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s) SELECT i FROM s'

describe('statements without an end', () => {
  const ENDLESS = [
    [
      'sqlite',
      'WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s) SELECT count(*) FROM s',
    ],
    [
      'duckdb',
      'SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE a.range + b.range = 7',
    ],
  ] as const
  const BOMBS = [
    ['sqlite', 'SELECT zeroblob(2000000000)'],
    [
      'sqlite',
      `SELECT group_concat(hex(zeroblob(1000000))) FROM (WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s) SELECT i FROM s LIMIT 2000)`,
    ],
    ['duckdb', "SELECT repeat('x', 2000000000)"],
    ['duckdb', 'SELECT list(range) FROM range(2000000000)'],
  ] as const
  const path = { sqlite: 'shop.db', duckdb: 'shop.duckdb' } as const

  test.each(ENDLESS)('%s: the deadline ends it', async (engine, sql) => {
    const source = file(engine, path[engine])
    const limits = { timeoutMs: 1000, setting: 'EIDER_QUERY_MS' }
    expect(await readAll(source, sql, limits).catch(String)).toContain('longer than 1000 ms')
    const select = { sql, values: [] }
    const failure = await tested.sources.stage(source, select, limits, signal).catch(String)
    expect(failure).toContain('longer than 1000 ms')
    expect(await readAll(source, 'SELECT count(*) > 0 AS has FROM teas')).toHaveLength(1)
    expect(readdirSync(tested.directory)).toEqual([])
  })

  test.each(ENDLESS)('%s: an abort ends it', async (engine, sql) => {
    const leaving = new AbortController()
    const read = readAll(file(engine, path[engine]), sql, LIMITS, leaving.signal)
    setTimeout(() => leaving.abort(new Error('left')), 300)
    expect(await read.catch(String)).toContain('left')
  })

  test.each(BOMBS)('%s: %s', async (engine, sql) => {
    const source = file(engine, path[engine])
    const failure = await readAll(source, sql).catch(String)
    expect(failure).toContain(`Data source shop (${engine} file ${path[engine]}): `)
    expect(await readAll(source, 'SELECT count(*) > 0 AS has FROM teas')).toHaveLength(1)
  })

  test('a statement of which a few rows are needed ends after them', async () => {
    const select = { sql: ENDLESS_ROWS, values: [], rowsMax: 3 }
    const asked = [file('sqlite', 'shop.db'), select] as const
    const { rows } = await readRows(tested.sources, asked, LIMITS, signal)
    expect(rows).toEqual([[1], [2], [3]])
    expect(readdirSync(tested.directory)).toEqual([])
  })

  test('a process that is killed is one failed statement', async () => {
    const reading = readAll(file('sqlite', 'shop.db'), ENDLESS_ROWS).catch(String)
    while (
      !readdirSync(tested.directory).some((one) =>
        existsSync(join(tested.directory, one, 'rows.csv')),
      )
    ) {
      await Bun.sleep(10)
    }
    const pids = spawnSync('pgrep', ['-P', String(process.pid), '-f', 'source-file-entry']).stdout
    for (const pid of String(pids).trim().split('\n')) process.kill(Number(pid), 'SIGKILL')
    expect(await reading).toContain('crashed')
    expect(await readAll(file('sqlite', 'shop.db'), 'SELECT id FROM teas')).toHaveLength(2)
  })
})

describe('files in use', () => {
  test('SQLite: a writer that holds it, then lets go', async () => {
    const writer = new Database(join(folder, 'busy.db'))
    writer.run('CREATE TABLE t (i INTEGER); INSERT INTO t VALUES (1)')
    writer.run('BEGIN EXCLUSIVE; INSERT INTO t VALUES (2)')
    const source = file('sqlite', 'busy.db')
    expect(await readAll(source, 'SELECT * FROM t').catch(String)).toContain('writing to it')
    writer.run('COMMIT')
    expect(await readAll(source, 'SELECT * FROM t')).toEqual([[1], [2]])
    writer.close()
  })

  test('SQLite: a write-ahead log that its writer has open', async () => {
    const writer = new Database(join(folder, 'log.db'))
    writer.run('PRAGMA journal_mode = WAL')
    writer.run('CREATE TABLE t (i INTEGER); INSERT INTO t VALUES (1)')
    expect(await readAll(file('sqlite', 'log.db'), 'SELECT * FROM t')).toEqual([[1]])
    writer.run('INSERT INTO t VALUES (2)')
    expect(await readAll(file('sqlite', 'log.db'), 'SELECT * FROM t')).toEqual([[1], [2]])
    writer.close()
  })

  test('SQLite: what a writer that crashed has left behind', async () => {
    const writer = new Database(join(folder, 'crashed.db'))
    writer.run('CREATE TABLE t (i INTEGER, t TEXT); INSERT INTO t VALUES (1, NULL)')
    writer.run('PRAGMA cache_size = 2; PRAGMA cache_spill = 2')
    writer.run(`BEGIN; WITH RECURSIVE s(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM s WHERE i < 5000)
      INSERT INTO t SELECT i, hex(randomblob(100)) FROM s`)
    for (const ending of ['', '-journal']) {
      copyFileSync(join(folder, `crashed.db${ending}`), join(folder, `hot.db${ending}`))
    }
    writer.run('ROLLBACK')
    writer.close()
    const failure = await readAll(file('sqlite', 'hot.db'), 'SELECT i FROM t').catch(String)
    expect(failure).toContain('its journal needs the program that wrote it')
  })

  test('DuckDB: another program that has it open for writing', async () => {
    const holder = Bun.spawn(
      [
        process.execPath,
        '-e',
        `const { DuckDBInstance } = require('@duckdb/node-api');
         DuckDBInstance.create(${JSON.stringify(join(folder, 'held.duckdb'))}).then(async (instance) => {
           await (await instance.connect()).run('CREATE TABLE t AS SELECT 1 AS i; CHECKPOINT');
           console.log('held'); setInterval(() => {}, 1000) })`,
      ],
      { stdout: 'pipe' },
    )
    await holder.stdout.getReader().read()
    const source = file('duckdb', 'held.duckdb')
    expect(await readAll(source, 'SELECT * FROM t').catch(String)).toContain('open for writing')
    holder.kill('SIGKILL')
    await holder.exited
    expect(await readAll(source, 'SELECT * FROM t')).toEqual([[1]])
  })

  test('DuckDB: an encrypted file', async () => {
    const path = join(folder, 'locked.duckdb')
    const instance = await DuckDBInstance.create(':memory:')
    const connection = await instance.connect()
    await connection.run(
      `SET force_mbedtls_unsafe = 'true'; ATTACH '${path}' AS x (ENCRYPTION_KEY 'secret'); CREATE TABLE x.t AS SELECT 1 AS i; DETACH x`,
    )
    connection.closeSync()
    instance.closeSync()
    const failure = await tested.sources
      .check(file('duckdb', 'locked.duckdb'), signal)
      .catch(String)
    expect(failure).toContain('encrypted')
  })
})
