import { expect, test } from 'bun:test'
import { relationsNamed } from '../../src/sql/lexer/database-names.ts'

test.each([
  ['SELECT t.id, u.x FROM a.t, B.u WHERE t.id = u.id', ['a', 'b']],
  ['SELECT k.id FROM kb k JOIN "C".x ON k.id = x.id, d.y ORDER BY k.id', ['c', 'd']],
  ['SELECT 1 WHERE EXISTS (SELECT 1 FROM (SELECT id FROM e.z))', ['e']],
  ['FROM pg (SELECT now())', ['pg']],
  ['TABLE g.t', ['g']],
  ['SELECT * FROM (PIVOT h.t ON word USING count(*)) AS p', ['h']],
  ['FROM t PIVOT (max(t.n) FOR t.word IN (1))', []],
  ['FROM (DESCRIBE i.t)', ['i']],
  ['SELECT 1 FROM t.agent, n.x AS view, o.limit, p.y', 'nopt'],
  ['SELECT 1; INSERT INTO j.t VALUES (1); UPDATE k.t SET n = l.n; DROP TABLE IF EXISTS m.t', 'jkm'],
  ["SELECT metadata.price, 'FROM f.x' FROM kb, range(3)", []],
])('%s', (sql, databases) => {
  const found = relationsNamed(sql).flatMap(({ database }) => database ?? [])
  expect([...new Set(found)].toSorted()).toEqual([...databases])
})

test('unqualified relations have no database, and CTEs and functions are none', () => {
  const sql = 'WITH c AS (SELECT 1) SELECT * FROM c, t, "U" AS v, range(3) JOIN a.w ON true'
  expect(relationsNamed(sql)).toEqual([
    { database: null, name: 't' },
    { database: null, name: 'u' },
    { database: 'a', name: 'w' },
  ])
})
