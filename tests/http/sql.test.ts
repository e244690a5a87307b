import { describe, expect, test } from 'bun:test'
import type { ServerDeps } from '../../src/api/http/request/route-context.ts'
import { type QueryResult, type ResultValue, rowsOf } from '../../src/core/domain/query-result.ts'
import { AppError } from '../../src/core/errors.ts'
import { requestOf, type Sent, send, testServer } from './server-fixture.ts'

type Query = ServerDeps['query']
type Batch = readonly (readonly ResultValue[])[]

const SQL = 'POST /api/sql/query'

function batches(...items: readonly (Batch | Error)[]): Query {
  return async ({ db }): Promise<QueryResult> => {
    async function* read() {
      for (const item of items) {
        if (item instanceof Error) throw item
        yield item
      }
    }
    const columns = ['id', 'na"me'].map((name) => ({ name, type: 'VARCHAR' }))
    return { kind: 'table', rows: { columns, batches: read() }, context: { db } }
  }
}

async function ask(query: Query, sent: Sent = {}) {
  const json = { query: 'SELECT', ...(sent.json ?? {}) }
  return send(testServer({ query }).server, SQL, { ...sent, json })
}

const lost = new AppError('timeout', 'The statement took longer than 60000 ms')

describe('rows as JSON', () => {
  const RESULTS: readonly (readonly [string, readonly Batch[]])[] = [
    ['no row', []],
    [
      'one batch',
      [
        [
          [1, 'a'],
          [null, '"'],
        ],
      ],
    ],
    [
      'several batches',
      [[[1, 'a']], [[2, { x: [1, null] }]], [], [['12345678901234567890', true]]],
    ],
    ['an empty first batch', [[], [[1, 'a']]]],
  ]
  for (const [name, items] of RESULTS) {
    test(name, async () => {
      const { status, headers, json } = await ask(batches(...items))
      expect(status).toBe(200)
      expect(headers.get('content-type')).toBe('application/json')
      expect(json).toEqual({
        type: 'table',
        column_names: ['id', 'na"me'],
        data: items.flat(),
        context: { show_secrets: false, db: 'mindsdb' },
      })
    })
  }

  test('a failure after the first rows ends as JSON that says error', async () => {
    const { status, json } = await ask(batches([[1, 'a']], [[2, 'b']], lost))
    expect(status).toBe(200)
    expect(json).toMatchObject({ type: 'error', error_code: 5001, error_message: lost.message })
  })
})

describe('what a statement without rows answers', () => {
  test('ok has the number of rows that it changed', async () => {
    const query: Query = async ({ db }) => ({ kind: 'ok', affectedRows: 3, context: { db } })
    const { json } = await ask(query, { json: { context: { db: 'files', show_secrets: true } } })
    const context = { show_secrets: false, db: 'files' }
    expect(json).toEqual({ type: 'ok', affected_rows: 3, context })
  })

  test('a failed one is 200 with the number of its cause', async () => {
    const failure = new AppError('sql_unknown_name', "Table 'x' not found", { cause: 'secret' })
    const { status, json } = await ask(() => Promise.reject(failure))
    expect(status).toBe(200)
    expect(json).toEqual({
      type: 'error',
      error_code: 4003,
      error_message: "Table 'x' not found",
      context: { show_secrets: false, db: 'mindsdb' },
    })
  })

  test('a failure in the first batch is 200 with type error', async () => {
    expect((await ask(batches(lost))).json).toMatchObject({ type: 'error', error_code: 5001 })
  })

  test('a bug is "Internal error", and is logged', async () => {
    const bug = new TypeError('secret in here')
    const fixture = testServer({ query: () => Promise.reject(bug) })
    const { text, json } = await send(fixture.server, SQL, { json: { query: 'x' } })
    expect(json).toMatchObject({ error_code: 5000, error_message: 'Internal error' })
    expect(text).not.toContain('secret in')
    expect(fixture.errors).toEqual([{ requestId: 'id-1', error: bug }])
  })
})

test('context and params reach the statement; nulls mean not set', async () => {
  const seen: unknown[] = []
  const query: Query = async (request) => {
    seen.push(request)
    return { kind: 'ok', affectedRows: null, context: { db: request.db } }
  }
  await ask(query, { json: { context: { db: 'p', profiling: true }, params: { a: [1, null] } } })
  await ask(query, { json: { context: null, params: null, response_format: null } })
  await ask(query, { json: { context: { db: null } } })
  expect(seen).toEqual([
    { sql: 'SELECT', db: 'p', params: { a: [1, null] }, session: null },
    { sql: 'SELECT', db: 'mindsdb', params: {}, session: null },
    { sql: 'SELECT', db: 'mindsdb', params: {}, session: null },
  ])
})

describe('other formats', () => {
  const query = batches([[1, 'a,"b"\n']], [[null, '']], [[2.5, { x: 1 }]])
  const as = (accept: string): Sent => ({ headers: { accept } })

  test('CSV', async () => {
    const { headers, text } = await ask(query, as('text/csv'))
    expect(headers.get('content-type')).toStartWith('text/csv')
    expect(text).toBe('id,"na""me"\r\n1,"a,""b""\n"\r\n,""\r\n2.5,"{""x"":1}"\r\n')
  })

  test('NDJSON has an object per line; equal names are made distinct', async () => {
    const rows = rowsOf(
      ['a', 'a'],
      [
        [1, 2],
        [3, null],
      ],
    )
    const double: Query = async ({ db }) => ({ kind: 'table', rows, context: { db } })
    const { headers, text } = await ask(double, as('application/x-ndjson'))
    expect(headers.get('content-type')).toBe('application/x-ndjson')
    expect(text).toBe('{"a":1,"a_1":2}\n{"a":3,"a_1":null}\n')
  })

  test('jsonlines and sse, as existing clients ask for them', async () => {
    const lines = await ask(query, { json: { response_format: 'jsonlines' } })
    expect(lines.text.split('\n')).toEqual([
      '{"type":"table","column_names":["id","na\\"me"],"column_types":["VARCHAR","VARCHAR"]}',
      '[[1,"a,\\"b\\"\\n"]]',
      '[[null,""]]',
      '[[2.5,{"x":1}]]',
      '',
    ])
    const events = await ask(batches([[1, 'a']], [[2, 'b']], lost), {
      json: { response_format: 'sse' },
    })
    expect(events.text).toContain('data: [[1,"a"]]\n\ndata: [[2,"b"]]\n\ndata: {"type":"error"')
  })

  const FAILURES = [
    [new AppError('sql_unknown_name', "Table 'x' not found"), 400],
    [new AppError('forbidden_origin', 'No'), 403],
    [new AppError('table_not_found', 'No table'), 404],
    [lost, 504],
  ] as const
  for (const accept of ['text/csv', 'application/x-ndjson', 'application/vnd.apache.parquet']) {
    test(`a failure before the first row is a problem for who asks for ${accept}`, async () => {
      for (const [failure, status] of FAILURES) {
        const { server, errors } = testServer({
          query: () => Promise.reject(failure),
          exportRows: () => Promise.reject(failure),
        })
        const answer = await send(server, SQL, { json: { query: 'x' }, ...as(accept) })
        expect(answer.status).toBe(status)
        expect(answer.headers.get('content-type')).toBe('application/problem+json')
        expect(answer.json).toMatchObject({ code: failure.code, detail: failure.message })
        expect(errors.length).toBe(status === 504 ? 1 : 0)
      }
    })
  }

  test('a failure in the first rows is a problem as well; in lines it is one of them', async () => {
    expect((await ask(batches(lost), as('text/csv'))).status).toBe(504)
    const lines = await ask(batches(lost), { json: { response_format: 'jsonlines' } })
    expect(lines.status).toBe(200)
    expect(lines.json).toMatchObject({ type: 'error', error_code: 5001 })
  })

  test('CSV that fails half-way is cut off, never complete', async () => {
    const answer = ask(batches([[1, 'a']], [[2, 'b']], lost), as('text/csv'))
    expect(answer).rejects.toThrow()
  })
})

test('rows are read only as fast as the client reads, and not after it has gone', async () => {
  let read = 0
  let isReturned = false
  async function* endless() {
    try {
      for (; read < 1000; read++) yield [[read, 'x'.repeat(1000)]]
    } finally {
      isReturned = true
    }
  }
  const columns = [{ name: 'a', type: 'INTEGER' }]
  const { server, logged } = testServer({
    query: async ({ db }) => ({
      kind: 'table',
      rows: { columns, batches: endless() },
      context: { db },
    }),
  })
  const response = await server.handle(requestOf(SQL, { json: { query: 'x' } }))
  const reader = response.body?.getReader()
  await reader?.read()
  await reader?.read()
  expect(read).toBeLessThan(20)
  expect(logged).toEqual([])
  await reader?.cancel()
  expect(isReturned).toBe(true)
  expect(logged.length).toBe(1)
})
