import { afterAll, beforeAll, expect, test } from 'bun:test'
import { nameScope } from '../../src/query/select/name-scope.ts'
import { planSelect } from '../../src/query/select/plan-select.ts'
import { openSqlFixture, type SqlFixture } from './sql-fixture.ts'

let fixture: SqlFixture
beforeAll(async () => {
  fixture = await openSqlFixture()
})
afterAll(() => fixture.close())

test.each([
  ['SELECT * FROM kb LIMIT 10', true],
  ['SELECT * FROM kb ORDER BY id LIMIT 2048 OFFSET 7', true],
  ["SELECT * FROM kb WHERE content = 'text 5'", true],
  ['SELECT id FROM kb UNION ALL SELECT id FROM kb LIMIT 3', true],
  ['SELECT 1', true],
  ['SELECT count(*), max(id) FILTER (WHERE id > :id) FROM kb', true],
  ["SELECT avg(distance) FROM kb WHERE content = 'text 5'", true],
  ['SELECT sum(count(*)) OVER () FROM kb', true],
  ['SELECT unnest(range(10000))', false],
  ["SELECT regexp_split_to_table('a b', ' ')", false],
  ['SELECT unnest(list(id)) FROM kb', false],
  ['SELECT count(*) FROM kb GROUP BY id', false],
  ['SELECT id, count(*) FROM kb GROUP BY ALL', false],
  ['SELECT count(*) FROM kb GROUP BY ROLLUP (id)', false],
  ['SELECT count(*) OVER () FROM kb', false],
  ['SELECT (SELECT count(*) FROM kb) FROM kb', false],
  ['SELECT 1 UNION ALL SELECT 2', false],
  ['VALUES (1), (2)', false],
  ['SELECT * FROM kb LIMIT 2049', false],
  ['SELECT * FROM kb LIMIT 10 PERCENT', false],
  ['SELECT * FROM kb LIMIT :n', false],
  ['SELECT * FROM kb', false],
  ['SELECT * FROM (SELECT * FROM kb LIMIT 10) AS few, kb', false],
])('%s: a short answer: %p', async (sql, isShort) => {
  const { catalog, engine } = fixture.deps
  const scope = { ...nameScope(catalog.snapshot(), 'mindsdb'), readsChunkKeys: false }
  const plan = await planSelect(sql, scope, engine)
  expect(plan.isShort).toBe(isShort)
  expect(plan.candidates?.isShort ?? isShort).toBe(isShort)
})
