import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { BoundValue } from '../../src/core/domain/ports/engine-ports.ts'
import type { AppError } from '../../src/core/errors.ts'
import { runSelect } from '../../src/query/select/run-select.ts'
import { requestValues, Variables } from '../../src/query/sessions.ts'
import { parameterNamesOf, toDuckDB, tokenize } from '../../src/sql/lexer/tokens.ts'
import { openSqlFixture, type SqlFixture } from '../sql/sql-fixture.ts'

const values = (...entries: readonly (readonly [string, BoundValue])[]) => new Map(entries)

function failureOf(work: () => unknown): AppError['code'] | undefined {
  try {
    work()
    return undefined
  } catch (error) {
    // Other errors have no code.
    return (error as AppError).code
  }
}

describe('Variables', () => {
  test('keeps the last value of each name', () => {
    const variables = new Variables()
    variables.set(values(['a', 1], ['b', null]))
    variables.set(values(['a', [1, 2]]))
    expect([variables.get('a'), variables.get('b'), variables.get('c')]).toEqual([
      [1, 2],
      null,
      undefined,
    ])
  })

  test('holds a thousand names and not one more, which may still change', () => {
    const variables = new Variables()
    for (let index = 0; index < 1000; index += 1) variables.set(values([`v${index}`, index]))
    expect(failureOf(() => variables.set(values(['v0', 'new'], ['one_more', 1])))).toBe(
      'sql_not_supported',
    )
    expect([variables.get('v0'), variables.get('one_more')]).toEqual([0, undefined])
    variables.set(values(['v999', 'new']))
    expect(variables.get('v999')).toBe('new')
  })

  test('holds a megabyte, counted in bytes, and sets none of several when one is larger', () => {
    const variables = new Variables()
    variables.set(values(['a', 'x'.repeat(999_998)]))
    const large = values(['b', 1], ['c', 'é'.repeat(500_000)])
    expect(failureOf(() => variables.set(large))).toBe('sql_not_supported')
    expect(variables.get('b')).toBeUndefined()
  })
})

describe('requestValues', () => {
  const variables = new Variables()
  variables.set(values(['v', 7]))
  const params = new Map<string, unknown>([
    ['p', 1],
    ['eider_variable_v', 'forged'],
  ])

  test('takes a variable from where it was set, not from parameters', () => {
    const found = requestValues(params, variables, 'shop')
    expect([found.get('p'), found.get('eider_variable_v')]).toEqual([1, 7])
    expect([found.get('eider_system_database'), found.has('nosuch')]).toEqual(['shop', false])
  })

  test('refuses a variable that is not set, and all where rights are narrowed', () => {
    const set = requestValues(params, variables, 'shop')
    const narrowed = requestValues(params, null, 'shop')
    expect(failureOf(() => set.get('eider_variable_w'))).toBe('sql_missing_parameter')
    expect(failureOf(() => set.get('eider_system_w'))).toBe('sql_unknown_name')
    expect(failureOf(() => set.get('eider_system_constructor'))).toBe('sql_unknown_name')
    expect(failureOf(() => narrowed.get('eider_variable_v'))).toBe('sql_forbidden')
  })
})

describe('a variable in the text of a statement', () => {
  const CASES: readonly (readonly [string, string])[] = [
    ['SELECT @v', 'SELECT $eider_variable_v'],
    ['WHERE a=@Größe', 'WHERE a=$eider_variable_größe'],
    ['SELECT @İ', 'SELECT $eider_variable_i'],
    ['SELECT @@Version, @@session.x', 'SELECT $eider_system_version, $eider_system_x'],
    ['SELECT @ v, @(v), @-1, @"v"', 'SELECT @ v, @(v), @-1, @"v"'],
    [
      'SELECT a <@b, a ^@b, a <@ b, \'@v\', "@v" -- @v',
      'SELECT a <@b, a ^@b, a <@ b, \'@v\', "@v"',
    ],
    ['SELECT a < @b, a <@@b', 'SELECT a < $eider_variable_b, a <@$eider_variable_b'],
  ]
  for (const [sql, expected] of CASES) {
    test(sql, () => expect(toDuckDB(sql, tokenize(sql))).toBe(expected))
  }

  test('is one of its parameters, in any case', () => {
    expect(parameterNamesOf(tokenize('SELECT @v, @V, :v'))).toEqual(['eider_variable_v', 'v'])
  })
})

describe('a SELECT with narrowed rights', () => {
  let fixture: SqlFixture
  beforeAll(async () => {
    fixture = await openSqlFixture()
    await fixture.answer("SET @secret = 'hidden'")
  })
  afterAll(() => fixture.close())

  async function codeOf(sql: string): Promise<string> {
    const allowed = { knowledgeBases: [], tables: ['files.t', 'mindsdb.models', 'mindsdb.tables'] }
    const request = { sql, database: 'mindsdb', params: {}, allowed }
    const { signal } = new AbortController()
    return runSelect(request, fixture.deps, signal).then(
      async ({ batches }) => {
        for await (const _ of batches);
        return 'rows'
      },
      (error: AppError) => error.code,
    )
  }

  test('reads what is allowed', async () => {
    expect(await codeOf('SELECT * FROM files.t')).toBe('rows')
    expect(await codeOf('SELECT database()')).toBe('rows')
  })

  for (const sql of [
    'SELECT * FROM models',
    'SELECT * FROM mindsdb.tables',
    'SELECT * FROM columns',
    'SELECT * FROM agents',
    'SELECT * FROM information_schema.columns',
    'SELECT @secret',
    'SELECT $eider_variable_secret',
    'SELECT * FROM files.t WHERE id = @secret',
  ]) {
    test(`does not get to ${sql}`, async () => expect(await codeOf(sql)).toBe('sql_forbidden'))
  }
})
