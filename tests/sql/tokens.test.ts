import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { lineAndColumn } from '../../src/core/text/shown-statement.ts'
import { parameterNamesOf, toDuckDB, tokenize } from '../../src/sql/lexer/tokens.ts'

const duckDB = (sql: string, escapes?: 'standard' | 'backslash') => {
  return toDuckDB(sql, tokenize(sql, escapes))
}

describe('toDuckDB', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['SELECT `a b`, `c``d` FROM `p`.`t`;', 'SELECT "a b", "c`d" FROM "p"."t"'],
    ["SELECT 'it''s', ':no', \"x:y\" -- :none\n", "SELECT 'it''s', ':no', \"x:y\""],
    ['SELECT * FROM t WHERE a = :x AND b IN :list', 'SELECT * FROM t WHERE a = $x AND b IN $list'],
    ['SELECT a::int, b[1:2], c[x:y]', 'SELECT a::int, b[1:2], c[x:y]'],
    ["SELECT {'k':v}, a: b", "SELECT {'k':v}, a: b"],
    ['LIMIT :n OFFSET :m', 'LIMIT $n OFFSET $m'],
    ['SELECT (:a), f(:b, :c)', 'SELECT ($a), f($b, $c)'],
    ["SELECT E'a\\'b\\n'", "SELECT 'a''b\n'"],
    ["SELECT $$it's$$, $t$ $$ $t$, $1", "SELECT 'it''s', ' $$ ', $1"],
    ['SELECT $é1$;$é1$', "SELECT ';'"],
    ['/* a ; b */ SELECT 1 ; ;', `${' '.repeat(11)} SELECT 1`],
    ['SELECT /* 😀 /* ; */ " */1--x\r+/**/1', `SELECT ${' '.repeat(17)}1   \r+    1`],
    ['SELECT 4 //*;*/ 2', 'SELECT 4 /      2'],
    ["SELECT E'\\x41\\102\\xc3\\xa9\\u00e9\\U0001F600\\q'", "SELECT 'ABéé😀q'"],
    [
      "WHERE a = 1 AND metadata->>'k' = 'v' AND p.kb.metadata -> 'a' ->> 'b' = 'c'",
      "WHERE a = 1 AND (metadata->>'k') = 'v' AND (p.kb.metadata -> 'a' ->> 'b') = 'c'",
    ],
    ["WHERE (metadata->>'k') = 'v'", "WHERE (metadata->>'k') = 'v'"],
    ['SELECT list_transform(l, x -> x + 1)', 'SELECT list_transform(l, x -> x + 1)'],
  ]
  for (const [sql, expected] of cases) {
    test(sql, () => expect(duckDB(sql)).toBe(expected))
  }

  test('a backslash escapes a quote where the client writes it so', () => {
    expect(duckDB("SELECT 'it\\'s'", 'backslash')).toBe("SELECT 'it''s'")
  })
})

describe('tokenize', () => {
  for (const sql of ["SELECT 'a", 'SELECT "a', 'SELECT `a', '/* a', 'SELECT $$a', "SELECT '\\'"]) {
    test(`${sql} has no end`, () => {
      expect(() => tokenize(sql, sql.includes('\\') ? 'backslash' : 'standard')).toThrow('no end')
    })
  }

  for (const escaped of ['\\xff', '\\U00110000', '\\303x']) {
    test(`${escaped} means no character`, () => {
      expect(() => tokenize(`SELECT E'a${escaped}'`)).toThrow('line 1, column 11: this escape')
    })
  }

  test('comments within comments are read in one pass', () => {
    const depth = 200_000
    const sql = `SELECT 1 ${'/*'.repeat(depth)}${'*/'.repeat(depth)} + 1`
    expect(tokenize(sql).map(({ text }) => text)).toEqual(['SELECT', '1', '+', '1'])
  })

  test('any text is cut or refused, in order and without overlap', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 60 }), (sql) => {
        let tokens: ReturnType<typeof tokenize>
        try {
          tokens = tokenize(sql)
        } catch (error) {
          return error instanceof Error && error.message.endsWith('has no end')
        }
        let end = 0
        return tokens.every((token) => {
          const isNext = token.start >= end && token.end > token.start
          end = token.end
          return isNext && sql.slice(token.start, token.end) === token.text
        })
      }),
    )
  })

  test('a string of any text comes back as it was', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const [token, ...others] = tokenize(`'${text.replaceAll("'", "''")}'`)
        return token?.value === text && others.length === 0
      }),
    )
  })
})

test('parameters are named once each', () => {
  expect(parameterNamesOf(tokenize('SELECT :a, $b, :a'))).toEqual(['a', 'b'])
})

test('a place counts characters, not code units', () => {
  expect(lineAndColumn("SELECT '😀' x\nFROM y", 11)).toBe('line 1, column 11')
  expect(lineAndColumn("SELECT '😀' x\nFROM y", 18)).toBe('line 2, column 5')
})
