import { describe, expect, test } from 'bun:test'
import type { ServerDeps } from '../../src/api/http/request/route-context.ts'
import { type QueryResult, rowsOf } from '../../src/core/domain/query-result.ts'
import { AppError } from '../../src/core/errors.ts'
import { type Received, send, testServer } from './server-fixture.ts'

type Query = ServerDeps['query']

const LINK = 'GET /api/sql/query?query=SELECT+1'

const oneRow: Query = async ({ db }): Promise<QueryResult> => {
  return { kind: 'table', rows: rowsOf(['id', 'name'], [[1, 'a, b']]), context: { db } }
}

function open(line: string, headers: Record<string, string> = {}): Promise<Received> {
  return send(testServer({ query: oneRow }).server, line, { headers })
}

async function seenBy(line: string): Promise<unknown> {
  const seen: unknown[] = []
  const query: Query = (request, ...others) => {
    seen.push(request)
    return oneRow(request, ...others)
  }
  await send(testServer({ query }).server, line)
  return seen[0]
}

test('rows come as JSON, or as the address or Accept says', async () => {
  const json = await open(LINK)
  expect(json.status).toBe(200)
  expect(json.json).toMatchObject({ type: 'table', data: [[1, 'a, b']] })
  const csv = 'id,name\r\n1,"a, b"\r\n'
  expect((await open(`${LINK}&format=csv`)).text).toBe(csv)
  expect((await open(LINK, { accept: 'text/csv' })).text).toBe(csv)
  expect((await open(`${LINK}&format=ndjson`)).text).toBe('{"id":1,"name":"a, b"}\n')
})

test('an answer is never cached, and has a file name', async () => {
  const { headers } = await open(`${LINK}&format=csv`)
  expect(headers.get('cache-control')).toBe('private, no-store')
  expect(headers.get('referrer-policy')).toBe('no-referrer')
  expect(headers.get('content-disposition')).toBe("attachment; filename*=UTF-8''result.csv")
  const named = await open(`${LINK}&format=csv&download=sales/2026%0d%0aX:%20%C3%BC`)
  const name = "attachment; filename*=UTF-8''sales_2026_X_%20%C3%BC.csv"
  expect(named.headers.get('content-disposition')).toBe(name)
  const shown = await open(LINK)
  expect(shown.headers.get('content-disposition')).toStartWith('inline')
})

test('values of placeholders: what is JSON is meant so, all else is text', async () => {
  const values = 'p.a=5&p.b=five&p.c=%225%22&p.d=null&p.e=[1,2]&p.f=12345678901234567890&p.g=007'
  expect(await seenBy(`${LINK}&db=files&${values}&params={"z":1,"a":9}`)).toEqual({
    sql: 'SELECT 1',
    db: 'files',
    params: {
      z: 1,
      a: 5,
      b: 'five',
      c: '5',
      d: null,
      e: [1, 2],
      f: '12345678901234567890',
      g: '007',
    },
    session: null,
    isLink: true,
  })
  expect(await seenBy(LINK)).toMatchObject({ db: 'mindsdb', params: {} })
})

test.each([
  ['GET /api/sql/query', 'missing_parameter'],
  ['GET /api/sql/query?query=+', 'missing_parameter'],
  [`${LINK}&format=xlsx`, 'invalid_request'],
  [`${LINK}&format=sse`, 'invalid_request'],
  [`${LINK}&fomat=csv`, 'unknown_field'],
  [`${LINK}&query=SELECT+2`, 'invalid_request'],
  [`${LINK}&params=[1]`, 'invalid_request'],
  [`${LINK}&params={`, 'invalid_json'],
])('%s is refused', async (line, code) => {
  const { status, json } = await open(line)
  expect(status).toBe(400)
  expect(json).toMatchObject({ code })
})

const failing: Query = () => Promise.reject(new AppError('sql_unknown_name', 'no such table'))

test('a failure has its own status in every format', async () => {
  for (const format of ['json', 'csv', 'ndjson', 'arrow']) {
    const { status, json } = await send(
      testServer({ query: failing }).server,
      `${LINK}&format=${format}`,
    )
    expect(status).toBe(400)
    expect(json).toMatchObject({ code: 'sql_unknown_name' })
  }
})

test.each([
  ['of rows', oneRow, 200],
  ['of a failure', failing, 400],
] as const)('HEAD has the status and the headers %s', async (_what, query, expected) => {
  for (const format of ['json', 'csv', 'ndjson']) {
    const { server } = testServer({ query })
    const line = `${LINK}&format=${format}`
    const got = await send(server, line)
    const { status, headers, text } = await send(server, line.replace('GET', 'HEAD'))
    // Bun handles the body of a failure and sends none.
    expect([status, status === 200 ? text : '']).toEqual([expected, ''])
    const own = ['x-request-id', 'content-length', 'transfer-encoding']
    const named = (all: Headers) => [...all].filter(([name]) => !own.includes(name))
    expect(named(headers)).toEqual(named(got.headers))
    expect(headers.get('content-length')).not.toBe('0')
  }
})

describe('pages of other sites', () => {
  const other = 'https://other.example'

  test.each([
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-user': '?1' },
    { origin: other },
    { origin: 'null' },
    { referer: `${other}/page` },
    { origin: 'http://localhost:3000' },
  ])('%p runs nothing', async (headers) => {
    let count = 0
    const query: Query = (...request) => {
      count += 1
      return oneRow(...request)
    }
    const { status, json } = await send(testServer({ query }).server, LINK, { headers })
    expect(status).toBe(403)
    expect(json).toMatchObject({ code: 'forbidden_origin' })
    expect(count).toBe(0)
  })

  test.each([
    {},
    { 'sec-fetch-site': 'none' },
    { 'sec-fetch-site': 'same-origin' },
    { referer: 'http://localhost/' },
    { 'sec-fetch-site': 'cross-site', authorization: 'Bearer dummy' },
  ])('%p is no such page', async (headers) => {
    expect((await open(LINK, headers)).status).toBe(200)
  })

  test('with a login, a cookie counts only where a browser says who asks', async () => {
    const { deps } = testServer()
    const settings = { ...deps.settings, username: 'ada', password: 'right' }
    const { server } = testServer({ query: oneRow, settings })
    const credentials = { username: 'ada', password: 'right' }
    const login = await send(server, 'POST /api/login', { json: credentials })
    const cookie = login.headers.get('set-cookie')?.split(';')[0] ?? ''
    const statusWith = async (headers: Record<string, string>) => {
      return (await send(server, LINK, { headers })).status
    }
    expect(await statusWith({})).toBe(401)
    expect(await statusWith({ cookie })).toBe(403)
    expect(await statusWith({ cookie, 'sec-fetch-site': 'cross-site' })).toBe(403)
    expect(await statusWith({ cookie, 'sec-fetch-site': 'none' })).toBe(200)
    expect(await statusWith({ cookie, referer: 'http://localhost/' })).toBe(200)
    const token = String(Object(login.json).token)
    expect(await statusWith({ authorization: `Bearer ${token}` })).toBe(200)
  })
})
