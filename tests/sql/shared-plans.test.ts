import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { PlanCache, type SelectPlan } from '../../src/query/select/plan-cache.ts'
import type { QueryDeps } from '../../src/query/select/query-deps.ts'
import { runSelect, withBoundSelect } from '../../src/query/select/run-select.ts'
import { SharedPlans } from '../../src/query/select/shared-plans.ts'
import { openSqlFixture, type SqlFixture } from './sql-fixture.ts'

let fixture: SqlFixture
let seed = 1
beforeAll(async () => {
  fixture = await openSqlFixture()
})
afterAll(() => fixture.close())

const { signal } = new AbortController()

/** `#` is a value of some kind, and the same letter after it means the same value. */
const SHARED = [
  'SELECT #a',
  'SELECT #a AS value, #b + #a',
  'SELECT DISTINCT #a',
  'SELECT a, #a FROM files.t WHERE a = #a OR a > #b',
  'SELECT sum(CASE WHEN a > #a THEN #b ELSE 0 END) FROM files.t',
  'SELECT * FROM files.t WHERE NOT (a <= #a) AND a NOT IN (#b, #c, #a) ORDER BY a, id LIMIT 7',
  'WITH few AS (SELECT * FROM files.t WHERE a < #a) SELECT count(*) FROM few JOIN files.t u ON few.a = u.a AND u.a <> #b',
  'SELECT id FROM kb WHERE price < #a ORDER BY id',
  "SELECT id, distance FROM kb WHERE content = 'text 7' AND price BETWEEN #a AND #b LIMIT 5",
  "SELECT id, relevance FROM kb WHERE content = 'text 7' AND colour = #t AND hybrid_search = true LIMIT 5",
  "SELECT count(*), avg(distance) FROM kb WHERE content = 'number' AND price IN (#a, #b)",
  'SELECT * FROM (SELECT a % 3 AS g, #a AS v FROM files.t UNION ALL SELECT a, #b FROM files.t) AS u ORDER BY ALL LIMIT 4',
  'SELECT price, count(*) FROM kb WHERE price <> #a GROUP BY price HAVING count(*) > #b ORDER BY 1 LIMIT 20',
  'SELECT id FROM files.t WHERE a = (SELECT max(a) FROM files.t WHERE a < #a)',
  'SELECT id FROM files.t WHERE EXISTS (SELECT 1 FROM kb WHERE kb.id = t.id AND kb.price = #a) ORDER BY id',
]

/** A value that limits, orders, is cast or is an argument changes more than itself. */
const PLANNED_EACH_TIME = [
  "SELECT repeat('x', #i)",
  'SELECT * FROM files.t ORDER BY id LIMIT #i',
  'SELECT #i::TINYINT',
  "SELECT id FROM kb WHERE content = 'text 5' AND relevance > 0.00#i LIMIT 5",
  "SELECT id FROM kb WHERE content = 'text 5' AND hybrid_search_alpha = 0.#i LIMIT 5",
  "SELECT date '2024-01-0#i'",
  'SELECT interval #i day',
]

function filled(sql: string): string {
  const values = new Map<string, string>()
  return sql.replaceAll(/#(\w)/g, (_, name: string) => {
    const value = values.get(name) ?? literalOf(name)
    values.set(name, value)
    return value
  })
}

/** Small values, so that some are equal and some rows are found. */
function literalOf(name: string): string {
  seed = (seed * 48271) % 2147483647
  const number = seed % 13
  if (name === 'i') return String(1 + (seed % 9))
  if (name === 't') return ["'red'", "'blue'", "'it is'", "'é 9'"][seed % 4] ?? ''
  return seed % 3 === 0 ? `${number}.${seed % 4}50` : String(number * (seed % 5 === 0 ? 99_999 : 1))
}

function counting(): { readonly deps: QueryDeps; readonly planned: string[] } {
  const { deps } = fixture
  const planned: string[] = []
  const planner = {
    plan: (...args: Parameters<QueryDeps['planner']['plan']>) => {
      planned.push(args[0].sql)
      return deps.planner.plan(...args)
    },
  } as QueryDeps['planner']
  return {
    deps: { ...deps, plans: new PlanCache(), sharedPlans: new SharedPlans(), planner },
    planned,
  }
}

function request(sql: string) {
  return { sql, database: 'mindsdb', params: {} }
}

/** Removes what a plan has learnt in earlier runs, which is not part of the plan. */
function withoutKnown(plan: SelectPlan): SelectPlan {
  const { candidates } = plan
  return {
    ...plan,
    constant: null,
    candidates: candidates && { ...candidates, known: { columns: null } },
  }
}

/** Returns names, types and rows, or the failure. */
async function answerOf(sql: string, deps: QueryDeps) {
  try {
    const { columns, batches } = await runSelect({ ...request(sql), isShown: true }, deps, signal)
    const rows = []
    for await (const batch of batches) rows.push(...batch)
    return { columns, rows }
  } catch (error) {
    return String(error)
  }
}

describe('a plan assembled from statements of the same shape equals the plan of its own text', () => {
  test.each(SHARED)('%s', async (sql) => {
    const { deps, planned } = counting()
    for (let turn = 0; turn < 16; turn += 1) {
      const text = filled(sql)
      const fresh = counting()
      const [shared, own] = [
        await withBoundSelect(request(text), deps, signal, async (bound) => bound),
        await withBoundSelect(request(text), fresh.deps, signal, async (bound) => bound),
      ]
      expect(withoutKnown(shared.plan)).toEqual(withoutKnown(own.plan))
      expect(shared.statement).toEqual(own.statement)
      expect(await answerOf(text, deps)).toEqual(await answerOf(text, fresh.deps))
    }
    // Two equal values, or another type, need another plan.
    const before = planned.length
    for (let turn = 0; turn < 50; turn += 1)
      await withBoundSelect(request(filled(sql)), deps, signal, async (bound) => bound)
    expect(planned.length - before).toBeLessThan(35)
  })

  test.each(PLANNED_EACH_TIME)('%s: planned each time', async (sql) => {
    const { deps, planned } = counting()
    const texts = [1, 2, 3, 4, 5, 6].map((value) => sql.replaceAll('#i', String(value)))
    for (const text of texts) {
      expect(await answerOf(text, deps)).toEqual(await answerOf(text, counting().deps))
    }
    // By then, the texts of searches are parameters. With placeholders for values, the statement is
    // planned to see what it depends on.
    const distinct = new Set(planned.filter((text) => !text.includes('718281')))
    expect(distinct.size).toBe(texts.length)
  })
})

test('the third statement of a shape is not planned', async () => {
  const { deps, planned } = counting()
  for (let value = 10; value < 20; value += 1) {
    expect(await answerOf(`SELECT ${value}`, deps)).toEqual({
      columns: [{ name: String(value), type: 'INTEGER' }],
      rows: [[value]],
    })
  }
  expect(planned.length).toBe(3)
})

test('a value of another type is another shape', async () => {
  const { deps } = counting()
  const types = []
  for (const value of ['1', '2', '3', '10000000000', '4.5', '4.25', '5.', "'a'", '1e3', '007']) {
    const { columns } = await runSelect(request(`SELECT ${value} AS v`), deps, signal)
    types.push(columns[0]?.type)
  }
  expect(types).toEqual(
    'INTEGER INTEGER INTEGER BIGINT DECIMAL(2,1) DECIMAL(3,2) DECIMAL(1,0) VARCHAR DOUBLE INTEGER'.split(
      ' ',
    ),
  )
})

test('a failing statement gives the same error, with its own position', async () => {
  const { deps } = counting()
  for (const sql of [1, 2, 3, 4].map((value) => `SELECT nothing FROM files.t WHERE a = ${value}`)) {
    expect(await answerOf(sql, deps)).toEqual(await answerOf(sql, counting().deps))
  }
  const wrong = ['1', '22', '333', '4'].map((value) => `SELECT CASE WHEN ${value} = 'x' THEN 1 END`)
  for (const sql of wrong) {
    expect(await answerOf(sql, deps)).toEqual(await answerOf(sql, counting().deps))
  }
})

test('a constant answer is computed once, any other each time', async () => {
  const { deps } = counting()
  const ran: string[] = []
  const engine = new Proxy(deps.engine, {
    get: (target, name) => {
      const found = Reflect.get(target, name)
      if (typeof found !== 'function') return found
      return (...args: unknown[]) => {
        if (name === 'run') ran.push((args[0] as { sql: string }).sql)
        return found.apply(target, args)
      }
    },
  })
  const runs = async (sql: string, params = {}) => {
    ran.length = 0
    const answers = []
    for (let turn = 0; turn < 3; turn += 1) {
      const select = { ...request(sql), params, isShown: true }
      const { columns, batches } = await runSelect(select, { ...deps, engine }, signal)
      const rows = []
      for await (const batch of batches) rows.push(...batch)
      answers.push(JSON.stringify([columns, rows]))
    }
    return { times: ran.length, answers: new Set(answers).size }
  }
  const once = { times: 1, answers: 1 }
  for (const sql of ['SELECT 1', "SELECT upper('a') AS a, 1.50, NULL, [1, 2], DATE '2024-02-29'"]) {
    expect(await runs(sql)).toEqual(once)
  }
  expect(await runs('SELECT random()')).toEqual({ times: 3, answers: 3 })
  expect(await runs('SELECT uuid() AS id')).toEqual({ times: 3, answers: 3 })
  for (const sql of [
    'SELECT now() IS NULL',
    'SELECT current_date IS NULL',
    'SELECT database()',
    'SELECT (SELECT count(*) FROM files.t)',
    'SELECT a FROM files.t WHERE a = 5',
    'SELECT count(id) FROM kb',
    "SELECT repeat('x', 5000)",
    'SELECT unnest(range(10000))',
  ]) {
    expect((await runs(sql)).times).toBe(3)
  }
  expect((await runs('SELECT :n', { n: 1 })).times).toBe(3)
})

test('a statement that contains the marks is planned as written', async () => {
  const { deps } = counting()
  for (const sql of ['SELECT 718281100, 5', 'SELECT 718281100, 6', 'SELECT 718281100, 7']) {
    expect(await answerOf(sql, deps)).toEqual(await answerOf(sql, counting().deps))
  }
})
