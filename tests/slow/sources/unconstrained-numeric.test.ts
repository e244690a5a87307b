/** A `numeric` without digits in a real PostgreSQL, read as each possible type. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { testPostgres } from '../../support/database-servers.ts'
import { createTestApp, type TestApp } from '../../support/test-app.ts'

const server = await testPostgres()
let app: TestApp

const VALUES = [
  '0.1',
  '0.10000000000000000001',
  '-2.5',
  '2.00000000005',
  '12345678901234567890',
  '7',
]
const WAYS = [
  { numericAs: null, type: 'DOUBLE' },
  { numericAs: 'Decimal(38, 10)', type: 'DECIMAL(38,10)' },
  { numericAs: 'text', type: 'VARCHAR' },
] as const

async function ran(query: string) {
  const { body } = await app.send('POST', '/api/sql/query', { query })
  // Every answer to a statement has, or may have, these fields.
  return body as { type: string; data?: readonly unknown[]; error_message?: string }
}

/** Sorts the rows, because a group has no order. */
async function rows(query: string): Promise<readonly string[]> {
  const body = await ran(query)
  if (body.data === undefined) throw new Error(`${query}: ${JSON.stringify(body)}`)
  return body.data.map((row) => JSON.stringify(row)).sort()
}

describe.skipIf(server === null)('numeric without digits', () => {
  beforeAll(async () => {
    app = await createTestApp({ environment: { EIDER_NETWORK_ALLOW: '127.0.0.1' } })
    const values = VALUES.map((value, index) => `(${index}, ${value}, 'k${index % 2}')`)
    await server?.run(`CREATE TABLE sums (id int, v numeric, k text);
      INSERT INTO sums VALUES ${values.join(', ')}, (90, NULL, 'k0')`)
    await server?.run(`CREATE TABLE odd (id int, v numeric);
      INSERT INTO odd SELECT id, v FROM sums UNION ALL VALUES (91, 'NaN'), (92, 'Infinity'), (93, '-Infinity'), (94, 1e400)`)
  })

  afterAll(async () => {
    await app.close()
    await server?.stop()
  })

  test.each([...WAYS])(
    'as $type: the same with and without pushdown',
    async ({ numericAs, type }) => {
      const name = `as_${type.replace(/\W/g, '_').toLowerCase()}`
      const parameters = { ...server?.parameters, ...(numericAs && { numeric_as: numericAs }) }
      const made = await ran(
        `CREATE DATABASE ${name} ENGINE = 'postgres', PARAMETERS = ${JSON.stringify(parameters)}`,
      )
      expect(made.type).toBe('ok')
      expect(await rows(`SELECT typeof(v) FROM ${name}.sums LIMIT 1`)).toEqual([`["${type}"]`])
      // An infinite value does not fit any DECIMAL, which the server reports.
      const tables = type.startsWith('DECIMAL') ? ['sums'] : ['sums', 'odd']
      for (const table of tables) {
        const copy = `copy_${name}_${table}`
        expect((await ran(`CREATE TABLE ${copy} AS SELECT * FROM ${name}.${table}`)).type).toBe(
          'ok',
        )
        const number = type === 'VARCHAR' ? 'CAST(v AS DOUBLE)' : 'v'
        const compared = type === 'VARCHAR' ? "'0.1'" : '0.1'
        for (const statement of [
          'SELECT * FROM here',
          `SELECT id FROM here WHERE v = ${compared}`,
          `SELECT id FROM here WHERE v IN (${compared})`,
          `SELECT id FROM here WHERE v > ${compared}`,
          `SELECT id FROM here WHERE NOT v <= ${compared}`,
          `SELECT id FROM here WHERE v <> ${compared} AND id < 50`,
          'SELECT id FROM here WHERE v IS NULL',
          'SELECT id FROM here WHERE v IS NOT NULL ORDER BY v DESC, id LIMIT 3',
          `SELECT count(v), count(DISTINCT v), min(v), max(v) FROM here`,
          `SELECT sum(${number}), avg(${number}) FROM here WHERE id < 50`,
          `SELECT id % 2, sum(${number}) FROM here WHERE id < 50 GROUP BY 1`,
          'SELECT v, count(*) FROM here GROUP BY v',
        ]) {
          const over = (from: string) => rows(statement.replace('here', from))
          expect([statement, await over(`${name}.${table}`)]).toEqual([statement, await over(copy)])
        }
      }
    },
  )

  test('sum() works without more, also by group', async () => {
    expect(await rows(`SELECT k, sum(v) > 0 FROM as_double.sums GROUP BY k`)).toEqual([
      '["k0",true]',
      '["k1",true]',
    ])
  })

  test('a DECIMAL keeps its digits, and one that does not fit is an error', async () => {
    expect(
      await rows('SELECT CAST(v AS VARCHAR) FROM as_decimal_38_10_.sums WHERE id = 3'),
    ).toEqual(['["2.0000000001"]'])
    expect(await rows('SELECT v FROM as_decimal_38_10_ (SELECT v FROM sums WHERE id = 3)')).toEqual(
      ['[2.0000000001]'],
    )
    for (const statement of [
      'SELECT * FROM as_decimal_38_10_.odd',
      'SELECT max(v) FROM as_decimal_38_10_.odd',
    ]) {
      const { error_message: message } = await ran(statement)
      expect(message).toMatch(/numeric field overflow|cannot hold/)
    }
  })

  test.each([
    'double',
    'decimal',
    'decimal(39,1)',
    'decimal(0,0)',
    'decimal(5,6)',
    'decimal(1,1); DROP TABLE t',
    7,
  ])('numeric_as = %p is refused', async (numericAs) => {
    const parameters = JSON.stringify({ host: 'h', numeric_as: numericAs })
    const body = await ran(
      `CREATE DATABASE refused ENGINE = 'postgres', PARAMETERS = ${parameters}`,
    )
    expect(body.error_message).toContain("Parameter numeric_as: expected 'text' or 'decimal(p,s)'")
  })
})
