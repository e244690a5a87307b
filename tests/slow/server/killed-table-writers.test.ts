/** kill -9 while several clients write to one table: every acknowledged row exists exactly once. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { isEverything } from '../../support/sample.ts'
import { temporaryFolder } from '../../support/store-fixture.ts'
import { type ServerProcess, startServer } from './server-process.ts'

const CLIENTS = 12
const ROUNDS = 3
const KILLS = isEverything ? 2 : 1

interface SqlAnswer {
  readonly data?: readonly (readonly unknown[])[]
  readonly error_code?: number
  readonly error_message?: string
}

async function sql(server: ServerProcess, query: string): Promise<SqlAnswer['data']> {
  const response = await server.send('POST', '/api/sql/query', { query })
  // It is an SQL answer with any status.
  const answer = (await response.json()) as SqlAnswer
  if (answer.error_message !== undefined) throw new Error(`${query}: ${answer.error_message}`)
  return answer.data ?? []
}

/** How one kind of writer adds the number `n` to the table. */
interface Writer {
  readonly create: string
  readonly write: (n: number) => readonly string[]
  /** A statement that reads the numbers in the table. */
  readonly read: string
}

const NUMBERS = 'SELECT n FROM t ORDER BY n'

const WRITERS: Readonly<Record<string, Writer>> = {
  'CREATE OR REPLACE': {
    create: 'CREATE TABLE t AS SELECT 0 AS n WHERE false',
    write: (n) => [`CREATE OR REPLACE TABLE t AS SELECT * FROM t UNION ALL SELECT ${n}`],
    read: NUMBERS,
  },
  INSERT: {
    create: 'CREATE TABLE t (n INTEGER PRIMARY KEY)',
    write: (n) => [`INSERT INTO t VALUES (${n})`],
    read: NUMBERS,
  },
  // Each takes the next number based on the rows it reads.
  'INSERT of what is read': {
    create: 'CREATE TABLE t (at INTEGER UNIQUE, n INTEGER NOT NULL)',
    write: (n) => [`INSERT INTO t SELECT count(*), ${n} FROM t`],
    read: NUMBERS,
  },
  UPDATE: {
    create: "CREATE TABLE t AS SELECT 1 AS id, [0] AS taken, 'rest' AS other",
    write: (n) => [`UPDATE t SET taken = list_append(taken, ${n}) WHERE id = 1`],
    read: 'SELECT unnest(taken[2:]) AS n FROM t ORDER BY n',
  },
  'DELETE and INSERT': {
    create: "CREATE TABLE t AS SELECT range - 1000 AS n, 'old' AS state FROM range(1000)",
    write: (n) => [
      `INSERT INTO t VALUES (${n}, 'new')`,
      `DELETE FROM t WHERE n = (SELECT min(n) FROM t WHERE state = 'old')`,
    ],
    read: "SELECT n FROM t WHERE state = 'new' ORDER BY n",
  },
  'ON CONFLICT': {
    create: 'CREATE TABLE t (id INTEGER PRIMARY KEY, taken INTEGER[] DEFAULT [])',
    write: (n) => [
      `INSERT INTO t VALUES (1, [${n}]) ON CONFLICT (id) DO UPDATE SET taken = t.taken || excluded.taken`,
    ],
    read: 'SELECT unnest(taken) AS n FROM t ORDER BY n',
  },
}

interface Written {
  readonly acknowledged: Set<number>
  /** Writes that were sent but interrupted by the kill. They may exist or not. */
  readonly open: Set<number>
}

/** Each client writes its numbers one after the other until the server is gone. */
async function writeAll(
  server: ServerProcess,
  { write }: Writer,
  first: number,
  { acknowledged, open }: Written,
): Promise<void> {
  const client = async (at: number) => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const n = first + at * ROUNDS + round
      open.add(n)
      for (const query of write(n)) {
        try {
          await sql(server, query)
        } catch (error) {
          const isRefused = error instanceof Error && error.message.startsWith(query)
          if (isRefused) throw error
          return
        }
      }
      open.delete(n)
      acknowledged.add(n)
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, (_, at) => client(at)))
}

async function expectWhole(server: ServerProcess, writer: Writer, written: Written): Promise<void> {
  const found = ((await sql(server, writer.read)) ?? []).map(([n]) => Number(n))
  expect(new Set(found).size).toBe(found.length)
  expect([...written.acknowledged].filter((n) => !found.includes(n))).toEqual([])
  expect(found.filter((n) => !written.acknowledged.has(n) && !written.open.has(n))).toEqual([])
}

const folder = temporaryFolder()
const environment = { EIDER_DATA_DIR: join(folder.path, 'data') }
/** Started again after each kill. */
let server: ServerProcess

beforeAll(async () => {
  server = await startServer(environment)
})
afterAll(async () => {
  server.kill('SIGKILL')
  await server.exited
  folder[Symbol.dispose]()
})

for (const [kind, writer] of Object.entries(WRITERS)) {
  test(`${kind}: ${CLIENTS} x ${ROUNDS} writers lose nothing, also to kill -9`, async () => {
    await sql(server, 'DROP TABLE IF EXISTS t')
    await sql(server, writer.create)
    const written: Written = { acknowledged: new Set(), open: new Set() }
    await writeAll(server, writer, 1, written)
    expect(written.acknowledged.size).toBe(CLIENTS * ROUNDS)
    await expectWhole(server, writer, written)
    for (let kill = 1; kill <= KILLS; kill += 1) {
      const writing = writeAll(server, writer, kill * 1000, written)
      // At some point when a few writes have been acknowledged.
      const wanted = written.acknowledged.size + kill * 7
      while (written.acknowledged.size < wanted) await Bun.sleep(1)
      server.kill('SIGKILL')
      await server.exited
      await writing
      server = await startServer(environment)
      await expectWhole(server, writer, written)
    }
    if (kind === 'DELETE and INSERT') {
      const [[left] = []] = (await sql(server, "SELECT count(*) FROM t WHERE state = 'old'")) ?? []
      const deleted = 1000 - Number(left)
      expect(deleted).toBeGreaterThanOrEqual(written.acknowledged.size)
      expect(deleted).toBeLessThanOrEqual(written.acknowledged.size + written.open.size)
    }
  }, 240_000)
}
