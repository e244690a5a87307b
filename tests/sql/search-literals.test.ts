import { expect, test } from 'bun:test'
import { parameterizeSearchLiterals } from '../../src/sql/lexer/statement-shape.ts'

const LIFTED: readonly (readonly [string, string, readonly string[]])[] = [
  [
    "SELECT * FROM kb WHERE content = 'a' LIMIT 1",
    'SELECT * FROM kb WHERE content = $eider_text_0 LIMIT 1',
    ['a'],
  ],
  [
    "SELECT 1 FROM kb k WHERE k.\"content\"='it''s' OR CONTENT = 'b'",
    'SELECT 1 FROM kb k WHERE k."content"=$eider_text_0 OR CONTENT = $eider_text_1',
    ["it's", 'b'],
  ],
]

for (const [sql, lifted, texts] of LIFTED) {
  test(`${sql} shares its plan`, () => {
    const statement = parameterizeSearchLiterals(sql)
    expect([statement.sql, [...statement.texts.values()]]).toEqual([lifted, [...texts]])
  })
}

for (const sql of [
  "SELECT * FROM kb WHERE content = 'a' || 'b'",
  "SELECT * FROM kb WHERE content = 'a'::JSON",
  "SELECT * FROM kb WHERE content LIKE '%a%'",
  "SELECT * FROM kb WHERE chunk_content = 'a'",
  'SELECT * FROM kb WHERE content = $$a$$',
  "SELECT 'content = ''a'''",
  "SELECT 'no end",
]) {
  test(`${sql} stays as it is`, () => {
    expect(parameterizeSearchLiterals(sql)).toEqual({ sql, texts: new Map() })
  })
}
