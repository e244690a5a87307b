import { expect, test } from 'bun:test'
import { literalRows } from '../../src/query/rows/assignments.ts'

const PARAMS = {
  text: "it's \\ one",
  whole: -3,
  part: 2.5,
  yes: true,
  none: null,
  list: [1],
  long: 'a'.repeat(20_000),
}

test.each([
  [`VALUES (1, 'a''b'), (-2.5e3, NULL)`, `VALUES ( 1 , 'a''b' ) , ( - 2.5e3 , NULL )`],
  [`values (true) -- a comment`, 'values ( true )'],
  [`values /* ' */ (1)`, 'values ( 1 )'],
  [`values ('2026-12-01'::date)`, `values ( '2026-12-01' :: date )`],
  [
    'values (:text, :whole, :part, :yes, :none)',
    `values ( 'it''s \\ one' , -3 , 2.5 , true , null )`,
  ],
])('%s has only literals', (source, written) => {
  expect(literalRows(source, PARAMS)).toBe(written)
})

test.each([
  'SELECT 1',
  'VALUES (now())',
  'VALUES ((SELECT 1))',
  'VALUES (1) UNION ALL SELECT id FROM kb',
  'VALUES (1) ORDER BY 1',
  'VALUES (id)',
  'VALUES ("id")',
  `VALUES (E'\\'')`,
  `VALUES ('\\'), (id) --')`,
  'VALUES ($$a$$)',
  'VALUES (1 || 2)',
  'VALUES ([1])',
  `VALUES ('a'::varchar(10))`,
  'VALUES (:list)',
  'VALUES (:long)',
  'VALUES (:missing)',
  'VALUES (@variable)',
])('%s needs the guard', (source) => {
  expect(literalRows(source, PARAMS)).toBeNull()
})
