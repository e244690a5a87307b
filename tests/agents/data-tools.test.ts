/** Tools that take several arguments, over HTTP, with a model that calls them. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createTestApp, type TestApp } from '../support/test-app.ts'
import { askScripted, calls, says } from './ask-scripted.ts'

const KBS = '/api/projects/mindsdb/knowledge_bases'
const LONG = Array.from({ length: 600 }, (_, index) => `Sentence ${index} of the report.`).join(' ')
const DATA = {
  knowledge_bases: ['mindsdb.reports', 'mindsdb.my.kb'.replace('.kb', ' kb')],
  tables: ['mindsdb.sales'],
}

let app: TestApp

beforeAll(async () => {
  app = await createTestApp()
  for (const name of ['reports', 'my kb', 'hidden']) {
    await app.send('POST', KBS, { knowledge_base: { name } })
  }
  const rows = [
    { id: 'long', content: LONG, year: 2020, status: 'Open', tags: ['a', 'b'], day: '2024-05-01' },
    { id: 'r2', content: 'Second.', year: 2021, status: 'open', tags: ['b'], day: '2024-06-01' },
    { id: 'r3', content: 'Third.', year: 2023, status: 'closed', day: '2024-07-01' },
  ]
  await app.send('PUT', `${KBS}/reports`, { knowledge_base: { rows } })
  await app.send('PUT', `${KBS}/my%20kb`, {
    knowledge_base: { rows: [{ id: 1, content: 'Mine.' }] },
  })
  await app.send('PUT', `${KBS}/hidden`, {
    knowledge_base: { rows: [{ id: 'h', content: 'SECRET' }] },
  })
  await run(`CREATE TABLE sales AS SELECT * FROM (VALUES
    ('north', DATE '2024-01-01', 10.5, 1), ('north', DATE '2024-02-01', 1234.5, 2), ('south', DATE '2024-01-01', 7, -3))
    t(region, month, total, delta)`)
  await run("CREATE TABLE staff AS SELECT 'SECRET' AS wage")
})
afterAll(() => app.close())

async function run(query: string): Promise<void> {
  expect((await app.send('POST', '/api/sql/query', { query })).body).toMatchObject({ type: 'ok' })
}

/** Returns the answer to each call of one question. */
async function told(tool: string, ...inputs: readonly object[]): Promise<readonly string[]> {
  const turns = [...inputs.map((input) => calls(tool, input)), says('Done.')]
  return (await askScripted(app, { data: DATA, turns, params: { max_steps: 30 } })).seen
}

async function answered(tool: string, input: object, answer = 'Done.') {
  const { message, seen } = await askScripted(app, {
    data: DATA,
    turns: [calls(tool, input), says(answer)],
  })
  return { ...message, seen: seen[0] ?? '' }
}

describe('metadata_values_tool', () => {
  const values = (...inputs: readonly object[]) => {
    const whole = inputs.map((input) => ({ name: 'mindsdb.reports', ...input }))
    return told('metadata_values_tool', ...whole)
  }

  test('lists values with counts of documents, and their range', async () => {
    const [years, days, tags] = await values(
      { column: 'year' },
      { column: 'day' },
      { column: 'tags' },
    )
    expect(years).toContain(
      'Column year BIGINT of mindsdb.reports: 3 distinct values, from 2020 to 2023, in 3 documents',
    )
    expect(years).toContain('value,documents,chunks\r\n2020,1,')
    expect(days).toContain('from 2024-05-01 to 2024-07-01')
    // Each value of a list is counted.
    expect(tags).toContain('b,2,')
    expect(tags).toContain('a,1,')
  })

  test('takes a prefix, a part, a condition and a limit', async () => {
    const [open, closed, year, one] = await values(
      { column: 'status', prefix: 'OP' },
      { column: 'status', contains: 'lose' },
      { column: 'year', where: "status = 'closed'" },
      { column: 'year', limit: '1' },
    )
    expect(open).toMatch(/Open,1,.*open,1,/s)
    expect(closed).toEndWith('value,documents,chunks\r\nclosed,1,1\r\n')
    expect(year).toContain('from 2023 to 2023')
    expect(one).toContain('there are more')
  })

  test('reads columns of tables, in any way of writing names', async () => {
    const names = [
      'sales',
      '"mindsdb.sales"',
      '`mindsdb`.`sales`',
      'MINDSDB . Sales',
      '"mindsdb"."sales"',
    ]
    const inputs = names.map((name) => ({ name, column: '"Region"' }))
    for (const text of await told('metadata_values_tool', ...inputs)) {
      expect(text).toContain('value,rows\r\nnorth,2\r\nsouth,1')
    }
    const columns = await values({ column: 'metadata.year' }, { column: "metadata->>'year'" })
    for (const text of columns) expect(text).toContain('2023')
  })

  test('lists the data, and names what is wrong with its arguments', async () => {
    const CASES: readonly (readonly [object, string])[] = [
      [
        { name: 'mindsdb.repots', column: 'x' },
        'mindsdb.repots is not available here. Available: mindsdb.reports, ',
      ],
      [{ column: 'yeer' }, 'Its columns: id VARCHAR, year BIGINT'],
      [{}, '"column"'],
      [{ column: 'year', limit: 0 }, '"limit"'],
      [{ column: 'year', colour: 1 }, '"colour"'],
      [{ column: 7 }, '"column"'],
    ]
    const texts = await values(...CASES.map(([input]) => input))
    for (const [index, [, reason]] of CASES.entries()) expect(texts[index]).toContain(reason)
  })

  test('reads nothing else by its condition', async () => {
    const conditions = [
      '1 IN (SELECT 1 FROM staff)',
      'true) UNION ALL SELECT wage FROM staff --',
      'true) FROM staff; SELECT 1 --',
      'id = (SELECT chunk_content FROM hidden LIMIT 1)',
      "id IN (SELECT content FROM read_text('/etc/passwd'))",
    ]
    for (const text of await values(...conditions.map((where) => ({ column: 'year', where })))) {
      expect(text).toStartWith('Error: ')
      expect(text).not.toContain('SECRET')
    }
  })
})

describe('read_document_tool', () => {
  const read = (...inputs: readonly object[]) => {
    const whole = inputs.map((input) => ({ knowledge_base: 'mindsdb.reports', ...input }))
    return told('read_document_tool', ...whole)
  }

  /** Returns the text between the lines that name the chunks. */
  const textOf = (page: string) => {
    const lines = page.split('\n').slice(3)
    return lines.filter((line) => !/^(\[.*|)$/.test(line)).join('')
  }

  test('gives a document page by page, whole and without repeating', async () => {
    const numbers = [1, 2, 3, 9]
    const pages = await read(...numbers.map((page) => ({ document_id: 'long', page })))
    expect(pages[0]).toContain(`column content: ${LONG.length} characters`)
    expect(pages[0]).toContain('Page 1 of 3; the next one: page 2')
    const whole = pages.slice(0, 3).map(textOf).join('')
    expect(whole.replaceAll(/\s/g, '')).toBe(LONG.replaceAll(/\s/g, ''))
    expect(pages[3]).toContain('This page does not exist: the document has 3')
  })

  test('returns the text around a chunk, which can be cited', async () => {
    const rows = await app.rows(
      "SELECT chunk_id FROM reports WHERE id = 'long' ORDER BY CAST(metadata->>'chunk_index' AS INT)",
    )
    const ids = rows.map(([id]) => String(id))
    const { message, seen } = await askScripted(app, {
      data: DATA,
      turns: [
        calls('read_document_tool', { knowledge_base: 'reports', chunk_id: ids[5], neighbours: 1 }),
        says(`Thus it is [${ids[6]}].`),
      ],
    })
    const shown = [...(seen[0] ?? '').matchAll(/^\[(.*)\]$/gm)].map(([, id]) => id)
    expect<unknown>(shown).toEqual(ids.slice(4, 7))
    expect(message.citations).toMatchObject([{ chunk_id: ids[6], document_id: 'long' }])
  })

  test('lists the ids for an unknown one', async () => {
    const CASES: readonly (readonly [object, string])[] = [
      [{ document_id: 'nope' }, 'has no document "nope"'],
      [{ chunk_id: 'nope' }, 'is not a chunk_id'],
      [{}, 'Give document_id'],
      [{ knowledge_base: 'hidden', document_id: 'h' }, 'hidden is not available here. Available: '],
      [{ document_id: "x' OR '1'='1" }, 'has no document'],
    ]
    const texts = await read(...CASES.map(([input]) => input))
    for (const [index, [, reason]] of CASES.entries()) expect(texts[index]).toContain(reason)
  })
})

describe('chart_tool', () => {
  const SQL =
    'SELECT month, region, sum(total) AS total FROM sales GROUP BY ALL ORDER BY month, region'
  const draw = (input: object) => answered('chart_tool', { sql: SQL, x: 'month', ...input })

  test('comes with the answer, as a specification with its rows', async () => {
    const { charts, seen } = await draw({
      kind: 'line',
      y: 'total',
      series: 'region',
      title: 'Sales',
    })
    expect(seen).toContain('The chart (line, 3 rows) is shown to the user')
    expect(charts).toEqual([
      {
        spec: {
          title: 'Sales',
          data: {
            values: [
              { month: '2024-01-01', region: 'north', total: 10.5 },
              { month: '2024-01-01', region: 'south', total: 7 },
              { month: '2024-02-01', region: 'north', total: 1234.5 },
            ],
          },
          mark: { type: 'line', tooltip: true },
          encoding: {
            x: { field: 'month', type: 'temporal', title: 'month' },
            y: { field: 'total', type: 'quantitative', title: 'total' },
            color: { field: 'region', type: 'nominal', title: 'region' },
          },
        },
        sql: SQL,
        column_names: ['month', 'region', 'total'],
        data: [
          ['2024-01-01', 'north', 10.5],
          ['2024-01-01', 'south', 7],
          ['2024-02-01', 'north', 1234.5],
        ],
      },
    ])
  })

  test('draws each kind, and not more than the answer may have', async () => {
    const inputs = [
      ...['bar', 'scatter', 'pie'].map((kind) => ({ kind, sql: SQL, x: 'month', y: 'total' })),
      { kind: 'histogram', sql: SQL, x: 'total' },
      ...Array.from({ length: 8 }, (_, at) => ({
        kind: 'bar',
        sql: SQL,
        x: 'region',
        y: 'total',
        title: `${at}`,
      })),
    ]
    const turns = [...inputs.map((input) => calls('chart_tool', input)), says('Done.')]
    const { message, seen } = await askScripted(app, {
      data: DATA,
      turns,
      params: { max_steps: 30 },
    })
    expect(message.charts).toHaveLength(10)
    expect(message.charts?.[3]).toMatchObject({
      spec: { encoding: { x: { bin: true }, y: { aggregate: 'count' } } },
    })
    expect(seen.at(-1)).toContain('has 10 charts already')
  })

  test('is refused with the reason, and nothing is drawn', async () => {
    const CASES: readonly (readonly [object, string])[] = [
      [{ kind: 'spider', y: 'total' }, '"kind"'],
      [{ kind: 'bar' }, '"y" is missing'],
      [{ kind: 'bar', y: 'sum' }, 'the result has the columns month, region, total'],
      [{ kind: 'bar', y: 'region' }, '"region" is not a numeric column'],
      [{ kind: 'histogram', x: 'region' }, 'a histogram needs numbers'],
      [{ kind: 'pie', y: 'delta', sql: 'SELECT month, delta FROM sales' }, 'values below 0'],
      [{ kind: 'bar', y: 'total', sql: 'SELECT * FROM sales WHERE false' }, 'returns no rows'],
      [
        { kind: 'bar', y: 'i', x: 'i', sql: 'SELECT * FROM range(5000) t(i)' },
        'more than 1000 rows',
      ],
      [{ kind: 'bar', y: 'wage', x: 'wage', sql: 'SELECT * FROM staff' }, 'not available here'],
      [{ kind: 'bar', y: 'total', sql: 'DROP TABLE sales' }, 'Error'],
    ]
    const inputs = CASES.map(([input]) => ({ sql: SQL, x: 'month', ...input }))
    const turns = [...inputs.map((input) => calls('chart_tool', input)), says('Done.')]
    const { message, seen } = await askScripted(app, {
      data: DATA,
      turns,
      params: { max_steps: 30 },
    })
    for (const [index, [, reason]] of CASES.entries()) expect(seen[index]).toContain(reason)
    expect(message.charts).toBeUndefined()
  })
})

describe('statements', () => {
  test('is the statement whose rows the answer is based on', async () => {
    const sql = 'SELECT region, sum(total) AS total FROM sales GROUP BY region ORDER BY region'
    const { statements, citations } = await answered(
      'sql_db_query',
      { sql_query: sql },
      'The north made 1,245.',
    )
    expect(statements).toEqual([
      {
        sql,
        column_names: ['region', 'total'],
        data: [
          ['north', 1245],
          ['south', 7],
        ],
        is_cut: false,
      },
    ])
    expect(citations).toEqual([])
  })

  test('is left out if it is missing', async () => {
    const sql = "SELECT chunk_id, chunk_content FROM reports WHERE content = 'x'"
    expect(await answered('kb_query_tool', { sql_query: sql })).not.toHaveProperty('statements')
  })
})
