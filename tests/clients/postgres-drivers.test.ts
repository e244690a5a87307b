/** Python's PostgreSQL drivers and tools on a real server's PostgreSQL port. */
import { expect } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort, startServer } from '../../scripts/server-process.ts'
import { clientResult, clientTest } from './client-programs.ts'

const TEAS = [
  { id: 1, content: 'sencha is a green tea', price: 9 },
  { id: 2, content: 'rooibos has no caffeine', price: 5 },
]

const COLUMNS = [
  ['a', 'INTEGER', false],
  ['b', 'TEXT', true],
  ['c', 'NUMERIC(10, 2)', true],
  ['d', 'TIMESTAMP', true],
  ['e', 'BYTEA', true],
  ['f', 'ARRAY', true],
  ['g', 'DATE', true],
]
const FRAME = [
  ['Int32', 'String', "Datetime(time_unit='us', time_zone=None)"],
  [1, 2],
]

const FOUND = {
  'copied in': 3,
  'as sent': true,
  'copied out': true,
  'copied out as text': true,
  texts: ['a\\b\tc\nd', 'x "y"\n\\z', null, ''],
  csv: '4,"a\\b\tc\nd",1.5\n5,"x ""y""\n\\z",1.5\n6,,1.5\n7,"",1.5\n',
  pipeline: [1, 2, 3],
  search: [['2']],
  prepared: ['x "y"\n\\z', 'x "y"\n\\z'],
  'server-side cursor': 499_500,
  'async psycopg': [['1']],
  asyncpg: [
    [1, "it's \\ a\ttab\nline", [1, null]],
    [2, '', []],
  ],
  'asyncpg copied in': 2,
  'asyncpg copied out': 'a,b\n8,eight\n9,\n',
  'asyncpg refused': ['23505', 0],
  'asyncpg cursor': 119,
  'psycopg 2': [['1']],
  tables: [['files', 'information_schema', 'mindsdb'], ['teas', 'cups'], []],
  columns: COLUMNS,
  keys: [['a'], [], []],
  constraints: [[], [], { text: "Knowledge base: search it with content = 'text'" }],
  reflected: ['cups', 'teas'],
  sqlalchemy: [[1, '-1.50']],
  pandas: [
    ['a', 'g'],
    [1, 2],
  ],
  adbc: FRAME,
  connectorx: FRAME,
}

clientTest('drivers of PostgreSQL search, copy, reflect and read into frames', async () => {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'eider-drivers-'))
  const port = String(await freePort())
  const server = await startServer({ dataDirectory, environment: { EIDER_PG_PORT: port } })
  try {
    const kbs = `${server.baseUrl}/api/projects/mindsdb/knowledge_bases`
    await send('POST', kbs, { knowledge_base: { name: 'teas' } })
    await send('PUT', `${kbs}/teas`, { knowledge_base: { rows: TEAS } })
    const found = await clientResult('postgres_drivers.py', { EIDER_PG_PORT: port })
    expect(found).toEqual(FOUND)
  } finally {
    await server.stop()
    rmSync(dataDirectory, { recursive: true })
  }
})

async function send(method: string, url: string, body: object): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(url, { method, headers, body: JSON.stringify(body) })
  if (!answer.ok) throw new Error(await answer.text())
}
