/** Random statements on the tables `{}a` and `{}b`. */
import { expect } from 'bun:test'
import type { TestApp } from '../../support/test-app.ts'

/** Returns the same statements in each run. */
function chance(seed: number) {
  let state = seed
  const next = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
  return {
    below: (count: number) => Math.floor(next() * count),
    of: <T>(items: readonly T[]): T => items[Math.floor(next() * items.length)] as T,
    is: (part: number) => next() < part,
  }
}

type Chance = ReturnType<typeof chance>

const VALUES: Readonly<Record<string, readonly string[]>> = {
  id: ['3', '0', '57', '-1', '12.5', '3.0', '1e1', ':one', 'NULL'],
  i: ['0', '2', '-1', '2.5', ':one', '9999999999', "'2'"],
  d: ['0.5', '1', '0.25', '1.75', ':half', '0.333', '1e0', "'0.5'"],
  f: ['0.1', '0.3', "'nan'::DOUBLE", "'inf'::DOUBLE", '0', '1', ':half', '0.1::FLOAT'],
  t: ["'a'", "'A'", "'a '", "'é'", "''", "'B'", ':text', "'a%'"],
  day: ["'2024-01-02'", "DATE '2024-01-03'", "'2024-01-02 00:00:00'::TIMESTAMP", ':day'],
  ts: [
    "'2024-01-01 01:00:00'",
    "TIMESTAMP '2024-01-01 02:00:00'",
    "'2024-01-01'",
    "DATE '2024-01-01'",
    ':day',
  ],
  u: ["'00000000-0000-0000-0000-000000000003'"],
  r: ['0.1', '0', '0.2', '1', ':half'],
}
const PARAMS = { one: 1, half: 0.5, text: 'a', day: '2024-01-02', three: 3 }
const PATTERNS = ["'a%'", "'_'", "'%a%'", "'a\\%'", ':text', "'é'", "''"]

function condition(random: Chance, alias: string, columns: readonly string[], depth = 0): string {
  const kind = random.below(depth < 2 ? 10 : 6)
  const column = random.of(columns)
  const name = `${alias}${column}`
  const value = () => random.of(VALUES[column] ?? ['NULL'])
  switch (kind) {
    case 0:
      return random.is(0.5) ? `${name} IS NULL` : `${name} IS NOT NULL`
    case 1:
      return `${name} ${random.is(0.3) ? 'NOT ' : ''}IN (${value()}, ${value()})`
    case 2:
      return `${name} BETWEEN ${value()} AND ${value()}`
    case 3:
      return `${alias}t ${random.is(0.3) ? 'NOT ' : ''}LIKE ${random.of(PATTERNS)}`
    case 6:
    case 7: {
      const word = random.is(0.5) ? 'AND' : 'OR'
      const parts = [0, 1].map(() => condition(random, alias, columns, depth + 1))
      return `(${parts.join(` ${word} `)})`
    }
    case 8:
      return `NOT (${condition(random, alias, columns, depth + 1)})`
    case 9:
      return `length(coalesce(${alias}t, '')) ${random.of(['=', '>'])} ${random.below(3)}`
    default: {
      const operator = random.of(['=', '<>', '<', '<=', '>', '>='])
      return random.is(0.2) ? `${value()} ${operator} ${name}` : `${name} ${operator} ${value()}`
    }
  }
}

const A_COLUMNS = Object.keys(VALUES)
const B_COLUMNS = ['id', 'i', 't']

function statement(random: Chance): string {
  switch (random.below(8)) {
    case 6:
    case 7:
      return derived(random)
    case 0:
      return sliced(random)
    case 1:
      return joined(random)
    case 2:
      return grouped(random)
    case 3: {
      const inner = `SELECT id FROM {}b WHERE ${condition(random, '', B_COLUMNS)}`
      const correlated = `SELECT 1 FROM {}b AS y WHERE y.i = x.i AND ${condition(random, 'y.', B_COLUMNS)}`
      const test = random.is(0.5)
        ? `x.id ${random.is(0.5) ? 'NOT ' : ''}IN (${inner} AND id IS NOT NULL)`
        : `${random.is(0.5) ? 'NOT ' : ''}EXISTS (${correlated})`
      return `SELECT x.id, x.t FROM {}a AS x WHERE ${test} AND ${condition(random, 'x.', A_COLUMNS)}`
    }
    case 4: {
      const side = () =>
        `SELECT id, t FROM {}${random.of(['a', 'b'])} WHERE ${condition(random, '', B_COLUMNS)}`
      return `WITH one AS (${side()}) SELECT * FROM one WHERE ${condition(random, 'one.', ['id', 't'])} ${random.of(['UNION', 'UNION ALL', 'EXCEPT'])} ${side()}`
    }
    default:
      return `SELECT ${random.of(['*', 'id, upper(t) AS t', 'a.*', 'id, d, f AS d'])} FROM {}a AS a WHERE ${condition(random, '', A_COLUMNS)}`
  }
}

/** Completes the order, so that LIMIT has a unique result. */
function sliced(random: Chance): string {
  const items = random.of([
    '*',
    'id, t',
    'id + 1 AS id, t',
    'id, lower(t) AS t, f',
    't AS f, id, -i AS i',
  ])
  const keys = ['i', 'd', 'f', 't', 'day', 'ts', 'ok', 'r'].filter(() => random.is(0.25))
  const order = [...keys, 'a.id'].map((key) => {
    return `${key} ${random.of(['', 'ASC', 'DESC'])} ${random.of(['', 'NULLS FIRST', 'NULLS LAST'])}`
  })
  const where = random.is(0.6) ? `WHERE ${condition(random, 'a.', A_COLUMNS)}` : ''
  const limit = random.of(['LIMIT 5', 'LIMIT 3 OFFSET 2', 'LIMIT :three', 'LIMIT 0', 'OFFSET 100'])
  return `SELECT ${items} FROM {}a AS a ${where} ORDER BY ${order.join(', ')} ${limit}`
}

/** Conditions and LIMITs around sub-queries, CTEs and a view. */
function derived(random: Chance): string {
  const inner = random.of([
    'SELECT id, t AS name, i AS t, d FROM {}a',
    `SELECT * FROM {}a WHERE ${condition(random, '', A_COLUMNS)}`,
    'SELECT DISTINCT i AS id, t, d FROM {}a',
    'SELECT id, upper(t) AS t, i, d FROM {}a ORDER BY id DESC',
    'SELECT a.id, b.t, a.d, b.i FROM {}a AS a LEFT JOIN {}b AS b ON a.i = b.i',
    'SELECT *, i AS t FROM {}a',
    'SELECT id, t, d FROM {}a ORDER BY id LIMIT 20',
    'SELECT i AS id, min(t) AS t, sum(d) AS d FROM {}a GROUP BY i',
    'SELECT id, t, d, row_number() OVER (ORDER BY id) AS n FROM {}a',
    'SELECT id, t, 1 AS d FROM {}b UNION ALL SELECT id, t, d FROM {}a',
    'SELECT id, t, d FROM {}view_of_a',
    'SELECT * FROM (SELECT d AS x, t, id FROM {}a) AS q(d, t, id)',
  ])
  const columns = ['id', 't', 'd']
  const items = random.of([
    '*',
    'v.id, v.t',
    'count(*) AS n',
    'id + 1 AS id, v.t, d',
    'd AS id, id AS d',
  ])
  const where = random.is(0.7) ? `WHERE ${condition(random, 'v.', columns)}` : ''
  const slice = random.is(0.4) && items !== 'count(*) AS n'
  const order = random.of([
    'v.id, v.t, v.d',
    'v.id DESC, v.t NULLS FIRST, v.d',
    '1, 2, v.d, v.t, v.id',
  ])
  const modifiers = slice
    ? `ORDER BY ${order} LIMIT ${random.of(['3', '5 OFFSET 1', ':three'])}`
    : ''
  const outer = `SELECT ${items} FROM`
  switch (random.below(4)) {
    case 0:
      return `WITH v AS (${inner}) ${outer} v ${where} ${modifiers}`
    case 1:
      return `WITH w AS (${inner}), v AS (SELECT * FROM w) ${outer} v ${where} ${modifiers}`
    case 2:
      return `SELECT v.id, y.t FROM (${inner}) AS v ${random.of(['JOIN', 'LEFT JOIN', 'RIGHT JOIN'])} {}b AS y ON y.id = v.id AND ${condition(random, 'v.', columns)} ${where}`
    default:
      return `${outer} (${inner}) AS v ${where} ${modifiers}`
  }
}

function joined(random: Chance): string {
  const join = random.of(['JOIN', 'LEFT JOIN', 'RIGHT JOIN', 'FULL JOIN', 'SEMI JOIN', 'ANTI JOIN'])
  const isHalf = /SEMI|ANTI/.test(join)
  const on = [
    random.of(['x.id = y.id', 'x.i = y.i', 'x.t = y.t']),
    ...(random.is(0.6) ? [condition(random, 'x.', A_COLUMNS)] : []),
    ...(random.is(0.6) ? [condition(random, 'y.', B_COLUMNS)] : []),
  ]
  const where = [
    ...(random.is(0.7) ? [condition(random, 'x.', A_COLUMNS)] : []),
    ...(random.is(0.5) && !isHalf ? [condition(random, 'y.', B_COLUMNS)] : []),
  ]
  if (!isHalf && random.is(0.5)) where.push(`y.${random.of(B_COLUMNS)} IS NULL`)
  const filter = where.length === 0 ? '' : `WHERE ${where.join(' AND ')}`
  const items = isHalf ? 'x.id, x.t' : 'x.id, x.t, y.id AS other, y.t AS second'
  const using = join === 'JOIN' && random.is(0.3)
  const condition_ = using ? 'USING (id)' : `ON ${on.join(' AND ')}`
  return `SELECT ${items} FROM {}a AS x ${join} {}b AS y ${condition_} ${filter}`
}

function grouped(random: Chance): string {
  const keys = ['i', 't', 'day', 'ok', 'd'].filter(() => random.is(0.3))
  const totals = [
    'count(*)',
    'count(i)',
    'sum(i)',
    'sum(id)',
    'sum(d)',
    'min(i)',
    'max(day)',
    'min(d)',
    'avg(i)',
    'max(t)',
    'min(f)',
    'count(DISTINCT i)',
    'sum(i) FILTER (i > 1)',
    'sum(i) + count(*)',
    'avg(d)',
    'max(ts)',
    'bool_or(ok)',
  ].filter(() => random.is(0.3))
  const items = [...keys, ...totals]
  if (items.length === 0) return 'SELECT count(*) FROM {}a'
  const where = random.is(0.6) ? `WHERE ${condition(random, '', A_COLUMNS)}` : ''
  const group = keys.length === 0 ? '' : `GROUP BY ${random.is(0.5) ? keys.join(', ') : 'ALL'}`
  const having = keys.length > 0 && random.is(0.3) ? 'HAVING count(*) > 2' : ''
  return `SELECT ${items.join(', ')} FROM {}a ${where} ${group} ${having}`
}

/** @throws Error with the statement if its rows differ from those on the copies */
export async function compareWithCopies(app: TestApp, source: string, count: number) {
  const random = chance(20_260)
  let errors = 0
  for (let done = 0; done < count; done += 1) {
    const sql = statement(random)
    const view = sql.replaceAll('{}view_of_a', 'far_view')
    const far = await answer(app, view.replaceAll('{}', `${source}.`))
    const near = await answer(app, sql.replaceAll('{}view_of_a', 'near_view').replaceAll('{}', ''))
    if (far !== near) throw new Error(`${sql}\nfar: ${far}\nnear: ${near}`)
    errors += near === 'error' ? 1 : 0
  }
  expect(errors).toBeLessThan(count / 4)
}

async function answer(app: TestApp, sql: string): Promise<string> {
  const { body } = await app.send('POST', '/api/sql/query', { query: sql, params: PARAMS })
  const { type, data = [], column_names: names } = body as Record<string, unknown[]>
  if (String(type) === 'error') return 'error'
  const rows = data.map((row) => JSON.stringify(row))
  return JSON.stringify([names, / ORDER BY [^()]*$/.test(sql) ? rows : rows.toSorted()], null, 1)
}

export async function copyTables(app: TestApp, source: string) {
  for (const name of ['a', 'b']) {
    const query = `CREATE TABLE ${name} AS SELECT * FROM ${source}.${name}`
    const { body } = await app.send('POST', '/api/sql/query', { query })
    expect(body).toMatchObject({ type: 'ok' })
  }
  for (const query of [
    `CREATE VIEW far_view AS SELECT * FROM ${source}.a`,
    'CREATE VIEW near_view AS SELECT * FROM a',
  ]) {
    expect((await app.send('POST', '/api/sql/query', { query })).body).toMatchObject({ type: 'ok' })
  }
}
