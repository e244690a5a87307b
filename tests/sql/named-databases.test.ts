import { expect, test } from 'bun:test'
import { databasesNamed } from '../../src/sql/lexer/database-names.ts'

test.each([
  ['SELECT t.id, u.x FROM a.t, B.u WHERE t.id = u.id', ['a', 'b']],
  ['SELECT k.id FROM kb k JOIN "C".x ON k.id = x.id, d.y ORDER BY k.id', ['c', 'd']],
  ['SELECT 1 WHERE EXISTS (SELECT 1 FROM (SELECT id FROM e.z))', ['e']],
  ['FROM pg (SELECT now())', ['pg']],
  ["SELECT metadata.price, 'FROM f.x' FROM kb, range(3)", []],
])('%s', (sql, databases) => {
  expect([...databasesNamed(sql)].toSorted()).toEqual(databases)
})
