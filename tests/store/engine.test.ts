import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import type { ErrorCode } from '../../src/core/errors.ts'
import { openStore, type Store } from '../../src/store/store.ts'
import {
  failureOf,
  nextStatementRuns,
  openMemoryStore,
  rowsOf,
  STATEMENTS_MAX,
} from '../support/store-fixture.ts'

let store: Store

beforeAll(async () => {
  store = await openMemoryStore()
})

/**
 * On a busy machine, DuckDB takes a while to release ended statements. Until then, few slots are
 * free.
 */
afterEach(async () => {
  while (store.engine.statementCounts().abandoned.length > 0) await Bun.sleep(1)
})

afterAll(() => store.close())

const ENDLESS = 'SELECT count(*) FROM range(100000000000) a, range(1000) b'
function run(sql: string, timeoutMs = 10_000, signal = new AbortController().signal) {
  return store.engine.run({ sql, values: {} }, { timeoutMs }, signal)
}

test('a tree printed and read again is the same text', async () => {
  const sql = "SELECT a, 9007199254740993, 1e10 FROM t WHERE b = 'it''s é' LIMIT 3"
  const tree = await store.engine.parse(sql)
  const printed = await store.engine.print(tree)
  expect(await store.engine.print(await store.engine.parse(printed))).toBe(printed)
  expect(tree).toContain('9007199254740993')
})

describe('a text that is not a statement', () => {
  test.each([
    ['SELEC 1', 'line 1, column 1: syntax error at or near "SELEC"\nSELEC 1\n^'],
    [
      "SELECT 1\n, '😀é', from x y z",
      'line 2, column 18: syntax error at or near "z"\n, \'😀é\', from x y z\n                 ^',
    ],
    [
      "SELECT 'abc",
      'line 1, column 8: unterminated quoted string at or near "\'abc"\nSELECT \'abc\n       ^',
    ],
    ['SELECT 1 +', 'line 1, column 11: syntax error at end of input\nSELECT 1 +\n          ^'],
  ])('%j says where', async (sql, message) => {
    expect(await failureOf(store.engine.parse(sql))).toEqual({ code: 'sql_syntax', message })
  })

  test('a caret is under the place, also in a long line', async () => {
    const sql = `SELECT ${'a, '.repeat(200)} FROM FROM t`
    const { message } = await failureOf(store.engine.parse(sql))
    const [, line = '', caret = ''] = message.split('\n')
    expect(line.slice(caret.length - 1)).toStartWith('FROM')
  })

  test('a statement other than SELECT is not supported', async () => {
    const failure = await failureOf(store.engine.parse('DELETE FROM t'))
    expect(failure.code).toBe('sql_not_supported')
  })

  test('a NUL is reported with its position instead of cutting the statement short', async () => {
    const sql = "SELECT 'é\0' FROM t"
    const message = 'line 1, column 10: a statement must not hold the character NUL'
    for (const work of [store.engine.parse(sql), rowsOf(store, sql)]) {
      const failure = await failureOf(work)
      expect(failure.code).toBe('sql_syntax')
      expect(failure.message).toStartWith(message)
    }
  })

  test('endless nesting is an error, not a crash', async () => {
    const sql = `SELECT ${'('.repeat(100_000)}1${')'.repeat(100_000)}`
    expect((await failureOf(store.engine.parse(sql))).code).toBe('sql_syntax')
  })
})

const FAILURES: readonly (readonly [string, ErrorCode, string])[] = [
  ['SELECT * FROM nope', 'sql_unknown_name', 'nope'],
  ['SELECT nope FROM range(1)', 'sql_unknown_name', 'nope'],
  ["SELECT 'a'::INTEGER", 'sql_failed', "'a'"],
  ['SELECT $missing', 'sql_missing_parameter', 'missing'],
  ['SELECT 1; SELECT 2', 'sql_failed', 'multiple statements'],
  ['CREATE TABLE t(a INTEGER)', 'sql_forbidden', 'read-only'],
  ["INSERT INTO eider.counters VALUES ('x', 1)", 'sql_forbidden', 'read-only'],
  ["SELECT * FROM read_csv('/etc/passwd')", 'sql_forbidden', 'disabled'],
  ['SET threads = 1', 'sql_failed', 'locked'],
]

describe('a statement that fails', () => {
  test.each(FAILURES)('%s', async (sql, code, part) => {
    const failure = await failureOf(rowsOf(store, sql))
    expect(failure.code).toBe(code)
    expect(failure.message).toContain(part)
    expect(failure.message).not.toContain('\n')
    expect(await rowsOf(store, 'SELECT 1')).toEqual([[1]])
  })

  test('too much memory is reported, and the engine keeps working', async () => {
    const small = await openStore({ directory: ':memory:', memoryLimit: '100MB' })
    const failure = await failureOf(rowsOf(small, 'SELECT list(i) FROM range(100000000) t(i)'))
    expect(failure.code).toBe('out_of_memory')
    expect(await rowsOf(small, 'SELECT 1')).toEqual([[1]])
    await small.close()
  })
})

describe('deadline and abort', () => {
  test('a running statement is answered at its deadline', async () => {
    const failure = await failureOf(run(ENDLESS, 100))
    expect(failure.code).toBe('timeout')
    expect(failure.message).toContain('100 ms')
    expect(await rowsOf(store, 'SELECT 1')).toEqual([[1]])
  })

  test('an abort stops a statement at once with its reason', async () => {
    const controller = new AbortController()
    const isRunning = nextStatementRuns()
    const statement = run(ENDLESS, 60_000, controller.signal)
    const reason = new Error('client went away')
    await isRunning
    controller.abort(reason)
    expect((await failureOf(statement)).message).toBe(reason.message)
  })

  test('a signal that is already aborted starts nothing', async () => {
    const { message } = await failureOf(run('SELECT 1', 1000, AbortSignal.abort(new Error('gone'))))
    expect(message).toBe('gone')
  })

  test('an abort in the middle of the rows fails the reading', async () => {
    const controller = new AbortController()
    const { batches } = await run('SELECT * FROM range(10000000)', 60_000, controller.signal)
    const read = async () => {
      for await (const batch of batches) {
        expect(batch.length).toBeGreaterThan(0)
        controller.abort(new Error('gone'))
      }
    }
    expect((await failureOf(read())).message).toBe('gone')
  })

  test('unread rows free their slot at the deadline', async () => {
    const unread = Array.from({ length: STATEMENTS_MAX }, () =>
      run('SELECT * FROM range(1000000000)', 200),
    )
    // On a busy machine, its time may be over before the first rows arrive.
    await Promise.allSettled(unread)
    expect(await rowsOf(store, 'SELECT 1')).toEqual([[1]])
  })
})

describe('places', () => {
  test('returning before the last row frees the slot', async () => {
    for (let round = 0; round < STATEMENTS_MAX * 3; round += 1) {
      const { batches } = await run('SELECT * FROM range(10000000)')
      for await (const batch of batches) {
        expect(batch.length).toBeGreaterThan(0)
        break
      }
    }
    expect(await rowsOf(store, 'SELECT 1')).toEqual([[1]])
  })

  test('returning before the first row frees the slot', async () => {
    for (let round = 0; round < STATEMENTS_MAX * 3; round += 1) {
      const { batches } = await run('SELECT * FROM range(10000000)')
      await batches[Symbol.asyncIterator]().return?.()
    }
    expect(await rowsOf(store, 'SELECT 1')).toEqual([[1]])
  })

  test('an abort while a statement begins frees its slot', async () => {
    for (let round = 0; round < STATEMENTS_MAX * 3; round += 1) {
      const leaving = new AbortController()
      const failed = failureOf(run('SELECT 1', 1000, leaving.signal))
      leaving.abort(new Error('gone'))
      expect((await failed).message).toBe('gone')
    }
    expect(await rowsOf(store, 'SELECT 1')).toEqual([[1]])
  })

  test('the deadline includes waiting for a slot', async () => {
    const running = Array.from({ length: STATEMENTS_MAX }, () => failureOf(run(ENDLESS, 1000)))
    const waited = await failureOf(run(ENDLESS, 50))
    expect(waited.code).toBe('timeout')
    const codes = (await Promise.all(running)).map(({ code }) => code)
    expect(codes).toEqual(Array(STATEMENTS_MAX).fill('timeout'))
  })

  test('many statements at once are all answered', async () => {
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, index) => rowsOf(store, 'SELECT $i', { i: index })),
    )
    expect(answers.map(([row]) => row?.[0])).toEqual(Array.from({ length: 100 }, (_, i) => i))
  })
})

test('a large result comes in many batches, in order', async () => {
  const { batches } = await run('SELECT i, i::VARCHAR FROM range(50000) t(i)')
  let next = 0
  let count = 0
  for await (const batch of batches) {
    count += 1
    for (const [value] of batch) {
      if (value !== next) throw new Error(`expected ${next}, found ${value}`)
      next += 1
    }
  }
  expect(next).toBe(50_000)
  expect(count).toBeGreaterThan(10)
})

describe('an answer that is made all at once', () => {
  const short = (sql: string, signal = AbortSignal.any([])) => {
    return store.engine.run({ sql, values: {}, isShort: true }, { timeoutMs: 5_000 }, signal)
  }

  test.each([0, 1, 2048, 5000])('has its %d rows, in order', async (count) => {
    const { columns, batches } = await short(`SELECT i FROM range(${count}) t(i)`)
    const found: unknown[] = []
    for await (const batch of batches) found.push(...batch.map(([value]) => value))
    expect(columns).toEqual([{ name: 'i', type: 'BIGINT' }])
    expect(found).toEqual(Array.from({ length: count }, (_, index) => index))
  })

  test('frees its slot with the last row, or when its reader leaves', async () => {
    for (let round = 0; round < STATEMENTS_MAX * 3; round += 1) {
      const { batches } = await short('SELECT 1')
      if (round % 2 === 0) await batches[Symbol.asyncIterator]().return?.()
    }
    expect(await rowsOf(store, 'SELECT 1')).toEqual([[1]])
  })

  test('is stopped at an abort', async () => {
    const leaving = new AbortController()
    const failed = failureOf(short(ENDLESS, leaving.signal))
    leaving.abort(new Error('gone'))
    expect((await failed).message).toBe('gone')
  })
})

test('closing ends running statements and refuses new ones', async () => {
  const other = await openMemoryStore()
  const isRunning = nextStatementRuns()
  const running = failureOf(
    other.engine.run({ sql: ENDLESS, values: {} }, { timeoutMs: 60_000 }, AbortSignal.any([])),
  )
  await isRunning
  await other.close()
  expect((await running).code).toBe('shutting_down')
  expect((await failureOf(rowsOf(other, 'SELECT 1'))).code).toBe('shutting_down')
})
