/** Rows that clients send by COPY as CSV. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { failureOf, message, RawClient, type Served, serve, text } from './postgres-fixture.ts'

let open: Served
let client: RawClient

beforeAll(async () => {
  open = await serve()
  client = await RawClient.started(open.port)
  client.send(message('Q', text('CREATE TABLE lines (a VARCHAR, b VARCHAR)')))
  await client.until('Z')
})

afterAll(async () => {
  client.close()
  await open.stop()
})

/** Returns the tag, or the message of the failure. */
async function copied(
  sql: string,
  ...csv: readonly (string | Uint8Array)[]
): Promise<string | undefined> {
  client.send(message('Q', text(sql)))
  await client.until('G')
  client.send(...csv.map((part) => message('d', Buffer.from(part))), message('c'))
  const [answer] = await client.until('Z')
  return answer?.kind === 'E' ? failureOf(answer).M : answer?.body.toString().replace('\0', '')
}

async function stored(): Promise<unknown> {
  const { body } = await open.t.send('POST', '/api/sql/query', { query: 'SELECT * FROM lines' })
  await open.t.send('POST', '/api/sql/query', { query: 'TRUNCATE lines' })
  return Object(body).data
}

test('the line with which psql ends its data is not a row, but a quoted one is', async () => {
  const csv = '1,one\n\\.,"\\."\n"\\.",\n\\.\n'
  expect(await copied('COPY lines FROM STDIN CSV', csv)).toBe('COPY 3')
  expect(await stored()).toEqual([
    ['1', 'one'],
    ['\\.', '\\.'],
    ['\\.', null],
  ])
})

test('text after a quoted value is refused, and lines may end with a carriage return', async () => {
  const csv = '"a"b,c\n'
  expect(await copied('COPY lines FROM STDIN CSV', csv)).toBe('COPY: text follows a quoted value')
  expect(await copied('COPY lines FROM STDIN CSV', '"a",b\r\nc,"d"\r\n')).toBe('COPY 2')
  const rows = [
    ['a', 'b'],
    ['c', 'd'],
  ]
  expect(await stored()).toEqual(rows)
  for (const ends of [
    ['"a",b\r', '\nc,"d"\r', '\n'],
    ['"a"', ',b\r\nc,"d', '"\r\n'],
    ['a,b\nc,d'],
  ]) {
    expect(await copied('COPY lines FROM STDIN CSV', ...ends)).toBe('COPY 2')
    expect(await stored()).toEqual(rows)
  }
})

test('a row is the same wherever the data is cut into messages', async () => {
  const csv = 'a,"b, ""c"" and\nd"\r\n,x\n"",\n1,2\n'
  const rows = [
    ['a', 'b, "c" and\nd'],
    [null, 'x'],
    ['', null],
    ['1', '2'],
  ]
  for (let at = 1; at < csv.length; at += 1) {
    const parts = [csv.slice(0, at), csv.slice(at)]
    expect(await copied('COPY lines FROM STDIN CSV', ...parts)).toBe('COPY 4')
    expect(await stored()).toEqual(rows)
  }
})

test('a quote that is never closed is refused', async () => {
  const refused = 'COPY: a quote is opened and never closed'
  expect(await copied('COPY lines FROM STDIN CSV', '1,"one\n2,two\n')).toBe(refused)
  expect(await stored()).toEqual([])
})

test('values of every type are stored without losing a digit', async () => {
  client.send(
    message(
      'Q',
      text('CREATE TABLE typed (n DECIMAL(30,20), b BLOB, i INT[], t VARCHAR[], j JSON, d DATE)'),
    ),
  )
  await client.until('Z')
  const csv = String.raw`1.12345678901234567890,\x61ff,"{1,NULL}","{""a,b"",""c\\d""}","{""a"": 1}",2026-12-01
,,,,,
`
  expect(await copied('COPY typed FROM STDIN CSV', csv)).toBe('COPY 2')
  const query =
    'SELECT n::VARCHAR AS n, hex(b) AS b, i, t, j, d::VARCHAR AS d FROM typed ORDER BY n'
  const { body } = await open.t.send('POST', '/api/sql/query', { query })
  expect(Object(body).data).toEqual([
    ['1.12345678901234567890', '61FF', [1, null], ['a,b', 'c\\d'], { a: 1 }, '2026-12-01'],
    [null, null, null, null, null, null],
  ])
})

test('a number that an integer column cannot hold is refused, not rounded', async () => {
  client.send(message('Q', text('CREATE TABLE counts (a INT, b BIGINT)')))
  await client.until('Z')
  const refused = 'COPY: "3.5" in row 2 is not an integer'
  expect(await copied('COPY counts FROM STDIN CSV', '1, 2\n3.5,4\n')).toBe(refused)
})

test('a table of many columns and rows is copied', async () => {
  const columns = Array.from({ length: 200 }, (_, index) => `c${index} INT`)
  client.send(message('Q', text(`CREATE TABLE wide (${columns.join(', ')})`)))
  await client.until('Z')
  const row = `${columns.map((_, index) => index).join(',')}\n`
  expect(await copied('COPY wide FROM STDIN CSV', row.repeat(1000))).toBe('COPY 1000')
  const query = 'SELECT count(*), sum(c0), sum(c199) FROM wide'
  const { body } = await open.t.send('POST', '/api/sql/query', { query })
  expect(Object(body).data).toEqual([[1000, 0, 199_000]])
})

test('text in another encoding is refused instead of losing its letters', async () => {
  const latin = Buffer.from('1,M\u00fcller\n', 'latin1')
  const refused = 'COPY: the data is not UTF-8; convert it first'
  expect(await copied('COPY lines FROM STDIN CSV', latin)).toBe(refused)
  expect(await copied('COPY lines FROM STDIN CSV', '1,M', Buffer.from([0xc3]))).toBe(refused)
  const parts = [Buffer.from('1,M\xc3', 'latin1'), Buffer.from('\xbcller\n', 'latin1')]
  expect(await copied('COPY lines FROM STDIN CSV', ...parts)).toBe('COPY 1')
  expect(await stored()).toEqual([['1', 'Müller']])
})

test('options that would change the rows are refused', async () => {
  for (const [options, said] of [
    ["FORMAT csv, QUOTE '''', ESCAPE '\\'", "COPY does not support QUOTE '''', only '\"'"],
    ["FORMAT csv, ENCODING 'LATIN1'", "COPY does not support ENCODING 'LATIN1', only 'utf8'"],
  ] as const) {
    client.send(message('Q', text(`COPY lines FROM STDIN (${options})`)))
    const [answer] = await client.until('Z')
    expect(answer && failureOf(answer).M).toBe(said)
  }
  const same = `COPY lines FROM STDIN (FORMAT csv, QUOTE '"', ESCAPE '"', ENCODING 'UTF-8')`
  expect(await copied(same, '1,2\n')).toBe('COPY 1')
})
